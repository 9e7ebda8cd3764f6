"""Functions beyond the standard, against NumPy."""

import numpy as np
import pytest

import crossover as xo

X = np.random.default_rng(3).normal(size=(4, 6))
V = np.array([3.0, 1.0, 2.0, 1.0])

CALLS = {
    "array": lambda m: m.array([[1, 2]], dtype=m.float32, ndmin=3),
    "transpose": lambda m: m.transpose(m.asarray(X), (1, 0)),
    "swapaxes": lambda m: m.swapaxes(m.asarray(X)[None], 0, 2),
    "ravel": lambda m: m.ravel(m.asarray(X).T),
    "cumprod": lambda m: m.cumprod(m.asarray(X), axis=1),
    "average": lambda m: m.average(m.asarray(X), axis=0, weights=m.asarray(V)),
    "ptp": lambda m: m.ptp(m.asarray(X), axis=1),
    "nansum": lambda m: m.nansum(m.asarray([1.0, m.nan, 2.0])),
    "nanmean": lambda m: m.nanmean(m.asarray([[1.0, m.nan], [2.0, 4.0]]), axis=0),
    "nanmax": lambda m: m.nanmax(m.asarray([1.0, m.nan, 2.0])),
    "vstack": lambda m: m.vstack([m.asarray(V), m.asarray(V)]),
    "hstack": lambda m: m.hstack([m.asarray(X), m.asarray(X)]),
    "outer": lambda m: m.outer(m.asarray(V), m.asarray(V)),
    "inner": lambda m: m.inner(m.asarray(X), m.asarray(X)),
    "trace": lambda m: m.trace(m.asarray(X), 1),
    "diagonal": lambda m: m.asarray(np.arange(24.0).reshape(2, 3, 4)).diagonal(),
    "diagonal above": lambda m: m.asarray(X).diagonal(1),
    "diag": lambda m: m.diag(m.asarray(V), -1),
    "diag of a matrix": lambda m: m.diag(m.asarray(X)),
    "isclose": lambda m: m.isclose(m.asarray([1.0, m.nan, m.inf]), m.asarray([1.0 + 1e-9, m.nan, m.inf]), equal_nan=True),
    "unique": lambda m: m.unique(m.asarray(V), return_counts=True)[1],
    "argwhere": lambda m: m.argwhere(m.asarray(X) > 0),
    "flatnonzero": lambda m: m.flatnonzero(m.asarray(X) > 0),
    "split": lambda m: m.split(m.asarray(X), [1, 3])[1],
    "percentile": lambda m: m.percentile(m.asarray(X), [25, 50], axis=0),
    "median": lambda m: m.median(m.asarray(X)),
    "interp": lambda m: m.interp(m.asarray([-1.0, 0.5, 1.5, 9.0]), m.asarray([0.0, 1.0, 2.0]), m.asarray([1.0, 3.0, 2.0])),
    "pad": lambda m: m.pad(m.asarray(X), ((1, 0), (2, 3)), mode="reflect"),
    "bincount": lambda m: m.bincount(m.asarray([1, 3, 1]), minlength=6),
    "histogram": lambda m: m.histogram(m.asarray(X), bins=5)[0],
    "einsum": lambda m: m.einsum("ij,kj->ik", m.asarray(X), m.asarray(X)),
    "norm": lambda m: m.linalg.norm(m.asarray(X), axis=1),
    "norm of a matrix": lambda m: m.linalg.norm(m.asarray(X), 2),
    "cond": lambda m: m.linalg.cond(m.asarray(X)),
    "eigvals": lambda m: m.sort(abs(m.linalg.eigvals(m.asarray(X)[:, :4]))),
    "lstsq": lambda m: m.linalg.lstsq(m.asarray(X.T), m.asarray(X.T[:, 0]), rcond=None)[0],
    "round": lambda m: m.round(m.asarray(X), 2),
    "fmod": lambda m: m.fmod(m.asarray([-7.0, 7.0]), m.asarray([3.0, -3.0])),
    "methods": lambda m: m.asarray(X).clip(-1, 1).cumsum(axis=0).argsort(axis=1).astype(m.float32).ravel().take(m.asarray([0, 5])),
    "fft2": lambda m: abs(m.fft.fft2(m.asarray(X))),
}


