"""How pip builds the package: maturin, for the stable interface of the Python at hand.

From 3.10 on that lets functions take their arguments without a tuple around them, about 30 ns per call. Python 3.9 does not have it and gets a
build of its own, which later ones could load too.
"""

import os
import sys

from maturin import *  # noqa: F403 - the hooks that pip calls

if sys.version_info < (3, 10):
    os.environ["MATURIN_PEP517_ARGS"] = " ".join(filter(None, [os.environ.get("MATURIN_PEP517_ARGS"), "--features pyo3/abi3-py39"]))
