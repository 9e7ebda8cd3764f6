"""Written by python/tools/stubs.py."""

import builtins
from typing import Any, Iterator, final

from typing_extensions import Self

from . import batch as batch
from . import config as config
from . import embed as embed
from . import events as events
from . import exceptions as exceptions
from . import fft as fft
from . import hrr as hrr
from . import lattice as lattice
from . import linalg as linalg
from . import memory as memory
from . import nn as nn
from . import par as par
from . import random as random
from . import ray as ray
from . import signal as signal
from ._accelerator import Accelerators as _Accelerators
from ._native import PressureWatch as _PressureWatch
from ._sets import UniqueAllResult as _UniqueAllResult, UniqueCountsResult as _UniqueCountsResult, UniqueInverseResult as _UniqueInverseResult
from .config import Config as Config, explain as explain, init as init
from .par import par_iter as par_iter

@final
class Array:
    """A lazy n-dimensional array."""

    @property
    def T(self) -> Array:
        """The array with its axes in reverse order; a view."""
    @property
    def base(self) -> Array | None:
        """The array whose elements this one shows, or None if they are its own. Another object for the same elements than the one it was taken from."""
    @property
    def device(self) -> _device:
        """Where the elements are. What is not computed yet is computed first if the machine has a GPU."""
    @property
    def dtype(self) -> _dtype:
        """Data type of the elements."""
    @property
    def flags(self) -> Any:
        """How an array lies in memory: NumPy's `flags`, by attribute or key. Arrays can be written."""
    @property
    def flat(self) -> Any:
        """All elements in row-major order, to be read and written one by one: NumPy's `flat`."""
    @flat.setter
    def flat(self, value: Any) -> None: ...
    @property
    def imag(self) -> Array:
        """The imaginary part."""
    @imag.setter
    def imag(self, value: Any) -> None: ...
    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
    @property
    def mT(self) -> Array:
        """The last two axes exchanged; a view."""
    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
    @property
    def ndim(self) -> int:
        """Number of axes."""
    @property
    def real(self) -> Array:
        """The real part."""
    @real.setter
    def real(self, value: Any) -> None: ...
    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
    @property
    def size(self) -> int:
        """Number of elements."""
    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""
    def all(self, /, axis: Any = ..., *, keepdims: Any = ...) -> Array:
        """Whether all elements over axes are true."""
    def any(self, /, axis: Any = ..., *, keepdims: Any = ...) -> Array:
        """Whether any element over axes is true."""
    def argmax(self, /, axis: Any = ..., *, keepdims: Any = ...) -> Array:
        """Index of the first largest element along an axis, or of all elements."""
    def argmin(self, /, axis: Any = ..., *, keepdims: Any = ...) -> Array:
        """Index of the first smallest element along an axis, or of all elements."""
    def argpartition(self, *args: Any, **kwargs: Any) -> Array:
        """NumPy's `argpartition`, computed by it."""
    def argsort(self, /, axis: Any = ..., *, descending: Any = ..., stable: Any = ...) -> Array:
        """The indices that sort an axis; equal elements keep their order."""
    def astype(self, /, dtype: Any, order: Any = ..., casting: Any = ..., subok: Any = ..., copy: Any = ...) -> Array:
        """The array in another dtype. What only NumPy does, it does: other orders and rules of casting, and dtypes that are none of ours."""
    def byteswap(self, *args: Any, **kwargs: Any) -> Array:
        """NumPy's `byteswap`, computed by it."""
    def choose(self, *args: Any, **kwargs: Any) -> Array:
        """NumPy's `choose`, computed by it."""
    def clip(self, /, min: Any = ..., max: Any = ...) -> Array:
        """Each element, but at least `min` and at most `max`."""
    def compress(self, *args: Any, **kwargs: Any) -> Array:
        """NumPy's `compress`, computed by it."""
    def conj(self, /) -> Array:
        """Complex conjugate."""
    def conjugate(self, /) -> Array:
        """Complex conjugate."""
    def copy(self, /) -> Array:
        """The same elements in an array of its own."""
    def cumprod(self, axis: Any = ..., dtype: Any = ...) -> Array:
        """Running product along an axis, or of all elements."""
    def cumsum(self, axis: Any = ..., dtype: Any = ...) -> Array:
        """Running sum along an axis, or of all elements."""
    def diagonal(self, offset: Any = ...) -> Array:
        """The diagonal of the first two axes."""
    def dot(self, b: Any) -> Array:
        """NumPy's product."""
    def dump(self, *args: Any, **kwargs: Any) -> None:
        """NumPy's `dump`, computed by it."""
    def dumps(self, *args: Any, **kwargs: Any) -> bytes:
        """NumPy's `dumps`, computed by it."""
    def eval(self, /) -> Array:
        """Computes the array now and returns it."""
    def explain(self, /) -> str:
        """The plan that computing the array would run, as text."""
    def fill(self, /, value: Any) -> None:
        """Writes one value into every element."""
    def flatten(self) -> Array:
        """All elements along one axis, in an array of its own."""
    def item(self, /, *at: Any) -> Any:
        """The only element, or the one at a position, as a Python number."""
    def max(self, /, axis: Any = ..., *, keepdims: Any = ...) -> Array:
        """Largest element over axes."""
    def mean(self, /, axis: Any = ..., dtype: Any = ..., *, keepdims: Any = ...) -> Array:
        """Mean of elements over axes."""
    def min(self, /, axis: Any = ..., *, keepdims: Any = ...) -> Array:
        """Smallest element over axes."""
    def nonzero(self, /) -> tuple[Array, ...]:
        """Indices of the elements that are not zero: one array per axis."""
    def numpy(self) -> Any:
        """A `numpy.ndarray` of its own with the same elements."""
    def partition(self, *args: Any, **kwargs: Any) -> None:
        """NumPy's `partition`, computed by it."""
    def prod(self, /, axis: Any = ..., dtype: Any = ..., *, keepdims: Any = ...) -> Array:
        """Product of elements over axes."""
    def ptp(self, axis: Any = ...) -> Array:
        """Largest less smallest element."""
    def put(self, *args: Any, **kwargs: Any) -> None:
        """NumPy's `put`, computed by it."""
    def ravel(self) -> Array:
        """All elements along one axis; a view where possible."""
    def repeat(self, repeats: Any, /, axis: Any = ...) -> Array:
        """Each entry several times in a row: as often as a number, or an array with one count per entry, says."""
    def reshape(self, /, *shape: Any) -> Array:
        """The same elements in another shape, in which one length may be -1; a view where possible."""
    def round(self, /, decimals: Any = ...) -> Array:
        """Nearest whole number, ties to even; with `decimals`, nearest multiple of that power of ten."""
    def searchsorted(self, x2: Any, /, side: Any = ..., sorter: Any = ...) -> Array:
        """Where values belong in an array with one axis that is sorted, or that `sorter` sorts."""
    def sort(self, axis: Any = ...) -> None:
        """Puts the elements in order along an axis, in place."""
    def squeeze(self, /, axis: Any = ...) -> Array:
        """The array without axes of length 1: those named, or all; a view."""
    def std(self, /, axis: Any = ..., *, ddof: Any = ..., keepdims: Any = ...) -> Array:
        """Standard deviation over axes."""
    def sum(self, /, axis: Any = ..., dtype: Any = ..., *, keepdims: Any = ...) -> Array:
        """Sum of elements over axes."""
    def swapaxes(self, axis1: Any, axis2: Any) -> Array:
        """Two axes exchanged; a view."""
    def take(self, indices: Any, /, axis: Any = ...) -> Array:
        """Entries along an axis, by their indices."""
    def to_device(self, device: Any, /, *, stream: Any = ...) -> Array:
        """The array on a device."""
    def tobytes(self, /) -> bytes:
        """The elements in row-major order as bytes."""
    def tofile(self, *args: Any, **kwargs: Any) -> None:
        """NumPy's `tofile`, computed by it."""
    def tolist(self, /) -> Any:
        """The elements as Python numbers in nested lists; a number for an array without axes."""
    def trace(self, offset: Any = ...) -> Array:
        """Sum of the diagonal of the first two axes."""
    def transpose(self, *axes: Any) -> Array:
        """Axes in another order, or reversed; a view."""
    def var(self, /, axis: Any = ..., *, ddof: Any = ..., keepdims: Any = ...) -> Array:
        """Variance over axes."""
    def view(self, dtype: Any = ...) -> Array:
        """Another array of the same memory; of another dtype, a copy of its bits."""
    def __add__(self, other: Any, /) -> Array: ...
    def __radd__(self, other: Any, /) -> Array: ...
    def __iadd__(self, other: Any, /) -> Array: ...
    def __sub__(self, other: Any, /) -> Array: ...
    def __rsub__(self, other: Any, /) -> Array: ...
    def __isub__(self, other: Any, /) -> Array: ...
    def __mul__(self, other: Any, /) -> Array: ...
    def __rmul__(self, other: Any, /) -> Array: ...
    def __imul__(self, other: Any, /) -> Array: ...
    def __truediv__(self, other: Any, /) -> Array: ...
    def __rtruediv__(self, other: Any, /) -> Array: ...
    def __itruediv__(self, other: Any, /) -> Array: ...
    def __floordiv__(self, other: Any, /) -> Array: ...
    def __rfloordiv__(self, other: Any, /) -> Array: ...
    def __ifloordiv__(self, other: Any, /) -> Array: ...
    def __mod__(self, other: Any, /) -> Array: ...
    def __rmod__(self, other: Any, /) -> Array: ...
    def __imod__(self, other: Any, /) -> Array: ...
    def __pow__(self, other: Any, modulo: None = ..., /) -> Array: ...
    def __rpow__(self, other: Any, modulo: None = ..., /) -> Array: ...
    def __ipow__(self, other: Any, /) -> Array: ...  # type: ignore[misc]
    def __matmul__(self, other: Any, /) -> Array: ...
    def __rmatmul__(self, other: Any, /) -> Array: ...
    def __imatmul__(self, other: Any, /) -> Array: ...
    def __and__(self, other: Any, /) -> Array: ...
    def __rand__(self, other: Any, /) -> Array: ...
    def __iand__(self, other: Any, /) -> Array: ...
    def __or__(self, other: Any, /) -> Array: ...
    def __ror__(self, other: Any, /) -> Array: ...
    def __ior__(self, other: Any, /) -> Array: ...
    def __xor__(self, other: Any, /) -> Array: ...
    def __rxor__(self, other: Any, /) -> Array: ...
    def __ixor__(self, other: Any, /) -> Array: ...
    def __lshift__(self, other: Any, /) -> Array: ...
    def __rlshift__(self, other: Any, /) -> Array: ...
    def __ilshift__(self, other: Any, /) -> Array: ...
    def __rshift__(self, other: Any, /) -> Array: ...
    def __rrshift__(self, other: Any, /) -> Array: ...
    def __irshift__(self, other: Any, /) -> Array: ...
    def __divmod__(self, other: Any, /) -> tuple[Array, Array]: ...
    def __rdivmod__(self, other: Any, /) -> tuple[Array, Array]: ...
    def __lt__(self, other: Any, /) -> Array: ...
    def __le__(self, other: Any, /) -> Array: ...
    def __gt__(self, other: Any, /) -> Array: ...
    def __ge__(self, other: Any, /) -> Array: ...
    def __eq__(self, other: Any, /) -> Array: ...  # type: ignore[override]
    def __ne__(self, other: Any, /) -> Array: ...  # type: ignore[override]
    def __neg__(self) -> Array: ...
    def __pos__(self) -> Array: ...
    def __abs__(self) -> Array: ...
    def __invert__(self) -> Array: ...
    def __repr__(self, /) -> str: ...
    def __str__(self, /) -> str: ...
    def __format__(self, spec: Any) -> str: ...
    def _repr_html_(self) -> str: ...
    def __hash__(self, /) -> int: ...
    def __bool__(self, /) -> builtins.bool: ...
    def __float__(self, /) -> float: ...
    def __complex__(self, /) -> complex: ...
    def __int__(self, /) -> int: ...
    def __index__(self, /) -> int: ...
    def __round__(self, digits: Any = ...) -> Any: ...
    def __len__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[Array]: ...
    def __contains__(self, key: Any, /) -> builtins.bool: ...
    def __getitem__(self, key: Any, /) -> Array: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __copy__(self, /) -> Array: ...
    def __deepcopy__(self, /, _memo: Any) -> Array: ...
    def __reduce__(self, /) -> tuple[Any, ...]: ...
    def __array__(self, /, dtype: Any = ..., copy: Any = ...) -> Any: ...
    def __dlpack__(self, /, *, stream: Any = ..., max_version: Any = ..., dl_device: Any = ..., copy: Any = ...) -> Any: ...
    def __dlpack_device__(self, /) -> tuple[int, int]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __array_namespace__(self, /, *, api_version: Any = ...) -> Any: ...
    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, out: Any = ..., **kwargs: Any) -> Any: ...
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any: ...

