"""What arguments are, for the stubs: read by type checkers only, there is no such module when a program runs."""

import os
from types import EllipsisType
from typing import Any, Literal, Protocol, Sequence, SupportsIndex, TypeAlias, TypeVar

import numpy as np

from . import Array, device, dtype

_T = TypeVar("_T", covariant=True)

class Nested(Protocol[_T]):
    """A list, a tuple, a range: a sequence that says of any value whether it holds it, as strings do not."""

    def __len__(self) -> int: ...
    def __getitem__(self, at: int, /) -> _T: ...
    def __contains__(self, value: object, /) -> bool: ...

class SupportsArray(Protocol):
    """NumPy's arrays and scalars, and what makes itself one of them."""

    def __array__(self) -> Any: ...

class SupportsDLPack(Protocol):
    """Tensors of other libraries."""

    def __dlpack__(self) -> Any: ...

class SupportsCuda(Protocol):
    """Arrays on a GPU that say where they lie."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

Number: TypeAlias = bool | int | float | complex
# One number: Python's, NumPy's, an array without axes.
Scalar: TypeAlias = Number | SupportsArray
ArrayLike: TypeAlias = Array | Number | SupportsArray | SupportsDLPack | SupportsCuda | Nested["ArrayLike"]
DTypeLike = dtype | str | type[bool | int | float | complex | np.generic] | np.dtype[Any]
DeviceLike = device | str | int
Axes = SupportsIndex | Sequence[SupportsIndex]
Shape = SupportsIndex | Nested[SupportsIndex]
Path = str | os.PathLike[str]
Names = str | Sequence[str]
_Place = SupportsIndex | slice[Any, Any, Any] | EllipsisType | SupportsArray | SupportsDLPack | Nested[ArrayLike] | None
Key = _Place | tuple[_Place, ...]

PadWidth = SupportsIndex | Sequence[SupportsIndex] | Sequence[Sequence[SupportsIndex]]
DTypeKind = Literal["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"]
Part = Literal["full", "same", "valid"]
Boundary = Literal["fill", "nearest", "wrap", "symm", "mirror"]
PadMode = Literal["constant", "edge", "reflect", "symmetric", "wrap"]
FftNorm = Literal["backward", "ortho", "forward"]
MatrixOrder = Literal["fro", "nuc"] | float
Level = Literal["trace", "debug", "info", "warning", "error", "critical"]
Search = Literal["a_star", "breadth_first"]
Layout = Literal["interleaved", "concatenated", "flipped"]
Pairs = Literal["interleaved", "rotate_half"]
EmbedPrecision = Literal["f32", "mixed_f16", "mixed_bf16"]
Model = Literal["hrr", "fhrr", "map", "bsc", "hlb"]
