"""Holographic memory on a GPU beside PyTorch and CuPy: `python bench/hrr_gpu.py TEXTS --program crossover-gpu-test --out RESULT.json`.

TEXTS is a folder as `cargo run -p crossover-hrr --example hrr_texts -- TEXTS` writes it: the very text that the library compiles, and its launches. Every kernel
is first checked against float64, results poisoned; then all take turns, medians of seven rounds by the device's clock. `graph` replays PyTorch's calls as
one CUDA graph, `compile` is `torch.compile`. With --program the library is timed through its runtime by that program too, between two halves of the
rounds. Floor: each operand read once and the result written once, at the speed of a large copy in the same run. `--check` stops after the checks.
"""

import argparse
import ctypes
import functools
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

import cupy
import torch

FLAGS = ["--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true", "-std=c++17"]
PROCESSORS = torch.cuda.get_device_properties(0).multi_processor_count
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f64": torch.float64, "f16": torch.float16}
LIMITS = {"f32": 1e-6, "bf16": 4e-3, "f64": 1e-14}
ROUNDS = 7
CUDA = ctypes.CDLL("libcuda.so.1")
torch.empty(1, device="cuda")  # The driver needs PyTorch's context.
unit = torch.nn.functional.normalize


def compiled(text):
    """A module of a text, compiled with the library's flags."""
    nvrtc = ctypes.CDLL(os.environ.get("CROSSOVER_NVRTC", "libnvrtc.so.13"))
    program, length = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"hrr.cu", 0, None, None)
    major, minor = torch.cuda.get_device_capability()
    flags = [f"--gpu-architecture=sm_{major}{minor}" + ("a" if major == 9 else ""), *FLAGS]
    status = nvrtc.nvrtcCompileProgram(program, len(flags), (ctypes.c_char_p * len(flags))(*[f.encode() for f in flags]))
    if status != 0:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(length))
        log = ctypes.create_string_buffer(length.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(log.value.decode())
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(length))
    code = ctypes.create_string_buffer(length.value)
    nvrtc.nvrtcGetCUBIN(program, code)
    module = ctypes.c_void_p()
    driver("cuModuleLoadData", ctypes.byref(module), code.raw)
    return module


def driver(name, *arguments):
    status = getattr(CUDA, name)(*arguments)
    if status != 0:
        raise RuntimeError(f"{name}: error {status}")


def tensor_map(address, dims, strides, tile):
    """A description of rows of f16 for the copy engine, which swizzles 128 bytes."""
    raw = (ctypes.c_ubyte * 256)()
    aligned = (ctypes.addressof(raw) + 127) // 128 * 128
    numbers = lambda kind, values: (kind * len(values))(*values[::-1])  # noqa: E731
    driver(
        "cuTensorMapEncodeTiled", ctypes.c_void_p(aligned), 6, len(dims), ctypes.c_void_p(address), numbers(ctypes.c_uint64, dims),
        numbers(ctypes.c_uint64, strides), numbers(ctypes.c_uint32, tile), numbers(ctypes.c_uint32, [1] * len(dims)), 0, 3, 3, 0,
    )
    return raw, aligned


class Kernel:
    """A case of the list: what the library would launch."""

    def __init__(self, case, modules):
        self.case, self.name, self.dtype = case, case["name"], DTYPES[case["dtype"]]
        program, module = case["program"], modules[case["file"]]
        self.scratch = torch.empty(program["scratch"], dtype=torch.uint8, device="cuda") if program["scratch"] else None
        self.launches, self.maps = [], {}
        for grid in program["launches"]:
            function = ctypes.c_void_p()
            driver("cuModuleGetFunction", ctypes.byref(function), module, grid["entry"].encode())
            driver("cuFuncSetAttribute", function, 8, grid["shared"])
            x, y, z = grid["blocks"]
            blocks = (x if x == grid["most"][0] else min(x, grid["most"][0] * PROCESSORS), y, z)
            self.launches.append((grid["entry"], function, blocks, grid["threads"], [self.argument(*given) for given in grid["arguments"]], grid["shared"]))

    def argument(self, kind, value, *rest):
        """A value that stays, and where it is; a map of an operand is made when that is known."""
        if kind == "operand map":
            return value, rest
        if kind == "map":
            return tensor_map(self.scratch.data_ptr() + value, *rest)
        held = (ctypes.c_int64 if kind == "integer" else ctypes.c_float)(value)
        return held, ctypes.addressof(held)

    def result(self, dtype=None):
        """Memory for the result, poisoned."""
        dtype = dtype or self.dtype
        poison = -1 if dtype == torch.int64 else float("nan")
        return torch.full(self.case["result"], poison, device="cuda", dtype=dtype)

    def addresses(self, arguments, operands):
        """Where the values of a launch are; maps of operands are kept, with what they are maps of."""
        for value, where in arguments:
            if isinstance(where, tuple):
                key = (value, operands[value].data_ptr(), where[0][0])
                if key not in self.maps:
                    self.maps[key] = tensor_map(operands[value].data_ptr(), *where)
                yield self.maps[key][1]
            else:
                yield where

    def __call__(self, operands, out):
        tensors = (*operands, out) if self.scratch is None else (*operands, out, self.scratch)
        values = [ctypes.c_uint64(x.data_ptr()) for x in tensors]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        for _, function, blocks, threads, arguments, shared in self.launches:
            addresses = [*map(ctypes.addressof, values), *self.addresses(arguments, operands)]
            driver("cuLaunchKernel", function, *blocks, *threads, shared, stream, (ctypes.c_void_p * len(addresses))(*addresses), None)
        return out