@final
class Runtime:
    """What computes arrays: its devices, settings, memory and statistics. A `with` block makes it that of this thread."""
    @property
    def backend(self) -> str:
        """What computes beside the host: 'cuda', or 'cpu' where there is no accelerator."""
    def can_allocate(self, /, nbytes: Any, device: Any = ...) -> builtins.bool:
        """Whether an array of so many bytes could be made on a device now."""
    @property
    def device_count(self) -> int:
        """How many accelerators there are."""
    @property
    def gpu(self) -> _Accelerators | None:
        """The GPUs of the runtime; None where it has none."""
    def is_available(self, /, device: Any) -> builtins.bool:
        """Whether a device can be used."""
    def memory_stats(self, /) -> dict[str, dict[str, Any]]:
        """For each device in use: bytes live, peak, cached, free, budget and total, the share used and the level of pressure."""
    def on_pressure(self, /, callback: Any) -> _PressureWatch:
        """Calls `callback(device, event)` whenever the memory of a GPU gets near the end of its budget or away from it, until the watch is"""
    def settings(self, /) -> list[tuple[str, str, str]]:
        """The settings in effect: name, value and who set it."""
    def stats(self, /) -> dict[str, int]:
        """Kernels launched, copies, fallbacks, since the runtime was made."""
    def trim(self, /) -> None:
        """Gives memory back that arrays have freed and that is kept for the next ones."""
    def utilization(self, /) -> dict[str, Any]:
        """How busy the machine is: `cpu`, the share of all cores that worked since the last call, for whatever program; `process`, how many worked"""
    def __enter__(self) -> Runtime: ...
    def __exit__(self, *why: Any) -> builtins.bool: ...

