"""Written by python/tools/stubs.py."""

import builtins
import os
from typing import Any, Callable, Iterator, Literal, Sequence, SupportsIndex, TypeVar, final, overload

from typing_extensions import Self

from . import _typing as _t
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

_F = TypeVar("_F", bound=Callable[..., Any])

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
        """How an array lies in memory: NumPy's `flags`, by attribute or key. Arrays can be written, and have memory of their own unless they are views."""
    @property
    def flat(self) -> Any:
        """All elements in row-major order, to be read and written one by one: NumPy's `flat`."""
    @flat.setter
    def flat(self, value: _t.ArrayLike) -> None: ...
    @property
    def imag(self) -> Array:
        """The imaginary part."""
    @imag.setter
    def imag(self, value: _t.ArrayLike) -> None: ...
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
    def real(self, value: _t.ArrayLike) -> None: ...
    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
    @property
    def size(self) -> int:
        """Number of elements."""
    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""
    def all(self, /, axis: _t.Axes | None = None, *, keepdims: builtins.bool = False) -> Array:
        """Whether all elements over axes are true."""
    def any(self, /, axis: _t.Axes | None = None, *, keepdims: builtins.bool = False) -> Array:
        """Whether any element over axes is true."""
    def argmax(self, /, axis: SupportsIndex | None = None, *, keepdims: builtins.bool = False) -> Array:
        """Index of the first largest element along an axis, or of all elements."""
    def argmin(self, /, axis: SupportsIndex | None = None, *, keepdims: builtins.bool = False) -> Array:
        """Index of the first smallest element along an axis, or of all elements."""
    def argpartition(self, *args: Any, **kwargs: Any) -> Array:
        """NumPy's `argpartition`, computed by it."""
    def argsort(self, /, axis: SupportsIndex = ..., *, descending: builtins.bool = False, stable: builtins.bool = True) -> Array:
        """The indices that sort an axis; equal elements keep their order."""
    def astype(self, /, dtype: _t.DTypeLike, order: Literal['C', 'F', 'A', 'K'] | None = None, casting: Literal['no', 'equiv', 'safe', 'same_kind', 'unsafe'] | None = None, subok: builtins.bool | None = None, copy: builtins.bool = True) -> Array:
        """The array in another dtype. What only NumPy does, it does: other orders and rules of casting, and dtypes that are none of ours."""
    def byteswap(self, *args: Any, **kwargs: Any) -> Array:
        """NumPy's `byteswap`, computed by it."""
    def choose(self, *args: Any, **kwargs: Any) -> Array:
        """NumPy's `choose`, computed by it."""
    def clip(self, /, min: _t.ArrayLike | None = None, max: _t.ArrayLike | None = None) -> Array:
        """Each element, but at least `min` and at most `max`."""
    def compress(self, *args: Any, **kwargs: Any) -> Array:
        """NumPy's `compress`, computed by it."""
    def conj(self, /) -> Array:
        """Complex conjugate."""
    def conjugate(self, /) -> Array:
        """Complex conjugate."""
    def copy(self, /) -> Array:
        """The same elements in an array of its own."""
    def cumprod(self, axis: SupportsIndex | None = None, dtype: _t.DTypeLike | None = None) -> Array:
        """Running product along an axis, or of all elements."""
    def cumsum(self, axis: SupportsIndex | None = None, dtype: _t.DTypeLike | None = None) -> Array:
        """Running sum along an axis, or of all elements."""
    def diagonal(self, offset: SupportsIndex = 0) -> Array:
        """The diagonal of the first two axes."""
    def dot(self, b: _t.ArrayLike) -> Array:
        """NumPy's product."""
    def dump(self, *args: Any, **kwargs: Any) -> None:
        """NumPy's `dump`, computed by it."""
    def dumps(self, *args: Any, **kwargs: Any) -> bytes:
        """NumPy's `dumps`, computed by it."""
    def eval(self, /) -> Array:
        """Computes the array now and returns it."""
    def explain(self, /) -> str:
        """The plan that computing the array would run, as text."""
    def fill(self, /, value: _t.ArrayLike) -> None:
        """Writes one value into every element."""
    def flatten(self) -> Array:
        """All elements along one axis, in an array of its own."""
    def item(self, /, *at: _t.Shape) -> Any:
        """The only element, or the one at a position, as a Python number."""
    def max(self, /, axis: _t.Axes | None = None, *, keepdims: builtins.bool = False) -> Array:
        """Largest element over axes."""
    def mean(self, /, axis: _t.Axes | None = None, dtype: _t.DTypeLike | None = None, *, keepdims: builtins.bool = False) -> Array:
        """Mean of elements over axes."""
    def min(self, /, axis: _t.Axes | None = None, *, keepdims: builtins.bool = False) -> Array:
        """Smallest element over axes."""
    def nonzero(self, /) -> tuple[Array, ...]:
        """Indices of the elements that are not zero: one array per axis."""
    def numpy(self) -> Any:
        """A `numpy.ndarray` of its own with the same elements."""
    def partition(self, *args: Any, **kwargs: Any) -> None:
        """NumPy's `partition`, computed by it."""
    def prod(self, /, axis: _t.Axes | None = None, dtype: _t.DTypeLike | None = None, *, keepdims: builtins.bool = False) -> Array:
        """Product of elements over axes."""
    def ptp(self, axis: _t.Axes | None = None) -> Array:
        """Largest less smallest element."""
    def put(self, *args: Any, **kwargs: Any) -> None:
        """NumPy's `put`, computed by it."""
    def ravel(self) -> Array:
        """All elements along one axis; a view where possible."""
    def repeat(self, repeats: _t.ArrayLike, /, axis: SupportsIndex | None = None) -> Array:
        """Each entry several times in a row: as often as a number, or an array with one count per entry, says."""
    def reshape(self, /, *shape: _t.Shape) -> Array:
        """The same elements in another shape, in which one length may be -1; a view where possible."""
    def round(self, /, decimals: SupportsIndex = 0) -> Array:
        """Nearest whole number, ties to even; with `decimals`, nearest multiple of that power of ten."""
    def searchsorted(self, x2: _t.ArrayLike, /, side: Literal['left', 'right'] = 'left', sorter: _t.ArrayLike | None = None) -> Array:
        """Where values belong in an array with one axis that is sorted, or that `sorter` sorts."""
    def sort(self, axis: SupportsIndex = -1) -> None:
        """Puts the elements in order along an axis, in place."""
    def squeeze(self, /, axis: _t.Axes | None = None) -> Array:
        """The array without axes of length 1: those named, or all; a view."""
    def std(self, /, axis: _t.Axes | None = None, *, ddof: float = 0, keepdims: builtins.bool = False) -> Array:
        """Standard deviation over axes."""
    def sum(self, /, axis: _t.Axes | None = None, dtype: _t.DTypeLike | None = None, *, keepdims: builtins.bool = False) -> Array:
        """Sum of elements over axes."""
    def swapaxes(self, axis1: SupportsIndex, axis2: SupportsIndex) -> Array:
        """Two axes exchanged; a view."""
    def take(self, indices: _t.ArrayLike, /, axis: SupportsIndex | None = None) -> Array:
        """Entries along an axis, by their indices."""
    def to_device(self, device: _t.DeviceLike, /, *, stream: Any = None) -> Array:
        """The array on a device."""
    def tobytes(self, /) -> bytes:
        """The elements in row-major order as bytes."""
    def tofile(self, *args: Any, **kwargs: Any) -> None:
        """NumPy's `tofile`, computed by it."""
    def tolist(self, /) -> Any:
        """The elements as Python numbers in nested lists; a number for an array without axes."""
    def trace(self, offset: SupportsIndex = 0) -> Array:
        """Sum of the diagonal of the first two axes."""
    def transpose(self, *axes: _t.Axes | None) -> Array:
        """Axes in another order, or reversed; a view."""
    def var(self, /, axis: _t.Axes | None = None, *, ddof: float = 0, keepdims: builtins.bool = False) -> Array:
        """Variance over axes."""
    def view(self, dtype: _t.DTypeLike | None = None) -> Array:
        """Another array of the same memory; of another dtype, a copy of its bits."""
    def __add__(self, other: _t.ArrayLike, /) -> Array: ...
    def __radd__(self, other: _t.ArrayLike, /) -> Array: ...
    def __iadd__(self, other: _t.ArrayLike, /) -> Array: ...
    def __sub__(self, other: _t.ArrayLike, /) -> Array: ...
    def __rsub__(self, other: _t.ArrayLike, /) -> Array: ...
    def __isub__(self, other: _t.ArrayLike, /) -> Array: ...
    def __mul__(self, other: _t.ArrayLike, /) -> Array: ...
    def __rmul__(self, other: _t.ArrayLike, /) -> Array: ...
    def __imul__(self, other: _t.ArrayLike, /) -> Array: ...
    def __truediv__(self, other: _t.ArrayLike, /) -> Array: ...
    def __rtruediv__(self, other: _t.ArrayLike, /) -> Array: ...
    def __itruediv__(self, other: _t.ArrayLike, /) -> Array: ...
    def __floordiv__(self, other: _t.ArrayLike, /) -> Array: ...
    def __rfloordiv__(self, other: _t.ArrayLike, /) -> Array: ...
    def __ifloordiv__(self, other: _t.ArrayLike, /) -> Array: ...
    def __mod__(self, other: _t.ArrayLike, /) -> Array: ...
    def __rmod__(self, other: _t.ArrayLike, /) -> Array: ...
    def __imod__(self, other: _t.ArrayLike, /) -> Array: ...
    def __pow__(self, other: _t.ArrayLike, modulo: None = ..., /) -> Array: ...
    def __rpow__(self, other: _t.ArrayLike, modulo: None = ..., /) -> Array: ...
    def __ipow__(self, other: _t.ArrayLike, /) -> Array: ...  # type: ignore[misc]
    def __matmul__(self, other: _t.ArrayLike, /) -> Array: ...
    def __rmatmul__(self, other: _t.ArrayLike, /) -> Array: ...
    def __imatmul__(self, other: _t.ArrayLike, /) -> Array: ...
    def __and__(self, other: _t.ArrayLike, /) -> Array: ...
    def __rand__(self, other: _t.ArrayLike, /) -> Array: ...
    def __iand__(self, other: _t.ArrayLike, /) -> Array: ...
    def __or__(self, other: _t.ArrayLike, /) -> Array: ...
    def __ror__(self, other: _t.ArrayLike, /) -> Array: ...
    def __ior__(self, other: _t.ArrayLike, /) -> Array: ...
    def __xor__(self, other: _t.ArrayLike, /) -> Array: ...
    def __rxor__(self, other: _t.ArrayLike, /) -> Array: ...
    def __ixor__(self, other: _t.ArrayLike, /) -> Array: ...
    def __lshift__(self, other: _t.ArrayLike, /) -> Array: ...
    def __rlshift__(self, other: _t.ArrayLike, /) -> Array: ...
    def __ilshift__(self, other: _t.ArrayLike, /) -> Array: ...
    def __rshift__(self, other: _t.ArrayLike, /) -> Array: ...
    def __rrshift__(self, other: _t.ArrayLike, /) -> Array: ...
    def __irshift__(self, other: _t.ArrayLike, /) -> Array: ...
    def __divmod__(self, other: _t.ArrayLike, /) -> tuple[Array, Array]: ...
    def __rdivmod__(self, other: _t.ArrayLike, /) -> tuple[Array, Array]: ...
    def __lt__(self, other: _t.ArrayLike, /) -> Array: ...
    def __le__(self, other: _t.ArrayLike, /) -> Array: ...
    def __gt__(self, other: _t.ArrayLike, /) -> Array: ...
    def __ge__(self, other: _t.ArrayLike, /) -> Array: ...
    def __eq__(self, other: object, /) -> Array: ...  # type: ignore[override]
    def __ne__(self, other: object, /) -> Array: ...  # type: ignore[override]
    def __neg__(self) -> Array: ...
    def __pos__(self) -> Array: ...
    def __abs__(self) -> Array: ...
    def __invert__(self) -> Array: ...
    def __repr__(self, /) -> str: ...
    def __str__(self, /) -> str: ...
    def __format__(self, spec: str) -> str: ...
    def _repr_html_(self) -> str: ...
    def __hash__(self, /) -> int: ...
    def __bool__(self, /) -> builtins.bool: ...
    def __float__(self, /) -> float: ...
    def __complex__(self, /) -> complex: ...
    def __int__(self, /) -> int: ...
    def __index__(self, /) -> int: ...
    def __round__(self, digits: SupportsIndex | None = None) -> Any: ...
    def __len__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[Array]: ...
    def __contains__(self, key: object, /) -> builtins.bool: ...
    def __getitem__(self, key: _t.Key, /) -> Array: ...
    def __setitem__(self, key: _t.Key, value: _t.ArrayLike, /) -> None: ...
    def __copy__(self, /) -> Array: ...
    def __deepcopy__(self, /, _memo: Any) -> Array: ...
    def __reduce__(self, /) -> tuple[Any, ...]: ...
    def __array__(self, /, dtype: _t.DTypeLike | None = None, copy: builtins.bool | None = None) -> Any: ...
    def __dlpack__(self, /, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: builtins.bool | None = None) -> Any: ...
    def __dlpack_device__(self, /) -> tuple[int, int]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __array_namespace__(self, /, *, api_version: Any = None) -> Any: ...
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any: ...
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any: ...

