"""Written by python/tools/stubs.py."""

import builtins
from typing import Literal, NamedTuple, SupportsIndex

from . import _typing as _t
from . import Array
from .exceptions import LinAlgError as LinAlgError
from . import matmul as matmul
from . import matrix_transpose as matrix_transpose
from . import tensordot as tensordot
from . import vecdot as vecdot

__all__ = [
    "LinAlgError", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "norm", "outer", "pinv", "qr", "slogdet", "solve", "svd",
    "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]

class EighResult(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array

class EigResult(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array

class QRResult(NamedTuple):
    Q: Array
    R: Array

class SlogdetResult(NamedTuple):
    sign: Array
    logabsdet: Array

class SVDResult(NamedTuple):
    U: Array
    S: Array
    Vh: Array

def cholesky(x: _t.ArrayLike, /, *, upper: builtins.bool = False) -> Array:
    """The lower triangular L with A = L·Lᴴ, or the upper U with A = Uᴴ·U."""

def cond(x: _t.ArrayLike, p: _t.MatrixOrder | None = None) -> Array:
    """Condition number: the largest singular value over the smallest."""

def cross(x1: _t.ArrayLike, x2: _t.ArrayLike, /, *, axis: SupportsIndex = -1) -> Array:
    """Cross product of vectors of three elements along an axis."""

def det(x: _t.ArrayLike, /) -> Array:
    """The determinant."""

def diagonal(x: _t.ArrayLike, /, *, offset: SupportsIndex = 0) -> Array:
    """The diagonal of the last two axes."""

def eig(x: _t.ArrayLike, /) -> EigResult:
    """Eigenvalues and eigenvectors of any square matrix, complex."""

def eigh(x: _t.ArrayLike, /) -> EighResult:
    """Ascending eigenvalues and eigenvectors of a self-adjoint matrix."""

def eigvals(x: _t.ArrayLike, /) -> Array:
    """Eigenvalues of any square matrix, complex."""

def eigvalsh(x: _t.ArrayLike, /) -> Array:
    """Ascending eigenvalues of a self-adjoint matrix."""

def inv(x: _t.ArrayLike, /) -> Array:
    """The inverse."""

def lstsq(a: _t.ArrayLike, b: _t.ArrayLike, rcond: float | None = None) -> tuple[Array, Array, Array, Array]:
    """Least squares: solution, residuals, rank and singular values."""

def matrix_norm(x: _t.ArrayLike, /, *, keepdims: builtins.bool = False, ord: _t.MatrixOrder = 'fro') -> Array:
    """A norm of matrices: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."""

def matrix_power(x: _t.ArrayLike, n: SupportsIndex, /) -> Array:
    """The product of a square matrix with itself, n times; negative powers invert first."""

def matrix_rank(x: _t.ArrayLike, /, *, rtol: _t.ArrayLike | None = None) -> Array:
    """Number of singular values above `rtol` times the largest."""

def norm(x: _t.ArrayLike, ord: _t.MatrixOrder | None = None, axis: _t.Axes | None = None, keepdims: builtins.bool = False) -> Array:
    """NumPy's norm: of matrices where `axis` names two axes or `ord` asks for it, else of vectors."""

def outer(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Products of all pairs of elements of two vectors."""

def pinv(x: _t.ArrayLike, /, *, rtol: _t.ArrayLike | None = None) -> Array:
    """Moore and Penrose's inverse."""

def qr(x: _t.ArrayLike, /, *, mode: Literal['reduced', 'complete'] = 'reduced') -> QRResult:
    """The orthogonal Q and upper triangular R with A = Q·R; mode 'reduced' or 'complete'."""

def slogdet(x: _t.ArrayLike, /) -> SlogdetResult:
    """Sign and logarithm of the magnitude of the determinant."""

def solve(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """X with A·X = B."""

def svd(x: _t.ArrayLike, /, *, full_matrices: builtins.bool = True) -> SVDResult:
    """U, the descending singular values S, and Vᴴ."""

def svdvals(x: _t.ArrayLike, /) -> Array:
    """Descending singular values."""

def trace(x: _t.ArrayLike, /, *, offset: SupportsIndex = 0, dtype: _t.DTypeLike | None = None) -> Array:
    """Sum of the diagonal of the last two axes."""

def vector_norm(x: _t.ArrayLike, /, *, axis: _t.Axes | None = None, keepdims: builtins.bool = False, ord: float = 2) -> Array:
    """Norm of vectors along axes, or of all elements."""