class __array_namespace_info__:
    """Capabilities, devices and dtypes of the namespace."""
    def capabilities(self) -> dict[str, Any]:
        """What the standard leaves open: shapes may depend on data, masks may be indices, and there may be 64 axes."""
    def default_device(self) -> _device:
        """Where arrays are unless a device is asked for."""
    def default_dtypes(self, *, device: Any = ...) -> dict[str, _dtype]:
        """Dtypes of arrays that are made without one."""
    def devices(self) -> list[_device]:
        """All devices."""
    def dtypes(self, *, device: Any = ..., kind: Any = ...) -> dict[str, _dtype]:
        """All dtypes of the standard, or those of a kind."""

def abs(x: Any, /) -> Array:
    """Magnitude of each element."""

def absolute(x: Any, /) -> Array:
    """Magnitude of each element."""

def acos(x: Any, /) -> Array:
    """Arc cosine in radians."""

def acosh(x: Any, /) -> Array:
    """Inverse hyperbolic cosine."""

def add(x1: Any, x2: Any, /) -> Array:
    """Sum."""

def all(x: Any, /, axis: Any = ..., *, keepdims: Any = ...) -> Array:
    """Whether all elements over axes are true, or not zero."""

def allclose(a: Any, b: Any, rtol: Any = ..., atol: Any = ..., equal_nan: Any = ...) -> builtins.bool:
    """Whether all elements are within a tolerance of each other."""

def amax(x: Any, /, axis: Any = ..., *, keepdims: Any = ...) -> Array:
    """Largest element over axes; NaN wins."""

def amin(x: Any, /, axis: Any = ..., *, keepdims: Any = ...) -> Array:
    """Smallest element over axes; NaN wins."""

def any(x: Any, /, axis: Any = ..., *, keepdims: Any = ...) -> Array:
    """Whether any element over axes is true, or not zero."""

def arange(start: Any, /, stop: Any = ..., step: Any = ..., *, dtype: Any = ..., device: Any = ...) -> Array:
    """`start`, `start + step`, … before `stop`; with one number, from 0 to before it."""

