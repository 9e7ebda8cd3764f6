"""Attention kernels beside PyTorch's backends on one GPU: `python attention.py FOLDER [--json FILE] [--busy]`, FOLDER as `attention_texts` writes it.

Every text is compiled by NVRTC with the library's own flags, checked against float64 on fresh numbers, and timed in turns with PyTorch's flash,
cuDNN and efficient backends: several calls between two events, medians of rounds, or replays of a graph for small work. `crossover-nn`'s example
writes the folder: `cargo run -p crossover-nn --example attention_texts -- FOLDER`.

With `--busy` calls are timed as `crossover-gpu-test` times those through arrays: twenty at a time, behind fills of 4 GiB, queued without a pause.
"""

import ctypes
import json
import math
import pathlib
import sys
import warnings

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

FLAGS = ["--gpu-architecture=sm_90a", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true", "-std=c++17", "--minimal"]
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION}
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
KINDS = {torch.float16: 6, torch.float32: 7, torch.bfloat16: 9}
CALLS = 8
cuda = ctypes.CDLL("libcuda.so.1")


def check(status, what):
    if status:
        raise RuntimeError(f"{what}: {status}")


def compile_text(text):
    """The cubin of a text."""
    nvrtc = next(ctypes.CDLL(name) for name in ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"] if loads(name))
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"attention.cu", 0, None, None), "create")
    flags = (ctypes.c_char_p * len(FLAGS))(*[flag.encode() for flag in FLAGS])
    if nvrtc.nvrtcCompileProgram(program, len(FLAGS), flags):
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(log.value.decode()[:2000])
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, cubin)
    return cubin.raw


def loads(name):
    try:
        ctypes.CDLL(name)
        return True
    except OSError:
        return False


class Kernel:
    """A text, compiled and loaded, with its launches."""

    def __init__(self, folder, case):
        self.case, self.program, self.module = case, case["program"], ctypes.c_void_p()
        cubin = compile_text((folder / case["file"]).read_text())
        check(cuda.cuModuleLoadData(ctypes.byref(self.module), cubin), "load")
        self.multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count
        self.entries = []
        for launch in self.program["launches"]:
            entry = ctypes.c_void_p()
            check(cuda.cuModuleGetFunction(ctypes.byref(entry), self.module, launch["entry"].encode()), "entry")
            check(cuda.cuFuncSetAttribute(entry, 8, launch["shared"]), "shared memory")
            self.entries.append(entry)

    def ready(self, q, k, v, out):
        """A function that queues the launches on the current stream. Operands that are joined are one tensor, three times."""
        scratch = torch.empty(max(1, self.program["scratch"]), dtype=torch.uint8, device="cuda")
        tensors = [q, k, v, out] + ([scratch] if self.program["scratch"] else [])
        parts = {"Operand(0)": q, "Operand(1)": k, "Operand(2)": v, "Result": out}
        queued = []
        for entry, launch in zip(self.entries, self.program["launches"]):
            values = [ctypes.c_uint64(tensor.data_ptr()) for tensor in tensors]
            addresses = [ctypes.addressof(value) for value in values]
            for argument in launch["arguments"]:
                if argument[0] == "map":
                    value, address = tensor_map(parts[argument[1]], *argument[2:])
                else:
                    value = (ctypes.c_int64 if argument[0] == "integer" else ctypes.c_float)(argument[1])
                    address = ctypes.addressof(value)
                values.append(value)
                addresses.append(address)
            blocks = launch["blocks"]
            if launch["most"] != blocks:
                blocks = [min(blocks[0], launch["most"][0] * self.multiprocessors)] + blocks[1:]
            queued.append((entry, blocks, launch["threads"], launch["shared"], (ctypes.c_void_p * len(addresses))(*addresses), values))

        def call(keep=(scratch, tensors)):
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            for entry, blocks, threads, shared, pointers, _ in queued:
                check(cuda.cuLaunchKernel(entry, *blocks, *threads, shared, stream, pointers, None), "launch")

        return call


def tensor_map(tensor, dims, strides, tile):
    raw = (ctypes.c_ubyte * 256)()
    address = (ctypes.addressof(raw) + 127) // 128 * 128
    rank = len(dims)
    numbers = lambda kind, values: (kind * len(values))(*values)
    check(
        cuda.cuTensorMapEncodeTiled(
            ctypes.c_void_p(address), KINDS[tensor.dtype], rank, ctypes.c_void_p(tensor.data_ptr()), numbers(ctypes.c_uint64, dims[::-1]),
            numbers(ctypes.c_uint64, strides[::-1]), numbers(ctypes.c_uint32, tile[::-1]), numbers(ctypes.c_uint32, [1] * rank), 0, 3, 3, 0,
        ),
        "tensor map",
    )
    return raw, address


