"""Plain NumPy code, accelerated: the decorator, and whole scripts."""

import functools
import subprocess
import sys

import numpy as np
import pytest
from numpy import cos as imported_cos

import crossover as xo


def test_numpy_goes_in_and_comes_out(rng):
    @xo.gpu
    def standardised(x):
        assert isinstance(x, xo.Array)
        return (x - np.mean(x, axis=0)) / np.std(x, axis=0), np.sum(x)

    x = rng.normal(size=(50, 4))
    result, total = standardised(x)
    assert type(result) is np.ndarray and isinstance(total, np.float64)
    assert np.allclose(result, (x - x.mean(0)) / x.std(0)) and np.isclose(total, x.sum())
    result[0, 0] = 1.0  # NumPy's own memory


def test_our_arrays_come_out_where_they_go_in():
    @xo.gpu(device="cpu")
    def twice(x):
        return x + x

    assert isinstance(twice(xo.ones(3)), xo.Array)
    assert twice([1, 2]) == [1, 2, 1, 2], "lists stay lists"


def test_modules_and_imports_inside_are_redirected(rng):
    @xo.gpu
    def inside(x):
        import numpy
        from numpy import exp
        from scipy.special import erf

        made = numpy.zeros(3) + numpy.linalg.norm(x)
        assert isinstance(made, xo.Array) and isinstance(numpy.random.random(3), xo.Array)
        assert isinstance(numpy.pi, float)
        return exp(x) + erf(x) + imported_cos(x) + made[0], numpy.float32(2.5)

    from scipy.special import erf

    x = rng.normal(size=10)
    result, number = inside(x)
    assert np.allclose(result, np.exp(x) + erf(x) + np.cos(x) + np.linalg.norm(x))
    assert number.dtype == np.float32


def test_what_we_lack_is_numpys_and_counted(rng):
    @xo.gpu
    def lacking(x):
        from scipy.ndimage import gaussian_filter

        return gaussian_filter(np.gradient(x), 1.0)

    from scipy.ndimage import gaussian_filter

    x = rng.normal(size=20)
    assert np.allclose(lacking(x), gaussian_filter(np.gradient(x), 1.0))
    names = {name for name, _, _ in xo.fallbacks()}
    assert {"numpy.gradient", "gaussian_filter"} <= {n.replace("scipy.ndimage.", "") for n in names}


def test_recursion_closures_and_errors_are_the_functions_own():
    scale = 3

    @xo.gpu
    def power(x, n=2):
        if n == 0:
            return np.ones_like(x) * scale
        return x * power(x, n - 1)

    assert power(np.array([2.0])).tolist() == [12.0]
    assert power.__name__ == "power"

    @xo.gpu
    def wrong(x):
        return x + np.ones(7)

    with pytest.raises(ValueError, match=r"\[3\] and \[7\]"):
        wrong(np.ones(3))


def test_modules_of_enclosing_functions_are_redirected_too():
    import numpy
    from numpy import exp
    from scipy import special

    count = 0

    @xo.gpu
    def inside(x):
        nonlocal count
        count += 1
        made = numpy.zeros(3)
        assert isinstance(made, xo.Array) and isinstance(exp([1.0]), xo.Array) and isinstance(special.erf([1.0]), xo.Array)
        return x + made

    assert inside(np.ones(3)).tolist() == inside(np.ones(3)).tolist() == [1.0] * 3 and count == 2

    @xo.gpu
    def later(x):
        return module.sqrt(x)

    with pytest.raises(NameError):
        later(4.0)
    import math as module

    assert later(4.0) == 2.0
    import numpy as module

    assert later(np.array([4.0])).tolist() == [2.0] and exp(0.0) == 1.0 and numpy is np


factor, total, calls = 2, np.zeros(2), 0


def halved(x):
    return x / factor


@xo.gpu
def scaled(x):
    return halved(np.asarray(x)) * factor * factor


@xo.gpu
def counted(x):
    global calls, total
    calls += 1
    total = total + x
    return looked_at_by_others(), total


def looked_at_by_others():
    return calls


@xo.gpu
def with_a_class(x):
    class Settings:
        scale = factor * np.pi

    return x * Settings.scale * eval("factor"), [one for one in range(factor)]


@xo.gpu
def countdown(n, x):
    return x if n == 0 else countdown(n - 1, np.exp(x) * 0 + n)


