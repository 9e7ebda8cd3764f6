"""Linear algebra. All functions take stacks of matrices in the last two axes.

A matrix that has no inverse or factor is a `LinAlgError` where the function is called: these functions compute at once.
"""

from collections import namedtuple

from . import _native
from ._native import matmul, matrix_transpose, tensordot, vecdot
from .exceptions import LinAlgError

EighResult = namedtuple("EighResult", ["eigenvalues", "eigenvectors"])
EigResult = namedtuple("EigResult", ["eigenvalues", "eigenvectors"])
QRResult = namedtuple("QRResult", ["Q", "R"])
SlogdetResult = namedtuple("SlogdetResult", ["sign", "logabsdet"])
SVDResult = namedtuple("SVDResult", ["U", "S", "Vh"])

__all__ = [
    "LinAlgError", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "norm", "outer", "pinv", "qr", "slogdet", "solve", "svd",
    "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]


def cholesky(x, /, *, upper=False):
    """The lower triangular L with A = L·Lᴴ, or the upper U with A = Uᴴ·U.

    >>> xo.linalg.cholesky(xo.asarray([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    return (_native.cholesky_upper(x) if upper else _native.cholesky(x)).eval()


def cross(x1, x2, /, *, axis=-1):
    """Cross product of vectors of three elements along an axis.

    >>> xo.linalg.cross(xo.asarray([1, 0, 0]), xo.asarray([0, 1, 0]))
    array([0, 0, 1])
    """
    return _native.cross(x1, x2, axis)


def det(x, /):
    """The determinant.

    >>> xo.linalg.det(xo.asarray([[2.0, 0.0], [0.0, 3.0]]))
    array(6.)
    """
    return _native.det(x)


def diagonal(x, /, *, offset=0):
    """The diagonal of the last two axes.

    >>> xo.linalg.diagonal(xo.asarray([[1, 2], [3, 4]]))
    array([1, 4])
    """
    return _native.diagonal(x, offset)


def eig(x, /):
    """Eigenvalues and eigenvectors of any square matrix, complex.

    >>> xo.sort(xo.real(xo.linalg.eig(xo.asarray([[2.0, 0.0], [1.0, 3.0]])).eigenvalues))
    array([2., 3.])
    """
    return EigResult(*_native.eig(x))


def eigvals(x, /):
    """Eigenvalues of any square matrix, complex.

    >>> xo.sort(xo.imag(xo.linalg.eigvals(xo.asarray([[0.0, -1.0], [1.0, 0.0]]))))
    array([-1.,  1.])
    """
    return _native.eigvals(x)


def eigh(x, /):
    """Ascending eigenvalues and eigenvectors of a self-adjoint matrix.

    >>> xo.linalg.eigh(xo.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    array([1., 2.])
    """
    return EighResult(*_native.eigh(x))


def eigvalsh(x, /):
    """Ascending eigenvalues of a self-adjoint matrix.

    >>> xo.linalg.eigvalsh(xo.asarray([[2.0, 0.0], [0.0, 1.0]]))
    array([1., 2.])
    """
    return _native.eigvalsh(x)


def inv(x, /):
    """The inverse.

    >>> xo.linalg.inv(xo.asarray([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return _native.inv(x).eval()


def lstsq(a, b, rcond=None):
    """Least squares: solution, residuals, rank and singular values.

    >>> a = xo.asarray([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    >>> solution, residuals, rank, values = xo.linalg.lstsq(a, xo.asarray([1.0, 2.0, 3.0]))
    >>> xo.round(solution, 6)
    array([1., 1.])
    """
    return _native.lstsq(a, b, rcond)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """A norm of matrices: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf.

    >>> xo.linalg.matrix_norm(xo.asarray([[3.0, 0.0], [0.0, 4.0]]))
    array(5.)
    """
    return _native.matrix_norm(x, keepdims, ord)


def matrix_power(x, n, /):
    """The product of a square matrix with itself, n times; negative powers invert first.

    >>> xo.linalg.matrix_power(xo.asarray([[1.0, 1.0], [0.0, 1.0]]), 5)
    array([[1., 5.],
           [0., 1.]])
    """
    return _native.matrix_power(x, n).eval()


def _many(rtol):
    return getattr(rtol, "ndim", 0) > 0


def matrix_rank(x, /, *, rtol=None):
    """Number of singular values above `rtol` times the largest.

    >>> xo.linalg.matrix_rank(xo.asarray([[1.0, 2.0], [2.0, 4.0]]))
    array(1)
    """
    if not _many(rtol):
        return _native.matrix_rank(x, rtol)
    values = _native.svdvals(x)
    limit = _native.max(values, axis=-1, keepdims=True) * _native.asarray(rtol)[..., None]
    return _native.sum(values > limit, axis=-1)


def outer(x1, x2, /):
    """Products of all pairs of elements of two vectors.

    >>> xo.linalg.outer(xo.asarray([1, 2]), xo.asarray([3, 4]))
    array([[3, 4],
           [6, 8]])
    """
    return _native.outer(x1, x2)


def pinv(x, /, *, rtol=None):
    """Moore and Penrose's inverse.

    >>> xo.linalg.pinv(xo.asarray([[2.0, 0.0], [0.0, 0.0]]))
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    if not _many(rtol):
        return _native.pinv(x, rtol)
    u, s, vh = _native.svd(x)
    limit = _native.max(s, axis=-1, keepdims=True) * _native.asarray(rtol)[..., None]
    inverse = _native.where(s > limit, 1.0 / s, 0.0)
    adjoint = _native.matrix_transpose(_native.conj(vh))
    return matmul(adjoint * inverse[..., None, :], _native.matrix_transpose(_native.conj(u)))


def qr(x, /, *, mode="reduced"):
    """The orthogonal Q and upper triangular R with A = Q·R; mode 'reduced' or 'complete'.

    >>> xo.abs(xo.linalg.qr(xo.asarray([[3.0, 0.0], [4.0, 5.0]])).R)
    array([[5., 4.],
           [0., 3.]])
    """
    if mode in ("r", "raw"):
        raise NotImplementedError(f"mode {mode!r} of numpy.linalg.qr is not one of those here: 'reduced', 'complete'")
    if mode not in ("reduced", "complete"):
        raise ValueError(f"mode is 'reduced' or 'complete', not {mode!r}")
    return QRResult(*(_native.qr(x) if mode == "reduced" else _native.qr_complete(x)))


def slogdet(x, /):
    """Sign and logarithm of the magnitude of the determinant.

    >>> xo.linalg.slogdet(xo.asarray([[-1.0, 0.0], [0.0, 1.0]]))
    SlogdetResult(sign=array(-1.), logabsdet=array(0.))
    """
    return SlogdetResult(*_native.slogdet(x))


def solve(x1, x2, /):
    """X with A·X = B.

    >>> xo.linalg.solve(xo.asarray([[2.0, 0.0], [0.0, 4.0]]), xo.asarray([2.0, 2.0]))
    array([1. , 0.5])
    """
    return _native.solve(x1, x2).eval()


def svd(x, /, *, full_matrices=True):
    """U, the descending singular values S, and Vᴴ.

    >>> xo.linalg.svd(xo.asarray([[3.0, 0.0], [0.0, 4.0]])).S
    array([4., 3.])
    """
    return SVDResult(*(_native.svd_full(x) if full_matrices else _native.svd(x)))


def svdvals(x, /):
    """Descending singular values.

    >>> xo.linalg.svdvals(xo.asarray([[3.0, 0.0], [0.0, 4.0]]))
    array([4., 3.])
    """
    return _native.svdvals(x)


def trace(x, /, *, offset=0, dtype=None):
    """Sum of the diagonal of the last two axes.

    >>> xo.linalg.trace(xo.asarray([[1, 2], [3, 4]]))
    array(5)
    """
    return _native.trace(x, offset, dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """Norm of vectors along axes, or of all elements.

    >>> xo.linalg.vector_norm(xo.asarray([[3.0, 4.0], [6.0, 8.0]]), axis=1)
    array([ 5., 10.])
    """
    return _native.vector_norm(x, axis, keepdims, ord)


def norm(x, ord=None, axis=None, keepdims=False):
    """NumPy's norm: of matrices where `axis` names two axes or `ord` asks for it, else of vectors.

    >>> xo.linalg.norm(xo.asarray([3.0, 4.0]))
    array(5.)
    """
    x = _native.asarray(x)
    if axis is None and ord is None:
        return vector_norm(x, keepdims=keepdims)
    if axis is None:
        axis = (0,) if x.ndim == 1 else (0, 1)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    if len(axes) == 1:
        return vector_norm(x, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ValueError(f"a norm is along one axis or over two, not {len(axes)}")
    moved = _native.moveaxis(x, axes, (-2, -1))
    result = matrix_norm(moved, keepdims=keepdims, ord="fro" if ord is None else ord)
    return _native.moveaxis(result, (-2, -1), axes) if keepdims else result


def cond(x, p=None):
    """Condition number: the largest singular value over the smallest.

    >>> xo.linalg.cond(xo.asarray([[4.0, 0.0], [0.0, 2.0]]))
    array(2.)
    """
    if p not in (None, 2):
        return norm(x, p) * norm(inv(x), p)
    values = _native.svdvals(x)
    return values[..., 0] / values[..., -1]