@final
class Runtime:
    """What computes arrays: its devices, settings, memory and statistics. A `with` block makes it that of this thread."""
    @property
    def backend(self) -> str:
        """What computes beside the host: 'cuda', or 'cpu' where there is no accelerator."""
    def can_allocate(self, /, nbytes: SupportsIndex, device: _t.DeviceLike = 'cpu') -> builtins.bool:
        """Whether an array of so many bytes could be made on a device now."""
    @property
    def device_count(self) -> int:
        """How many accelerators there are."""
    @property
    def gpu(self) -> _Accelerators | None:
        """The GPUs of the runtime; None where it has none."""
    def is_available(self, /, device: _t.DeviceLike) -> builtins.bool:
        """Whether a device can be used."""
    def memory_stats(self, /) -> dict[str, dict[str, Any]]:
        """For each device in use: bytes live, peak, cached, free, budget and total, the share used and the level of pressure."""
    def on_pressure(self, /, callback: Callable[..., Any]) -> _PressureWatch:
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
    def default_dtypes(self, *, device: _t.DeviceLike | None = None) -> dict[str, _dtype]:
        """Dtypes of arrays that are made without one."""
    def devices(self) -> list[_device]:
        """All devices."""
    def dtypes(self, *, device: _t.DeviceLike | None = None, kind: _t.DTypeKind | tuple[_t.DTypeKind, ...] | None = None) -> dict[str, _dtype]:
        """All dtypes of the standard, or those of a kind."""

