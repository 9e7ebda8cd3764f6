"""Kernels of holographic memory on a GPU beside PyTorch, from the very text that the library compiles: `python bench/hrr_gpu.py`.

Checks every kernel against float64 first (`--check` stops there, for compute-sanitizer), then times bind, bind with normalisation, unbind, bind with superposition and
cleanup, taking turns with PyTorch; medians of seven rounds. Floor: each operand read once and the result written once, at the speed of a large
copy in the same run. Needs PyTorch, CuPy and NVRTC (`CROSSOVER_NVRTC` names the file).
"""

import argparse
import ctypes
import itertools
import os
import pathlib
import struct
import tempfile

import cupy
import numpy as np
import torch

KERNELS = pathlib.Path(__file__).parent.parent / "crates/crossover-hrr/src/kernel"
FLAGS = ["--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true", "-std=c++17"]
PROCESSORS = torch.cuda.get_device_properties(0).multi_processor_count
BF16 = """
__device__ __forceinline__ float xo_widen_bf16(unsigned short b) { return __uint_as_float((unsigned)b << 16); }
__device__ __forceinline__ unsigned short xo_settle_bf16(float x) {
    unsigned u = __float_as_uint(x);
    return (unsigned short)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
"""
# As in crates/crossover-hrr/src/kernel/source.rs, which the library uses.
MEASURED = {
    32: ((8, 4), 4), 64: ((8, 8), 8), 128: ((4, 8, 4), 16), 256: ((16, 16), 16), 512: ((8, 8, 8), 64), 1024: ((8, 16, 8), 64),
    2048: ((16, 8, 16), 128), 4096: ((16, 16, 16), 256),
}
LENGTHS = [64, 128, 256, 512, 1024, 2048, 4096, 8192, 768, 1000, 1536, 210, 300, 882, 3072]
NEAREST_SHARED = 4 * 48 * 1024 + 1024


