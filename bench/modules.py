"""Iterators, lattices and embeddings on a CPU beside what others take for it: `cargo xtask modules` builds the programs and calls this.

Each round runs the programs, which time ours and what stands beside it in turns, and then SciPy's breadth-first search over the same lattices. Figures are medians
of the rounds in microseconds. Nothing else should run meanwhile; the file says how much of the cores other programs used.
"""

import argparse
import datetime
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time

import machine

THREADS = 2
# Work, which figure of it, at most how much of what: a bar of the project.
BARS = [
    ("par_iter map of 10000 items", "ours_us", 1.1, "rayon_us"),
    ("par_iter map of 1000000 items", "ours_us", 1.1, "rayon_us"),
    ("par::spawn of a task", "ours_us", 2.0, "µs"),
    ("scope.spawn of a task, run and dropped", "ours_us", 2.0, "µs"),
    ("path of 199 vertices among 10,000, nothing in the way", "ours_us", 5.0, "µs"),
    ("path of 199 vertices among 10,000, a quarter blocked", "ours_us", 200.0, "µs"),
    ("distances in 1000 × 1000, nothing in the way", "ours_us", 0.6, "scipy_us"),
    ("distances in 1000 × 1000, a quarter blocked", "ours_us", 0.6, "scipy_us"),
    ("xor_transform of 5 elements", "ours_us", 2.0, "µs"),
    ("xor_transform of 256 MiB", "ours_us", 1.1, "copy_us"),
    ("xor_in_place of 256 MiB", "ours_us", 1.1, "copy_us"),
    ("lookup of 16384 of 50000 rows of 512 f32", "mapped_us", 1.2, "memory_us"),
    ("lookup of 4096 of 200000 rows of 128 f32", "mapped_us", 1.2, "memory_us"),
]


def free(sizes, blocked):
    """Which vertices can be entered: all, or those that `bars.rs` leaves; the border is always free."""
    import numpy as np

    every = np.arange(sizes[0] * sizes[1], dtype=np.uint64)
    out = ~((every * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(62) == 0) if blocked else np.ones(len(every), dtype=bool)
    out = out.reshape(sizes)
    out[0] = out[-1] = True
    out[:, 0] = out[:, -1] = True
    return out


def graph(sizes, blocked):
    """The lattice as a matrix of edges."""
    import numpy as np
    from scipy.sparse import csr_matrix

    numbers, open_ = np.arange(sizes[0] * sizes[1], dtype=np.int32).reshape(sizes), free(sizes, blocked)
    pairs = []
    for one, two in ((np.s_[:-1], np.s_[1:]), (np.s_[:, :-1], np.s_[:, 1:])):
        both = open_[one] & open_[two]
        pairs += [(numbers[one][both], numbers[two][both]), (numbers[two][both], numbers[one][both])]
    rows, columns = (np.concatenate(side) for side in zip(*pairs))
    return csr_matrix((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(numbers.size,) * 2)


def searched(seconds):
    """Median microseconds of SciPy's search over lattices that stand ready, by name of the work."""
    from scipy.sparse.csgraph import breadth_first_order

    found = {}
    for sizes, work in (((100, 100), "path of 199 vertices among 10,000"), ((1000, 1000), "distances in 1000 × 1000")):
        for blocked, way in ((False, "nothing in the way"), (True, "a quarter blocked")):
            matrix = graph(sizes, blocked)
            times, began = [], time.perf_counter()
            while len(times) < 5 or time.perf_counter() - began < seconds:
                start = time.perf_counter()
                breadth_first_order(matrix, 0, directed=True, return_predecessors=True)
                times.append(1e6 * (time.perf_counter() - start))
            found[f"{work}, {way}"] = statistics.median(times)
    return found


def others():
    """The share of the cores that other programs use while this one waits."""
    watch = machine.Disturbance([])
    time.sleep(0.5)
    return watch.fraction()


def run(program):
    """The figures that a program prints, by name."""
    lines = subprocess.run([program, "--json"], capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    return {row.pop("name"): row for row in rows}


def judged(figures):
    """Bars, and whether they are met."""
    for name, figure, most, of in BARS:
        here = figures.get(name, {})
        ours, theirs = here.get(figure), 1.0 if of == "µs" else here.get(of)
        if ours is not None and theirs is not None:
            yield {"name": name, "most": most, "of": of.removesuffix("_us"), "is": ours / theirs, "met": ours <= most * theirs}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("programs", nargs="+", help="the built examples")
    arguments.add_argument("--rounds", type=int, default=5, help="how often each program runs")
    arguments.add_argument("--out", type=pathlib.Path, help="where results go; bench/results/modules-cpu-<processor>-<date>.json when not given")
    arguments.add_argument("--command", default="cargo xtask modules", help="what to write down as the command")
    options = arguments.parse_args()
    threads = machine.limit_threads(THREADS)
    import numpy
    import scipy

    collected, load = {}, []
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        load.append(others())
        for program in options.programs:
            for name, row in run(program).items():
                for figure, value in row.items():
                    collected.setdefault(name, {}).setdefault(figure, []).append(value)
        for name, value in searched(0.5).items():
            collected.setdefault(name, {}).setdefault("scipy_us", []).append(value)
    figures = {name: {figure: statistics.median(values) for figure, values in row.items()} for name, row in collected.items()}
    bars = list(judged(figures))
    processor, day = machine.processor(), datetime.datetime.now(datetime.timezone.utc)
    document = {
        "command": options.command,
        "date": day.isoformat(timespec="seconds"),
        "commit": machine.commit(),
        "processor": processor,
        "simd": machine.simd(),
        "threads": threads,
        "versions": {"numpy": numpy.__version__, "scipy": scipy.__version__},
        "rounds": options.rounds,
        "other_programs_core_share": max((share for share in load if share is not None), default=None),
        "bars": bars,
        "figures": [{"name": name, **row, "rounds": collected[name]} for name, row in figures.items()],
    }
    for name, row in figures.items():
        print(f"{name}: " + ", ".join(f"{figure.removesuffix('_us')} {value:.2f} µs" for figure, value in row.items()))
    for bar in bars:
        print(f"{'met   ' if bar['met'] else 'MISSED'} {bar['name']}: {bar['is']:.2f} of {bar['of']}, at most {bar['most']}")
    slug = re.sub(r"[^a-z0-9]+", "-", processor.lower()).strip("-")
    out = options.out or machine.ROOT / f"bench/results/modules-cpu-{slug}-{threads}t-{day:%Y-%m-%d}.json"
    out.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    print(f"written to {out}")
    sys.exit(0 if all(bar["met"] for bar in bars) else 1)


if __name__ == "__main__":
    main()
