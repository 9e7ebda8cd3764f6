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


# Calls that a type checker refuses, after what they use; each has something in it that the function raises for, or takes for something else.
BEFORE = "import numpy as np\n\nimport crossover as xo\n\nx = xo.ones((2, 3))\nspace = xo.hrr.Space()\nrng = xo.random.default_rng()\n"
WRONG = [
    "xo.sum('abc')", "xo.sum(None)", "xo.sum({1, 2})", "xo.sum(x, axis='rows')", "xo.sum(x, axis=1.5)", "xo.sum(x, keepdims='yes')", "xo.sum(x, dtype=7)",
    "xo.argmax(x, axis=(0, 1))", "xo.zeros((2, 2.5))", "xo.zeros('3')", "xo.zeros(3, dtype=[1])", "xo.zeros(3, device=2.0)", "xo.reshape(x, 'C')", "x.reshape(2.0)",
    "x + None", "'a' + x", "x @ 'a'", "x < None", "x['name']", "x[1.5]", "x[0] = None", "x.astype(3)", "x.fill('a')", "x.item('a')", "x.sort(axis='rows')",
    "xo.convolve(x, x, 'ful')", "xo.pad(x, 1, 'reflection')", "xo.pad(x, 'a')", "xo.searchsorted(x, x, side='middle')", "xo.meshgrid(x, indexing='yx')",
    "xo.concat(x, axis=(0, 1))", "xo.concat(3)", "xo.where(x, 1, 'a')", "xo.clip(x, 'a')", "xo.arange('a')", "xo.linspace(0, 1, 2.5)", "xo.eye(2.0)",
    "xo.einsum(x, x)", "xo.isdtype(xo.float32, 3)", "xo.finfo(3)", "xo.histogram(x, range=3)", "xo.device(2.5)", "xo.get_runtime().can_allocate('1 GB')",
    "xo.linalg.qr(x, mode='economic')", "xo.linalg.inv('a')", "xo.linalg.matrix_norm(x, ord='frobenius')", "xo.linalg.cholesky(x, upper=2)",
    "xo.fft.fft(x, norm='orthonormal')", "xo.fft.fftn(x, axes=0.5)", "xo.fft.fftfreq('a')", "xo.signal.convolve(x, x, method='quick')",
    "xo.signal.correlate(x, x, boundary='zero')", "xo.random.default_rng('seed')", "rng.normal(size=2.5)", "rng.normal('a')", "xo.random.shuffle(3)", "xo.random.Key('a')",
    "xo.config.Config.builder().threads('two')", "xo.config.init(3)", "xo.events.set_level('loud')", "xo.memory.can_allocate('1 GB')", "xo.ray.map_batches(3, x)",
    "xo.hrr.Space('holographic')", "space.bind(x, 'a')", "space.random(2.5)", "xo.hrr.ItemMemory(3)", "xo.lattice.cube(2.5, 3)",
    "xo.lattice.cube(2, 3).shortest_path(0, 1, method='dijkstra')", "xo.embed.EmbedConfig(10, 4, layout='mixed')", "xo.embed.rotary(x, [0], pairs='halves')",
    "xo.nn.softmax('a')", "xo.gpu(len)(3)", "xo.gpu(device=2.5)",
]
# Calls that it passes: every kind of argument that a parameter takes.
RIGHT = [
    "xo.sum([[1, 2], [3, 4.0]], axis=(0, 1))", "xo.sum(range(3))", "xo.sum(np.ones(3), axis=np.int64(0))", "xo.sum(x, axis=-1, dtype=np.float32, keepdims=True)",
    "xo.sum(x, dtype='f4')", "xo.sum(x, dtype=float)", "xo.zeros(3)", "xo.zeros([2, 3], dtype=np.dtype('i4'))", "xo.zeros(x.shape)", "xo.zeros(np.int64(3))",
    "xo.asarray([x, x])", "xo.asarray([[True], [False]])", "xo.asarray(np.float32(2))", "xo.asarray(b'ab'[0])", "xo.concat((x, np.ones((1, 3)), [[1, 2, 3]]))",
    "x + 1", "1j * x", "x + [1, 2, 3]", "np.ones(3) * x", "x == None", "x == 'a'", "x[0, ..., None]", "x[[0, 1]]", "x[x > 0]", "x[1:, np.array([0])]", "x[:, x.sum(0) > 1]",
    "x[xo.argmax(x)]", "x.__setitem__((0, slice(None)), [1, 2, 3])", "x.reshape(3, 2)", "x.reshape((3, 2))", "x.transpose(1, 0)", "x.transpose()", "x.transpose((1, 0))",
    "xo.where(x > 0, 1, x)", "xo.clip(x, 0, None)", "xo.pad(x, ((1, 0), (0, 2)), 'edge')", "xo.pad(x, (1, 2))", "xo.roll(x, (1, 1), axis=(0, 1))", "xo.tile(x, 2)",
    "xo.arange(np.float32(3))", "xo.arange(0, x[0, 0], 0.5)", "xo.tensordot(x, x, axes=([0, 1], [0, 1]))", "xo.einsum('ij,ij', x, [[1, 2, 3]])",
    "xo.result_type(x, xo.int8, 'f4', 3)", "xo.isdtype(x.dtype, ('integral', xo.float32))", "xo.linalg.norm(x, float('inf'))", "xo.linalg.norm(x, 'nuc')",
    "xo.fft.fftn(x, s=(4, 4), axes=(0, 1), norm='ortho')", "rng.normal([0, 1], x[0, :2], size=(5, 2))", "rng.normal(size=None)", "xo.random.default_rng([1, 2])",
    "xo.random.default_rng(None)", "space.named(['a', 'b'])", "space.named('a')", "x.to_device(x.device)",
    "xo.gpu(lambda v: v + 1)(x)", "xo.gpu(device='cpu')(len)([1])", "float(x[0, 0])", "xo.from_dlpack(np.ones(3))", "np.asarray(x)", "np.exp(np.ones(3) + x)",
]


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


def test_wrong_arguments_are_refused_and_right_ones_pass(tmp_path):
    (tmp_path / "wrong.py").write_text(BEFORE + "\n".join(WRONG) + "\n")
    (tmp_path / "right.py").write_text(BEFORE + "\n".join(RIGHT) + "\n")
    said = [line for line in checked(str(tmp_path / "wrong.py"), str(tmp_path / "right.py")) if ": error: " in line]
    assert [line for line in said if "right.py" in line] == []
    first = BEFORE.count("\n") + 1
    refused = {int(re.search(r":(\d+): error", line)[1]) - first for line in said}
    assert [call for at, call in enumerate(WRONG) if at not in refused] == []


def test_what_type_checkers_pass_works():
    names = {}
    exec(BEFORE, names)  # noqa: S102 - the calls are ours
    for call in RIGHT:
        exec(call, names)  # noqa: S102


def test_typed_code_runs():
    ran = subprocess.run([sys.executable, str(TESTS / "typed_sample.py")], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_stubs_agree_with_the_package():
    pytest.importorskip("mypy")
    options = ["--mypy-config-file", str(TESTS / "mypy.ini"), "--allowlist", str(MEANT), "--ignore-unused-allowlist"]
    command = [sys.executable, "-m", "mypy.stubtest", "crossover", "--concise", *options]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert ran.returncode == 0, ran.stdout + ran.stderr