@pytest.mark.parametrize("name", CALLS)
def test_numpys_functions_give_numpys_results(name):
    theirs = np.asarray(CALLS[name](np))
    ours = CALLS[name](xo)
    assert isinstance(ours, xo.Array)
    assert ours.shape == theirs.shape and ours.dtype.name == theirs.dtype.name
    assert np.allclose(np.asarray(ours), theirs, rtol=1e-12, atol=1e-12, equal_nan=True)


def test_special_functions_are_scipys():
    special = pytest.importorskip("scipy.special")
    x = np.linspace(-3, 3, 50)
    assert np.allclose(np.asarray(xo.erf(xo.asarray(x))), special.erf(x), rtol=1e-14)
    assert np.allclose(np.asarray(xo.logsumexp(xo.asarray(x))), special.logsumexp(x), rtol=1e-14)
    assert np.allclose(np.asarray(xo.softmax(xo.asarray(x))), special.softmax(x), rtol=1e-13)


def test_random_numbers_follow_their_distributions_and_their_seed():
    rng = xo.random.default_rng(5)
    draws = {
        "random": (rng.random(20_000), 0.5, 1 / 12),
        "uniform": (rng.uniform(-1, 3, 20_000), 1.0, 16 / 12),
        "normal": (rng.normal(2.0, 3.0, 20_000), 2.0, 9.0),
        "exponential": (rng.exponential(2.0, 20_000), 2.0, 4.0),
        "poisson": (rng.poisson(4.0, 20_000), 4.0, 4.0),
        "gamma": (rng.gamma(3.0, 2.0, 20_000), 6.0, 12.0),
        "integers": (rng.integers(0, 10, 20_000), 4.5, 99 / 12),
    }
    for name, (draw, mean, variance) in draws.items():
        sample = np.asarray(draw, dtype=np.float64)
        assert abs(sample.mean() - mean) < 6 * (variance / 20_000) ** 0.5, name
        assert abs(sample.var() / variance - 1) < 0.15, name
    again = xo.random.default_rng(5)
    assert again.random(20_000).tolist() == draws["random"][0].tolist()
    assert sorted(rng.permutation(10).tolist()) == list(range(10))
    assert len(set(rng.choice(10, 10, replace=False).tolist())) == 10
    xo.random.seed(1)
    first = xo.random.rand(2, 2).tolist()
    xo.random.seed(1)
    assert xo.random.rand(2, 2).tolist() == first


def test_parameters_that_are_arrays_have_a_draw_each():
    rng = xo.random.default_rng(5)
    zeros = np.zeros(1000)
    for draw in (
        rng.normal(zeros), rng.normal(0.0, zeros + 1), rng.uniform(zeros, 1.0), rng.exponential(xo.ones(1000)), rng.gamma(zeros + 2.0),
        xo.random.normal(zeros), xo.random.uniform(zeros), xo.random.exponential(zeros + 1),
    ):
        assert draw.shape == (1000,) and len(np.unique(np.asarray(draw))) > 990
    assert rng.poisson(zeros + 4).shape == (1000,)
    assert rng.normal([0.0, 100.0], 1.0, (500, 2)).shape == (500, 2)
    assert rng.normal(np.zeros((3, 1)), np.ones(4)).shape == (3, 4)
    assert rng.normal(size=np.int64(3)).shape == (3,) and rng.normal().shape == ()
    with pytest.raises(ValueError, match="do not fit|broadcast"):
        rng.normal(np.zeros(3), 1.0, 2)