def test_global_names_are_those_of_now(monkeypatch):
    x = np.array([1.0, 2.0])
    assert scaled(x).tolist() == [2.0, 4.0]
    monkeypatch.setattr(sys.modules[__name__], "factor", 3)
    assert scaled(x).tolist() == [3.0, 6.0]
    scaling, many = with_a_class(x)
    assert np.allclose(scaling, x * 9 * np.pi) and many == [0, 1, 2]
    assert countdown(3, x).tolist() == [1.0, 1.0], "a function finds itself"
    monkeypatch.delattr(sys.modules[__name__], "factor")
    with pytest.raises(NameError, match="factor"):
        scaled(x)


def test_what_is_assigned_to_global_names_is_there_for_everybody():
    x = np.array([1.0, 2.0])
    for times in (1, 2, 3):
        seen, sums = counted(x)
        assert seen == calls == times
        assert type(total) is np.ndarray and total.tolist() == sums.tolist() == [times, 2.0 * times]


def test_modules_that_get_another_meaning_are_looked_up_again(monkeypatch):
    import math

    @xo.gpu
    def root(x):
        return np.sqrt(x)

    assert root(np.array([4.0])).tolist() == [2.0]
    monkeypatch.setattr(sys.modules[__name__], "np", math)
    assert root(9.0) == 3.0


@pytest.mark.parametrize("size", [4, 10_000])
def test_what_is_assigned_to_arguments_is_in_the_callers_arrays(size):
    @xo.gpu
    def changed(x, others, mask):
        x += 1
        others["y"][::2] = np.sqrt(x[::2])
        mask[0] = ~mask[0]
        return x * 2

    x, y, mask = np.ones(size), np.zeros(size), np.zeros(size, dtype=bool)
    kept = x[1:]
    assert np.all(changed(x, {"y": y}, mask) == 4.0)
    assert np.all(x == 2.0) and np.all(kept == 2.0)
    assert np.allclose(y[::2], np.sqrt(2.0)) and np.all(y[1::2] == 0) and mask[0] and not mask[1:].any()

    @xo.gpu
    def looking(x):
        kept.append(x)
        return x.sum()

    kept, large = [], np.ones(100_000)
    assert looking(large) == 100_000.0
    large[:] = 2.0
    assert float(kept[0].sum()) == 100_000.0, "what outlives the call has memory of its own"

    @xo.gpu
    def together(a, b):
        a[0] = 7.0
        return b[0]

    assert together(x, x) == 7.0 == x[0], "one array, given twice"

    @xo.gpu
    def spoilt(x):
        x[1] = 5.0
        raise KeyError("after the assignment")

    with pytest.raises(KeyError):
        spoilt(x)
    assert x[1] == 5.0
    x.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        together(x, x)


SCRIPT = """
import numpy as np
from scipy import ndimage
x = np.linspace(0, 1, 1000)
y = np.exp(-x * x)
print(type(y).__name__, round(float(y.mean()), 6))
print(np.allclose(np.unwrap(x), x))
a = np.zeros((3, 3)); a[1] = 5
print(a.sum())
"""


def test_scripts_run_unmodified_and_say_what_numpy_did(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    ran = subprocess.run([sys.executable, "-m", "crossover", "--profile", str(script)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    plain = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert ran.stdout.splitlines()[0] == plain.stdout.splitlines()[0].replace("ndarray", "Array")
    assert ran.stdout.splitlines()[1:] == plain.stdout.splitlines()[1:]
    assert f"numpy.unwrap  {script}:7" in ran.stderr and "kernels" in ran.stderr


def test_callables_that_are_no_functions_are_called():
    class Scale:
        def __init__(self, by):
            self.by = by

        def times(self, x):
            import numpy as np

            return np.multiply(x, self.by)

        def __call__(self, x):
            return x + self.by

    x = np.arange(3.0)
    assert xo.gpu(len)([1, 2]) == 2
    np.testing.assert_array_equal(xo.gpu(np.exp2)(x), [1.0, 2.0, 4.0])
    np.testing.assert_array_equal(xo.gpu(Scale(3.0).times)(x), [0.0, 3.0, 6.0])
    np.testing.assert_array_equal(xo.gpu(Scale(3.0))(x), [3.0, 4.0, 5.0])
    np.testing.assert_array_equal(xo.gpu(functools.partial(np.add, 1.0))(x), [1.0, 2.0, 3.0])
    assert isinstance(xo.gpu(np.exp2)(x), np.ndarray)
