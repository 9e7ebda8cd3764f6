"""Functions beyond the standard, against NumPy; the docstrings' examples."""

import doctest

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


@pytest.mark.parametrize("module", ["", "linalg", "fft", "random", "memory", "config", "_dtypes", "_sets", "_numpy_names", "_gpu", "_profile", "_kernel", "events", "ray", "par", "_tasks", "batch", "lattice", "_scratch", "embed"])
def test_examples_in_docstrings_hold(module):
    import importlib

    found = importlib.import_module("crossover" + (f".{module}" if module else ""))
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in finder.find(found, name=found.__name__, globs={"xo": xo}):
        if "exceptions" not in test.name:
            runner.run(test)
    assert runner.failures == 0


def test_every_function_says_what_it_does():
    undocumented = [name for name in dir(xo) if callable(getattr(xo, name)) and not getattr(xo, name).__doc__]
    assert undocumented == []