def arccos(x: Any, /) -> Array:
    """Arc cosine in radians."""

def arccosh(x: Any, /) -> Array:
    """Inverse hyperbolic cosine."""

def arcsin(x: Any, /) -> Array:
    """Arc sine in radians."""

def arcsinh(x: Any, /) -> Array:
    """Inverse hyperbolic sine."""

def arctan(x: Any, /) -> Array:
    """Arc tangent in radians."""

def arctan2(x1: Any, x2: Any, /) -> Array:
    """Angle in radians of the point with height x1 and width x2."""

def arctanh(x: Any, /) -> Array:
    """Inverse hyperbolic tangent."""

def argmax(x: Any, /, axis: Any = ..., *, keepdims: Any = ...) -> Array:
    """Index of the first largest element along an axis, or of all elements."""

def argmin(x: Any, /, axis: Any = ..., *, keepdims: Any = ...) -> Array:
    """Index of the first smallest element along an axis, or of all elements."""

def argsort(x: Any, /, axis: Any = ..., *, descending: Any = ..., stable: Any = ...) -> Array:
    """The indices that sort an axis; equal elements keep their order."""

def argwhere(a: Any) -> Array:
    """Indices of the elements that are not zero, one row per element."""

def around(x: Any, /, decimals: Any = ...) -> Array:
    """Nearest whole number, ties to even; with `decimals`, nearest multiple of that power of ten."""

def array(object: Any, dtype: Any = ..., *, copy: Any = ..., ndmin: Any = ...) -> Array:
    """An array of its own: NumPy's `array`."""

def array_equal(a1: Any, a2: Any) -> builtins.bool:
    """Whether two arrays have the same shape and elements."""

def asarray(obj: Any, /, *, dtype: Any = ..., device: Any = ..., copy: Any = ...) -> Array:
    """Anything as an array: numbers, nested sequences, NumPy arrays, objects with `__dlpack__`. What is an array already is returned as"""

def ascontiguousarray(a: Any, dtype: Any = ...) -> Array:
    """The array; how it lies in memory is the library's concern."""

def asin(x: Any, /) -> Array:
    """Arc sine in radians."""

def asinh(x: Any, /) -> Array:
    """Inverse hyperbolic sine."""

def astype(x: Any, dtype: Any, /, *, copy: Any = ..., device: Any = ...) -> Array:
    """The array in another dtype."""

def atan(x: Any, /) -> Array:
    """Arc tangent in radians."""

def atan2(x1: Any, x2: Any, /) -> Array:
    """Angle in radians of the point with height x1 and width x2."""

def atanh(x: Any, /) -> Array:
    """Inverse hyperbolic tangent."""

def atleast_1d(a: Any) -> Array:
    """The array with at least one axis."""

def atleast_2d(a: Any) -> Array:
    """The array with at least two axes; a vector becomes a row."""

def average(a: Any, axis: Any = ..., weights: Any = ...) -> Array:
    """Mean, or with weights the weighted one."""

def bincount(x: Any, /, weights: Any = ..., minlength: Any = ...) -> Array:
    """How often each of 0, 1, … occurs among integers, or the sum of the weights there."""

def bitwise_and(x1: Any, x2: Any, /) -> Array:
    """Bitwise and."""

def bitwise_invert(x: Any, /) -> Array:
    """Every bit flipped; logical not for booleans."""

def bitwise_left_shift(x1: Any, x2: Any, /) -> Array:
    """Bits moved up."""

def bitwise_not(x: Any, /) -> Array:
    """Every bit flipped; logical not for booleans."""

def bitwise_or(x1: Any, x2: Any, /) -> Array:
    """Bitwise or."""

def bitwise_right_shift(x1: Any, x2: Any, /) -> Array:
    """Bits moved down."""

def bitwise_xor(x1: Any, x2: Any, /) -> Array:
    """Bitwise exclusive or."""

def broadcast_arrays(*arrays: Any) -> list[Array]:
    """The arrays repeated to their common shape."""

def broadcast_to(x: Any, /, shape: Any) -> Array:
    """The array repeated to a shape; a view."""

def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Whether every value of a dtype, or of an array's, has its place in another."""

def ceil(x: Any, /) -> Array:
    """Smallest whole number not below."""

def clip(x: Any, /, min: Any = ..., max: Any = ...) -> Array:
    """Each element, but at least `min` and at most `max`."""

def concat(arrays: Any, /, axis: Any = ...) -> Array:
    """Arrays joined along an axis they have; without one (`axis=None`), flattened first."""

def concatenate(arrays: Any, /, axis: Any = ...) -> Array:
    """Arrays joined along an axis they have; without one (`axis=None`), flattened first."""

def conj(x: Any, /) -> Array:
    """Complex conjugate."""

def conjugate(x: Any, /) -> Array:
    """Complex conjugate."""

def convolve(a: Any, v: Any, mode: Any = ...) -> Array:
    """Convolution of two vectors: 'full', 'same' (as long as the longer one) or 'valid'; `crossover.signal` has more."""

def copysign(x1: Any, x2: Any, /) -> Array:
    """Magnitude of x1 with the sign of x2."""

def correlate(a: Any, v: Any, mode: Any = ...) -> Array:
    """Correlation of two vectors: 'valid', 'same' or 'full'; `crossover.signal` has more."""

def cos(x: Any, /) -> Array:
    """Cosine of radians."""

def cosh(x: Any, /) -> Array:
    """Hyperbolic cosine."""

def cospi(x1: Any, x2: Any, /) -> Array:
    """Cosine of pi times the sum, which is not rounded."""