def truth(name, a, b):
    """What a case of binding gives, in float64."""
    x, y = torch.fft.rfft(a.double()), torch.fft.rfft(b.double())
    made = torch.fft.irfft(x * (y.conj() if name.startswith("unbind") else y), n=a.shape[-1])
    if "normalise" in name:
        made = unit(made, dim=-1)
    return made.sum(0) if "superpose" in name else made


def vectors(case):
    """Random operands of a case of binding; the second is a thousand times smaller."""
    d = case["operands"][0][-1]
    a, b = (torch.randn(shape, device="cuda", dtype=torch.float64) / d**0.5 for shape in case["operands"])
    return a.to(DTYPES[case["dtype"]]), (b * 1e-3).to(DTYPES[case["dtype"]])


def items(case):
    """Queries and items of a case of cleanup; half of the queries resemble an item."""
    (queries, k), (count, _) = case["operands"]
    q, x = unit(torch.randn(queries, k, device="cuda")), unit(torch.randn(count, k, device="cuda"))
    near = x[torch.randperm(count, device="cuda")[: queries // 2]]
    q[: queries // 2] = unit(q[: queries // 2] + 0.045 * k**0.5 * near)
    # Items that are rounded already are compared as they are.
    return (q * (1 - 1e-6)).to(DTYPES[case["dtype"]]), (x * (1 - 1e-6)).to(DTYPES[case["dtype"]])


def check(kernel):
    """Whether a kernel is right, and a line that says how."""
    if kernel.name.startswith("cleanup"):
        q, x = items(kernel.case)
        found = kernel((q, x), kernel.result(torch.int64))
        scores = q.double() @ x.double().T
        share = float(((~found & 0xFFFFFFFF) == scores.argmax(-1)).double().mean())
        return share == 1.0, f"winners of exact arithmetic: {share:.4f}"
    a, b = vectors(kernel.case)
    made = kernel((a, b), kernel.result()).double()
    made = made.sum(0) if "superpose" in kernel.name else made
    true = truth(kernel.name, a, b)
    error = float((made - true).norm() / true.norm())
    limit = LIMITS[kernel.case["dtype"]] * (3 if "superpose" in kernel.name else 1)
    return error < limit, f"error {error:.1e}"


def clocked(call, calls):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(calls):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / calls


def race(cases, calls=10, rounds=ROUNDS):
    """Medians in milliseconds, all taking turns."""
    for call in cases.values():
        for _ in range(3):
            call()
    times = {name: [] for name in cases}
    for _ in range(rounds):
        for name, call in cases.items():
            times[name].append(clocked(call, calls))
    return {name: statistics.median(all_) for name, all_ in times.items()}


def replayed(call):
    """A call of PyTorch or of ours as a CUDA graph."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def bind(a, b):
    return torch.fft.irfft(torch.fft.rfft(a) * torch.fft.rfft(b), n=a.shape[-1])


def peers_of(name, a, b):
    """The forms that other libraries have for a case of binding."""
    def form(x, y):
        y = y.expand_as(x)
        made = bind(x, y) if not name.startswith("unbind") else torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(y).conj(), n=x.shape[-1])
        made = unit(made, dim=-1) if "normalise" in name else made
        return unit(made.sum(0), dim=-1) if "superpose" in name else made

    cases = {"torch": lambda: form(a, b)}
    if a.dtype != torch.float32:
        return {"torch": lambda: form(a.float(), b.float()).to(a.dtype)}
    if a.shape[0] <= 10_000 or "normalise" in name:
        cases["graph"] = replayed(lambda: form(a, b))
    if a.shape[0] == 100_000 and (name.startswith("bind d=") or "normalise" in name):
        together = torch.compile(form)
        cases["compile"] = lambda: together(a, b)
    if name.startswith("bind d=") or "normalise" in name:
        x, y = cupy.asarray(a), cupy.asarray(b)

        def by_cupy():
            made = cupy.fft.irfft(cupy.fft.rfft(x) * cupy.fft.rfft(y), n=x.shape[-1])
            return made / cupy.linalg.norm(made, axis=-1, keepdims=True) if "normalise" in name else made

        cases["cupy"] = by_cupy
    return cases


def row_of_bind(kernel):
    a, b = vectors(kernel.case)
    out = kernel.result()
    small = a.shape[0] <= 10_000
    ours = lambda: kernel((a, b), out)  # noqa: E731
    times = race(peers_of(kernel.name, a, b) | {"kernel": replayed(ours) if small else ours}, calls=50 if small else 10)
    return {"bytes": sum(x.nbytes for x in (a, b)) + (0 if "superpose" in kernel.name else out.nbytes), "ms": times}


def row_of_cleanup(kernel):
    q, x = items(kernel.case)
    out = kernel.result(torch.int64)
    if q.dtype == torch.float16:
        # What `ItemMemory::compact` launches: PyTorch's operands are the same.
        cases = {"torch f16": lambda: (q @ x.T).max(-1), "kernel f16": lambda: kernel((q, x), out)}
        return {"bytes": q.nbytes + x.nbytes + out.nbytes, "ms": race(cases, calls=5)}
    half_q, half_x = q.half(), x.half()
    torch.backends.cuda.matmul.allow_tf32 = False
    cases = {"torch f32": lambda: (q @ x.T).max(-1), "torch f16": lambda: (half_q @ half_x.T).max(-1), "kernel exact": lambda: kernel((q, x), out)}
    return {"bytes": q.nbytes + x.nbytes + out.nbytes, "ms": race(cases, calls=5)}


SUPERPOSED = {"weighted superpose of 1000 sets, 1000x1000x512": 1000, "weighted superpose of one set, 1000x1000x512": None}


def row_of_superpose(sets):
    """Weighted sums and a normalisation: of one set of vectors for each row of weights, or of one set that all rows share."""
    torch.backends.cuda.matmul.allow_tf32 = False
    w = torch.rand(1000, 1000, device="cuda")
    v = torch.randn(*([sets] if sets else []), 1000, 512, device="cuda")

    def summed(w, v):
        return unit((w[..., None] * v).sum(-2), dim=-1)

    def multiplied(w, v):
        return unit((w[:, None] @ v)[:, 0] if sets else w @ v, dim=-1)

    x, y = cupy.asarray(w), cupy.asarray(v)

    def by_cupy():
        made = (x[:, None] @ y)[:, 0] if sets else x @ y
        return made / cupy.linalg.norm(made, axis=-1, keepdims=True)

    product = torch.compile(multiplied)
    cases = {"torch": lambda: multiplied(w, v), "graph": replayed(lambda: multiplied(w, v)), "compile": lambda: product(w, v), "cupy": by_cupy}
    if sets:
        together = torch.compile(summed)
        cases["compile sum"] = lambda: together(w, v)
    return {"bytes": w.nbytes + v.nbytes + 4 * 1000 * 512, "ms": race(cases, calls=10 if sets else 50)}


def through_the_runtime(program):
    """Figures of the library itself, by name."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder, "--only", "hrr", "--rows", "rows=,weighted,waited for,exact,compact"], check=False)
        return json.loads((pathlib.Path(folder) / "gpu-test.json").read_text())["figures"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("texts", type=pathlib.Path)
    arguments.add_argument("--check", action="store_true", help="stop after the checks")
    arguments.add_argument("--program", help="crossover-gpu-test, to time the library through its runtime in the same run")
    arguments.add_argument("--out", type=pathlib.Path, help="where results go, as JSON")
    arguments.add_argument("--commit", default="unknown", help="the commit that all was built from")
    options = arguments.parse_args()
    cases = json.loads((options.texts / "texts.json").read_text())
    modules = {file: compiled((options.texts / file).read_text()) for file in {case["file"] for case in cases}}
    kernels = [Kernel(case, modules) for case in cases]
    checks = []
    for kernel in kernels:
        is_right, line = check(kernel)
        print(f"{'right' if is_right else 'WRONG'}: {kernel.name}: {line}", flush=True)
        checks.append({"name": kernel.name, "ok": is_right, "detail": line})
    if not all(check["ok"] for check in checks):
        raise SystemExit("a kernel is wrong")
    if options.check:
        return
    source, target = torch.randn(1 << 28, device="cuda"), torch.empty(1 << 28, device="cuda")
    speed = 8 * (1 << 28) / race({"copy": lambda: target.copy_(source)})["copy"] / 1e9
    del source, target
    runtime = through_the_runtime(options.program) if options.program else []
    rows = []
    measured = {kernel.name: functools.partial(row_of_cleanup if kernel.name.startswith("cleanup") else row_of_bind, kernel) for kernel in kernels}
    measured.update({name: functools.partial(row_of_superpose, sets) for name, sets in SUPERPOSED.items()})
    for name, measure in measured.items():
        try:
            row = measure()
        except Exception as error:  # One form that a library lacks costs one row.
            print(f"{name}: {error}", flush=True)
            continue
        row = {"name": name, "floor_ms": row["bytes"] / speed / 1e9, **row}
        rows.append(row)
        print(f"{name}: floor {row['floor_ms']:.4f}", {form: round(time, 5) for form, time in row["ms"].items()}, flush=True)
    again = through_the_runtime(options.program) if options.program else []
    document = {
        "command": "python bench/hrr_gpu.py TEXTS --program crossover-gpu-test --out RESULT.json",
        "commit": options.commit,
        "device": torch.cuda.get_device_name(0),
        "torch": torch.__version__,
        "cupy": cupy.__version__,
        "copy_TB_s": speed,
        "checks": checks,
        "rows": rows,
        "runtime": [{"before": before, "after": after} for before, after in zip(runtime, again)],
    }
    if options.out:
        options.out.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
