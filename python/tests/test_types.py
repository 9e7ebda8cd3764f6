"""What type checkers know of the package: its stubs agree with it, and code that uses it passes, that of the documentation too."""

import inspect
import os
import pathlib
import re
import subprocess
import sys

import pytest

import crossover as xo

TESTS = pathlib.Path(__file__).parent
GUIDE = TESTS.parent.parent / "docs/python.md"
# What the examples of the guide leave to its reader.
READERS = """from typing import Any
fn: Any
data: Any
step: Any
queries: Any
items: Any
"""
# Differences between the stubs and the package that are meant; a name to each, as stubtest spells it.
MEANT = TESTS / "stubtest-allowlist.txt"


def environment():
    """Where the checker finds the package, unless it is installed."""
    home = pathlib.Path(xo.__file__).parent.parent
    return os.environ if home.name == "site-packages" else {**os.environ, "MYPYPATH": str(home)}


def checked(*files):
    """What the type checker says of some files: a line for each mistake in them."""
    pytest.importorskip("mypy")
    options = ["--follow-imports=silent", "--check-untyped-defs", "--no-error-summary", f"--cache-dir={os.devnull}"]
    ran = subprocess.run([sys.executable, "-m", "mypy", *options, *files], capture_output=True, text=True, env=environment())
    assert not ran.stderr, ran.stderr
    return ran.stdout.splitlines()


def guide():
    """The Python code of the guide, one block after another."""
    return re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)


def test_typed_code_passes_and_what_is_missing_does_not(tmp_path):
    sample = (TESTS / "typed_sample.py").read_text()
    modules = [name for name in dir(xo) if inspect.ismodule(getattr(xo, name))]
    assert [name for name in modules if f"xo.{name}." not in sample] == []
    blocks = guide()
    assert len(blocks) > 5
    (tmp_path / "guide.py").write_text(READERS + "\n".join(blocks))
    places = ["xo", "xo.Config.builder()", "xo.get_runtime()", "xo.ones(1)", "xo.profile()", "xo.float32", *(f"xo.{name}" for name in modules)]
    wrong = "import crossover as xo\n" + "".join(f"{place}.no_such_name\n" for place in places)
    (tmp_path / "wrong.py").write_text(wrong)
    said = checked(str(TESTS / "typed_sample.py"), str(tmp_path / "guide.py"), str(tmp_path / "wrong.py"))
    assert [line for line in said if "wrong.py" not in line] == []
    assert [line.split(":")[1] for line in said] == [str(2 + at) for at in range(len(places))], said


def test_typed_code_runs():
    ran = subprocess.run([sys.executable, str(TESTS / "typed_sample.py")], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_stubs_agree_with_the_package():
    pytest.importorskip("mypy")
    options = ["--mypy-config-file", str(TESTS / "mypy.ini"), "--allowlist", str(MEANT), "--ignore-unused-allowlist"]
    command = [sys.executable, "-m", "mypy.stubtest", "crossover", "--concise", *options]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert ran.returncode == 0, ran.stdout + ran.stderr
