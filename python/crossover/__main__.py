"""`python -m crossover script.py`: an unmodified NumPy script, accelerated."""

import argparse
import contextlib
import os
import runpy
import sys

import crossover as xo
from crossover._protocols import report


def main():
    """Runs the script with NumPy redirected, and says what was not accelerated."""
    parser = argparse.ArgumentParser(prog="python -m crossover", description=__doc__)
    parser.add_argument("--profile", action="store_true", help="say where the time went: kernels, copies, and what could be better")
    parser.add_argument("--quiet", action="store_true", help="do not list what NumPy computed")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if not os.path.exists(given.script):
        parser.error(f"there is no script {given.script}")
    sys.argv = [given.script, *given.arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(given.script))
    xo.install(report=False)
    seen = xo.profile(os.path.basename(given.script)) if given.profile else None
    try:
        with seen or contextlib.nullcontext():
            runpy.run_path(given.script, run_name="__main__")
    finally:
        sys.stdout.flush()
        # The script may have asked for the list itself.
        xo.install(report=False)
        if not given.quiet:
            report(sys.stderr)
        if seen is not None:
            print(f"crossover: {xo.get_runtime().stats()['launches']} kernels\n{seen.summary()}", file=sys.stderr)


if __name__ == "__main__":
    main()
