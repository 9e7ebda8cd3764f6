"""Times other libraries on a GPU on the work of `crossover-gpu-test bench`, the same way, and writes JSON.

Usage: python3 gpu_peers.py OUT.json [--engines torch,graph,compile,cupy,jax] [--seconds N] [--only PARTS]

Every figure is milliseconds per call by the device's clock: stretches of calls behind one another, median over
stretches. `graph` replays the calls of PyTorch as one CUDA graph. Rows have the names of crossover-gpu-test.
"""

import argparse
import json
import math
import statistics
import sys
import time

CALLS = 20
STRETCHES = 9
SAMPLES = 1_000_000_000
STARTED = time.time()


def torch_rows():
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    device = "cuda"

    def normal(*shape, dtype=torch.float32):
        return torch.randn(*shape, device=device, dtype=torch.float32).to(dtype)

    def gelu(x):
        return F.gelu(x, approximate="tanh")

    def layer_norm(x, w, b):
        return F.layer_norm(x, (x.shape[-1],), w, b, 1e-5)

    def softmax(x):
        return torch.softmax(x, -1)

    def standardise(x):
        return (x - x.mean(0)) / x.std(0, correction=0)

    def sinusoid(p, f):
        a = p.to(torch.float32)[..., None] * f
        return torch.stack([a.sin(), a.cos()], -1).reshape(64, 2048, 512)

    def pi(dtype):
        def run():
            x = torch.rand(SAMPLES, device=device, dtype=dtype)
            y = torch.rand(SAMPLES, device=device, dtype=dtype)
            return (x * x + y * y <= 1).sum() * (4.0 / SAMPLES)

        return run

    def linear(x, w, b):
        return gelu(x @ w + b)

    def convolve(x, k):
        return F.conv2d(x[None, None], k.flip(0, 1)[None, None], padding=7)[0, 0]

    def lookup(table, ids, positions, f):
        a = positions.to(torch.float32)[:, None] * f
        return F.embedding(ids, table) + torch.stack([a.sin(), a.cos()], -1).reshape(2048, 512)

    def scatter(zeros, ids, x):
        return zeros.index_add(0, ids, x)

    frequencies = torch.tensor([10000.0 ** (-2 * i / 512) for i in range(256)], device=device)
    ids = lambda top, *shape: torch.randint(0, top, shape, device=device)
    bf16 = torch.bfloat16
    rows = {
        "linear+bias+gelu 8192x4096x16384 bf16": (
            linear,
            lambda: (normal(8192, 4096, dtype=bf16), normal(4096, 16384, dtype=bf16), normal(16384, dtype=bf16)),
        ),
        "linear+bias+gelu 1024x512x768 f32": (linear, lambda: (normal(1024, 512), normal(512, 768), normal(768))),
        "convolve 2048x2048 15x15 f32": (convolve, lambda: (normal(2048, 2048), normal(15, 15))),
        "lookup 50000x512 8x2048 f32": (
            lambda table, ids: F.embedding(ids, table),
            lambda: (normal(50000, 512), ids(50000, 8, 2048)),
        ),
        "lookup+sinusoid 8x2048x512 f32": (
            lookup,
            lambda: (normal(50000, 512), ids(50000, 8, 2048), torch.arange(2048, device=device), frequencies),
        ),
        "sort 1e7 f32": (lambda x: torch.sort(x)[0], lambda: (normal(10_000_000),)),
        "argsort 1e7 f32": (lambda x: torch.argsort(x, stable=True), lambda: (normal(10_000_000),)),
        "cumulative sum 1e7 f32": (lambda x: torch.cumsum(x, 0), lambda: (normal(10_000_000),)),
        "scatter add 1e7 to 1e6 f32": (
            scatter,
            lambda: (torch.zeros(1_000_000, device=device), ids(1_000_000, 10_000_000), normal(10_000_000)),
        ),
        "rfft 4096x4096 f32": (torch.fft.rfft, lambda: (normal(4096, 4096),)),
        "fft2 4096x4096 c64": (torch.fft.fft2, lambda: (normal(4096, 4096, dtype=torch.complex64),)),
        "gelu 8192x4096 f32": (gelu, lambda: (normal(8192, 4096),)),
        "gelu 16384x8192 bf16": (gelu, lambda: (normal(16384, 8192, dtype=bf16),)),
        "gelu 4096x1024 f32": (gelu, lambda: (normal(4096, 1024),)),
        "layer norm 65536x768 f32": (layer_norm, lambda: (normal(65536, 768), normal(768), normal(768))),
        "layer norm 16384x4096 bf16": (
            layer_norm,
            lambda: (normal(16384, 4096, dtype=bf16), normal(4096, dtype=bf16), normal(4096, dtype=bf16)),
        ),
        "layer norm 1024x768 f32": (layer_norm, lambda: (normal(1024, 768), normal(768), normal(768))),
        "softmax 16384x4096 f32": (softmax, lambda: (normal(16384, 4096),)),
        "softmax 16384x4096 bf16": (softmax, lambda: (normal(16384, 4096, dtype=bf16),)),
        "standardise 10000x1000 f32": (standardise, lambda: (normal(10000, 1000),)),
        "sinusoid 64x2048x512 f32": (
            sinusoid,
            lambda: (
                torch.arange(2048, device=device, dtype=torch.int32).repeat(64, 1),
                torch.tensor([10000.0 ** (-2 * i / 512) for i in range(256)], device=device),
            ),
        ),
        "pi 1e9 f32": (pi(torch.float32), lambda: ()),
        "pi 1e9 f64": (pi(torch.float64), lambda: ()),
        "xor 256 MiB u8": (
            torch.bitwise_xor,
            lambda: tuple(torch.randint(0, 256, (256 << 20,), device=device, dtype=torch.uint8) for _ in range(2)),
        ),
        "sum 1e8 f32": (torch.sum, lambda: (normal(100_000_000),)),
        "matmul 1024 f32": (torch.matmul, lambda: (normal(1024, 1024), normal(1024, 1024))),
        "matmul 5000 f32": (torch.matmul, lambda: (normal(5000, 5000), normal(5000, 5000))),
        "matmul 5000 f64": (
            torch.matmul,
            lambda: (normal(5000, 5000, dtype=torch.float64), normal(5000, 5000, dtype=torch.float64)),
        ),
        "matmul 8192 bf16": (torch.matmul, lambda: (normal(8192, 8192, dtype=bf16), normal(8192, 8192, dtype=bf16))),
        "matmul 10x256 f32": (torch.matmul, lambda: (normal(10, 256, 256), normal(10, 256, 256))),
        "transposed add 8192x8192 f32": (lambda a, b: a + b.t(), lambda: (normal(8192, 8192), normal(8192, 8192))),
    }
    return torch, rows