def test_what_generators_lack_is_numpys_and_follows_the_seed():
    def draws(seed):
        rng = xo.random.default_rng(seed)
        yield rng.binomial(5, 0.5, 3)
        yield rng.choice(4, 20, p=[0.0, 0.5, 0.5, 0.0])
        yield rng.integers([0, 100], [10, 200])
        yield rng.permutation(np.arange(6).reshape(2, 3), axis=1)

    for first, again, other in zip(draws(3), draws(3), draws(4)):
        assert isinstance(first, xo.Array) and first.tolist() == again.tolist()
        assert first.shape == other.shape
    assert any(a.tolist() != b.tolist() for a, b in zip(draws(3), draws(4)))
    rng = xo.random.default_rng(3)
    assert set(rng.choice(4, 50, p=[0.0, 0.5, 0.5, 0.0]).tolist()) == {1, 2}
    assert sorted(rng.permutation(np.int64(5)).tolist()) == list(range(5))
    assert sorted(rng.choice(np.int64(3), 3, replace=False).tolist()) == [0, 1, 2]
    entries, rows = list("abcdef"), np.arange(6).reshape(3, 2)
    rng.shuffle(entries)
    rng.shuffle(rows)
    assert sorted(entries) == list("abcdef") and sorted(map(tuple, rows.tolist())) == [(0, 1), (2, 3), (4, 5)]
    assert "Generator.binomial" in {name for name, _, _ in xo.fallbacks()}
    with pytest.raises(AttributeError, match="binomail"):
        rng.binomail(5, 0.5)
    assert xo.random.default_rng(rng) is rng
    assert xo.random.default_rng([1, 2]).random(2).tolist() == xo.random.default_rng([1, 2]).random(2).tolist()
    with pytest.raises(ValueError, match="seed"):
        xo.random.default_rng(-1)


def test_the_seed_of_the_module_is_numpys_too():
    from crossover._redirect import redirected

    random = redirected(np).random
    random.seed(7)
    first = random.binomial(100, 0.5, 8).tolist()
    random.seed(7)
    assert random.binomial(100, 0.5, 8).tolist() == first


def test_quantiles_of_infinities_of_nothing_and_out_of_range():
    inf, nan = np.inf, np.nan
    for values in ([1, inf, inf], [1, inf], [-inf, 1], [-inf, 2, inf], [3, 1, 2, 9], [1, nan, 2]):
        assert np.array_equal(float(xo.median(xo.asarray(values))), np.median(values), equal_nan=True), values
    assert float(xo.quantile(xo.asarray([1, inf, inf]), 0.5)) == inf, "both neighbours are one infinity"
    assert float(xo.quantile(xo.asarray([1, inf]), 0.25)) == inf
    assert np.isnan(float(xo.median(xo.asarray([]))))
    assert np.asarray(xo.median(xo.zeros((0, 3)), axis=0)).shape == (3,)
    x = np.random.default_rng(1).normal(size=(7, 3)).astype(np.float32)
    for q in (0.0, 0.2, 0.5, 0.77, 1.0, [0.1, 0.9]):
        found = np.asarray(xo.quantile(xo.asarray(x), q, axis=0))
        assert np.allclose(found, np.quantile(x, q, axis=0), rtol=1e-6)
    for wrong in (-0.25, 1.25, nan, [0.5, 2.0]):
        with pytest.raises(ValueError, match="between 0 and 1"):
            xo.quantile(xo.asarray(x), wrong)
    with pytest.raises(ValueError, match="between 0 and 100"):
        xo.percentile(xo.asarray(x), 101)
    with pytest.raises(IndexError):
        xo.quantile(xo.asarray([]), 0.5)


def test_isclose_of_whole_numbers_and_booleans():
    for dtype in (np.uint8, np.int8, np.uint64, np.bool_, np.float32):
        for a, b, more in (([1, 0], [2, 1], {"atol": 1}), ([0], [1], {"atol": 0.5}), ([1], [1], {}), ([0, 1], [1, 0], {"rtol": 1})):
            a, b = np.array(a, dtype=dtype), np.array(b, dtype=dtype)
            if dtype != np.bool_:
                assert np.asarray(xo.isclose(xo.asarray(a), xo.asarray(b), **more)).tolist() == np.isclose(a, b, **more).tolist()
            else:
                expected = np.isclose(a.astype(int), b.astype(int), **more).tolist()
                assert np.asarray(xo.isclose(xo.asarray(a), xo.asarray(b), **more)).tolist() == expected


def test_counts_are_the_same_however_they_are_made():
    rng = np.random.default_rng(2)
    for dtype in ("bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64"):
        for size in (0, 1, 999, 100_000):
            x = rng.integers(-1, 2, size).astype(dtype)
            count = xo.count_nonzero(xo.asarray(x))
            assert count.dtype == xo.int64 and int(count.eval()) == np.count_nonzero(x)
            assert int(count + 1) == np.count_nonzero(x) + 1
    x = np.array([0.0, -0.0, np.nan, 5e-324])
    assert int(xo.count_nonzero(xo.asarray(x))) == 2
    y = xo.asarray(x)
    before = xo.count_nonzero(y)
    y[0] = 1.0
    assert int(before) == 2 and int(xo.count_nonzero(y)) == 3 and int(xo.count_nonzero(y[1:])) == 2


