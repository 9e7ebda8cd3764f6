"""Functions of ours in the form that NumPy and SciPy give them: their arguments, defaults, dtypes and results.

The namespace follows the Array API standard, and in places NumPy or SciPy has another meaning under the same name: SciPy's `cholesky` is the
upper factor, NumPy's `eigvals` is real where it can be. Redirected code gets what stands here. What only they can do is a `NotImplementedError`,
upon which the caller asks them.
"""

import functools
import sys
import types

import numpy as np

from . import _native as _n
from . import fft as _fft
from . import linalg as _linalg

# What SciPy's functions have kernels for, as ours do, in the same dtypes.
_EXACT = {"float32": "float32", "float64": "float64", "complex64": "complex64", "complex128": "complex128", "int32": "float64", "int64": "float64"}
_WHOLE = ("bool", "int8", "uint8", "int16", "uint16", "uint32", "uint64")


def lacking(what):
    """The exception for what NumPy or SciPy has to do."""
    return NotImplementedError(f"{what} is computed by NumPy or SciPy")


def only(**given):
    """Refuses arguments that are not what they are by default: each is a value and that default."""
    for name, (value, default) in given.items():
        if value is not default and not (type(value) is type(default) and value == default):
            raise lacking(f"{name} of type {type(value).__name__}")


def array(x, dtypes=tuple(_EXACT)):
    """The array, if it is one of ours or NumPy's, or made of numbers, and of a dtype that is computed here as there."""
    if not isinstance(x, _n.Array) and type(x) not in (np.ndarray, list, tuple, int, float, complex):
        raise lacking(f"an operand of type {type(x).__name__}")
    x = _n.asarray(x)
    if x.dtype.name not in dtypes:
        raise lacking(f"an operand of dtype {x.dtype}")
    return x


def _floats(x):
    """As `array`; whole numbers become floats."""
    x = array(x)
    return x.astype(getattr(_n, _EXACT[x.dtype.name]))


def _matrix(a, check_finite=True):
    """A matrix that is not empty and that holds numbers only; SciPy says what is wrong with others."""
    a = _floats(a)
    if a.ndim != 2 or not a.size:
        raise lacking(f"an operand of shape {a.shape}")
    if check_finite:
        _finite(a)
    return a


def _finite(*arrays):
    for one in arrays:
        if not _n.all(_n.isfinite(one)):
            raise lacking("an operand with NaN or infinity")


def _square(a, check_finite=True):
    a = _matrix(a, check_finite)
    if a.shape[0] != a.shape[1]:
        raise lacking(f"an operand of shape {a.shape}")
    return a


def _adjoint(a):
    return _n.matrix_transpose(_n.conj(a) if a.dtype.kind == "c" else a)


def _is_real(values):
    return bool(_n.all(_n.imag(values) == 0))


def _scalar(value):
    """A tolerance as a number; arrays of them are for the others."""
    if value is None or isinstance(value, (int, float)):
        return value
    raise lacking(f"a tolerance of type {type(value).__name__}")


class _NumpyLinalg:
    """`numpy.linalg`: our functions, and these."""

    def __getattr__(self, name):
        return getattr(_linalg, name)

    @staticmethod
    def eig(a):
        """Eigenvalues and eigenvectors, real where all eigenvalues of a real matrix are."""
        values, vectors = _linalg.eig(a)
        if _n.asarray(a).dtype.kind != "c" and _is_real(values):
            values, vectors = _n.real(values), _n.real(vectors)
        return _linalg.EigResult(values, vectors)

    @staticmethod
    def eigvals(a):
        """Eigenvalues, real where all of a real matrix are."""
        values = _linalg.eigvals(a)
        return _n.real(values) if _n.asarray(a).dtype.kind != "c" and _is_real(values) else values

    @staticmethod
    def pinv(a, rcond=None, hermitian=False, **tolerance):
        """The pseudoinverse; NumPy's limit is 1e-15 of the largest singular value, the standard's grows with the matrix."""
        only(hermitian=(hermitian, False))
        if tolerance:
            only(rcond=(rcond, None))
            return _linalg.pinv(a, **tolerance)
        return _linalg.pinv(a, rtol=1e-15 if rcond is None else rcond)

    @staticmethod
    def norm(x, ord=None, axis=None, keepdims=False):
        """A norm; NumPy refuses `ord` without `axis` for more than two axes."""
        x = _n.asarray(x)
        if axis is None and ord is not None and x.ndim not in (1, 2):
            raise lacking(f"a norm of shape {x.shape}")
        return _linalg.norm(x, ord, axis, keepdims)

    @staticmethod
    def cond(x, p=None):
        """A condition number, infinite where there is no inverse."""
        x = _n.asarray(x)
        if p not in (None, 2) and x.ndim != 2:
            raise lacking(f"cond of shape {x.shape} with p={p!r}")
        try:
            return _linalg.cond(x, p)
        except _linalg.LinAlgError as error:
            raise lacking(str(error)) from None

    @staticmethod
    def lstsq(a, b, rcond=None):
        """Least squares; there are residuals where the solution is the only one and not exact."""
        a = _n.asarray(a)
        solution, residuals, rank, values = _linalg.lstsq(a, b, rcond)
        return solution, _residuals(residuals, rank, a, residuals.dtype), rank.astype(_n.int32), values