def count_nonzero(x: Any, /, axis: Any = ..., *, keepdims: Any = ...) -> Array:
    """Number of elements over axes that are not zero."""

def cumprod(a: Any, axis: Any = ..., dtype: Any = ...) -> Array:
    """Running product along an axis, or of all elements."""

def cumsum(a: Any, axis: Any = ..., dtype: Any = ...) -> Array:
    """Running sum along an axis, or of all elements."""

def cumulative_prod(x: Any, /, *, axis: Any = ..., dtype: Any = ..., include_initial: Any = ...) -> Array:
    """Running product along an axis."""

def cumulative_sum(x: Any, /, *, axis: Any = ..., dtype: Any = ..., include_initial: Any = ...) -> Array:
    """Running sum along an axis."""

@final
class device:
    """A device, and a `with` block in which this thread computes there."""
    def __new__(cls, name: Any) -> Self: ...
    @property
    def type(self) -> str:
        """'cpu', 'cuda' or 'auto'."""
    def __enter__(self) -> device: ...
    def __exit__(self, *why: Any) -> builtins.bool: ...

def diag(v: Any, k: Any = ...) -> Array:
    """The diagonal of a matrix, or a matrix with a diagonal."""

def diff(x: Any, /, n: Any = ..., axis: Any = ..., prepend: Any = ..., append: Any = ...) -> Array:
    """Differences of neighbours along an axis, `n` times over."""

def divide(x1: Any, x2: Any, /) -> Array:
    """Quotient."""

def dot(x1: Any, x2: Any, /) -> Array:
    """NumPy's product: sums over the last axis of `x1` and the one before the last of `x2`."""

@final
class dtype:
    """A data type. There is one object per type, such as `crossover.float32`; functions also take NumPy's dtypes, Python's types"""
    def __new__(cls, dtype: Any) -> Self: ...
    @property
    def dtype(self) -> Any:
        """The same for NumPy."""
    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
    @property
    def kind(self) -> str:
        """NumPy's letter for the kind: 'b', 'i', 'u', 'f' or 'c'."""
    @property
    def name(self) -> str:
        """Name in the standard, such as 'float32'."""
    def promote(self, /, other: Any) -> _dtype:
        """The dtype of an operation between this one and another."""
    @property
    def str(self) -> str:
        """NumPy's name with the byte order, such as '<f4'."""
    def __call__(self, value: Any, /) -> Array: ...

def einsum(subscripts: Any, /, *operands: Any) -> Array:
    """Einstein's sums."""

def empty(shape: Any, *, dtype: Any = ..., device: Any = ...) -> Array:
    """An array to be written: zeros."""

def empty_like(x: Any, /, *, dtype: Any = ..., device: Any = ...) -> Array:
    """An array to be written, with the shape and, unless another is given, the dtype of an array."""

def equal(x1: Any, x2: Any, /) -> Array:
    """True where x1 is equal to x2."""

def erf(x: Any, /) -> Array:
    """Gauss error function."""

def erfc(x: Any, /) -> Array:
    """Complementary error function."""

def exp(x: Any, /) -> Array:
    """e to the power of each element."""

def exp2(x: Any, /) -> Array:
    """Two to the power of each element."""

def expand_dims(x: Any, /, axis: Any = ...) -> Array:
    """New axes of length 1; a view."""

def expm1(x: Any, /) -> Array:
    """e to the power of each element, minus one."""

def eye(n_rows: Any, n_cols: Any = ..., /, *, k: Any = ..., dtype: Any = ..., device: Any = ...) -> Array:
    """Ones on one diagonal, zeros elsewhere."""

def fabs(x: Any, /) -> Array:
    """Magnitude of each element, as floats."""

def fallbacks() -> dict[tuple[str, str, int], int]:
    """How often NumPy did what this library does not, as (function, file, line): count."""

class finfo:
    """What a float dtype, or the parts of a complex one, can tell apart."""
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    tiny: float
    smallest_subnormal: float
    resolution: float
    dtype: _dtype
    def __init__(self, type: Any, /) -> None: ...

def flatnonzero(a: Any) -> Array:
    """Indices in the flattened array of the elements that are not zero."""

def flip(x: Any, /, axis: Any = ...) -> Array:
    """Axes reversed in direction; a view."""

def fliplr(m: Any) -> Array:
    """The second axis reversed."""

def flipud(m: Any) -> Array:
    """The first axis reversed."""

def float_power(x1: Any, x2: Any, /) -> Array:
    """x1 to the power of x2, in double precision."""

def floor(x: Any, /) -> Array:
    """Largest whole number not above."""

def floor_divide(x1: Any, x2: Any, /) -> Array:
    """Quotient rounded towards minus infinity; integers divided by zero give 0."""

def fmod(x1: Any, x2: Any, /) -> Array:
    """Remainder with the sign of the dividend."""

def from_dlpack(x: Any, /, *, device: Any = ..., copy: Any = ...) -> Array:
    """An array from an object with `__dlpack__`, copied."""

def full(shape: Any, fill_value: Any, *, dtype: Any = ..., device: Any = ...) -> Array:
    """One number everywhere."""

def full_like(x: Any, /, fill_value: Any, *, dtype: Any = ..., device: Any = ...) -> Array:
    """One number everywhere, with the shape and, unless another is given, the dtype of an array."""

def gelu(x: Any, /) -> Array:
    """Gaussian error linear unit, tanh form."""

def gelu_exact(x: Any, /) -> Array:
    """Gaussian error linear unit, exact form."""

def get_runtime() -> Runtime:
    """The runtime of this thread."""

