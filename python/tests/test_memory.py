"""Memory that is shared with NumPy: borrowed for a call, lent, given away."""

import numpy as np
import pytest

import crossover as xo


def address(array):
    return np.asarray(array).__array_interface__["data"][0]


def test_the_decorator_borrows_and_gives_memory_away(rng):
    seen = {}

    @xo.gpu
    def twice(x):
        seen["x"] = address(x)
        y = x + x
        seen["y"] = address(y)
        return y

    x = rng.normal(size=5000)
    y = twice(x)
    assert seen["x"] == address(x) and np.array_equal(y, x + x)
    assert seen["y"] == address(y) and y.flags.writeable
    y[0] = 7.0
    assert twice(x)[0] == x[0] + x[0]


def test_what_outlives_the_call_keeps_its_values(rng):
    kept = []

    @xo.gpu
    def keeps(x):
        kept.extend([x, x * 2, x[10:20]])
        return x

    x = rng.normal(size=3000)
    before = x.copy()
    result = keeps(x)
    x[:] = 0
    whole, pending, view = kept
    assert np.array_equal(np.asarray(whole), before) and np.array_equal(np.asarray(pending), before * 2)
    assert np.array_equal(np.asarray(view), before[10:20]) and np.array_equal(result, before)
    result[0] = 5.0
    assert float(whole[0]) == before[0]


def test_changes_inside_the_function_are_the_callers(rng):
    @xo.gpu
    def changes(x):
        x += 1
        return x

    x = rng.normal(size=2000)
    before = x.copy()
    assert np.array_equal(changes(x), before + 1) and np.array_equal(x, before + 1)


def test_memory_that_does_not_suit_is_copied(rng):
    @xo.gpu
    def total(x):
        return x.sum()

    x = rng.normal(size=(100, 100))
    for view in (x.T, x[::2], x[:, 1:], x.astype(">f8"), x > 0, x.astype("f4")[1:], np.zeros((0, 5000))):
        assert np.isclose(total(view), view.sum(dtype=float))
    crooked = np.frombuffer(bytes(8 * 1000 + 1), dtype="u1")[1:].view("f8")
    assert total(crooked) == 0.0


def test_errors_end_the_loan(rng):
    kept = []

    @xo.gpu
    def fails(x):
        kept.append(x)
        raise KeyError("on purpose")

    x = rng.normal(size=1000)
    before = x.copy()
    with pytest.raises(KeyError):
        fails(x)
    x[:] = 0
    assert np.array_equal(np.asarray(kept[0]), before)


def test_arrays_without_a_copy(rng):
    x = rng.normal(size=(4, 5))
    shared = xo.asarray(x, copy=False)
    assert address(shared) == address(x)
    shared += 1
    assert address(shared) != address(x), "assignment goes to a copy"
    assert np.array_equal(np.asarray(shared), x + 1)
    for unsuited in (x.T, x > 0, [1.0, 2.0], x.astype(">f8")):
        with pytest.raises(ValueError, match="copy=False"):
            xo.asarray(unsuited, copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        xo.asarray(x, dtype="float32", copy=False)


def test_a_copy_for_numpy_is_its_own():
    x = xo.arange(5)
    y = x.numpy()
    y[0] = 9
    assert x.tolist() == [0, 1, 2, 3, 4] and y.tolist() == [9, 1, 2, 3, 4]
    assert xo.asarray(1.5, dtype="bfloat16").numpy().dtype == np.float32
    assert (xo.arange(6)[::2] + 0).numpy().tolist() == [0, 2, 4]


def test_pressure_is_watched_until_it_is_closed():
    with xo.memory.on_pressure(lambda device, event: None) as watch:
        xo.exp(xo.ones(10)).eval()
    watch.close()