def _residuals(found, rank, a, dtype):
    rows, columns = a.shape
    return found if rows > columns and int(rank) == columns else _n.zeros(0, dtype=dtype)


class _ScipyLinalg:
    """`scipy.linalg`, for single matrices; what SciPy overwrites stays as it was."""

    @staticmethod
    def cholesky(a, lower=False, overwrite_a=False, check_finite=True):
        """The upper factor, of the upper triangle, or the lower one of the lower triangle."""
        a = _square(a, check_finite)
        if lower:
            return _linalg.cholesky(a)
        return _adjoint(_linalg.cholesky(_adjoint(a)))

    @staticmethod
    def det(a, overwrite_a=False, check_finite=True):
        """The determinant, in double precision."""
        a = _square(a, check_finite)
        return _linalg.det(a.astype(_n.complex128 if a.dtype.kind == "c" else _n.float64))

    @staticmethod
    def inv(a, overwrite_a=False, check_finite=True, *, assume_a=None, lower=False):
        """The inverse."""
        if assume_a not in (None, "gen", "general"):
            raise lacking(f"assume_a={assume_a!r}")
        return _linalg.inv(_square(a, check_finite))

    @staticmethod
    def solve(a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None, transposed=False):
        """X with A·X = B, for one vector B or columns."""
        if assume_a not in (None, "gen", "general"):
            raise lacking(f"assume_a={assume_a!r}")
        only(transposed=(transposed, False))
        a, b = _square(a, check_finite), _beside(b, check_finite)
        if b.shape[0] != a.shape[0]:
            raise lacking(f"a right side of shape {b.shape}")
        return _linalg.solve(a, b)

    @staticmethod
    def lstsq(a, b, cond=None, overwrite_a=False, overwrite_b=False, check_finite=True, lapack_driver=None):
        """Least squares: solution, residuals (one number for one vector), rank and singular values."""
        if lapack_driver not in (None, "gelsd"):
            raise lacking(f"lapack_driver={lapack_driver!r}")
        a, b = _matrix(a, check_finite), _beside(b, check_finite)
        if b.shape[0] != a.shape[0]:
            raise lacking(f"a right side of shape {b.shape}")
        if cond is None:
            cond = float(np.finfo(np.result_type(a.dtype.name, b.dtype.name)).eps)
        solution, residuals, rank, values = _linalg.lstsq(a, b, _scalar(cond))
        residuals = _residuals(residuals, rank, a, solution.dtype)
        if b.ndim == 1 and residuals.size:
            residuals = _n.reshape(residuals, ())
        return solution, residuals, int(rank), values

    @staticmethod
    def pinv(a, *, atol=None, rtol=None, return_rank=False, check_finite=True):
        """The pseudoinverse."""
        only(atol=(atol, None), return_rank=(return_rank, False))
        return _linalg.pinv(_matrix(a, check_finite), rtol=_scalar(rtol))

    @staticmethod
    def norm(a, ord=None, axis=None, keepdims=False, check_finite=True):
        """A norm of a matrix or of vectors."""
        a = _floats(a)
        if not a.size:
            raise lacking(f"a norm of shape {a.shape}")
        if check_finite:
            _finite(a)
        return _NumpyLinalg.norm(a, ord, axis, keepdims)

    @staticmethod
    def qr(a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
        """Q and R, complete; 'economic' is reduced, 'r' is R alone."""
        only(pivoting=(pivoting, False))
        if mode not in ("full", "economic", "r"):
            raise lacking(f"mode={mode!r}")
        q, r = _linalg.qr(_matrix(a, check_finite), mode="reduced" if mode == "economic" else "complete")
        return (r,) if mode == "r" else (q, r)

    @staticmethod
    def svd(a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
        """U, the singular values and Vᴴ, or the values alone."""
        if lapack_driver not in ("gesdd", "gesvd"):
            raise lacking(f"lapack_driver={lapack_driver!r}")
        a = _matrix(a, check_finite)
        return tuple(_linalg.svd(a, full_matrices=bool(full_matrices))) if compute_uv else _linalg.svdvals(a)

    @staticmethod
    def svdvals(a, overwrite_a=False, check_finite=True):
        """Descending singular values."""
        return _linalg.svdvals(_matrix(a, check_finite))

    @staticmethod
    def eig(a, b=None, left=False, right=True, overwrite_a=False, overwrite_b=False, check_finite=True, homogeneous_eigvals=False):
        """Complex eigenvalues, and eigenvectors, real where all eigenvalues of a real matrix are."""
        only(b=(b, None), left=(left, False), homogeneous_eigvals=(homogeneous_eigvals, False))
        a = _square(a, check_finite)
        if not right:
            return _linalg.eigvals(a)
        values, vectors = _linalg.eig(a)
        return values, _n.real(vectors) if a.dtype.kind != "c" and _is_real(values) else vectors

    @staticmethod
    def eigvals(a, b=None, overwrite_a=False, check_finite=True, homogeneous_eigvals=False):
        """Complex eigenvalues."""
        only(b=(b, None), homogeneous_eigvals=(homogeneous_eigvals, False))
        return _linalg.eigvals(_square(a, check_finite))

    @staticmethod
    def eigh(
        a, b=None, *, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False, type=1, check_finite=True, subset_by_index=None,
        subset_by_value=None, driver=None,
    ):
        """Ascending eigenvalues and eigenvectors of a self-adjoint matrix, of which one triangle is looked at."""
        only(b=(b, None), subset_by_index=(subset_by_index, None), subset_by_value=(subset_by_value, None), driver=(driver, None))
        a = _square(a, check_finite)
        a = a if lower else _adjoint(a)
        return _linalg.eigvalsh(a) if eigvals_only else tuple(_linalg.eigh(a))

    @staticmethod
    def eigvalsh(a, b=None, *, lower=True, check_finite=True, **more):
        """Ascending eigenvalues of a self-adjoint matrix."""
        return _ScipyLinalg.eigh(a, b, lower=lower, eigvals_only=True, check_finite=check_finite, **more)


def _beside(b, check_finite):
    """A vector, or a matrix of columns."""
    b = _floats(b)
    if b.ndim not in (1, 2) or not b.size:
        raise lacking(f"a right side of shape {b.shape}")
    if check_finite:
        _finite(b)
    return b


def _along(name):
    """A transform along one axis, by NumPy's arguments and SciPy's."""
    ours = getattr(_fft, name)

    def transform(x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, *, plan=None):
        _alone(workers, plan)
        return ours(_signal(name, x), n=n, axis=axis, norm="backward" if norm is None else norm)

    return _named(transform, ours)


def _over(name):
    """A transform over several axes."""
    ours = getattr(_fft, name)
    default = (-2, -1) if name.endswith("2") else None

    def transform(x, s=None, axes=default, norm=None, overwrite_x=False, workers=None, *, plan=None):
        _alone(workers, plan)
        x = _signal(name, x)
        if isinstance(axes, int) or isinstance(s, int):
            raise lacking(f"s={s!r}, axes={axes!r}")
        if axes is not None and not len(axes):
            raise lacking("a transform over no axes")
        if axes is not None and len({axis % max(x.ndim, 1) for axis in axes}) < len(axes):
            raise lacking(f"axes={axes!r}")
        if s is not None and (any(n is None or n < 1 for n in s) or len(s) != len(s if axes is None else axes) or len(s) > x.ndim):
            raise lacking(f"s={s!r}")
        return ours(x, s=s, axes=axes, norm="backward" if norm is None else norm)

    return _named(transform, ours)


def _alone(workers, plan):
    # How many threads work is decided by the library; SciPy says which numbers of them are wrong.
    if plan is not None or not (workers is None or type(workers) is int and workers >= 1):
        raise lacking(f"workers={workers!r}, plan={plan!r}")


def _signal(name, x):
    x = array(x, (*_EXACT, *_WHOLE))
    if x.dtype.kind in "biu":
        x = x.astype(_n.float64)
    if not x.ndim or not x.size or name in ("rfft", "rfft2", "rfftn", "ihfft") and x.dtype.kind == "c":
        raise lacking(f"{name} of {x.dtype} and shape {x.shape}")
    return x


def _named(function, ours):
    function.__name__ = function.__qualname__ = ours.__name__
    function.__doc__ = ours.__doc__
    return function


def _shift(name):
    ours = getattr(_fft, name)
    return _named(lambda x, axes=None: ours(x, axes=axes), ours)


def _frequencies(name):
    ours = getattr(_fft, name)

    def frequencies(n, d=1.0, **more):
        if any(value is not None for value in more.values()):
            raise lacking(f"{name} with {', '.join(more)}")
        if type(n) is not int or n < 1 or not isinstance(d, (int, float)) or not d:
            raise lacking(f"{name}({n!r}, {d!r})")
        return ours(n, d=d)

    return _named(frequencies, ours)


def _transforms():
    made = {name: _along(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")}
    made.update({name: _over(name) for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")})
    made.update({name: _shift(name) for name in ("fftshift", "ifftshift")})
    made.update({name: _frequencies(name) for name in ("fftfreq", "rfftfreq")})
    return types.SimpleNamespace(**made)


def _elementwise(name):
    ours = getattr(_n, name)
    return staticmethod(_named(lambda x: ours(_floats(x)), ours))


class _ScipySpecial:
    """`scipy.special`."""

    erf, erfc, exp2, expm1, log1p = (_elementwise(name) for name in ("erf", "erfc", "exp2", "expm1", "log1p"))

    @staticmethod
    def logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False):
        """The logarithm of a sum of exponentials, of all elements by default."""
        only(b=(b, None), return_sign=(return_sign, False))
        a = _floats(a)
        if a.dtype.kind == "c" or not a.size:
            raise lacking(f"logsumexp of {a.dtype} and shape {a.shape}")
        return _n.logsumexp(a, axis=axis, keepdims=bool(keepdims))

    @staticmethod
    def softmax(x, axis=None):
        """Exponentials divided by their sum, over all elements by default."""
        x = _floats(x)
        if x.dtype.kind == "c" or not x.size or not (axis is None or type(axis) is int):
            raise lacking(f"softmax of {x.dtype} and shape {x.shape} along {axis!r}")
        if axis is not None:
            return _n.softmax(x, axis)
        return _n.reshape(_n.softmax(_n.reshape(x, (-1,)), 0), x.shape)


class _Numpy:
    """`numpy`: the package, and these."""

    def __getattr__(self, name):
        return getattr(sys.modules["crossover"], name)

    @staticmethod
    def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True):
        """Distinct elements in ascending order; NaN counts once."""
        ar = _n.asarray(ar)
        only(axis=(axis, None), equal_nan=(equal_nan, True), sorted=(sorted, True))
        if ar.dtype.kind in "fc" and _n.any(_n.isnan(ar)):
            raise lacking("unique of NaN")
        return sys.modules["crossover"].unique(ar, return_index, return_inverse, return_counts)

    @staticmethod
    def histogram(a, bins=10, range=None, density=None, weights=None):
        """Counts between edges, which ascend; sums of weights that are floats."""
        if not isinstance(bins, int) and not _n.all(_n.diff(_n.asarray(bins)) >= 0):
            raise lacking("edges that do not ascend")
        if weights is not None and _n.asarray(weights).dtype.kind != "f":
            raise lacking("weights that are no floats")
        return _n.histogram(a, bins, range, bool(density), weights)

    @staticmethod
    def bincount(x, /, weights=None, minlength=0):
        """How often whole numbers occur in a vector."""
        if _n.asarray(x).ndim != 1:
            raise lacking("bincount of what is no vector")
        return _n.bincount(x, weights, minlength)

    @staticmethod
    def diag(v, k=0):
        """The diagonal of a matrix, or a matrix with a diagonal."""
        if _n.asarray(v).ndim not in (1, 2):
            raise lacking("diag of what is neither vector nor matrix")
        return sys.modules["crossover"].diag(v, k)

    @staticmethod
    def mean(a, axis=None, dtype=None, *, keepdims=False):
        """The mean; NumPy adds up and divides in the dtype."""
        if dtype is not None and np.dtype(getattr(dtype, "str", dtype)).kind not in "fc":
            raise lacking(f"mean in {dtype}")
        return _n.mean(a, axis=axis, dtype=dtype, keepdims=keepdims)


@functools.lru_cache(None)
def form(module):
    """What stands for a module of NumPy's or SciPy's; `None` if we have nothing of it."""
    from . import _filters

    package = sys.modules["crossover"]
    if module in ("numpy.fft", "scipy.fft"):
        return _transforms()
    return {
        "numpy": _Numpy(), "numpy.linalg": _NumpyLinalg(), "numpy.random": package.random, "scipy.linalg": _ScipyLinalg,
        "scipy.special": _ScipySpecial, "scipy.ndimage": _filters.Ndimage, "scipy.signal": _filters.Signal,
    }.get(module)
