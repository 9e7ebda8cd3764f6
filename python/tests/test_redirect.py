"""NumPy's and SciPy's modules as redirected code sees them: what is computed here, what by them, and that both agree on random operands."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.special

import crossover as xo
from crossover._redirect import redirected

la, sf, ss = redirected(scipy.linalg), redirected(scipy.fft), redirected(scipy.special)
nd, sg, nn = redirected(scipy.ndimage), redirected(scipy.signal), redirected(np)


def counted():
    """How often each function was computed by NumPy or SciPy."""
    found = {}
    for (name, _, _), count in xo.fallbacks().items():
        found[name] = found.get(name, 0) + count
    return found


COMPUTED_HERE = {
    "scipy.linalg": lambda a, b: [
        la.cholesky(a), la.cholesky(a, lower=True), la.det(a), la.inv(a), la.inv(a, check_finite=False), la.solve(a, b), la.lstsq(a, b), la.pinv(a),
        la.norm(a), la.norm(a, 1), la.qr(a), la.qr(a, mode="economic"), la.svd(a), la.svd(a, full_matrices=False), la.svdvals(a), la.eig(a),
        la.eigvals(a), la.eigh(a), la.eigh(a, lower=False, eigvals_only=True), la.eigvalsh(a),
    ],
    "scipy.fft": lambda a, b: [
        sf.fft(a), sf.ifft(a, 8, 0, "ortho"), sf.rfft(a, workers=2), sf.irfft(a, overwrite_x=True), sf.fft2(a), sf.fftn(a, s=(3, 3)),
        sf.rfftn(a, axes=(0,)), sf.fftshift(a, 1), sf.fftfreq(8, 0.1),
    ],
    "scipy.special": lambda a, b: [ss.erf(a), ss.softmax(a), ss.logsumexp(a, axis=1), ss.expm1(b)],
    "scipy.ndimage": lambda a, b: [nd.convolve(a, a), nd.correlate(a, a, mode="wrap"), nd.convolve1d(a, b), nd.convolve(np.eye(9, dtype=np.uint8), [[1, 2]])],
    "scipy.signal": lambda a, b: [sg.convolve(a, a), sg.correlate(a, a, "same"), sg.fftconvolve(a, a), sg.convolve2d(a, a, boundary="symm")],
    "numpy": lambda a, b: [
        nn.convolve(b, b), nn.correlate(b, b, "full"), nn.fft.fft(a, 3), nn.fft.fft2(np.eye(4, dtype=np.uint8)), nn.linalg.eigvals(a), nn.linalg.eig(a),
        nn.linalg.pinv(a), nn.unique(b),
    ],
}


@pytest.mark.parametrize("module", COMPUTED_HERE)
def test_functions_are_computed_here(module, rng):
    a = rng.normal(size=(4, 4))
    before = counted()
    results = COMPUTED_HERE[module](a @ a.T + np.eye(4), rng.normal(size=4))
    assert counted() == before
    for result in results:
        parts = result if isinstance(result, tuple) else (result,)
        assert all(isinstance(part, (xo.Array, int)) for part in parts)


def test_options_that_numpy_alone_has_are_computed_there_and_counted():
    before = counted()
    x = np.arange(6.0).reshape(3, 2)
    assert np.allclose(np.abs(nn.linalg.qr(x, mode="r")), np.abs(np.linalg.qr(x, mode="r")))
    assert np.array_equal(nn.pad(x, 1, mode="mean"), np.pad(x, 1, mode="mean"))
    ours = xo.asarray(x)
    assert np.array_equal(np.pad(ours, 1, mode="linear_ramp"), np.pad(x, 1, mode="linear_ramp"))
    assert np.linalg.qr(ours, mode="raw")[1].shape == (2,)
    after = counted()
    assert all(after[name] == before.get(name, 0) + 1 for name in ("numpy.linalg.qr", "numpy.pad", "qr", "pad"))
    for wrong in (lambda: nn.linalg.qr(x, mode="wrong"), lambda: nn.pad(x, 1, mode="wrong"), lambda: xo.pad(ours, 1, mode="wrong")):
        with pytest.raises(ValueError):
            wrong()
    assert counted() == after, "what is wrong is no fallback"
    with pytest.raises(NotImplementedError, match="mean"):
        xo.pad(ours, 1, mode="mean")


def test_eigenvalues_are_real_where_numpys_are(rng):
    symmetric, turning = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[0.0, -1.0], [1.0, 0.0]])
    assert nn.linalg.eigvals(symmetric).dtype == np.linalg.eigvals(xo.asarray(symmetric)).dtype == np.float64
    assert nn.linalg.eigvals(turning).dtype == np.complex128
    values, vectors = nn.linalg.eig(symmetric.astype(np.float32))
    assert values.dtype == vectors.dtype == np.float32
    # The standard's are complex.
    assert xo.linalg.eigvals(xo.asarray(symmetric)).dtype == xo.linalg.eig(xo.asarray(symmetric)).eigenvectors.dtype == xo.complex128


def operands(rng, dtype, shape, kernel):
    if np.dtype(dtype).kind == "f":
        return rng.normal(size=shape).astype(dtype), rng.normal(size=kernel).astype(dtype)
    least = -9 if np.dtype(dtype).kind == "i" else 0
    return rng.integers(least, 200 if least == 0 else 100, shape).astype(dtype), rng.integers(-4, 5, kernel)


def close(ours, theirs):
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    tolerance = 1e-11 if theirs.dtype.itemsize > 4 or theirs.dtype.kind != "f" else 1e-5
    assert np.allclose(ours, theirs, rtol=tolerance, atol=tolerance * max(1.0, float(np.max(np.abs(theirs), initial=0))))


@pytest.mark.parametrize("mode", ["reflect", "constant", "nearest", "mirror", "wrap", "grid-wrap", "grid-mirror", "grid-constant"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8", "int16", "int32", "int64"])
def test_filters_are_scipys(mode, dtype, rng):
    before, cases = counted(), 0
    for axes in (1, 2, 3):
        for _ in range(6):
            shape, kernel = rng.integers(1, 8, axes), rng.integers(1, 5, axes)
            x, weights = operands(rng, dtype, shape, kernel)
            origin = [int(rng.integers(-(k // 2), (k - 1) // 2 + 1)) for k in kernel]
            more = {"mode": mode, "origin": origin, "cval": 3}
            for name in ("convolve", "correlate"):
                if name == "convolve":
                    # There, origins are counted the other way.
                    more["origin"] = [-one - (k % 2 == 0) for one, k in zip(origin, kernel)]
                close(np.asarray(getattr(nd, name)(x, weights, **more)), getattr(scipy.ndimage, name)(x, weights, **more))
                line = rng.permutation(weights.ravel()[:4])
                close(np.asarray(getattr(nd, name + "1d")(x, line, -1, mode=mode)), getattr(scipy.ndimage, name + "1d")(x, line, -1, mode=mode))
                cases += 2
                more["origin"] = origin
    assert counted() == before and cases == 72, "all of them are computed here"


# Our names of boundaries, by those of `scipy.ndimage` and of `numpy.pad`.
OUTSIDE = {"fill": ("constant", "constant"), "nearest": ("nearest", "edge"), "wrap": ("wrap", "wrap"), "symm": ("reflect", "symmetric"), "mirror": ("mirror", "reflect")}


@pytest.mark.parametrize("boundary", OUTSIDE)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int64"])
def test_boundaries_are_scipys(boundary, dtype, rng, monkeypatch):
    mode, padding = OUTSIDE[boundary]
    for axes in (1, 2, 3):
        for _ in range(6):
            # Of one element, too, and with windows that reach beyond the operand and back.
            x, k = operands(rng, dtype, rng.integers(1, 6, axes), 2 * rng.integers(0, 4, axes) + 1)
            k = k.astype(dtype)
            for name in ("convolve", "correlate"):
                ours, theirs = getattr(xo.signal, name), getattr(scipy.ndimage, name)
                close(np.asarray(ours(xo.asarray(x), xo.asarray(k), "same", boundary=boundary)), theirs(x, k, mode=mode))
                widths = [(n - 1, n - 1) for n in k.shape]
                whole = getattr(scipy.signal, name)(np.pad(x, widths, padding), k, "valid")
                close(np.asarray(ours(xo.asarray(x), xo.asarray(k), "full", boundary=boundary, method="direct")), whole)
                with monkeypatch.context() as patch:
                    # The kernel finds what lies outside by itself.
                    patch.delattr(xo._native, "pad")
                    close(np.asarray(getattr(nd, name)(x, k, mode=mode)), theirs(x, k, mode=mode))
    with pytest.raises(ValueError, match="'nearest', 'wrap', 'symm' or 'mirror', not .reflect."):
        xo.signal.convolve(xo.ones(3), xo.ones(3), boundary="reflect")


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int32", "int64"])
def test_signals_are_scipys(mode, dtype, rng):
    before = counted()
    for axes in (1, 2, 3):
        for _ in range(6):
            kernel = rng.integers(1, 6, axes)
            shape = kernel + rng.integers(0, 5, axes) if mode == "valid" else rng.integers(1, 8, axes)
            x, k = (
                operands(rng, "float64", shape, kernel)[0] + 1j * operands(rng, "float64", shape, kernel)[0],
                operands(rng, "float64", kernel, kernel)[0] * (1 - 2j),
            ) if dtype == "complex128" else operands(rng, dtype, shape, kernel)
            for name in ("convolve", "correlate", "fftconvolve", "oaconvolve"):
                close(np.asarray(getattr(sg, name)(x, k, mode)), getattr(scipy.signal, name)(x, k, mode))
            if axes == 2:
                for boundary in ("fill", "wrap", "symm"):
                    ours, theirs = (module.convolve2d(x, k, mode, boundary, 2) for module in (sg, scipy.signal))
                    close(np.asarray(ours), theirs)
                    # The middle of a correlation with an even kernel is SciPy's own.
                    ours, theirs = (module.correlate2d(x, k[:3, :3], mode, boundary) for module in (sg, scipy.signal))
                    close(np.asarray(ours), theirs)
            if axes == 1:
                for a, b in ((x, k), (k, x)):
                    close(np.asarray(nn.convolve(a, b, mode)), np.convolve(a, b, mode))
                    close(np.asarray(nn.correlate(a, b, mode)), np.correlate(a, b, mode))
    evenly = {"scipy.signal.correlate2d"} if mode == "same" else set()
    assert {name for name, count in counted().items() if count != before.get(name, 0)} <= evenly, "the others are computed here"


def test_what_would_differ_is_left_to_scipy(rng):
    image = rng.integers(0, 255, (9, 9)).astype(np.uint8)
    spoilt = rng.normal(size=(9, 9))
    spoilt[4, 4] = np.inf
    cross = np.array([[0.0, 1, 0], [1, 1, 1], [0, 1, 0]])
    before = counted().get("scipy.ndimage.convolve", 0)
    for x, weights in ((image, np.ones((3, 3)) / 9), (spoilt, cross), (np.full((3, 3), 1 << 50), np.ones((3, 3)) * 9)):
        assert np.array_equal(np.asarray(nd.convolve(x, weights)), scipy.ndimage.convolve(x, weights), equal_nan=True)
    assert counted()["scipy.ndimage.convolve"] == before + 3


def test_what_files_hold_is_ours_and_what_maps_them_stays_a_map(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(4.0))
    np.savez(tmp_path / "x.npz", a=np.arange(3))
    (tmp_path / "x.txt").write_text("1 2\n3 4\n")
    before = counted()
    assert isinstance(nn.load(tmp_path / "x.npy"), xo.Array) and isinstance(nn.loadtxt(tmp_path / "x.txt"), xo.Array)
    with nn.load(tmp_path / "x.npz") as held:
        assert isinstance(held["a"], xo.Array) and held.files == ["a"] and {name: part.tolist() for name, part in held.items()} == {"a": [0, 1, 2]}
    mapped = nn.load(tmp_path / "x.npy", mmap_mode="r+")
    assert type(mapped) is np.memmap and isinstance(mapped, nn.memmap)
    mapped[0] = 7.0
    mapped.flush()
    assert nn.load(tmp_path / "x.npy").tolist() == [7.0, 1.0, 2.0, 3.0]
    made = nn.memmap(tmp_path / "raw", dtype="float64", mode="w+", shape=(3,))
    made[:] = 2.0
    made.flush()
    assert np.fromfile(tmp_path / "raw").tolist() == [2.0] * 3 and float(nn.sum(made)) == 6.0
    after = counted()
    assert after["numpy.load"] == before.get("numpy.load", 0) + 4 and after["numpy.memmap"] == before.get("numpy.memmap", 0) + 1


def test_draws_of_numpys_own_generators_are_ours_for_the_user_and_numpys_for_libraries():
    for ours, theirs in (
        (nn.random.RandomState(5), np.random.RandomState(5)), (nn.random.Generator(np.random.PCG64(5)), np.random.Generator(np.random.PCG64(5))),
    ):
        before = counted()
        draw = ours.normal(size=3)
        assert isinstance(draw, xo.Array) and np.array_equal(draw, theirs.normal(size=3))
        assert sum(counted().values()) == sum(before.values()) + 1
        x = xo.arange(6)
        ours.shuffle(x)
        y = np.arange(6)
        theirs.shuffle(y)
        assert np.array_equal(x, y)
        from scipy import stats

        assert type(stats.norm.rvs(size=2, random_state=ours)) is np.ndarray
    assert isinstance(ours, type(theirs)) and not isinstance(3, nn.random.Generator)


def test_arrays_of_other_kinds_keep_their_meaning():
    masked = np.ma.masked_array([1.0, 2.0], mask=[True, False])
    assert float(nn.sum(masked)) == 2.0 and isinstance(nn.exp(masked), np.ma.MaskedArray)
    assert isinstance(nn.asmatrix([[1, 2]]), np.matrix)

    class Own:
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return ufunc.__name__

    assert nn.exp(Own()) == "exp" and nn.add(np.ones(2), Own()) == "add"


SCRIPT = """
import crossover as xo
xo.install({})
import script_module
"""
MODULE = """
import numpy as np
print(np.unwrap(np.arange(3.0)).tolist())
"""


@pytest.mark.parametrize("argument, listed", [("", True), ("report=False", False)])
def test_installing_lists_at_the_end_what_numpy_did(tmp_path, argument, listed):
    (tmp_path / "script_module.py").write_text(MODULE)
    script = tmp_path / "main.py"
    script.write_text(SCRIPT.format(argument))
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert ran.stdout == "[0.0, 1.0, 2.0]\n", ran.stderr
    line = f"numpy.unwrap  {tmp_path / 'script_module.py'}:3"
    assert (line in ran.stderr and ran.stderr.count("NumPy or SciPy computed 1 calls") == 1) if listed else ran.stderr == ""
    ran = subprocess.run([sys.executable, "-m", "crossover", str(script)], capture_output=True, text=True)
    assert ran.stderr.count("NumPy or SciPy computed 1 calls") == 1, "once, whoever asks for it"


def test_settings_are_a_block_of_their_own():
    config = xo.Config.builder().threads(1).build()
    outside = xo.get_runtime().settings()
    with config as runtime:
        assert isinstance(runtime, xo.Runtime)
        threads = {name: value for name, value, _ in xo.get_runtime().settings()}["threads"]
        with config:
            assert float(xo.sum(xo.ones(3))) == 3.0
        assert threads == "1" == {name: value for name, value, _ in xo.get_runtime().settings()}["threads"]
    assert xo.get_runtime().settings() == outside