def gpu(function: Any = ..., *, device: Any = ...) -> Any:
    """Runs a NumPy function on this library: NumPy arrays in, NumPy arrays out; PyTorch's, CuPy's or our arrays in, the same kind out."""

def gpu_kernel(source: Any = ..., *, output: Any = ..., shape: Any = ..., grid: Any = ..., zeroed: Any = ..., out: Any = ..., threads: Any = ...) -> Any:
    """A kernel of your own: `@xo.gpu_kernel(SOURCE)` over a function that does the same on the host, or `@xo.gpu_kernel` over `@numba.cuda.jit`."""

def greater(x1: Any, x2: Any, /) -> Array:
    """True where x1 is greater than x2."""

def greater_equal(x1: Any, x2: Any, /) -> Array:
    """True where x1 is greater than or equal to x2."""

def histogram(x: Any, /, bins: Any = ..., range: Any = ..., density: Any = ..., weights: Any = ...) -> tuple[Array, Array]:
    """Counts of elements between edges, and the edges: `bins` is how many, `range` from where to where."""

def hstack(tup: Any) -> Array:
    """Arrays joined along the second axis; vectors along their own."""

def hypot(x1: Any, x2: Any, /) -> Array:
    """Square root of the sum of squares."""

def identity(n: Any, dtype: Any = ...) -> Array:
    """The identity matrix."""

class iinfo:
    """What an integer dtype holds."""
    bits: int
    min: int
    max: int
    dtype: _dtype
    def __init__(self, type: Any, /) -> None: ...

def imag(x: Any, /) -> Array:
    """Imaginary part."""

def inner(a: Any, b: Any) -> Array:
    """Sums of products along the last axes."""

def install(report: Any = ...) -> None:
    """From now on, modules of the user's that import NumPy or SciPy get the redirected ones."""

def interp(x: Any, xp: Any, fp: Any) -> Array:
    """Values between points, on straight lines from each to the next."""

def invert(x: Any, /) -> Array:
    """Every bit flipped; logical not for booleans."""

def isclose(a: Any, b: Any, rtol: Any = ..., atol: Any = ..., equal_nan: Any = ...) -> Array:
    """True where elements are within a tolerance of each other."""

