"""Lattices without stored edges: paths, distance fields, XOR and Walsh-Hadamard transforms.

>>> grid = xo.lattice.Lattice([100, 100])
>>> grid.distance(0, 9999), len(grid.shortest_path(0, 9999))
(198, 199)
>>> grid.analyze_structure()["edges"]
19800
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ._native import Lattice, lattice_convolve, lattice_convolve_integers, lattice_walsh, lattice_xor, lattice_xor_in_place
from ._scratch import Scratch

if TYPE_CHECKING:
    from . import Array

__all__ = ["Lattice", "Scratch", "cube", "walsh_hadamard", "xor_convolve", "xor_convolve_integers", "xor_in_place", "xor_transform"]


def cube(dimensions: int, size: int, *, periodic: bool = False) -> Lattice:
    """A lattice of one size along each of some axes.

    >>> len(xo.lattice.cube(4, 10))
    10000
    """
    return Lattice([size] * dimensions, periodic=periodic)


def xor_transform(data, key) -> "Array":
    """Elements XOR a key that repeats along the last axis; twice gives the data back. Leading axes are a batch.

    Integers in the host's memory are combined there at once, unless a GPU is asked for; what is on a GPU or not computed yet is an expression.

    >>> xo.lattice.xor_transform(xo.asarray([1, 2, 3], dtype=xo.uint8), xo.asarray([255, 0], dtype=xo.uint8))
    array([254,   2, 252], dtype=uint8)
    """
    return lattice_xor(data, key)


def xor_in_place(memory: Any, key: Any) -> None:
    """Integers XOR a key that repeats, where they lie: a bytearray, or a contiguous NumPy array of any shape, whose elements are taken in order.

    >>> memory = bytearray(b"secret")
    >>> xo.lattice.xor_in_place(memory, b"key")
    >>> xo.lattice.xor_in_place(memory, b"key")
    >>> memory
    bytearray(b'secret')
    """
    view = memoryview(memory)
    if view.readonly or not view.c_contiguous:
        raise ValueError("xor_in_place: the memory is read-only or has gaps; a bytearray or a contiguous array is needed")
    data = np.asarray(view)
    if isinstance(key, (bytes, bytearray)):
        key = np.frombuffer(key, np.uint8)
    elif not hasattr(key, "dtype"):
        key = np.asarray(key, dtype=data.dtype)
    key = np.asarray(key)
    if data.dtype.kind not in "iu" or key.dtype != data.dtype or key.ndim != 1 or key.size == 0:
        kinds = f"memory of {data.dtype} and a key of {key.dtype}{list(key.shape)}"
        raise ValueError(f"xor_in_place: {kinds}; integers of one dtype are needed, and a key of one axis with elements")
    if data.size:
        lattice_xor_in_place(np.frombuffer(view, np.uint8), key.tobytes())


def walsh_hadamard(data) -> "Array":
    """The Walsh-Hadamard transform in natural order along the last axis, whose length is a power of two.

    >>> xo.lattice.walsh_hadamard(xo.asarray([1.0, 0.0, 1.0, 0.0]))
    array([2., 2., 0., 0.])
    """
    return lattice_walsh(data)


def xor_convolve(a, b) -> "Array":
    """Convolution over XOR along the last axis: element k is the sum of `a[i] * b[k ^ i]`.

    >>> xo.lattice.xor_convolve(xo.asarray([1.0, 2.0]), xo.asarray([3.0, 4.0]))
    array([11., 10.])
    """
    return lattice_convolve(a, b)


def xor_convolve_integers(a, b) -> "Array":
    """As `xor_convolve`, of integers along one axis and exact, in `int64`; a `ValueError` where the sums could exceed 64 bits.

    >>> xo.lattice.xor_convolve_integers([1, 2], [3, 4])
    array([11, 10])
    """
    return lattice_convolve_integers(a, b)