def test_conversions_take_what_numpys_take():
    x = xo.asarray([1.5, -2.5])
    assert x.astype("float32").dtype == xo.float32 and x.astype(np.int64).tolist() == [1, -2]
    assert x.astype(xo.float64, copy=False).tolist() == x.tolist()
    assert x.astype(np.float32, order="C").dtype == xo.float32
    assert x.astype(np.float32, "K", "same_kind").dtype == xo.float32
    with pytest.raises(TypeError, match="same_kind|safe"):
        x.astype(np.int64, casting="safe")
    with pytest.raises(TypeError):
        x.astype("no dtype")
    assert x.astype(str).dtype.kind == "U"


def test_the_real_part_of_real_numbers_is_a_view():
    for part in (xo.real, lambda x: x.real):
        x = xo.asarray([1.0, 2.0])
        part(x)[0] = 5.0
        assert x.tolist() == [5.0, 2.0]
    z = xo.asarray([1 + 2j])
    assert xo.real(z).tolist() == [1.0] and xo.imag(z).tolist() == [2.0]
    assert xo.real([1.0, 2.0]).tolist() == [1.0, 2.0]
    for shape in ((), (3,), (2, 0)):
        assert xo.imag(xo.ones(shape)).eval().shape == shape and not xo.any(xo.imag(xo.ones(shape)))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_are_told_apart_as_numpy_does(dtype):
    x = np.array([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, -np.nan], dtype=dtype)
    for name in ("isfinite", "isinf", "isnan", "signbit"):
        for array, ours in ((x, xo.asarray(x)), (x[::-2], xo.asarray(x)[::-2]), (x[4:].reshape(2, 2).T, xo.reshape(xo.asarray(x)[4:], (2, 2)).T)):
            assert np.asarray(getattr(xo, name)(ours)).tolist() == getattr(np, name)(array).tolist(), name
        same = xo.full(3, float("inf"), dtype=getattr(xo, dtype))
        assert np.asarray(getattr(xo, name)(same)).tolist() == getattr(np, name)(np.full(3, np.inf, dtype=dtype)).tolist()
    y = np.array([0.0, np.nan, -0.0, 2.0, 0.0, 1.0, -np.inf, 0.0], dtype=dtype)
    for name in ("logical_and", "logical_or", "logical_xor"):
        for other in (y, y != 0, y[::-1].astype(np.float64), y[:1]):
            expected = getattr(np, name)(x, other)
            assert np.asarray(getattr(xo, name)(xo.asarray(x), xo.asarray(other))).tolist() == expected.tolist(), name


def test_threads_share_arrays_while_they_compute():
    import threading

    x, wrong = xo.asarray(np.arange(1000.0)), []

    def work(number):
        for at in range(200):
            found = (xo.isfinite(x + number), xo.logical_and(x, x), xo.count_nonzero(x > at), xo.maximum(x, x * number))
            expected = (1000, 999, 999 - at, float(np.maximum(np.arange(1000.0), np.arange(1000.0) * number).sum()))
            seen = (int(xo.count_nonzero(found[0])), int(xo.sum(found[1])), int(found[2]), float(xo.sum(found[3])))
            if seen != expected:
                wrong.append((number, at, seen, expected))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_batches_are_as_large_as_rows_and_workers_allow():
    assert xo.ray.row_bytes(["a" * 5000] * 100) > 5000
    assert xo.ray.row_bytes([1] * 99 + [np.zeros(1000)] * 2) < 10_000 and xo.ray.row_bytes([]) == 1
    nodes = [
        {"Alive": True, "Resources": {"CPU": 8.0, "memory": 8e9}}, {"Alive": True, "Resources": {"CPU": 2.0, "memory": 1e9}},
        {"Alive": False, "Resources": {"CPU": 1.0, "memory": 1.0}}, {"Alive": True, "Resources": {}},
    ]
    assert xo.ray._room(nodes, 1, 0) == 5 * 10**8 and xo.ray._room(nodes, 2, 0) == 10**9
    assert 0 < xo.ray._room([], 1, 0) and xo.ray._room(nodes, 1, 1) <= 5 * 10**8
