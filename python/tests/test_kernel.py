"""Kernels of the user's."""

import numpy as np
import pytest

import crossover as xo

ROW_MAX = """
extern "C" __global__ void row_max(const double* x, double* out, long long columns) {
    const double* row = x + blockIdx.x * columns;
    double best = row[0];
    for (long long c = 1; c < columns; ++c) best = row[c] > best ? row[c] : best;
    out[blockIdx.x] = best;
}
"""


@xo.gpu_kernel("out = a * x + y")
def axpy(a, x, y):
    """a x + y"""
    return a * x + y


@xo.gpu_kernel(ROW_MAX, shape=lambda x: x[:1], grid=lambda shapes, out: (shapes[0][0], 1, 0, [shapes[0][1]]))
def row_max(x):
    assert isinstance(x, np.ndarray)
    return x.max(axis=1)


def test_statements_broadcast_and_stay_lazy(rng):
    x, y = rng.normal(size=(3, 4)), rng.normal(size=4)
    made = axpy(2.0, xo.asarray(x), xo.asarray(y))
    assert isinstance(made, xo.Array) and axpy.__doc__ == "a x + y"
    assert np.array_equal(np.asarray(made), 2.0 * x + y)
    assert "axpy" in xo.explain(axpy(2.0, xo.asarray(x), xo.asarray(y)))
    assert type(axpy(x, x, y)) is np.ndarray, "NumPy in, NumPy out"
    assert axpy(xo.asarray([2], dtype="int32"), xo.asarray([3], dtype="int32"), xo.asarray([4], dtype="int32")).dtype == "int32"


def test_whole_kernels_have_shapes_of_their_own(rng):
    x = rng.normal(size=(5, 7))
    assert np.array_equal(np.asarray(row_max(xo.asarray(x)) + 1), x.max(1) + 1)
    assert np.array_equal(row_max(x.T), x.max(0)), "views are copied into row-major order"


def test_the_result_may_have_another_dtype():
    @xo.gpu_kernel("out = x > 0", output="bool")
    def is_positive(x):
        return x > 0

    assert is_positive(xo.asarray([1.0, -1.0])).tolist() == [True, False]


def test_mistakes_are_told(rng):
    with pytest.raises(TypeError, match="takes 3 arrays, 1 given"):
        axpy(xo.ones(3))
    with pytest.raises(TypeError, match="complex128"):
        axpy(xo.ones(3) * 1j, xo.ones(3) * 1j, xo.ones(3) * 1j)

    @xo.gpu_kernel("out = x")
    def fails(x):
        raise KeyError("on purpose")

    with pytest.raises(Exception, match="on purpose"):
        fails(xo.ones(3)).eval()
    with pytest.raises(TypeError, match="numba"):
        xo.gpu_kernel(3)


class Dispatcher:
    """What Numba's compiled kernels are, as far as launching one goes."""

    def __init__(self, function):
        self.py_func, self.launches = function, []

    def __getitem__(self, launch):
        def run(*arguments):
            self.launches.append(launch)
            for index in range(launch[0] * launch[1]):
                self.py_func(index, *arguments)

        return run


def test_kernels_of_numbas_write_into_their_arguments():
    @xo.gpu_kernel
    @Dispatcher
    def add_kernel(index, a, b, result):
        if index < result.size:
            result[index] = a[index] + b[index]

    result = np.zeros(300)
    add_kernel(np.arange(300.0), np.ones(300), result)
    assert result.tolist() == [n + 1.0 for n in range(300)] and add_kernel._dispatcher.launches == [(2, 256)]
    ours = xo.zeros(3)
    add_kernel(xo.arange(3.0), xo.ones(3), ours)
    assert ours.tolist() == [1.0, 2.0, 3.0]


def test_launches_may_be_of_numpys_integers():
    from crossover._kernel import _launch

    rule = lambda shapes, out: (np.prod(out) // 4, np.int64(32), 0, [np.prod(out)])  # noqa: E731
    assert _launch(rule, [[8, 2]], [8, 2]) == ([4, 1, 1], [32, 1, 1], 0, [16])
    assert _launch(lambda shapes, out: ((2, 3), [4]), [], [])[:2] == ([2, 3, 1], [4, 1, 1])
    with pytest.raises(ValueError, match="one to three axes"):
        _launch(lambda shapes, out: ((1, 2, 3, 4), 1), [], [])
