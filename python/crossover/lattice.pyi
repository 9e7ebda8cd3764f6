"""Written by python/tools/stubs.py."""

from typing import Any, final

from typing_extensions import Self

from . import Array

__all__ = [
    "Lattice", "Scratch", "cube", "walsh_hadamard", "xor_convolve", "xor_convolve_integers", "xor_in_place", "xor_transform",
]

@final
class Lattice:
    """An n-dimensional lattice without stored edges."""
    def __new__(cls, sizes: Any, *, periodic: Any = ...) -> Self: ...
    def analyze_structure(self, /) -> dict[str, Any]:
        """Vertices, edges, diameter and so on, all exact."""
    def coordinates(self, /, vertex: Any) -> list[int]:
        """The coordinates of a vertex."""
    def distance(self, /, start: Any, goal: Any) -> int:
        """Steps from one vertex to another when nothing is in the way."""
    def distance_field(self, /, sources: Any, *, obstacles: Any = ..., relax: Any = ...) -> Array:
        """Distances of all vertices from the nearest source, `int32` of the lattice's shape; -1 where there is no way."""
    def distance_fields(self, /, sources: Any, *, obstacles: Any = ...) -> list[Array]:
        """The distance field of each source by itself, shared by threads."""
    def distances(self, /, pairs: Any) -> list[int]:
        """Steps between many pairs when nothing is in the way."""
    def neighbours(self, /, vertex: Any) -> list[int]:
        """The neighbours of a vertex."""
    @property
    def periodic(self) -> bool:
        """Whether the ends of the axes are joined."""
    def route(self, /, start: Any, goal: Any, *, obstacles: Any = ..., weights: Any = ..., method: Any = ...) -> tuple[list[int], float] | None:
        """The vertices of a shortest path and what it costs: steps, or the sum of the weights of the vertices that are entered; `None` where"""
    def shortest_path(self, /, start: Any, goal: Any, *, obstacles: Any = ..., weights: Any = ..., method: Any = ...) -> list[int] | None:
        """The vertices of a shortest path, or `None` where there is no way."""
    def shortest_paths(self, /, pairs: Any, *, obstacles: Any = ..., weights: Any = ..., method: Any = ...) -> list[list[int] | None]:
        """Shortest paths of many pairs, shared by threads; `None` where there is no way."""
    @property
    def sizes(self) -> list[int]:
        """Sizes of the axes."""
    def vertex(self, /, coordinates: Any) -> int:
        """The number of the vertex with these coordinates."""
    def __len__(self) -> int: ...

class Scratch:
    """Borrowed memory, anything that can be written as bytes; reversible steps are noted, writes are saved first, and all of it is undone."""
    def __init__(self, memory: Any) -> None: ...
    def add(self, start: Any, stop: Any, other: Any) -> None:
        """`to += from` byte by byte, modulo 256."""
    @property
    def bytes(self) -> Any:
        """The memory as it is now, not to be written to."""
    def finish(self) -> dict[str, Any]:
        """Gives the memory back and proves that it is as it was: its hash, its length, operations that were undone, bytes that were saved."""
    def swap(self, start: Any, stop: Any, other: Any) -> None:
        """Exchanges bytes `start` to `stop` with as many that start at `other`."""
    def write(self, start: Any, stop: Any) -> Any:
        """Bytes `start` to `stop`, to write anything to. They are saved first."""
    def xor(self, start: Any, stop: Any, other: Any) -> None:
        """`to ^= from`: combines bytes `start` to `stop` with as many that start at `other`."""
    def __enter__(self) -> Scratch: ...
    def __exit__(self, *why: Any) -> None: ...

def cube(dimensions: Any, size: Any, *, periodic: Any = ...) -> Lattice:
    """A lattice of one size along each of some axes."""
def walsh_hadamard(data: Any) -> Array:
    """The Walsh-Hadamard transform in natural order along the last axis, whose length is a power of two."""
def xor_convolve(a: Any, b: Any) -> Array:
    """Convolution over XOR along the last axis: element k is the sum of `a[i] * b[k ^ i]`."""
def xor_convolve_integers(a: Any, b: Any) -> Array:
    """As `xor_convolve`, of integers along one axis and exact, in `int64`; a `ValueError` where the sums could exceed 64 bits."""
def xor_in_place(memory: Any, key: Any) -> None:
    """Integers XOR a key that repeats, where they lie: a bytearray, or a contiguous NumPy array of any shape, whose elements are taken in order."""
def xor_transform(data: Any, key: Any) -> Array:
    """Elements XOR a key that repeats along the last axis; twice gives the data back. Leading axes are a batch."""
