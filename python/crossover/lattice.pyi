"""Written by python/tools/stubs.py."""

import builtins
from typing import Any, Sequence, SupportsIndex, final

from typing_extensions import Self

from . import _typing as _t
from . import Array

__all__ = [
    "Lattice", "Scratch", "cube", "walsh_hadamard", "xor_convolve", "xor_convolve_integers", "xor_in_place", "xor_transform",
]

@final
class Lattice:
    """An n-dimensional lattice without stored edges."""
    def __new__(cls, sizes: Sequence[SupportsIndex], *, periodic: builtins.bool = False) -> Self: ...
    def analyze_structure(self, /) -> dict[str, Any]:
        """Vertices, edges, diameter and so on, all exact."""
    def coordinates(self, /, vertex: SupportsIndex) -> list[int]:
        """The coordinates of a vertex."""
    def distance(self, /, start: SupportsIndex, goal: SupportsIndex) -> int:
        """Steps from one vertex to another when nothing is in the way."""
    def distance_field(self, /, sources: Sequence[SupportsIndex], *, obstacles: _t.ArrayLike | None = None, relax: builtins.bool = False) -> Array:
        """Distances of all vertices from the nearest source, `int32` of the lattice's shape; -1 where there is no way."""
    def distance_fields(self, /, sources: Sequence[SupportsIndex], *, obstacles: _t.ArrayLike | None = None) -> list[Array]:
        """The distance field of each source by itself, shared by threads."""
    def distances(self, /, pairs: Sequence[tuple[SupportsIndex, SupportsIndex]]) -> list[int]:
        """Steps between many pairs when nothing is in the way."""
    def neighbours(self, /, vertex: SupportsIndex) -> list[int]:
        """The neighbours of a vertex."""
    @property
    def periodic(self) -> bool:
        """Whether the ends of the axes are joined."""
    def route(self, /, start: SupportsIndex, goal: SupportsIndex, *, obstacles: _t.ArrayLike | None = None, weights: _t.ArrayLike | None = None, method: _t.Search = 'a_star') -> tuple[list[int], float] | None:
        """The vertices of a shortest path and what it costs: steps, or the sum of the weights of the vertices that are entered; `None` where"""
    def shortest_path(self, /, start: SupportsIndex, goal: SupportsIndex, *, obstacles: _t.ArrayLike | None = None, weights: _t.ArrayLike | None = None, method: _t.Search = 'a_star') -> list[int] | None:
        """The vertices of a shortest path, or `None` where there is no way."""
    def shortest_paths(self, /, pairs: Sequence[tuple[SupportsIndex, SupportsIndex]], *, obstacles: _t.ArrayLike | None = None, weights: _t.ArrayLike | None = None, method: _t.Search = 'a_star') -> list[list[int] | None]:
        """Shortest paths of many pairs, shared by threads; `None` where there is no way."""
    @property
    def sizes(self) -> list[int]:
        """Sizes of the axes."""
    def vertex(self, /, coordinates: Sequence[SupportsIndex]) -> int:
        """The number of the vertex with these coordinates."""
    def __len__(self) -> int: ...

class Scratch:
    """Borrowed memory, anything that can be written as bytes; reversible steps are noted, writes are saved first, and all of it is undone."""
    def __init__(self, memory: Any) -> None: ...
    def add(self, start: SupportsIndex, stop: SupportsIndex, other: _t.ArrayLike) -> None:
        """`to += from` byte by byte, modulo 256."""
    @property
    def bytes(self) -> Any:
        """The memory as it is now, not to be written to."""
    def finish(self) -> dict[str, Any]:
        """Gives the memory back and proves that it is as it was: its hash, its length, operations that were undone, bytes that were saved."""
    def swap(self, start: SupportsIndex, stop: SupportsIndex, other: _t.ArrayLike) -> None:
        """Exchanges bytes `start` to `stop` with as many that start at `other`."""
    def write(self, start: SupportsIndex, stop: SupportsIndex) -> Any:
        """Bytes `start` to `stop`, to write anything to. They are saved first."""
    def xor(self, start: SupportsIndex, stop: SupportsIndex, other: _t.ArrayLike) -> None:
        """`to ^= from`: combines bytes `start` to `stop` with as many that start at `other`."""
    def __enter__(self) -> Scratch: ...
    def __exit__(self, *why: Any) -> None: ...

def cube(dimensions: SupportsIndex, size: SupportsIndex, *, periodic: builtins.bool = False) -> Lattice:
    """A lattice of one size along each of some axes."""
def walsh_hadamard(data: _t.ArrayLike) -> Array:
    """The Walsh-Hadamard transform in natural order along the last axis, whose length is a power of two."""
def xor_convolve(a: _t.ArrayLike, b: _t.ArrayLike) -> Array:
    """Convolution over XOR along the last axis: element k is the sum of `a[i] * b[k ^ i]`."""
def xor_convolve_integers(a: _t.ArrayLike, b: _t.ArrayLike) -> Array:
    """As `xor_convolve`, of integers along one axis and exact, in `int64`; a `ValueError` where the sums could exceed 64 bits."""
def xor_in_place(memory: Any, key: _t.ArrayLike) -> None:
    """Integers XOR a key that repeats, where they lie: a bytearray, or a contiguous NumPy array of any shape, whose elements are taken in order."""
def xor_transform(data: _t.ArrayLike, key: _t.ArrayLike) -> Array:
    """Elements XOR a key that repeats along the last axis; twice gives the data back. Leading axes are a batch."""
