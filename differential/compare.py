"""Every public operation against NumPy or SciPy; started by `cargo xtask differential`.

The worker makes random cases and computes them with Crossover; this side computes them again and compares. One process per
core takes one operation at a time. A difference is printed with the command that shows it again.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from multiprocessing import connection, get_context

import numpy as np

import arrays
import elementwise
import frames
import matrices
import numeric
from differences import DIFFERENCES
from judge import Difference, Judge

SHOWN = 3  # differences per operation that are printed in full


def checker(entry):
    """The side that knows an operation."""
    for module in (elementwise, arrays, numeric, matrices):
        if entry["name"] in module.PEERS:
            return module.check
    raise SystemExit(f"differential: {entry['name']} has no counterpart in differential/*.py")


def compare(work):
    """All cases of one operation."""
    worker, entry, cases, seed, first = work
    judge, check = Judge(entry.get("max_ulp", 0.0)), checker(entry)
    command = [worker, "--op", entry["name"], "--cases", str(cases), "--seed", str(seed), "--first", str(first)]
    # Several operations run at once; one thread each.
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    count, failures, examples, started = 0, 0, [], time.monotonic()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case in frames.read(process.stdout):
            count += 1
            try:
                check(judge, case, entry)
            except Difference as difference:
                failures += 1
                if len(examples) < SHOWN:
                    examples.append({"case": case.index, "what": f"{describe(case)}: {difference}"})
            except Exception as error:  # a peer that fails is a difference too, until a reason is given
                failures += 1
                if len(examples) < SHOWN:
                    text = f"{describe(case)}: the peer raised {type(error).__name__}: {error}"
                    examples.append({"case": case.index, "what": text})
    broken = process.wait()
    if broken or count != cases:
        examples.append({"case": count, "what": f"the worker ended with {broken} after {count} cases"})
        failures += 1
    return {
        "op": entry["name"],
        "family": entry["family"],
        "cases": count,
        "elements": judge.elements,
        "max_ulp": entry.get("max_ulp"),
        "worst": round(judge.worst, 4),
        "known": dict(judge.known),
        "differences": failures,
        "examples": examples,
        "seconds": round(time.monotonic() - started, 2),
    }


def in_turn(work, most):
    """Results as they come; each operation in a process of its own, so that a library that crashes takes only itself along."""
    context = get_context("fork")
    waiting, running = list(reversed(work)), {}

    def child(one, sender):
        sender.send(compare(one))
        sender.close()

    while waiting or running:
        while waiting and len(running) < most:
            one = waiting.pop()
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=child, args=(one, sender))
            process.start()
            sender.close()
            running[receiver] = (process, one)
        for receiver in connection.wait(list(running)):
            process, one = running.pop(receiver)
            try:
                result = receiver.recv()
            except EOFError:
                process.join()
                result = crashed(one, process.exitcode)
            process.join()
            yield result


def crashed(work, code):
    _, entry, cases, _, first = work
    what = f"the comparison itself ended with {code} (a signal, if negative), somewhere in {cases} cases"
    return {
        "op": entry["name"],
        "family": entry["family"],
        "cases": 0,
        "elements": 0,
        "max_ulp": entry.get("max_ulp"),
        "worst": 0.0,
        "known": {},
        "differences": 1,
        "examples": [{"case": first, "what": what}],
        "seconds": 0.0,
    }


def describe(case):
    kinds = ", ".join(f"{x.dtype}{list(x.shape)}" for x in case.operands)
    return f"({kinds}) {json.dumps(case.parameters)}"


def bar(done, total, name, live):
    if not live:
        return
    full = 24 * done // total
    sys.stderr.write(f"\r\x1b[K{'━' * full}{'╌' * (24 - full)} {done}/{total} {name}")
    sys.stderr.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", required=True)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--op", action="append", default=[])
    parser.add_argument("--json")
    parser.add_argument("--command", default="")
    parser.add_argument("--quiet", action="store_true", help="only differences and the totals")
    arguments = parser.parse_args()

    table = json.loads(subprocess.run([arguments.worker, "--table"], check=True, capture_output=True).stdout)
    names = {entry["name"] for entry in table}
    if unknown := [name for name in arguments.op if name not in names]:
        raise SystemExit(f"differential: no operation is called {', '.join(unknown)}; there are {', '.join(sorted(names))}")
    chosen = [entry for entry in table if not arguments.op or entry["name"] in arguments.op]
    for entry in chosen:
        checker(entry)

    work = [(arguments.worker, entry, arguments.cases, arguments.seed, arguments.first) for entry in chosen]
    live = sys.stderr.isatty()
    results = []
    bar(0, len(work), "", live)
    for result in in_turn(work, os.cpu_count() or 1):
        results.append(result)
        bar(len(results), len(work), result["op"], live)
    if live:
        sys.stderr.write("\r\x1b[K")
    order = {entry["name"]: place for place, entry in enumerate(chosen)}
    results.sort(key=lambda result: order[result["op"]])
    ok = report(results, arguments)
    if arguments.json:
        write(results, arguments)
    return 0 if ok else 1


def report(results, arguments):
    if not arguments.quiet:
        print(f"{'operation':<22}{'cases':>8}{'elements':>12}{'worst':>9}{'allowed':>9}{'differ':>8}  known differences")
    for r in results:
        known = ", ".join(f"{key} {count}" for key, count in sorted(r["known"].items()))
        allowed = f"{r['max_ulp']:g} ulp" if r["max_ulp"] is not None else "bound"
        if not arguments.quiet:
            line = f"{r['op']:<22}{r['cases']:>8}{r['elements']:>12}{r['worst']:>9.3g}{allowed:>9}{r['differences']:>8}  {known}"
            print(line.rstrip())
        for example in r["examples"]:
            print(f"    {example['what']}")
            again = f"--op {r['op']} --seed {arguments.seed} --first {example['case']} --cases 1"
            print(f"    again: cargo xtask differential {again}")
    differing = [r["op"] for r in results if r["differences"]]
    total = sum(r["cases"] for r in results)
    print(f"{len(results)} operations, {total} cases, {len(differing)} operations differ{': ' if differing else ''}{', '.join(differing)}")
    return not differing


def write(results, arguments):
    import ml_dtypes
    import scipy

    used = {key for r in results for key in r["known"]}
    document = {
        "command": arguments.command,
        "commit": subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip(),
        "cases": arguments.cases,
        "seed": arguments.seed,
        "peers": {"numpy": np.__version__, "scipy": scipy.__version__, "ml_dtypes": ml_dtypes.__version__},
        "operations": [{k: v for k, v in r.items() if k != "seconds"} for r in results],
        "known_differences": {key: DIFFERENCES[key] for key in sorted(used)},
    }
    with open(arguments.json, "w") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    sys.exit(main())