def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Whether a dtype is of a kind: a name such as 'real floating', another dtype, or a tuple of these."""

def isfinite(x: Any, /) -> Array:
    """True where an element is neither infinite nor NaN."""

def isin(x1: Any, x2: Any, /) -> Array:
    """Whether each element of `x1` equals one of `x2`."""

def isinf(x: Any, /) -> Array:
    """True where an element is infinite."""

def isnan(x: Any, /) -> Array:
    """True where an element is NaN."""

def left_shift(x1: Any, x2: Any, /) -> Array:
    """Bits moved up."""

def less(x1: Any, x2: Any, /) -> Array:
    """True where x1 is less than x2."""

def less_equal(x1: Any, x2: Any, /) -> Array:
    """True where x1 is less than or equal to x2."""

def linspace(start: Any, stop: Any, /, num: Any = ..., *, dtype: Any = ..., device: Any = ..., endpoint: Any = ...) -> Array:
    """`num` numbers from `start` to `stop`."""

def list_devices() -> list[device]:
    """The devices of the machine: the host first."""

def log(x: Any, /) -> Array:
    """Natural logarithm."""

def log10(x: Any, /) -> Array:
    """Logarithm to base 10."""

def log1p(x: Any, /) -> Array:
    """Natural logarithm of one plus each element."""

def log2(x: Any, /) -> Array:
    """Logarithm to base 2."""

def logaddexp(x1: Any, x2: Any, /) -> Array:
    """Logarithm of the sum of exponentials."""

def logical_and(x1: Any, x2: Any, /) -> Array:
    """True where both are."""

def logical_not(x: Any, /) -> Array:
    """True where an element is false, or zero."""

def logical_or(x1: Any, x2: Any, /) -> Array:
    """True where either is."""

def logical_xor(x1: Any, x2: Any, /) -> Array:
    """True where exactly one is."""

def logsumexp(x: Any, /, axis: Any = ..., *, keepdims: Any = ...) -> Array:
    """Logarithm of the sum of exponentials over axes."""

def matmul(x1: Any, x2: Any, /) -> Array:
    """Product of matrices; leading axes broadcast, arrays with one axis are vectors."""

def matrix_transpose(x: Any, /) -> Array:
    """The last two axes exchanged; a view."""

def max(x: Any, /, axis: Any = ..., *, keepdims: Any = ...) -> Array:
    """Largest element over axes; NaN wins."""

def maximum(x1: Any, x2: Any, /) -> Array:
    """Larger of two; NaN wins."""

def mean(x: Any, /, axis: Any = ..., dtype: Any = ..., *, keepdims: Any = ...) -> Array:
    """Mean of elements over axes."""

def median(a: Any, axis: Any = ...) -> Array:
    """The middle of the elements in order, or the mean of the two there; NaN where there are none."""

def meshgrid(*arrays: Any, indexing: Any = ...) -> list[Array]:
    """Coordinates of a grid: one array per axis, `indexing` 'xy' or 'ij'."""

def min(x: Any, /, axis: Any = ..., *, keepdims: Any = ...) -> Array:
    """Smallest element over axes; NaN wins."""

def minimum(x1: Any, x2: Any, /) -> Array:
    """Smaller of two; NaN wins."""

def mod(x1: Any, x2: Any, /) -> Array:
    """Remainder with the sign of the divisor."""

def moveaxis(x: Any, source: Any, destination: Any, /) -> Array:
    """Axes moved to other places, the others in their order; a view."""

def multiply(x1: Any, x2: Any, /) -> Array:
    """Product."""

def nanmax(a: Any, axis: Any = ...) -> Array:
    """Largest of the elements that are not NaN; NaN where there are none."""

def nanmean(a: Any, axis: Any = ...) -> Array:
    """Mean of the elements that are not NaN; NaN where there are none."""

def nanmin(a: Any, axis: Any = ...) -> Array:
    """Smallest of the elements that are not NaN; NaN where there are none."""

def nansum(a: Any, axis: Any = ...) -> Array:
    """Sum of the elements that are not NaN."""

def negative(x: Any, /) -> Array:
    """The sign flipped."""

def nextafter(x1: Any, x2: Any, /) -> Array:
    """Next float after x1 towards x2."""

def nonzero(x: Any, /) -> tuple[Array, ...]:
    """Indices of the elements that are not zero: one array per axis."""

def not_equal(x1: Any, x2: Any, /) -> Array:
    """True where x1 is different from x2."""

def ones(shape: Any, *, dtype: Any = ..., device: Any = ...) -> Array:
    """Ones."""

def ones_like(x: Any, /, *, dtype: Any = ..., device: Any = ...) -> Array:
    """Ones with the shape and, unless another is given, the dtype of an array."""

def outer(a: Any, b: Any) -> Array:
    """Products of all pairs of elements."""

def pad(x: Any, pad_width: Any, mode: Any = ..., *, constant_values: Any = ...) -> Array:
    """Elements put before and after each axis; `mode` is 'constant', 'edge', 'reflect', 'symmetric' or 'wrap'."""

def percentile(a: Any, q: Any, axis: Any = ...) -> Array:
    """The value below which so many percent of the elements lie, by linear interpolation."""

def permute_dims(x: Any, /, axes: Any) -> Array:
    """Axes in another order; a view."""

def positive(x: Any, /) -> Array:
    """Each element as it is."""

def pow(x1: Any, x2: Any, /) -> Array:
    """x1 to the power of x2."""

def power(x1: Any, x2: Any, /) -> Array:
    """x1 to the power of x2."""

def prod(x: Any, /, axis: Any = ..., dtype: Any = ..., *, keepdims: Any = ...) -> Array:
    """Product of elements over axes."""

class profile:
    """Records what happens in a `with` block, or in a function; then tells."""
    name: str
    everything: builtins.bool
    trace: Any
    def __init__(self, name: Any = ..., *, everything: Any = ...) -> None: ...
    def bottlenecks(self, top_n: Any = ...) -> list[dict[str, Any]]:
        """The kernels that took longest, as dictionaries."""
    def export_chrome(self, path: Any) -> None:
        """Writes the trace for Perfetto (ui.perfetto.dev) and `chrome://tracing`."""
    def export_folded(self, path: Any) -> None:
        """Writes folded stacks, for programs that draw flame graphs."""
    def export_json(self, path: Any) -> None:
        """Writes the trace, for `crossover report` and for later."""
    def export_prometheus(self, path: Any) -> None:
        """Writes totals as metrics, for the textfile collector of Prometheus."""
    def export_speedscope(self, path: Any) -> None:
        """Writes the trace for speedscope.app."""
    def html(self, path: Any = ...) -> str | None:
        """A page that shows the trace: written to a file, or returned."""
    @staticmethod
    def scope(name: Any) -> Any:
        """Names a part of what is recorded: a span of every recording under way, and next to nothing without one."""
    def summary(self) -> str:
        """Parts of the time, kernels and advice, as text."""
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __get__(self, instance: Any, owner: Any = ...) -> Any: ...
    def __enter__(self) -> profile: ...
    def __exit__(self, *why: Any) -> builtins.bool: ...

def ptp(a: Any, axis: Any = ...) -> Array:
    """Largest less smallest element."""

def quantile(a: Any, q: Any, axis: Any = ...) -> Array:
    """The value below which such a share of the elements lies, by linear interpolation."""

def ravel(a: Any) -> Array:
    """All elements along one axis; a view where possible."""

def real(x: Any, /) -> Array:
    """Real part; real arrays themselves."""

def reciprocal(x: Any, /) -> Array:
    """One over each element."""

def relu(x: Any, /) -> Array:
    """The larger of each element and zero."""

def remainder(x1: Any, x2: Any, /) -> Array:
    """Remainder with the sign of the divisor."""

def repeat(x: Any, repeats: Any, /, axis: Any = ...) -> Array:
    """Each entry several times in a row: as often as a number, or an array with one count per entry, says."""

def reshape(x: Any, /, shape: Any, *, copy: Any = ...) -> Array:
    """The same elements in another shape, in which one length may be -1; a view where possible."""

def result_type(*arrays_and_dtypes: Any) -> dtype:
    """The dtype of an operation between arrays, dtypes and Python numbers."""

def right_shift(x1: Any, x2: Any, /) -> Array:
    """Bits moved down."""

def rint(x: Any, /) -> Array:
    """Nearest whole number, ties to even, as floats."""

def roll(x: Any, /, shift: Any, axis: Any = ...) -> Array:
    """Elements moved along axes, those pushed out coming in at the other end."""

def round(x: Any, /, decimals: Any = ...) -> Array:
    """Nearest whole number, ties to even; with `decimals`, nearest multiple of that power of ten."""

def searchsorted(x1: Any, x2: Any, /, side: Any = ..., sorter: Any = ...) -> Array:
    """Where values belong in an array with one axis that is sorted, or that `sorter` sorts."""

def sigmoid(x: Any, /) -> Array:
    """Logistic function."""

def sign(x: Any, /) -> Array:
    """-1, 0 or 1 with the sign of each element."""

def signbit(x: Any, /) -> Array:
    """True where the sign bit is set."""

def silu(x: Any, /) -> Array:
    """Sigmoid linear unit."""

def sin(x: Any, /) -> Array:
    """Sine of radians."""

def sinh(x: Any, /) -> Array:
    """Hyperbolic sine."""

def sinpi(x1: Any, x2: Any, /) -> Array:
    """Sine of pi times the sum, which is not rounded."""

def softmax(x: Any, /, axis: Any = ...) -> Array:
    """Exponentials divided by their sum along an axis."""

def softplus(x: Any, /) -> Array:
    """Smooth version of max(x, 0)."""

def sort(x: Any, /, axis: Any = ..., *, descending: Any = ..., stable: Any = ...) -> Array:
    """Elements in order along an axis; equal ones keep theirs."""

def split(ary: Any, indices_or_sections: Any, axis: Any = ...) -> list[Array]:
    """Parts of an array along an axis: as many equal ones, or between indices."""

def sqrt(x: Any, /) -> Array:
    """Square root."""

def square(x: Any, /) -> Array:
    """Each element times itself."""

def squeeze(x: Any, /, axis: Any = ...) -> Array:
    """The array without axes of length 1: those named, or all; a view."""

def stack(arrays: Any, /, axis: Any = ...) -> Array:
    """Arrays of one shape joined along a new axis."""

def std(x: Any, /, axis: Any = ..., *, correction: Any = ..., keepdims: Any = ..., ddof: Any = ...) -> Array:
    """Standard deviation over axes; `correction` (NumPy's `ddof`) is taken off the number of elements."""

def subtract(x1: Any, x2: Any, /) -> Array:
    """Difference."""

def sum(x: Any, /, axis: Any = ..., dtype: Any = ..., *, keepdims: Any = ...) -> Array:
    """Sum of elements over axes."""

def swapaxes(a: Any, axis1: Any, axis2: Any) -> Array:
    """Two axes exchanged; a view."""

def take(x: Any, indices: Any, /, axis: Any = ...) -> Array:
    """Entries along an axis, by their indices."""

def take_along_axis(x: Any, indices: Any, /, axis: Any = ...) -> Array:
    """Elements along an axis, each at an index of its own."""

def tan(x: Any, /) -> Array:
    """Tangent of radians."""

def tanh(x: Any, /) -> Array:
    """Hyperbolic tangent."""

def tensordot(x1: Any, x2: Any, /, axes: Any = ...) -> Array:
    """Sums of products over axes: the last `axes` of `x1` with the first of `x2`, or pairs of axes."""

def tile(x: Any, repetitions: Any, /) -> Array:
    """The whole array several times along each axis."""

def trace(a: Any, offset: Any = ...) -> Array:
    """Sum of the diagonal of the first two axes."""

def transpose(a: Any, axes: Any = ...) -> Array:
    """Axes in another order, or reversed; a view."""

def tril(x: Any, /, k: Any = ...) -> Array:
    """The lower triangle of matrices, zeros above."""

def triu(x: Any, /, k: Any = ...) -> Array:
    """The upper triangle of matrices, zeros below."""

def true_divide(x1: Any, x2: Any, /) -> Array:
    """Quotient."""

def trunc(x: Any, /) -> Array:
    """Nearest whole number towards zero."""

def unique(ar: Any, return_index: Any = ..., return_inverse: Any = ..., return_counts: Any = ...) -> Any:
    """Distinct elements in ascending order, and what else is asked for."""

def unique_all(x: Any, /) -> _UniqueAllResult:
    """Distinct elements, where each first occurs, which of them each element is, and how often each occurs."""

def unique_counts(x: Any, /) -> _UniqueCountsResult:
    """Distinct elements and how often each occurs."""

def unique_inverse(x: Any, /) -> _UniqueInverseResult:
    """Distinct elements and which of them each element is."""

def unique_values(x: Any, /) -> Array:
    """Distinct elements in ascending order."""

def unstack(x: Any, /, axis: Any = ...) -> tuple[Array, ...]:
    """The entries of an axis, which goes away: views."""

def var(x: Any, /, axis: Any = ..., *, correction: Any = ..., keepdims: Any = ..., ddof: Any = ...) -> Array:
    """Variance over axes; `correction` (NumPy's `ddof`) is taken off the number of elements."""

def vecdot(x1: Any, x2: Any, /, *, axis: Any = ...) -> Array:
    """Sum of products of the conjugated `x1` with `x2` along an axis."""

def vstack(tup: Any) -> Array:
    """Arrays joined along the first axis; vectors become rows."""

def where(condition: Any, x1: Any, x2: Any, /) -> Array:
    """`x1` where the condition holds, `x2` elsewhere."""

def zeros(shape: Any, *, dtype: Any = ..., device: Any = ...) -> Array:
    """Zeros."""

def zeros_like(x: Any, /, *, dtype: Any = ..., device: Any = ...) -> Array:
    """Zeros with the shape and, unless another is given, the dtype of an array."""

__array_api_version__: str
bfloat16: dtype
bool: dtype
bool_: dtype
cdouble: dtype
complex128: dtype
complex64: dtype
double: dtype
e: float
float16: dtype
float32: dtype
float64: dtype
inf: float
int16: dtype
int32: dtype
int64: dtype
int8: dtype
nan: float
ndarray = Array
newaxis: None
pi: float
single: dtype
uint16: dtype
uint32: dtype
uint64: dtype
uint8: dtype
_dtype = dtype
_device = device
