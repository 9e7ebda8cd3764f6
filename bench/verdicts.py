"""Comparisons of a program with itself, and with one of which a workload is slower by a known share: what `crossover compare` says.

    cargo build --release --bin crossover --example slower
    python3 bench/verdicts.py --same 20 --slower 5 --percent 5 -o verdicts.json
"""

import argparse
import json
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--crossover", default="target/release/crossover", help="the command")
    parser.add_argument("--program", default="target/release/examples/slower", help="what is compared")
    parser.add_argument("--same", type=int, default=20, help="comparisons of the program with itself")
    parser.add_argument("--slower", type=int, default=5, help="comparisons with the slower one")
    parser.add_argument("--percent", type=float, default=5.0, help="how much slower that is")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds after which no comparison begins")
    parser.add_argument("-o", "--output", help="where the JSON goes; else to standard output")
    arguments = parser.parse_args()
    begin, program = time.monotonic(), Path(arguments.program).resolve()
    with tempfile.TemporaryDirectory() as folder:
        slower = Path(folder) / "slower"
        slower.write_text(f'#!/bin/sh\nSLOWER={arguments.percent} exec "{program}" "$@"\n')
        slower.chmod(slower.stat().st_mode | stat.S_IXUSR)
        # Another name for the same, so that both are started through a shell.
        same = Path(folder) / "same"
        same.write_text(f'#!/bin/sh\nSLOWER=0 exec "{program}" "$@"\n')
        same.chmod(same.stat().st_mode | stat.S_IXUSR)

        def compare(other):
            if time.monotonic() - begin > arguments.limit:
                return None
            start = time.monotonic()
            done = subprocess.run(
                [arguments.crossover, "compare", same, other, "--json"], capture_output=True, text=True
            )
            if done.returncode not in (0, 1):
                sys.exit(f"the comparison failed with {done.returncode}: {done.stderr}")
            answer = {one["name"]: [one["verdict"], round(one["ratio"], 4)] for one in json.loads(done.stdout)["results"]}
            print(f"{time.monotonic() - start:5.1f} s  {other.name}  {answer}", file=sys.stderr)
            return answer

        with_itself = [answer for _ in range(arguments.same) if (answer := compare(same))]
        with_slower = [answer for _ in range(arguments.slower) if (answer := compare(slower))]
    flagged = [answer for answer in with_itself if any(verdict in ("SLOWER", "FASTER") for verdict, _ in answer.values())]
    found = [answer for answer in with_slower if answer["normalise"][0] == "SLOWER"]
    wrong = [answer for answer in with_slower if any(v != "SAME" and v != "UNSURE" for n, (v, _) in answer.items() if n != "normalise")]
    result = {
        "command": f"python3 bench/verdicts.py --same {arguments.same} --slower {arguments.slower} --percent {arguments.percent:g}",
        "same": {"comparisons": len(with_itself), "flagged": len(flagged)},
        "slower": {"percent": arguments.percent, "comparisons": len(with_slower), "found": len(found), "others_flagged": len(wrong)},
        "answers": {"same": with_itself, "slower": with_slower},
    }
    text = json.dumps(result, indent=1) + "\n"
    if arguments.output:
        Path(arguments.output).write_text(text)
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
