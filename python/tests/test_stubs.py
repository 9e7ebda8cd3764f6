"""The type stubs say what the package has."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent


def test_stubs_are_current():
    ran = subprocess.run([sys.executable, str(ROOT / "tools/stubs.py"), "--check"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_examples_run():
    for file in sorted((ROOT / "examples").glob("*.py")):
        ran = subprocess.run([sys.executable, str(file)], capture_output=True, text=True)
        assert ran.returncode == 0, f"{file.name}: {ran.stderr}"
