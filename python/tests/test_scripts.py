"""Lines of NumPy code, run by NumPy and once more with NumPy redirected: the results agree in value, dtype and shape.

Each line of `scripts.txt` is a script of its own, which leaves its result in `r`; `\\n` stands for the end of a line in it. What this
library lacks is computed by NumPy there, and must be as right as the rest.
"""

import pathlib
import warnings

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.special

import crossover as xo
from crossover._redirect import redirected

LINES = [line for line in (pathlib.Path(__file__).parent / "scripts.txt").read_text().splitlines() if line and not line.startswith("#")]


MODULES = {"np": np, "la": scipy.linalg, "sf": scipy.fft, "ss": scipy.special, "nd": scipy.ndimage, "sg": scipy.signal}
VALUES = {
    "P": [[4.0, 2.0, 1.0], [2.0, 5.0, 3.0], [1.0, 3.0, 6.0]], "G": [[1.0, 2.0, -1.0], [0.5, 3.0, 4.0], [2.0, 1.0, 7.0]],
    "T": [[1.0, 2.0], [0.5, -1.0], [3.0, 1.0], [2.0, 5.0]],
}
IMAGE = [[1, 5, 2, 8], [7, 3, 9, 4], [6, 0, 2, 5]]


def run(line, module):
    """The result of a script that finds modules as `module` gives them, or the exception that ended it."""
    names = {name: module(theirs) for name, theirs in MODULES.items()}
    names.update({name: names["np"].array(values) for name, values in VALUES.items()})
    names.update({"I": names["np"].array(IMAGE, dtype=np.int16), "__name__": "script"})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(line.replace("\\n", "\n"), names)  # noqa: S102 - the scripts are ours
    except Exception as error:  # noqa: BLE001 - it is what is compared
        return error
    return names["r"]


def agree(theirs, ours):
    """Whether two results are the same, numbers within rounding. Where NumPy has a number of its own, ours may be an array without axes."""
    if isinstance(theirs, (list, tuple)):
        return len(theirs) == len(ours) and all(agree(*pair) for pair in zip(theirs, ours))
    if isinstance(ours, xo.Array):
        ours = np.asarray(ours)
    a, b = np.asarray(theirs), np.asarray(ours)
    if a.dtype.kind not in "biufc":
        return bool(np.all(a == b))
    if isinstance(theirs, (np.ndarray, np.generic)) and isinstance(ours, (np.ndarray, np.generic)) and a.dtype != b.dtype:
        return False
    tolerance = 1e-9 if a.dtype.itemsize >= 8 else 1e-3 if a.dtype.itemsize == 2 else 1e-5
    return a.shape == b.shape and np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=a.dtype.kind in "fc")


@pytest.mark.parametrize("line", LINES)
def test_lines_of_numpy_code(line):
    theirs, ours = run(line, lambda module: module), run(line, redirected)
    if isinstance(theirs, AttributeError):
        pytest.skip(f"NumPy {np.__version__}: {theirs}")
    if isinstance(theirs, Exception):
        # NumPy has private subclasses, which nobody catches by name.
        known = next(kind for kind in type(theirs).__mro__ if kind.__module__ == "builtins")
        assert isinstance(ours, known), f"NumPy raises {theirs!r}; here {ours!r}"
        return
    if isinstance(ours, Exception):
        raise ours
    assert agree(theirs, ours), f"NumPy: {theirs!r}; here: {ours!r}"


def test_elements_are_numbers_and_rows_are_views():
    x = xo.asarray([1.0, 2.0, 3.0])
    first = x[0]
    x[0], x[2] = x[2], first
    assert x.tolist() == [3.0, 2.0, 1.0], "the exchange of two elements"
    for element in x:
        element += 1
    assert x.tolist() == [3.0, 2.0, 1.0], "an element is not the array's memory"
    y = xo.exp(x)
    last, before = y[2], float(y[2])
    y[2] = 0.0
    assert float(last) == before, "nor is one that was not computed yet"
    total = x.sum()
    kept, total_before = total, float(total)
    total += 1
    assert float(kept) == total_before == float(total) - 1, "numbers do not change"
    whole = x[1, ...]
    x[1] = 9.0
    assert float(whole) == 9.0, "an ellipsis asks for a view"
    assert {x[0]: "a"}[3.0] == "a" and len(set(xo.asarray([1, 2, 2]))) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
