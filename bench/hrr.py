"""Binding and cleanup on the CPU beside PyTorch, taking turns: `python bench/hrr.py`, after `cargo build --release -p crossover-hrr --example hrr_bench`.

Prints medians in microseconds and how many times PyTorch's speed ours is; bars: bind d=512 batch 10,000 at least 1.5, batch 1 at most 5 microseconds,
cleanup of 100 queries among 20,000 items at least 1.0. Both use two threads.
"""

import argparse
import json
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


def machine():
    """The processor's name."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown processor")


# Name, case of the program, PyTorch's form, and the bar: a share of its speed or microseconds.
CASES = [
    ("bind d=512, 10,000 rows", "bind10k", bind(10_000), {"least_speed": 1.5}),
    ("bind d=512, one row", "bind1", bind(1), {"most_us": 5}),
    ("cleanup of 100 queries among 20,000 items, d=1024", "cleanup", cleanup(), {"least_speed": 1.0}),
]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--out", type=pathlib.Path, help="where results go, as JSON")
    arguments.add_argument("--commit", default="unknown", help="the commit that the program was built from")
    options = arguments.parse_args()
    rows = []
    for name, case, call, bar in CASES:
        rounds = [(ours(case), median(call)) for _ in range(5)]
        mine, theirs = (statistics.median(column) for column in zip(*rounds))
        rows.append({"name": name, "ours_us": mine, "torch_us": theirs, "rounds_us": rounds, **bar})
        print(f"{name}: ours {mine:.1f}  PyTorch {theirs:.1f}  {theirs / mine:.2f} times the speed", flush=True)
    document = {"command": "python bench/hrr.py --out RESULT.json", "commit": options.commit, "machine": f"{machine()}, {THREADS} threads", "torch": torch.__version__, "rows": rows}
    if options.out:
        options.out.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
