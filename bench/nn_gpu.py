"""Neural networks on one GPU beside PyTorch and CuPy: `python nn_gpu.py OUT.json --ours gpu-test.json --attention attention.json`.

`gpu-test.json` is what `crossover-gpu-test --only nn` writes, `attention.json` what `attention.py FOLDER --json` writes, in the same session on the
same device. This script adds the same work in other libraries: the functions of seed 003 as it spells them for CuPy, a transformer layer, the memory of
attention over long sequences, and a language model of 1.3 billion parameters. Times are medians by the device's clock.
"""

import argparse
import datetime
import json
import math
import statistics
import sys
import time

import torch
import torch.nn.functional as F

LAYERS, SIZE, HEADS, TOKENS, BATCH, LENGTH = 24, 2048, 16, 50304, 32, 2048
BF16 = {"device": "cuda", "dtype": torch.bfloat16}


def milliseconds(call, calls=20, rounds=7):
    for _ in range(2):
        call()
    times = []
    for _ in range(rounds):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(calls):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / calls)
    return statistics.median(times)


def replayed(call):
    """The same as a CUDA graph."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def seed_functions():
    """GELU, linear and GELU, layer norm and attention as seed 003 spells them for CuPy, and PyTorch's."""
    import cupy as cp

    normal = lambda *shape: cp.random.standard_normal(shape, dtype=cp.float32)

    def gelu(x):
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)
        return 0.5 * x * (1.0 + cp.tanh(inner))

    def layer_norm(x, weight, bias):
        mean = cp.mean(x, axis=-1, keepdims=True)
        variance = cp.var(x, axis=-1, keepdims=True)
        return weight * (x - mean) / cp.sqrt(variance + 1e-5) + bias

    def attention(q, k, v):
        scores = cp.matmul(q, k.swapaxes(-1, -2)) / math.sqrt(q.shape[-1])
        weights = cp.exp(scores - scores.max(axis=-1, keepdims=True))
        return cp.matmul(weights / weights.sum(axis=-1, keepdims=True), v)

    def timed(call, calls):
        call()
        times = []
        for _ in range(5):
            start, end = cp.cuda.Event(), cp.cuda.Event()
            start.record()
            for _ in range(calls):
                call()
            end.record()
            end.synchronize()
            times.append(cp.cuda.get_elapsed_time(start, end) / calls)
        return statistics.median(times)

    x, rows, inner = normal(4096, 1024), normal(1024, 768), normal(1024, 512)
    weight, bias, ones = normal(768, 512), normal(768), normal(768)
    heads = [normal(8, 12, 2048, 64) for _ in range(3)]
    out = {
        "gelu 4096x1024 f32": {"cupy": timed(lambda: gelu(x), 20)},
        "linear+bias+gelu 1024x512x768 f32": {"cupy": timed(lambda: gelu(cp.dot(inner, weight.T) + bias), 20)},
        "layer norm 1024x768 f32": {"cupy": timed(lambda: layer_norm(rows, ones, bias), 20)},
        "attention f32 8x12x2048x64": {"cupy": timed(lambda: attention(*heads), 3)},
    }
    t = {name: torch.as_tensor(array, device="cuda") for name, array in (("x", x), ("rows", rows), ("inner", inner), ("weight", weight), ("bias", bias), ("ones", ones))}
    q, k, v = (torch.as_tensor(array, device="cuda") for array in heads)
    own = {
        "gelu 4096x1024 f32": lambda: F.gelu(t["x"], approximate="tanh"),
        "linear+bias+gelu 1024x512x768 f32": lambda: F.gelu(F.linear(t["inner"], t["weight"], t["bias"]), approximate="tanh"),
        "layer norm 1024x768 f32": lambda: F.layer_norm(t["rows"], (768,), t["ones"], t["bias"]),
        "attention f32 8x12x2048x64": lambda: F.scaled_dot_product_attention(q, k, v),
    }
    for name, call in own.items():
        out[name]["torch"] = milliseconds(call, 5)
        out[name]["graph"] = milliseconds(replayed(call), 5)
    cp.get_default_memory_pool().free_all_blocks()
    return out