def error(got, q, k, v, causal):
    """The relative error of the first and of the last head against float64."""
    apart = size = 0.0
    for at in ((0, 0), (-1, -1)):
        one, keys, values, result = (x[at].double() for x in (q, k, v, got))
        scores = one @ keys.T / math.sqrt(one.shape[-1])
        if causal:
            hidden = torch.ones_like(scores, dtype=torch.bool).triu(1 + keys.shape[0] - one.shape[0])
            scores.masked_fill_(hidden, -math.inf)
        want = torch.softmax(scores, -1) @ values
        apart += (result - want).square().sum().item()
        size += want.square().sum().item()
    return math.sqrt(apart / size)


def distance(got, other):
    """How far two results are apart, all of them, relative to the second."""
    return ((got.float() - other.float()).norm() / other.float().norm()).item()


def busy_milliseconds(call, delay=[]):
    """Twenty calls behind fills that last longer than the host needs to queue them."""
    if not delay:
        delay.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))
    call()
    times = []
    for stretch in range(5):
        for _ in range(4):
            delay[0].fill_(stretch)
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(20):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 20)
    return sorted(times)[2]


def milliseconds(call):
    """The median of a few rounds; graphs where the host would be what is timed."""
    call()
    torch.cuda.synchronize()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def one(body, calls):
        start.record()
        body()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end) / calls

    rough = one(lambda: [call() for _ in range(CALLS)], CALLS)
    if rough > 0.3:
        return sorted(one(lambda: [call() for _ in range(CALLS)], CALLS) for _ in range(5))[2]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        keep = [call() for _ in range(20)]
    graph.replay()
    return sorted(one(graph.replay, len(keep)) for _ in range(7))[3]


def peer(backend, q, k, v, causal):
    def call():
        with sdpa_kernel([backend]):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    call()
    return call


def main():
    warnings.simplefilter("ignore")
    folder = pathlib.Path(sys.argv[1])
    timed = busy_milliseconds if "--busy" in sys.argv else milliseconds
    rows = []
    torch.zeros(1, device="cuda")
    torch.backends.cuda.matmul.allow_tf32 = False
    for case in json.loads((folder / "texts.json").read_text()):
        batch, heads, queries, keys, size = case["shape"]
        dtype, causal = DTYPES[case["dtype"]], case["causal"]
        name = f"{'tf32' if case['tf32'] else case['dtype']} {batch}x{heads}x{queries}x{size}" + (f" of {keys}" if keys != queries else "")
        name += (" causal" if causal else "") + (" joined" if case["joined"] else "")
        try:
            make = lambda length: torch.randn(batch, heads, length, size, device="cuda").to(dtype)
            q, k, v = make(queries), make(keys), make(keys)
            out = torch.full_like(q, math.nan)
            operands, result = (q, k, v), out
            if case["joined"]:
                # As one projection of all three leaves them: PyTorch gets views, and so is what we write.
                joined = torch.stack([x.transpose(1, 2) for x in (q, k, v)], 2)
                q, k, v = joined.permute(2, 0, 3, 1, 4)
                result = torch.full((batch, queries, heads, size), math.nan, device="cuda", dtype=dtype)
                operands, out = (joined, joined, joined), result.transpose(1, 2)
            calls = {"ours": Kernel(folder, case).ready(*operands, result)}
            calls["ours"]()
            torch.cuda.synchronize()
            if not out.isfinite().all():
                raise RuntimeError("results were left unwritten")
            errors, apart = {"ours": error(out, q, k, v, causal)}, {}
            for label, backend in BACKENDS.items():
                try:
                    calls[label] = peer(backend, q, k, v, causal)
                    errors[label] = error(calls[label](), q, k, v, causal)
                    apart[label] = distance(out, calls[label]())
                except RuntimeError:
                    calls.pop(label, None)
            # Other libraries, cuDNN among them, say what is right for every element: two right results are as far apart as both are wrong.
            most = {label: 2 * (errors["ours"] + errors[label]) for label in apart}
            if any(not apart[label] <= most[label] for label in apart):
                raise RuntimeError(f"too far from other results: {apart}, errors {errors}")
            rounds = {label: [] for label in calls}
            for _ in range(3):
                for label, call in calls.items():
                    rounds[label].append(timed(call))
            times = {label: sorted(values)[1] for label, values in rounds.items()}
            best = min(value for label, value in times.items() if label != "ours")
            work = 4 * batch * heads * queries * keys * size * (0.5 if causal else 1)
            texts = [f"{label} {value:.4f} ms {work / value / 1e9:.0f} TF err {errors[label]:.1e}" for label, value in times.items()]
            print(f"{name:30} ratio {best / times['ours']:.2f} | " + " | ".join(texts), flush=True)
            rows.append({"name": name, "TFLOP": work / 1e12, "ms": times, "error": errors, "apart": apart})
        except Exception as problem:
            print(f"{name:30} FAILED {problem!r}"[:400], flush=True)
    if "--json" in sys.argv:
        pathlib.Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps({"torch": torch.__version__, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
