"""Written by python/tools/stubs.py."""

from typing import Any, NamedTuple

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

def cholesky(x: Any, /, *, upper: Any = ...) -> Array:
    """The lower triangular L with A = L·Lᴴ, or the upper U with A = Uᴴ·U."""

def cond(x: Any, p: Any = ...) -> Array:
    """Condition number: the largest singular value over the smallest."""

def cross(x1: Any, x2: Any, /, *, axis: Any = ...) -> Array:
    """Cross product of vectors of three elements along an axis."""

def det(x: Any, /) -> Array:
    """The determinant."""

def diagonal(x: Any, /, *, offset: Any = ...) -> Array:
    """The diagonal of the last two axes."""

def eig(x: Any, /) -> EigResult:
    """Eigenvalues and eigenvectors of any square matrix, complex."""

def eigh(x: Any, /) -> EighResult:
    """Ascending eigenvalues and eigenvectors of a self-adjoint matrix."""

def eigvals(x: Any, /) -> Array:
    """Eigenvalues of any square matrix, complex."""

def eigvalsh(x: Any, /) -> Array:
    """Ascending eigenvalues of a self-adjoint matrix."""

def inv(x: Any, /) -> Array:
    """The inverse."""

def lstsq(a: Any, b: Any, rcond: Any = ...) -> tuple[Array, Array, Array, Array]:
    """Least squares: solution, residuals, rank and singular values."""

def matrix_norm(x: Any, /, *, keepdims: Any = ..., ord: Any = ...) -> Array:
    """A norm of matrices: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."""

def matrix_power(x: Any, n: Any, /) -> Array:
    """The product of a square matrix with itself, n times; negative powers invert first."""

def matrix_rank(x: Any, /, *, rtol: Any = ...) -> Array:
    """Number of singular values above `rtol` times the largest."""

def norm(x: Any, ord: Any = ..., axis: Any = ..., keepdims: Any = ...) -> Array:
    """NumPy's norm: of matrices where `axis` names two axes or `ord` asks for it, else of vectors."""

def outer(x1: Any, x2: Any, /) -> Array:
    """Products of all pairs of elements of two vectors."""

def pinv(x: Any, /, *, rtol: Any = ...) -> Array:
    """Moore and Penrose's inverse."""

def qr(x: Any, /, *, mode: Any = ...) -> QRResult:
    """The orthogonal Q and upper triangular R with A = Q·R; mode 'reduced' or 'complete'."""

def slogdet(x: Any, /) -> SlogdetResult:
    """Sign and logarithm of the magnitude of the determinant."""

def solve(x1: Any, x2: Any, /) -> Array:
    """X with A·X = B."""

def svd(x: Any, /, *, full_matrices: Any = ...) -> SVDResult:
    """U, the descending singular values S, and Vᴴ."""

def svdvals(x: Any, /) -> Array:
    """Descending singular values."""

def trace(x: Any, /, *, offset: Any = ..., dtype: Any = ...) -> Array:
    """Sum of the diagonal of the last two axes."""

def vector_norm(x: Any, /, *, axis: Any = ..., keepdims: Any = ..., ord: Any = ...) -> Array:
    """Norm of vectors along axes, or of all elements."""
