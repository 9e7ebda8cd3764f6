"""Binding and cleanup on the CPU beside PyTorch, taking turns: `python bench/hrr.py`, after `cargo build --release -p crossover-hrr --example hrr_bench`.

Prints medians in microseconds and how many times PyTorch's speed ours is; bars: bind d=512 batch 10,000 at least 1.5, batch 1 at most 5 microseconds,
cleanup of 100 queries among 20,000 items at least 1.0. Both use two threads.
"""

import os
import pathlib
import statistics
import subprocess
import time

THREADS = 2
os.environ.setdefault("OMP_NUM_THREADS", str(THREADS))

import torch  # noqa: E402

torch.set_num_threads(THREADS)
PROGRAM = pathlib.Path(__file__).parent.parent / "target/release/examples/hrr_bench"


def bind(batch, d=512):
    """The best form that PyTorch has: real transforms."""
    a, b = torch.randn(batch, d), torch.randn(batch, d)
    return lambda: torch.fft.irfft(torch.fft.rfft(a) * torch.fft.rfft(b), n=d)


def cleanup(queries=100, items=20_000, d=1024):
    q, x = torch.nn.functional.normalize(torch.randn(queries, d)), torch.nn.functional.normalize(torch.randn(items, d))
    return lambda: (q @ x.T).max(-1)


def median(call, seconds=0.7):
    for _ in range(3):
        call()
    times, start = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        call()
        times.append((time.perf_counter() - before) * 1e6)
    return statistics.median(times)


def ours(case):
    environment = {**os.environ, "RAYON_NUM_THREADS": str(THREADS), "CROSSOVER_DEVICE": "cpu"}
    return float(subprocess.run([PROGRAM, case], capture_output=True, text=True, check=True, env=environment).stdout)


if __name__ == "__main__":
    cases = {"bind10k": bind(10_000), "bind1": bind(1), "cleanup": cleanup()}
    for case, call in cases.items():
        rounds = [(ours(case), median(call)) for _ in range(5)]
        mine, theirs = (statistics.median(column) for column in zip(*rounds))
        print(f"{case:8} ours {mine:10.1f}  PyTorch {theirs:10.1f}  {theirs / mine:.2f} times the speed")