def abs(x: _t.ArrayLike, /) -> Array:
    """Magnitude of each element."""

def absolute(x: _t.ArrayLike, /) -> Array:
    """Magnitude of each element."""

def acos(x: _t.ArrayLike, /) -> Array:
    """Arc cosine in radians."""

def acosh(x: _t.ArrayLike, /) -> Array:
    """Inverse hyperbolic cosine."""

def add(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Sum."""

def all(x: _t.ArrayLike, /, axis: _t.Axes | None = None, *, keepdims: builtins.bool = False) -> Array:
    """Whether all elements over axes are true, or not zero."""

def allclose(a: _t.ArrayLike, b: _t.ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: builtins.bool = False) -> builtins.bool:
    """Whether all elements are within a tolerance of each other."""

def amax(x: _t.ArrayLike, /, axis: _t.Axes | None = None, *, keepdims: builtins.bool = False) -> Array:
    """Largest element over axes; NaN wins."""

def amin(x: _t.ArrayLike, /, axis: _t.Axes | None = None, *, keepdims: builtins.bool = False) -> Array:
    """Smallest element over axes; NaN wins."""

def any(x: _t.ArrayLike, /, axis: _t.Axes | None = None, *, keepdims: builtins.bool = False) -> Array:
    """Whether any element over axes is true, or not zero."""

def arange(start: _t.Scalar, /, stop: _t.Scalar | None = None, step: _t.Scalar = 1, *, dtype: _t.DTypeLike | None = None, device: _t.DeviceLike | None = None) -> Array:
    """`start`, `start + step`, … before `stop`; with one number, from 0 to before it."""

def arccos(x: _t.ArrayLike, /) -> Array:
    """Arc cosine in radians."""

def arccosh(x: _t.ArrayLike, /) -> Array:
    """Inverse hyperbolic cosine."""

def arcsin(x: _t.ArrayLike, /) -> Array:
    """Arc sine in radians."""

def arcsinh(x: _t.ArrayLike, /) -> Array:
    """Inverse hyperbolic sine."""

def arctan(x: _t.ArrayLike, /) -> Array:
    """Arc tangent in radians."""

def arctan2(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Angle in radians of the point with height x1 and width x2."""

def arctanh(x: _t.ArrayLike, /) -> Array:
    """Inverse hyperbolic tangent."""

def argmax(x: _t.ArrayLike, /, axis: SupportsIndex | None = None, *, keepdims: builtins.bool = False) -> Array:
    """Index of the first largest element along an axis, or of all elements."""

def argmin(x: _t.ArrayLike, /, axis: SupportsIndex | None = None, *, keepdims: builtins.bool = False) -> Array:
    """Index of the first smallest element along an axis, or of all elements."""

def argsort(x: _t.ArrayLike, /, axis: SupportsIndex = ..., *, descending: builtins.bool = False, stable: builtins.bool = True) -> Array:
    """The indices that sort an axis; equal elements keep their order."""

def argwhere(a: _t.ArrayLike) -> Array:
    """Indices of the elements that are not zero, one row per element."""

def around(x: _t.ArrayLike, /, decimals: SupportsIndex = 0) -> Array:
    """Nearest whole number, ties to even; with `decimals`, nearest multiple of that power of ten."""

def array(object: _t.ArrayLike, dtype: _t.DTypeLike | None = None, *, copy: builtins.bool = True, ndmin: SupportsIndex = 0) -> Array:
    """An array of its own: NumPy's `array`."""

def array_equal(a1: _t.ArrayLike, a2: _t.ArrayLike) -> builtins.bool:
    """Whether two arrays have the same shape and elements."""

def asarray(obj: _t.ArrayLike, /, *, dtype: _t.DTypeLike | None = None, device: _t.DeviceLike | None = None, copy: builtins.bool | None = None) -> Array:
    """Anything as an array: numbers, nested sequences, NumPy arrays, objects with `__dlpack__`. What is an array already is returned as"""

def ascontiguousarray(a: _t.ArrayLike, dtype: _t.DTypeLike | None = None) -> Array:
    """The array; how it lies in memory is the library's concern."""

def asin(x: _t.ArrayLike, /) -> Array:
    """Arc sine in radians."""

def asinh(x: _t.ArrayLike, /) -> Array:
    """Inverse hyperbolic sine."""

def astype(x: _t.ArrayLike, dtype: _t.DTypeLike, /, *, copy: builtins.bool = True, device: _t.DeviceLike | None = None) -> Array:
    """The array in another dtype."""

def atan(x: _t.ArrayLike, /) -> Array:
    """Arc tangent in radians."""

def atan2(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Angle in radians of the point with height x1 and width x2."""

def atanh(x: _t.ArrayLike, /) -> Array:
    """Inverse hyperbolic tangent."""

def atleast_1d(a: _t.ArrayLike) -> Array:
    """The array with at least one axis."""

def atleast_2d(a: _t.ArrayLike) -> Array:
    """The array with at least two axes; a vector becomes a row."""

def average(a: _t.ArrayLike, axis: SupportsIndex | None = None, weights: _t.ArrayLike | None = None) -> Array:
    """Mean, or with weights the weighted one."""

def bincount(x: _t.ArrayLike, /, weights: _t.ArrayLike | None = None, minlength: SupportsIndex = 0) -> Array:
    """How often each of 0, 1, … occurs among integers, or the sum of the weights there."""

def bitwise_and(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Bitwise and."""

def bitwise_invert(x: _t.ArrayLike, /) -> Array:
    """Every bit flipped; logical not for booleans."""

def bitwise_left_shift(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Bits moved up."""

def bitwise_not(x: _t.ArrayLike, /) -> Array:
    """Every bit flipped; logical not for booleans."""

def bitwise_or(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Bitwise or."""

def bitwise_right_shift(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Bits moved down."""

def bitwise_xor(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Bitwise exclusive or."""

def broadcast_arrays(*arrays: _t.ArrayLike) -> list[Array]:
    """The arrays repeated to their common shape."""

def broadcast_to(x: _t.ArrayLike, /, shape: _t.Shape) -> Array:
    """The array repeated to a shape; a view."""

def can_cast(from_: _t.DTypeLike | Array, to: _t.DTypeLike, /) -> builtins.bool:
    """Whether every value of a dtype, or of an array's, has its place in another."""

def ceil(x: _t.ArrayLike, /) -> Array:
    """Smallest whole number not below."""

def clip(x: _t.ArrayLike, /, min: _t.ArrayLike | None = None, max: _t.ArrayLike | None = None) -> Array:
    """Each element, but at least `min` and at most `max`."""

def concat(arrays: _t.Nested[_t.ArrayLike], /, axis: SupportsIndex = 0) -> Array:
    """Arrays joined along an axis they have; without one (`axis=None`), flattened first."""

def concatenate(arrays: _t.Nested[_t.ArrayLike], /, axis: SupportsIndex = 0) -> Array:
    """Arrays joined along an axis they have; without one (`axis=None`), flattened first."""

def conj(x: _t.ArrayLike, /) -> Array:
    """Complex conjugate."""

def conjugate(x: _t.ArrayLike, /) -> Array:
    """Complex conjugate."""

def convolve(a: _t.ArrayLike, v: _t.ArrayLike, mode: _t.Part = 'full') -> Array:
    """Convolution of two vectors: 'full', 'same' (as long as the longer one) or 'valid'; `crossover.signal` has more."""

def copysign(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Magnitude of x1 with the sign of x2."""

def correlate(a: _t.ArrayLike, v: _t.ArrayLike, mode: _t.Part = 'valid') -> Array:
    """Correlation of two vectors: 'valid', 'same' or 'full'; `crossover.signal` has more."""

def cos(x: _t.ArrayLike, /) -> Array:
    """Cosine of radians."""

def cosh(x: _t.ArrayLike, /) -> Array:
    """Hyperbolic cosine."""

def cospi(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Cosine of pi times the sum, which is not rounded."""

def count_nonzero(x: _t.ArrayLike, /, axis: _t.Axes | None = None, *, keepdims: builtins.bool = False) -> Array:
    """Number of elements over axes that are not zero."""

def cumprod(a: _t.ArrayLike, axis: SupportsIndex | None = None, dtype: _t.DTypeLike | None = None) -> Array:
    """Running product along an axis, or of all elements."""

def cumsum(a: _t.ArrayLike, axis: SupportsIndex | None = None, dtype: _t.DTypeLike | None = None) -> Array:
    """Running sum along an axis, or of all elements."""

def cumulative_prod(x: _t.ArrayLike, /, *, axis: SupportsIndex | None = None, dtype: _t.DTypeLike | None = None, include_initial: builtins.bool = False) -> Array:
    """Running product along an axis."""

def cumulative_sum(x: _t.ArrayLike, /, *, axis: SupportsIndex | None = None, dtype: _t.DTypeLike | None = None, include_initial: builtins.bool = False) -> Array:
    """Running sum along an axis."""

@final
class device:
    """A device, and a `with` block in which this thread computes there."""
    def __new__(cls, name: _t.DeviceLike) -> Self: ...
    @property
    def type(self) -> str:
        """'cpu', 'cuda' or 'auto'."""
    def __enter__(self) -> device: ...
    def __exit__(self, *why: Any) -> builtins.bool: ...

def diag(v: _t.ArrayLike, k: SupportsIndex = 0) -> Array:
    """The diagonal of a matrix, or a matrix with a diagonal."""

def diff(x: _t.ArrayLike, /, n: SupportsIndex = 1, axis: SupportsIndex = ..., prepend: _t.ArrayLike | None = None, append: _t.ArrayLike | None = None) -> Array:
    """Differences of neighbours along an axis, `n` times over."""

def divide(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Quotient."""

def dot(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """NumPy's product: sums over the last axis of `x1` and the one before the last of `x2`."""

@final
class dtype:
    """A data type. There is one object per type, such as `crossover.float32`; functions also take NumPy's dtypes, Python's types"""
    def __new__(cls, dtype: _t.DTypeLike) -> Self: ...
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
    def promote(self, /, other: _t.DTypeLike) -> _dtype:
        """The dtype of an operation between this one and another."""
    @property
    def str(self) -> str:
        """NumPy's name with the byte order, such as '<f4'."""
    def __call__(self, value: _t.ArrayLike, /) -> Array: ...

def einsum(subscripts: str, /, *operands: _t.ArrayLike) -> Array:
    """Einstein's sums."""

def empty(shape: _t.Shape, *, dtype: _t.DTypeLike | None = None, device: _t.DeviceLike | None = None) -> Array:
    """An array to be written: zeros."""

def empty_like(x: _t.ArrayLike, /, *, dtype: _t.DTypeLike | None = None, device: _t.DeviceLike | None = None) -> Array:
    """An array to be written, with the shape and, unless another is given, the dtype of an array."""

def equal(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """True where x1 is equal to x2."""

def erf(x: _t.ArrayLike, /) -> Array:
    """Gauss error function."""

def erfc(x: _t.ArrayLike, /) -> Array:
    """Complementary error function."""

def exp(x: _t.ArrayLike, /) -> Array:
    """e to the power of each element."""

def exp2(x: _t.ArrayLike, /) -> Array:
    """Two to the power of each element."""

def expand_dims(x: _t.ArrayLike, /, axis: _t.Axes = 0) -> Array:
    """New axes of length 1; a view."""

def expm1(x: _t.ArrayLike, /) -> Array:
    """e to the power of each element, minus one."""

def eye(n_rows: SupportsIndex, n_cols: SupportsIndex | None = None, /, *, k: SupportsIndex = 0, dtype: _t.DTypeLike | None = None, device: _t.DeviceLike | None = None) -> Array:
    """Ones on one diagonal, zeros elsewhere."""

def fabs(x: _t.ArrayLike, /) -> Array:
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
    def __init__(self, type: _t.DTypeLike | Array, /) -> None: ...

def flatnonzero(a: _t.ArrayLike) -> Array:
    """Indices in the flattened array of the elements that are not zero."""

def flip(x: _t.ArrayLike, /, axis: _t.Axes | None = None) -> Array:
    """Axes reversed in direction; a view."""

def fliplr(m: _t.ArrayLike) -> Array:
    """The second axis reversed."""

def flipud(m: _t.ArrayLike) -> Array:
    """The first axis reversed."""

def float_power(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """x1 to the power of x2, in double precision."""

def floor(x: _t.ArrayLike, /) -> Array:
    """Largest whole number not above."""

def floor_divide(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Quotient rounded towards minus infinity; integers divided by zero give 0."""

def fmod(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Remainder with the sign of the dividend."""

def from_dlpack(x: _t.ArrayLike, /, *, device: _t.DeviceLike | None = None, copy: builtins.bool | None = None) -> Array:
    """An array from an object with `__dlpack__`, copied."""

def full(shape: _t.Shape, fill_value: _t.ArrayLike, *, dtype: _t.DTypeLike | None = None, device: _t.DeviceLike | None = None) -> Array:
    """One number everywhere."""

def full_like(x: _t.ArrayLike, /, fill_value: _t.ArrayLike, *, dtype: _t.DTypeLike | None = None, device: _t.DeviceLike | None = None) -> Array:
    """One number everywhere, with the shape and, unless another is given, the dtype of an array."""

def gelu(x: _t.ArrayLike, /) -> Array:
    """Gaussian error linear unit, tanh form."""

def gelu_exact(x: _t.ArrayLike, /) -> Array:
    """Gaussian error linear unit, exact form."""

def get_runtime() -> Runtime:
    """The runtime of this thread."""

@overload
def gpu(function: _F, *, device: _t.DeviceLike | None = None) -> _F: ...
@overload
def gpu(function: None = None, *, device: _t.DeviceLike | None = None) -> Callable[[_F], _F]: ...

def gpu_kernel(source: str | Callable[..., Any] | None = None, *, output: _t.DTypeLike | None = None, shape: Callable[..., Any] | None = None, grid: Callable[..., Any] | None = None, zeroed: builtins.bool = False, out: str = 'out', threads: SupportsIndex = 256) -> Any:
    """A kernel of your own: `@xo.gpu_kernel(SOURCE)` over a function that does the same on the host, or `@xo.gpu_kernel` over `@numba.cuda.jit`."""

def greater(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """True where x1 is greater than x2."""

def greater_equal(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """True where x1 is greater than or equal to x2."""

def histogram(x: _t.ArrayLike, /, bins: _t.ArrayLike | None = None, range: tuple[float, float] | None = None, density: builtins.bool = False, weights: _t.ArrayLike | None = None) -> tuple[Array, Array]:
    """Counts of elements between edges, and the edges: `bins` is how many, `range` from where to where."""

def hstack(tup: _t.Nested[_t.ArrayLike]) -> Array:
    """Arrays joined along the second axis; vectors along their own."""

def hypot(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Square root of the sum of squares."""

def identity(n: SupportsIndex, dtype: _t.DTypeLike | None = None) -> Array:
    """The identity matrix."""

class iinfo:
    """What an integer dtype holds."""
    bits: int
    min: int
    max: int
    dtype: _dtype
    def __init__(self, type: _t.DTypeLike | Array, /) -> None: ...

def imag(x: _t.ArrayLike, /) -> Array:
    """Imaginary part."""

def inner(a: _t.ArrayLike, b: _t.ArrayLike) -> Array:
    """Sums of products along the last axes."""

def install(report: builtins.bool = True) -> None:
    """From now on, modules of the user's that import NumPy or SciPy get the redirected ones."""

def interp(x: _t.ArrayLike, xp: _t.ArrayLike, fp: _t.ArrayLike) -> Array:
    """Values between points, on straight lines from each to the next."""

def invert(x: _t.ArrayLike, /) -> Array:
    """Every bit flipped; logical not for booleans."""

def isclose(a: _t.ArrayLike, b: _t.ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: builtins.bool = False) -> Array:
    """True where elements are within a tolerance of each other."""

def isdtype(dtype: _t.DTypeLike, kind: _t.DTypeLike | _t.DTypeKind | tuple[_t.DTypeLike, ...]) -> builtins.bool:
    """Whether a dtype is of a kind: a name such as 'real floating', another dtype, or a tuple of these."""

def isfinite(x: _t.ArrayLike, /) -> Array:
    """True where an element is neither infinite nor NaN."""

def isin(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Whether each element of `x1` equals one of `x2`."""

def isinf(x: _t.ArrayLike, /) -> Array:
    """True where an element is infinite."""

def isnan(x: _t.ArrayLike, /) -> Array:
    """True where an element is NaN."""

def left_shift(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Bits moved up."""

def less(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """True where x1 is less than x2."""

def less_equal(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """True where x1 is less than or equal to x2."""

def linspace(start: _t.Scalar, stop: _t.Scalar, /, num: SupportsIndex = 50, *, dtype: _t.DTypeLike | None = None, device: _t.DeviceLike | None = None, endpoint: builtins.bool = True) -> Array:
    """`num` numbers from `start` to `stop`."""

def list_devices() -> list[device]:
    """The devices of the machine: the host first."""

def log(x: _t.ArrayLike, /) -> Array:
    """Natural logarithm."""

def log10(x: _t.ArrayLike, /) -> Array:
    """Logarithm to base 10."""

def log1p(x: _t.ArrayLike, /) -> Array:
    """Natural logarithm of one plus each element."""

def log2(x: _t.ArrayLike, /) -> Array:
    """Logarithm to base 2."""

def logaddexp(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Logarithm of the sum of exponentials."""

def logical_and(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """True where both are."""

def logical_not(x: _t.ArrayLike, /) -> Array:
    """True where an element is false, or zero."""

def logical_or(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """True where either is."""

def logical_xor(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """True where exactly one is."""

def logsumexp(x: _t.ArrayLike, /, axis: _t.Axes | None = None, *, keepdims: builtins.bool = False) -> Array:
    """Logarithm of the sum of exponentials over axes."""

def matmul(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Product of matrices; leading axes broadcast, arrays with one axis are vectors."""

def matrix_transpose(x: _t.ArrayLike, /) -> Array:
    """The last two axes exchanged; a view."""

def max(x: _t.ArrayLike, /, axis: _t.Axes | None = None, *, keepdims: builtins.bool = False) -> Array:
    """Largest element over axes; NaN wins."""

def maximum(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Larger of two; NaN wins."""

def mean(x: _t.ArrayLike, /, axis: _t.Axes | None = None, dtype: _t.DTypeLike | None = None, *, keepdims: builtins.bool = False) -> Array:
    """Mean of elements over axes."""

def median(a: _t.ArrayLike, axis: SupportsIndex | None = None) -> Array:
    """The middle of the elements in order, or the mean of the two there; NaN where there are none."""

def meshgrid(*arrays: _t.ArrayLike, indexing: Literal['xy', 'ij'] = 'xy') -> list[Array]:
    """Coordinates of a grid: one array per axis, `indexing` 'xy' or 'ij'."""

def min(x: _t.ArrayLike, /, axis: _t.Axes | None = None, *, keepdims: builtins.bool = False) -> Array:
    """Smallest element over axes; NaN wins."""

def minimum(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Smaller of two; NaN wins."""

def mod(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Remainder with the sign of the divisor."""

def moveaxis(x: _t.ArrayLike, source: _t.Shape, destination: _t.Shape, /) -> Array:
    """Axes moved to other places, the others in their order; a view."""

def multiply(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Product."""

def nanmax(a: _t.ArrayLike, axis: _t.Axes | None = None) -> Array:
    """Largest of the elements that are not NaN; NaN where there are none."""

def nanmean(a: _t.ArrayLike, axis: _t.Axes | None = None) -> Array:
    """Mean of the elements that are not NaN; NaN where there are none."""

def nanmin(a: _t.ArrayLike, axis: _t.Axes | None = None) -> Array:
    """Smallest of the elements that are not NaN; NaN where there are none."""

def nansum(a: _t.ArrayLike, axis: _t.Axes | None = None) -> Array:
    """Sum of the elements that are not NaN."""

def negative(x: _t.ArrayLike, /) -> Array:
    """The sign flipped."""

def nextafter(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Next float after x1 towards x2."""

def nonzero(x: _t.ArrayLike, /) -> tuple[Array, ...]:
    """Indices of the elements that are not zero: one array per axis."""

def not_equal(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """True where x1 is different from x2."""

def ones(shape: _t.Shape, *, dtype: _t.DTypeLike | None = None, device: _t.DeviceLike | None = None) -> Array:
    """Ones."""

def ones_like(x: _t.ArrayLike, /, *, dtype: _t.DTypeLike | None = None, device: _t.DeviceLike | None = None) -> Array:
    """Ones with the shape and, unless another is given, the dtype of an array."""

def outer(a: _t.ArrayLike, b: _t.ArrayLike) -> Array:
    """Products of all pairs of elements."""

def pad(x: _t.ArrayLike, pad_width: _t.PadWidth, mode: _t.PadMode = 'constant', *, constant_values: _t.Scalar = 0) -> Array:
    """Elements put before and after each axis; `mode` is 'constant', 'edge', 'reflect', 'symmetric' or 'wrap'."""

def percentile(a: _t.ArrayLike, q: _t.ArrayLike, axis: SupportsIndex | None = None) -> Array:
    """The value below which so many percent of the elements lie, by linear interpolation."""

def permute_dims(x: _t.ArrayLike, /, axes: _t.Shape) -> Array:
    """Axes in another order; a view."""

def positive(x: _t.ArrayLike, /) -> Array:
    """Each element as it is."""

def pow(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """x1 to the power of x2."""

def power(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """x1 to the power of x2."""

def prod(x: _t.ArrayLike, /, axis: _t.Axes | None = None, dtype: _t.DTypeLike | None = None, *, keepdims: builtins.bool = False) -> Array:
    """Product of elements over axes."""

class profile:
    """Records what happens in a `with` block, or in a function; then tells."""
    name: str
    everything: builtins.bool
    trace: Any
    def __init__(self, name: str = 'profile', *, everything: builtins.bool = False) -> None: ...
    def bottlenecks(self, top_n: SupportsIndex = 5) -> list[dict[str, Any]]:
        """The kernels that took longest, as dictionaries."""
    def export_chrome(self, path: _t.Path) -> None:
        """Writes the trace for Perfetto (ui.perfetto.dev) and `chrome://tracing`."""
    def export_folded(self, path: _t.Path) -> None:
        """Writes folded stacks, for programs that draw flame graphs."""
    def export_json(self, path: _t.Path) -> None:
        """Writes the trace, for `crossover report` and for later."""
    def export_prometheus(self, path: _t.Path) -> None:
        """Writes totals as metrics, for the textfile collector of Prometheus."""
    def export_speedscope(self, path: _t.Path) -> None:
        """Writes the trace for speedscope.app."""
    def html(self, path: _t.Path | None = None) -> str | None:
        """A page that shows the trace: written to a file, or returned."""
    @staticmethod
    def scope(name: str) -> Any:
        """Names a part of what is recorded: a span of every recording under way, and next to nothing without one."""
    def summary(self) -> str:
        """Parts of the time, kernels and advice, as text."""
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __get__(self, instance: Any, owner: Any = ...) -> Any: ...
    def __enter__(self) -> profile: ...
    def __exit__(self, *why: Any) -> builtins.bool: ...

def ptp(a: _t.ArrayLike, axis: _t.Axes | None = None) -> Array:
    """Largest less smallest element."""

def quantile(a: _t.ArrayLike, q: _t.ArrayLike, axis: SupportsIndex | None = None) -> Array:
    """The value below which such a share of the elements lies, by linear interpolation."""

def ravel(a: _t.ArrayLike) -> Array:
    """All elements along one axis; a view where possible."""

def real(x: _t.ArrayLike, /) -> Array:
    """Real part; real arrays themselves."""

def reciprocal(x: _t.ArrayLike, /) -> Array:
    """One over each element."""

def relu(x: _t.ArrayLike, /) -> Array:
    """The larger of each element and zero."""

def remainder(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Remainder with the sign of the divisor."""

def repeat(x: _t.ArrayLike, repeats: _t.ArrayLike, /, axis: SupportsIndex | None = None) -> Array:
    """Each entry several times in a row: as often as a number, or an array with one count per entry, says."""

def reshape(x: _t.ArrayLike, /, shape: _t.Shape, *, copy: builtins.bool | None = None) -> Array:
    """The same elements in another shape, in which one length may be -1; a view where possible."""

def result_type(*arrays_and_dtypes: _t.DTypeLike | _t.ArrayLike) -> dtype:
    """The dtype of an operation between arrays, dtypes and Python numbers."""

def right_shift(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Bits moved down."""

def rint(x: _t.ArrayLike, /) -> Array:
    """Nearest whole number, ties to even, as floats."""

def roll(x: _t.ArrayLike, /, shift: _t.Shape, axis: _t.Axes | None = None) -> Array:
    """Elements moved along axes, those pushed out coming in at the other end."""

def round(x: _t.ArrayLike, /, decimals: SupportsIndex = 0) -> Array:
    """Nearest whole number, ties to even; with `decimals`, nearest multiple of that power of ten."""

def searchsorted(x1: _t.ArrayLike, x2: _t.ArrayLike, /, side: Literal['left', 'right'] = 'left', sorter: _t.ArrayLike | None = None) -> Array:
    """Where values belong in an array with one axis that is sorted, or that `sorter` sorts."""

def sigmoid(x: _t.ArrayLike, /) -> Array:
    """Logistic function."""

def sign(x: _t.ArrayLike, /) -> Array:
    """-1, 0 or 1 with the sign of each element."""

def signbit(x: _t.ArrayLike, /) -> Array:
    """True where the sign bit is set."""

def silu(x: _t.ArrayLike, /) -> Array:
    """Sigmoid linear unit."""

def sin(x: _t.ArrayLike, /) -> Array:
    """Sine of radians."""

def sinh(x: _t.ArrayLike, /) -> Array:
    """Hyperbolic sine."""

def sinpi(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Sine of pi times the sum, which is not rounded."""

def softmax(x: _t.ArrayLike, /, axis: SupportsIndex = ...) -> Array:
    """Exponentials divided by their sum along an axis."""

def softplus(x: _t.ArrayLike, /) -> Array:
    """Smooth version of max(x, 0)."""

def sort(x: _t.ArrayLike, /, axis: SupportsIndex = ..., *, descending: builtins.bool = False, stable: builtins.bool = True) -> Array:
    """Elements in order along an axis; equal ones keep theirs."""

def split(ary: _t.ArrayLike, indices_or_sections: _t.ArrayLike, axis: SupportsIndex = 0) -> list[Array]:
    """Parts of an array along an axis: as many equal ones, or between indices."""

def sqrt(x: _t.ArrayLike, /) -> Array:
    """Square root."""

def square(x: _t.ArrayLike, /) -> Array:
    """Each element times itself."""

def squeeze(x: _t.ArrayLike, /, axis: _t.Axes | None = None) -> Array:
    """The array without axes of length 1: those named, or all; a view."""

def stack(arrays: _t.Nested[_t.ArrayLike], /, axis: SupportsIndex = 0) -> Array:
    """Arrays of one shape joined along a new axis."""

def std(x: _t.ArrayLike, /, axis: _t.Axes | None = None, *, correction: float = 0.0, keepdims: builtins.bool = False, ddof: float | None = None) -> Array:
    """Standard deviation over axes; `correction` (NumPy's `ddof`) is taken off the number of elements."""

def subtract(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Difference."""

def sum(x: _t.ArrayLike, /, axis: _t.Axes | None = None, dtype: _t.DTypeLike | None = None, *, keepdims: builtins.bool = False) -> Array:
    """Sum of elements over axes."""

def swapaxes(a: _t.ArrayLike, axis1: SupportsIndex, axis2: SupportsIndex) -> Array:
    """Two axes exchanged; a view."""

def take(x: _t.ArrayLike, indices: _t.ArrayLike, /, axis: SupportsIndex | None = None) -> Array:
    """Entries along an axis, by their indices."""

def take_along_axis(x: _t.ArrayLike, indices: _t.ArrayLike, /, axis: SupportsIndex = ...) -> Array:
    """Elements along an axis, each at an index of its own."""

def tan(x: _t.ArrayLike, /) -> Array:
    """Tangent of radians."""

def tanh(x: _t.ArrayLike, /) -> Array:
    """Hyperbolic tangent."""

def tensordot(x1: _t.ArrayLike, x2: _t.ArrayLike, /, axes: SupportsIndex | Sequence[SupportsIndex | Sequence[SupportsIndex]] = 2) -> Array:
    """Sums of products over axes: the last `axes` of `x1` with the first of `x2`, or pairs of axes."""

def tile(x: _t.ArrayLike, repetitions: _t.Shape, /) -> Array:
    """The whole array several times along each axis."""

def trace(a: _t.ArrayLike, offset: SupportsIndex = 0) -> Array:
    """Sum of the diagonal of the first two axes."""

def transpose(a: _t.ArrayLike, axes: Sequence[SupportsIndex] | None = None) -> Array:
    """Axes in another order, or reversed; a view."""

def tril(x: _t.ArrayLike, /, k: SupportsIndex = 0) -> Array:
    """The lower triangle of matrices, zeros above."""

def triu(x: _t.ArrayLike, /, k: SupportsIndex = 0) -> Array:
    """The upper triangle of matrices, zeros below."""

def true_divide(x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """Quotient."""

def trunc(x: _t.ArrayLike, /) -> Array:
    """Nearest whole number towards zero."""

def unique(ar: _t.ArrayLike, return_index: builtins.bool = False, return_inverse: builtins.bool = False, return_counts: builtins.bool = False) -> Any:
    """Distinct elements in ascending order, and what else is asked for."""

def unique_all(x: _t.ArrayLike, /) -> _UniqueAllResult:
    """Distinct elements, where each first occurs, which of them each element is, and how often each occurs."""

def unique_counts(x: _t.ArrayLike, /) -> _UniqueCountsResult:
    """Distinct elements and how often each occurs."""

def unique_inverse(x: _t.ArrayLike, /) -> _UniqueInverseResult:
    """Distinct elements and which of them each element is."""

def unique_values(x: _t.ArrayLike, /) -> Array:
    """Distinct elements in ascending order."""

def unstack(x: _t.ArrayLike, /, axis: SupportsIndex = 0) -> tuple[Array, ...]:
    """The entries of an axis, which goes away: views."""

def var(x: _t.ArrayLike, /, axis: _t.Axes | None = None, *, correction: float = 0.0, keepdims: builtins.bool = False, ddof: float | None = None) -> Array:
    """Variance over axes; `correction` (NumPy's `ddof`) is taken off the number of elements."""

def vecdot(x1: _t.ArrayLike, x2: _t.ArrayLike, /, *, axis: SupportsIndex = ...) -> Array:
    """Sum of products of the conjugated `x1` with `x2` along an axis."""

def vstack(tup: _t.Nested[_t.ArrayLike]) -> Array:
    """Arrays joined along the first axis; vectors become rows."""

def where(condition: _t.ArrayLike, x1: _t.ArrayLike, x2: _t.ArrayLike, /) -> Array:
    """`x1` where the condition holds, `x2` elsewhere."""

def zeros(shape: _t.Shape, *, dtype: _t.DTypeLike | None = None, device: _t.DeviceLike | None = None) -> Array:
    """Zeros."""

def zeros_like(x: _t.ArrayLike, /, *, dtype: _t.DTypeLike | None = None, device: _t.DeviceLike | None = None) -> Array:
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