def geometry(d):
    """Radices, threads of a group, groups of a block."""
    m = d // 2
    if m in MEASURED:
        radices, group = MEASURED[m]
    else:
        group = max(32, min(512, -(-m // 256) * 32))
        fits = [r for n in range(1, 5) for r in itertools.combinations_with_replacement((16, 8, 7, 5, 4, 3, 2), n) if np.prod(r) == m]
        radices = min(fits, key=lambda r: (max(-(-(m // x) // group) * x for x in r), len(r)))
        radices = sorted(radices, key=lambda x: x in (2, 4, 8, 16))
    return [*radices, 1, 1, 1][:4], group, 128 // group if group <= 32 else 1


def compiled(text, name):
    """A function of a text, compiled with the library's flags."""
    nvrtc = ctypes.CDLL(os.environ.get("CROSSOVER_NVRTC", "libnvrtc.so.13"))
    program, length = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"hrr.cu", 0, None, None)
    major, minor = torch.cuda.get_device_capability()
    architecture = f"sm_{major}{minor}" + ("a" if major == 9 else "")
    flags = [f"--gpu-architecture={architecture}", *FLAGS]
    status = nvrtc.nvrtcCompileProgram(program, len(flags), (ctypes.c_char_p * len(flags))(*[f.encode() for f in flags]))
    if status != 0:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(length))
        log = ctypes.create_string_buffer(length.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(log.value.decode())
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(length))
    code = ctypes.create_string_buffer(length.value)
    nvrtc.nvrtcGetCUBIN(program, code)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(code.raw)
        file.flush()
        return cupy.RawModule(path=file.name).get_function(name)


class Convolve:
    """One kernel: what it does, for one length and dtype."""

    def __init__(self, d, dtype=torch.float32, correlate=False, normalise=False, total=False):
        self.d, self.dtype, self.correlate, self.normalise, self.total = d, dtype, correlate, normalise, total
        radices, group, self.groups = geometry(d)
        real = "double" if dtype == torch.float64 else "float"
        element, hold, release = ("unsigned short", "xo_widen_bf16(x)", "xo_settle_bf16(x)") if dtype == torch.bfloat16 else (real, "(x)", "(x)")
        constants = ", ".join(f"RADIX{i} = {r}" for i, r in enumerate(radices))
        flag = {True: "true", False: "false"}
        text = f"{BF16}typedef {real} real;\ntypedef {element} element;\n#define hold(x) {hold}\n#define release(x) {release}\n"
        text += f"constexpr int M = {d // 2}, T = {group}, GROUPS = {self.groups}, {constants};\n"
        text += f"constexpr bool CORRELATE = {flag[correlate]}, NORMALISE = {flag[normalise]}, SUM = {flag[total]};\n#define NAME hrr\n"
        for file in ("butterfly.cuh", "transform.cuh", "convolve.cu"):
            text += (KERNELS / file).read_text()
        self.threads, self.shared = group * self.groups, self.groups * d * 2 * (8 if real == "double" else 4)
        self.function = compiled(text, "hrr")
        self.function.max_dynamic_shared_size_bytes = self.shared

    def __call__(self, a, b, out=None):
        rows = a.numel() // self.d
        if self.total:
            blocks = max(1, min(-(-rows // (16 * self.groups)), 1024 // self.groups))
            out = torch.full((blocks * self.groups, self.d), float("nan"), device="cuda", dtype=a.dtype)
        else:
            blocks = min(-(-rows // self.groups), 16 * 132)
            out = torch.full_like(a, float("nan")) if out is None else out
        once = int(b.numel() == self.d and rows != 1)
        operands = (a.data_ptr(), b.data_ptr(), out.data_ptr(), np.int64(rows), np.int64(once))
        self.function((blocks,), (self.threads,), operands, shared_mem=self.shared)
        return out

    def truth(self, a, b):
        """The same in float64."""
        x, y = torch.fft.rfft(a.double()), torch.fft.rfft(b.double())
        made = torch.fft.irfft(x * (y.conj() if self.correlate else y), n=self.d)
        made = made / made.norm(dim=-1, keepdim=True) if self.normalise else made
        return made.sum(0) if self.total else made

    def error(self, rows, fixed):
        """Relative to the true result; the second operand is a thousand times smaller."""
        a, b = (torch.randn(rows, self.d, device="cuda", dtype=torch.float64) / self.d**0.5 for _ in range(2))
        a, b = a.to(self.dtype), (b * 1e-3).to(self.dtype)
        b = b[0].contiguous() if fixed else b
        made, true = self(a, b).double(), self.truth(a, b.expand(rows, self.d))
        made = made.sum(0) if self.total else made
        return float((made - true).norm() / true.norm())


class Cleanup:
    """Queries and items, and the kernels that find the nearest."""

    def __init__(self, queries, items, k):
        unit = torch.nn.functional.normalize
        self.q, self.x = unit(torch.randn(queries, k, device="cuda")), unit(torch.randn(items, k, device="cuda"))
        near = self.x[torch.randperm(items, device="cuda")[: queries // 2]]
        self.q[: queries // 2] = unit(self.q[: queries // 2] + 0.045 * k**0.5 * near)
        self.half_q, self.half_x = self.q.half(), self.x.half()
        along = -(-items // 256)
        self.groups = torch.empty(queries, 4 * along, device="cuda", dtype=torch.int64)
        self.winners = torch.empty(queries, device="cuda", dtype=torch.int64)
        self.sizes = [np.int64(queries), np.int64(items), np.int64(k)]
        margin = struct.unpack("<I", struct.pack("<f", 2.0**-10 * 1.01 + k * 2.0**-22))[0]
        self.rescore_sizes = [np.int64(4 * along), np.int64(items), np.int64(k), np.int64(margin)]
        self.search = compiled((KERNELS / "nearest.cu").read_text(), "hrr_nearest")
        self.search.max_dynamic_shared_size_bytes = NEAREST_SHARED
        self.again = compiled((KERNELS / "rescore.cu").read_text(), "hrr_rescore")

    def nearest(self):
        """The best of every group, by f16 operands, and of all."""
        operands = (self.half_q.data_ptr(), self.half_x.data_ptr(), self.groups.data_ptr(), *self.sizes)
        self.search((132,), (256,), operands, shared_mem=NEAREST_SHARED)
        return (self.groups ^ -(2**63)).max(-1).values ^ -(2**63)

    def exact(self):
        """Winners of exact arithmetic."""
        operands = (self.half_q.data_ptr(), self.half_x.data_ptr(), self.groups.data_ptr(), *self.sizes)
        self.search((132,), (256,), operands, shared_mem=NEAREST_SHARED)
        operands = (self.groups.data_ptr(), self.q.data_ptr(), self.x.data_ptr(), self.winners.data_ptr(), *self.rescore_sizes)
        self.again((len(self.q),), (256,), operands)
        return self.winners

    def check(self):
        scores = self.q.double() @ self.x.double().T
        true = scores.argmax(-1)
        exact, rounded = (~self.exact()) & 0xFFFFFFFF, (~self.nearest()) & 0xFFFFFFFF
        loss = float((scores.max(-1).values - scores.gather(1, rounded[:, None])[:, 0]).max())
        print(f"cleanup: exact winners {float((exact == true).double().mean()):.4f}, largest loss by f16 {loss:.1e}")
        return bool((exact == true).all()) and loss < 3e-3


def check(small):
    """Whether every kernel is right."""
    fine = True
    for d in [x for x in LENGTHS if not small or x <= 1024]:
        kinds = [{}]
        if d in (64, 210, 512, 1000, 1024, 8192):
            kinds += [{"correlate": True}, {"normalise": True}, {"total": True}, {"dtype": torch.bfloat16}, {"dtype": torch.float64}]
        for kind in kinds:
            kernel = Convolve(d, **kind)
            limit = {torch.float64: 1e-14, torch.bfloat16: 4e-3}.get(kernel.dtype, 3e-6 if kernel.total else 1e-6)
            worst = max(kernel.error(rows, fixed) for rows in ([5] if small else [1, 2, 7, 1001]) for fixed in (False, True))
            fine &= worst < limit
            print(f"{'right' if worst < limit else 'WRONG'}: d={d} {kind} {worst:.1e}")
    return Cleanup(*((70, 700, 72) if small else (1000, 100_000, 1024))).check() and fine


def race(cases, rounds=7, calls=10):
    """Medians in milliseconds, all taking turns."""
    def clock(call):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / calls

    for call in cases.values():
        for _ in range(3):
            call()
    times = {name: [] for name in cases}
    for _ in range(rounds):
        for name, call in cases.items():
            times[name].append(clock(call))
    return {name: sorted(all_)[len(all_) // 2] for name, all_ in times.items()}


def replayed(call, stream=None):
    """A call as a CUDA graph."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
        call()
    return graph.replay


def bind(a, b):
    return torch.fft.irfft(torch.fft.rfft(a) * torch.fft.rfft(b), n=a.shape[-1])


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--check", action="store_true", help="check small sizes only")
    small = arguments.parse_args().check
    if not check(small):
        raise SystemExit("a kernel is wrong")
    if small:
        return
    normal = torch.nn.functional.normalize
    source, target = torch.randn(1 << 28, device="cuda"), torch.empty(1 << 28, device="cuda")
    speed = 8 * (1 << 28) / race({"copy": lambda: target.copy_(source)})["copy"] / 1e9
    print(f"copy {speed:.2f} TB/s")
    del source, target
    for d in (512, 1024):
        a, b = (torch.randn(100_000, d, device="cuda") / d**0.5 for _ in range(2))
        out = torch.empty_like(a)
        together = torch.compile(lambda a, b: normal(bind(a, b), dim=-1))
        kernels = {"bind": Convolve(d), "unbind": Convolve(d, correlate=True), "normalise": Convolve(d, normalise=True), "sum": Convolve(d, total=True)}
        cases = {"torch": lambda: bind(a, b), "torch normalise": lambda: normal(bind(a, b), dim=-1), "compiled": lambda: together(a, b)}
        cases |= {name: (lambda kernel=kernel: kernel(a, b, out)) for name, kernel in kernels.items()}
        floor = 12 * d * 100_000 / speed / 1e9
        print(f"d={d}, 100,000 rows: floor {floor:.3f} ms")
        for name, time in race(cases).items():
            print(f"  {name:16} {time:.4f} ms, {floor / time:.2f} of the floor")
    kernel = Convolve(512)
    for rows in (1, 10, 100, 1000, 10_000):
        a, b = torch.randn(rows, 512, device="cuda"), torch.randn(rows, 512, device="cuda")
        out = torch.empty_like(a)
        cases = {"torch": lambda: bind(a, b), "torch replayed": replayed(lambda: bind(a, b)), "ours replayed": replayed(lambda: kernel(a, b, out))}
        print(f"d=512, {rows} rows, us:", {name: round(time * 1e3, 2) for name, time in race(cases, calls=50).items()})
    task = Cleanup(1000, 100_000, 1024)
    torch.backends.cuda.matmul.allow_tf32 = False
    cases = {"torch f16": lambda: (task.half_q @ task.half_x.T).max(-1), "nearest f16": task.nearest, "torch f32": lambda: (task.q @ task.x.T).max(-1), "exact": task.exact}
    print("cleanup 1000 x 100,000, d=1024, ms:", {name: round(time, 4) for name, time in race(cases, calls=5).items()})


if __name__ == "__main__":
    main()