def layers():
    out = {}
    for length in (2048, 128):
        layer = torch.nn.TransformerEncoderLayer(
            768, 12, 3072, dropout=0.0, activation=lambda x: F.gelu(x, approximate="tanh"), batch_first=True, norm_first=True, **BF16
        ).eval()
        x = torch.randn(32, length, 768, **BF16)
        times = {"torch": milliseconds(lambda: layer(x), 5), "graph": milliseconds(replayed(lambda: layer(x)), 5)}
        compiled = torch.compile(layer)
        times["compile"] = milliseconds(lambda: compiled(x), 5)
        out[f"layer bf16 32x{length}x768"] = times
    return out


def long_attention():
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    q, k, v = (torch.randn(2, 16, 16384, 128, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    result = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.cuda.synchronize()
    least = 4 * result.numel() * 2
    peak = torch.cuda.max_memory_allocated() - before
    return {"memory of attention bf16 2x16x16384x128 causal": {"peak_MB": peak / 1e6, "operands_MB": least / 1e6}}


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = (torch.nn.LayerNorm(SIZE, **BF16) for _ in range(2))
        self.inward, self.outward = torch.nn.Linear(SIZE, 3 * SIZE, **BF16), torch.nn.Linear(SIZE, SIZE, **BF16)
        self.up, self.down = torch.nn.Linear(SIZE, 4 * SIZE, **BF16), torch.nn.Linear(4 * SIZE, SIZE, **BF16)

    def forward(self, x):
        batch, length, _ = x.shape
        heads = self.inward(self.norm1(x)).view(batch, length, 3, HEADS, SIZE // HEADS)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        joined = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, SIZE)
        x = x + self.outward(joined)
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


def model(seconds):
    """GPT-3 XL's sizes, as `crossover-gpu-test` has them."""
    torch.cuda.empty_cache()
    table = torch.randn(TOKENS, SIZE, **BF16) * 0.02
    places = torch.randn(LENGTH, SIZE, **BF16) * 0.02
    blocks, norm = [Block().eval() for _ in range(LAYERS)], torch.nn.LayerNorm(SIZE, **BF16)
    ids = torch.randint(0, TOKENS, (BATCH, LENGTH), device="cuda")

    def forward(blocks):
        x = F.embedding(ids, table) + places
        for block in blocks:
            x = block(x)
        return F.linear(norm(x), table)

    out = {}
    for name in ("torch", "cudnn", "compile"):
        if name == "compile" and seconds() < 60:
            break
        try:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            form = [torch.compile(block, dynamic=False) for block in blocks] if name == "compile" else blocks
            backend = torch.nn.attention.SDPBackend
            chosen = [backend.CUDNN_ATTENTION] if name == "cudnn" else [backend.FLASH_ATTENTION, backend.CUDNN_ATTENTION, backend.EFFICIENT_ATTENTION]
            with torch.nn.attention.sdpa_kernel(chosen):
                ms = milliseconds(lambda: forward(form), 1, 7)
            out[name] = {"ms": ms, "tokens_per_s": BATCH * LENGTH / ms * 1e3, "peak_GB": torch.cuda.max_memory_allocated() / 1e9}
        except Exception as error:
            out[name] = {"failed": repr(error)[:300]}
    return {"model of 1.3e9 parameters bf16 32x2048": out}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--ours", help="gpu-test.json")
    parser.add_argument("--attention", help="attention.json")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--seconds", type=float, default=math.inf, help="start nothing long after this")
    arguments = parser.parse_args()
    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = False
    began = time.monotonic()
    left = lambda: arguments.seconds - (time.monotonic() - began)
    document = {
        "command": "python bench/nn_gpu.py " + " ".join(sys.argv[1:]),
        "commit": arguments.commit,
        "date": datetime.date.today().isoformat(),
        "device": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__},
        "peers": {},
        "failures": [],
    }
    for name, path in (("ours", arguments.ours), ("attention", arguments.attention)):
        if path:
            with open(path) as file:
                document[name] = json.load(file)
    for part in (seed_functions, long_attention, layers, lambda: model(left)):
        try:
            found = part()
            document["peers"].update(found)
            print(json.dumps(found), flush=True)
        except Exception as error:
            document["failures"].append(repr(error)[:300])
            print("FAILED", repr(error)[:300], flush=True)
        with open(arguments.out, "w") as file:
            json.dump(document, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
