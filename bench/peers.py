#!/usr/bin/env python3
"""Times the workloads of workloads.py, ours and the peers' taking turns in one run. See README.md.

Usually started by `cargo xtask bench`, which sets up the environment and builds our worker.
"""

import argparse
import secrets
import sys
import tempfile
import traceback
from datetime import datetime, timezone
from pathlib import Path

import machine
from peer import MODULES

HERE = Path(__file__).resolve().parent


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", type=Path, metavar="FILE", help="the program that answers `bench-worker`")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--peers-only", action="store_true", help="leave ours out")
    which.add_argument("--ours-only", action="store_true", help="leave the peers out")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="workloads whose name contains NAME")
    parser.add_argument("--group", default="main", metavar="NAME", help="main, or functions: each one by itself")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the results")
    parser.add_argument("--quick", action="store_true", help="0.5 s per workload and engine instead of 3")
    parser.add_argument("--threads", type=int, metavar="N", help="cores for every engine; all when not given")
    parser.add_argument("--seed", type=int, help="of the random inputs; a new one each run when not given")
    parser.add_argument("--command", default=" ".join(["python"] + sys.argv), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.peers_only and arguments.worker is None:
        parser.error("give --worker FILE, or --peers-only")
    return arguments


def start_peers(threads: int) -> list:
    """A process per peer engine; one that cannot start is named and left out."""
    from worker import Worker, WorkerError

    started = []
    for name in MODULES:
        try:
            started.append(Worker([sys.executable, str(HERE / "peer.py"), name, str(threads)]))
        except WorkerError:
            print(f"{name} was NOT RUN: it could not be started; see above")
    return started


def contestant(workload, worker, folder: Path, reference):
    """An engine with the workload loaded and its answer checked."""
    from timing import Contestant
    from workloads import error_of

    form = worker.prepare(workload.name, folder)
    worker.run(workload.name, 1)
    error = error_of(workload, worker.output(workload.name, folder), reference)
    if error > 1.0:
        raise ArithmeticError(f"wrong answer: {error:.3g} times the tolerance")
    run = lambda count: worker.run(workload.name, count)
    return Contestant(worker.name, form, run, worker.reuses_output, error)


def measure(workload, rng, peers: list, ours, budget_s: float) -> tuple:
    """One row: what each peer took, what ours took, and how the measurement went."""
    from timing import take_turns
    from worker import write_inputs

    inputs = workload.inputs(rng)
    reference = workload.reference(inputs) if workload.reference else None
    ready, failures = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(Path(folder), inputs)
        for worker in peers + ([ours] if ours else []):
            if workload.name not in worker.workloads:
                if worker is ours:
                    failures[worker.name] = {"error": "the worker does not know this workload"}
                continue
            try:
                ready[worker.name] = contestant(workload, worker, Path(folder), reference)
            except Exception as error:  # an engine that cannot do it is a finding, not the end of the run
                failures[worker.name] = {"error": f"{type(error).__name__}: {error}"}
    mine = ready.get(ours.name) if ours else None
    others = [c for c in ready.values() if c is not mine]
    pids = [worker.process.pid for worker in peers + ([ours] if ours else [])]
    conditions = take_turns(others, mine, budget_s, pids) if ready else {"rounds": 0, "quiet_rounds": 0}
    for worker in peers + ([ours] if ours else []):
        if worker.name in ready:
            worker.drop(workload.name)
    row = {c.name: c.summary() for c in ready.values()} | failures
    our_result = row.pop(ours.name, None) if ours else None
    return row, our_result, conditions


def main() -> int:
    arguments = parse()
    threads = machine.limit_threads(arguments.threads)
    # NumPy reads the number of threads when it is imported.
    import numpy as np

    import report
    from workloads import WORKLOADS
    from timing import FEWEST_ROUNDS
    from worker import Worker, WorkerError

    group = [w for w in WORKLOADS if w.group == arguments.group]
    if not group:
        print(f"no group is called {arguments.group}; there are: {' '.join(sorted({w.group for w in WORKLOADS}))}")
        return 2
    chosen = [w for w in group if not arguments.only or any(part in w.name for part in arguments.only)]
    if not chosen:
        print(f"no workload matches; there are: {' '.join(w.name for w in group)}")
        return 2
    if arguments.peers_only:
        chosen = [w for w in chosen if not w.ours_only]
    seed = arguments.seed if arguments.seed is not None else secrets.randbits(32)
    rng = np.random.default_rng(seed)
    bandwidth = machine.bandwidth(threads)
    print(f"{machine.processor()}, {threads} threads, seed {seed}")
    peers = [] if arguments.ours_only else start_peers(threads)
    ours = None
    rows, results = [], []
    try:
        if not arguments.peers_only:
            try:
                ours = Worker([str(arguments.worker), "bench-worker", "--threads", str(threads)])
            except (OSError, WorkerError) as error:
                print(f"{arguments.worker} bench-worker could not be started: {error}")
                return 1
        for workload in chosen:
            print(f"  {workload.title} …", flush=True)
            row, mine, conditions = measure(workload, rng, peers, ours, 0.5 if arguments.quick else 3.0)
            for name, engine in (row | ({"ours": mine} if mine else {})).items():
                if "error" in engine:
                    print(f"    {name}: {engine['error']}")
            if conditions["rounds"] and conditions["quiet_rounds"] < FEWEST_ROUNDS:
                share = conditions["other_programs_core_share"] or 0.0
                print(f"    disturbed: other programs used {share:.0%} of the cores, no {FEWEST_ROUNDS} quiet rounds")
            rows.append((workload, row, mine, report.judge(workload, row, mine)))
            results.append(report.record(*rows[-1], conditions))
    finally:
        for worker in peers + ([ours] if ours else []):
            worker.close()

    # Again at the end: the better of two moments is nearer to what the memory can do.
    for kind, rate in machine.bandwidth(threads).items():
        bandwidth[kind] = max(rate, bandwidth.get(kind, 0.0))
    print("\n" + report.table(rows, [peer.name for peer in peers], ours is not None))
    print("\nmemory GB/s: " + ", ".join(f"{kind} {rate:g}" for kind, rate in bandwidth.items()))
    document = {
        "command": arguments.command,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "commit": machine.commit(),
        "seed": seed,
        "processor": machine.processor(),
        "simd": machine.simd(),
        "threads": threads,
        "bandwidth_gb_per_s": bandwidth,
        "versions": {worker.name: worker.version for worker in peers + ([ours] if ours else [])},
        "results": results,
    }
    path = arguments.json or report.default_path(HERE / "results", machine.processor(), threads, arguments.group)
    report.write(path, document)
    print(f"\nwritten to {path.relative_to(machine.ROOT) if path.is_relative_to(machine.ROOT) else path}")
    return 1 if any(verdict["met"] is False for *_, verdict in rows) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception:
        traceback.print_exc()
        sys.exit(1)