def torch_time(torch, call):
    """Median milliseconds per call."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    began = time.perf_counter()
    call()
    torch.cuda.synchronize()
    calls = 3 if time.perf_counter() - began > 2e-3 else CALLS
    times = []
    for _ in range(STRETCHES):
        torch.cuda._sleep(2_000_000)
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(calls):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / calls)
    return statistics.median(times)


def graph_time(torch, function, operands):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            function(*operands)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            function(*operands)
    return torch_time(torch, graph.replay) / CALLS


def with_torch(engines, limit, out, only):
    torch, rows = torch_rows()
    out["versions"]["torch"] = torch.__version__
    for name, (function, make) in rows.items():
        if only and not any(part in name for part in only):
            continue
        operands = make()
        figures = out["rows"].setdefault(name, {})
        for engine in ("torch", "graph", "compile"):
            if engine == "compile" and name.startswith(("matmul", "xor", "transposed", "rfft", "fft2", "sort", "argsort")):
                continue
            if engine not in engines or time.time() - STARTED > limit:
                continue
            if engine != "torch" and name.startswith("pi") and engine == "graph":
                continue
            try:
                if engine == "torch":
                    figures[engine] = torch_time(torch, lambda: function(*operands))
                elif engine == "graph":
                    figures[engine] = graph_time(torch, function, operands)
                else:
                    compiled = torch.compile(function)
                    figures[engine] = torch_time(torch, lambda: compiled(*operands))
            except Exception as error:  # a peer that cannot do a row is not our failure
                out["failures"].append(f"{engine} {name}: {type(error).__name__}: {str(error)[:200]}")
        print(name, {k: round(v, 5) for k, v in figures.items()}, flush=True)
        del operands
        torch.cuda.empty_cache()
    if not only:
        host_round_trip(torch, out)
        chain(torch, out)


def host_round_trip(torch, out):
    import numpy as np

    values = (np.arange(10_000_000) % 1999).astype(np.float32) * np.float32(0.004) - np.float32(4)
    row = out["rows"].setdefault("host, gelu 1e7 f32, host", {})
    for name, device in (("torch", "cuda"), ("torch cpu", "cpu")):
        times = []
        for _ in range(7):
            began = time.perf_counter()
            y = torch.nn.functional.gelu(torch.from_numpy(values).to(device), approximate="tanh").cpu().numpy()
            times.append((time.perf_counter() - began) * 1e3)
        assert y.shape == values.shape
        row[name] = statistics.median(times)
    print("host, gelu 1e7 f32, host", row, flush=True)


def chain(torch, out):
    """Microseconds per kernel of twenty dependent ones."""
    x = torch.randn(1000, device="cuda")

    def run():
        y = x
        for _ in range(20):
            y = y.square()
        return y

    for _ in range(5):
        run()
    torch.cuda.synchronize()
    times = []
    for _ in range(51):
        began = time.perf_counter()
        run()
        times.append((time.perf_counter() - began) * 1e6 / 20)
        torch.cuda.synchronize()
    row = out["rows"].setdefault("chain of 20 tiny kernels, each", {})
    row["torch_host_us"] = statistics.median(times)
    row["graph_us"] = graph_time(torch, run, ()) * 1e3 / 20
    print("chain", row, flush=True)


def with_cupy(out, limit, only):
    import cupy as cp

    out["versions"]["cupy"] = cp.__version__

    def timed(call, calls=CALLS):
        for _ in range(2):
            call()
        cp.cuda.Device().synchronize()
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

    def pi(dtype):
        def run():
            x = cp.random.random(SAMPLES, dtype=dtype)
            y = cp.random.random(SAMPLES, dtype=dtype)
            return (x * x + y * y <= 1).sum() * (4.0 / SAMPLES)

        return run

    def standardise(x):
        return (x - x.mean(0)) / x.std(0)

    def convolve():
        from cupyx.scipy.signal import convolve2d

        return convolve2d(image, kernel, mode="same")

    image, kernel = (cp.random.standard_normal((n, n), dtype=cp.float32) for n in (2048, 15))
    long = cp.random.standard_normal(10_000_000, dtype=cp.float32)
    x = cp.random.standard_normal((10000, 1000), dtype=cp.float32)
    a, b = (cp.random.randint(0, 256, 256 << 20, dtype=cp.uint8) for _ in range(2))
    work = {
        "pi 1e9 f32": (pi(cp.float32), 2),
        "pi 1e9 f64": (pi(cp.float64), 2),
        "standardise 10000x1000 f32": (lambda: standardise(x), CALLS),
        "xor 256 MiB u8": (lambda: a ^ b, CALLS),
        "convolve 2048x2048 15x15 f32": (convolve, CALLS),
        "sort 1e7 f32": (lambda: cp.sort(long), CALLS),
        "argsort 1e7 f32": (lambda: cp.argsort(long), CALLS),
        "cumulative sum 1e7 f32": (lambda: cp.cumsum(long), CALLS),
    }
    for name, (call, calls) in work.items():
        if only and not any(part in name for part in only):
            continue
        if time.time() - STARTED > limit:
            break
        try:
            out["rows"].setdefault(name, {})["cupy"] = timed(call, calls)
        except Exception as error:
            out["failures"].append(f"cupy {name}: {type(error).__name__}: {str(error)[:200]}")
        print("cupy", name, out["rows"].get(name, {}).get("cupy"), flush=True)
    cp.get_default_memory_pool().free_all_blocks()


def with_jax(out, limit, only):
    import os

    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp

    out["versions"]["jax"] = jax.__version__

    def timed(function, operands):
        # XLA offers no events: a stretch of calls by the host's clock, long enough that its start does not count.
        call = jax.jit(function)
        call(*operands).block_until_ready()
        times = []
        for _ in range(5):
            began = time.perf_counter()
            for _ in range(CALLS):
                result = call(*operands)
            result.block_until_ready()
            times.append((time.perf_counter() - began) * 1e3 / CALLS)
        return statistics.median(times)

    key = jax.random.key(0)

    def normal(*shape, dtype=jnp.float32):
        return jax.random.normal(key, shape, jnp.float32).astype(dtype)

    def layer_norm(x, w, b):
        y = x.astype(jnp.float32)
        y = (y - y.mean(-1, keepdims=True)) * jax.lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)
        return (y * w + b).astype(x.dtype)

    def gelu(x):
        return jax.nn.gelu(x, approximate=True)

    bf16 = jnp.bfloat16
    work = {
        "gelu 8192x4096 f32": (gelu, lambda: (normal(8192, 4096),)),
        "gelu 16384x8192 bf16": (gelu, lambda: (normal(16384, 8192, dtype=bf16),)),
        "layer norm 65536x768 f32": (layer_norm, lambda: (normal(65536, 768), normal(768), normal(768))),
        "layer norm 16384x4096 bf16": (
            layer_norm,
            lambda: (normal(16384, 4096, dtype=bf16), normal(4096, dtype=bf16), normal(4096, dtype=bf16)),
        ),
        "softmax 16384x4096 f32": (lambda x: jax.nn.softmax(x, -1), lambda: (normal(16384, 4096),)),
        "standardise 10000x1000 f32": (lambda x: (x - x.mean(0)) / x.std(0), lambda: (normal(10000, 1000),)),
    }
    for name, (function, make) in work.items():
        if only and not any(part in name for part in only):
            continue
        if time.time() - STARTED > limit:
            break
        try:
            out["rows"].setdefault(name, {})["jax"] = timed(function, make())
        except Exception as error:
            out["failures"].append(f"jax {name}: {type(error).__name__}: {str(error)[:200]}")
        print("jax", name, out["rows"].get(name, {}).get("jax"), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--engines", default="torch,graph,compile,cupy,jax")
    parser.add_argument("--seconds", type=float, default=math.inf, help="start nothing new after this long")
    parser.add_argument("--only", default="", help="only rows whose name contains one of these, separated by commas")
    arguments = parser.parse_args()
    only = [part for part in arguments.only.split(",") if part]
    engines = arguments.engines.split(",")
    out = {"versions": {}, "rows": {}, "failures": []}
    for engine, run in (
        (("torch", "graph", "compile"), lambda: with_torch(engines, arguments.seconds, out, only)),
        (("cupy",), lambda: with_cupy(out, arguments.seconds, only)),
        (("jax",), lambda: with_jax(out, arguments.seconds, only)),
    ):
        if not any(e in engines for e in engine):
            continue
        try:
            run()
        except Exception as error:
            out["failures"].append(f"{engine[0]}: {type(error).__name__}: {str(error)[:300]}")
        with open(arguments.out, "w") as file:
            json.dump(out, file, indent=1)
    print("failures:", out["failures"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
