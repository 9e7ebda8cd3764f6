"""What the figures were measured on: processor, memory bandwidth, commit."""

import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def limit_threads(threads: int | None) -> int:
    """Confines this process and its children to `threads` cores. Call before importing any engine."""
    available = sorted(os.sched_getaffinity(0))
    threads = min(threads or len(available), len(available))
    os.sched_setaffinity(0, available[:threads])
    for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "RAYON", "VECLIB"):
        os.environ[f"{name}_NUM_THREADS"] = str(threads)
    os.environ["NUMEXPR_MAX_THREADS"] = str(threads)
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    return threads


def processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1).strip() if found else platform.processor() or platform.machine()


def simd() -> list[str]:
    try:
        flags = re.search(r"^flags\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        flags = None
    known = {"avx2", "fma", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_bf16", "avx512_fp16", "asimd", "sve"}
    return sorted(known.intersection(flags.group(1).split())) if flags else []


def commit() -> str:
    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()

    head = git("rev-parse", "HEAD")
    return (head + ("+changes" if git("status", "--porcelain", "--untracked-files=no") else "")) or "none"


def bandwidth(threads: int) -> dict[str, float]:
    """GB/s by kind of traffic, or nothing without a C compiler."""
    compiler = next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)
    if compiler is None:
        print("memory bandwidth was NOT MEASURED: no C compiler")
        return {}
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "stream"
        source = Path(__file__).with_name("stream.c")
        flags = ["-O3", "-march=native", "-pthread"]
        built = subprocess.run([compiler, *flags, "-o", binary, source], capture_output=True, text=True)
        if built.returncode != 0:
            print(f"memory bandwidth was NOT MEASURED: {built.stderr.strip().splitlines()[-1]}")
            return {}
        run = subprocess.run([binary, str(threads)], capture_output=True, text=True, check=True)
        return json.loads(run.stdout)


class Disturbance:
    """How much of the cores other programs used while we measured."""

    def __init__(self, pids: list[int]):
        self.pids = pids
        try:
            self.began = self.read()
        except (OSError, IndexError, ValueError):
            self.began = (0, 0, 0)

    def read(self) -> tuple[int, int, int]:
        """Clock ticks of all cores, of those the busy ones, and of our own processes."""
        ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        idle = ticks[3] + ticks[4]
        own = 0
        for pid in [os.getpid(), *self.pids]:
            # Fields 14 and 15, counted after the name, which may hold spaces.
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            own += int(fields[11]) + int(fields[12])
        return sum(ticks), sum(ticks) - idle, own

    def fraction(self) -> float | None:
        """Of all core time since the start, the part that went to others; None where the system does not say."""
        try:
            (all_0, busy_0, own_0), (all_1, busy_1, own_1) = self.began, self.read()
        except (OSError, IndexError, ValueError):
            return None
        return max(0.0, ((busy_1 - busy_0) - (own_1 - own_0)) / max(1, all_1 - all_0))
