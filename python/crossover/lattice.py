"""Lattices without stored edges: paths, distance fields, XOR and Walsh-Hadamard transforms.

>>> grid = xo.lattice.Lattice([100, 100])
>>> grid.distance(0, 9999), len(grid.shortest_path(0, 9999))
(198, 199)
>>> grid.analyze_structure()["edges"]
19800
"""

from typing import TYPE_CHECKING

from ._native import Lattice, lattice_convolve, lattice_walsh, lattice_xor
from ._scratch import Scratch

if TYPE_CHECKING:
    from . import Array

__all__ = ["Lattice", "Scratch", "cube", "walsh_hadamard", "xor_convolve", "xor_transform"]


def cube(dimensions: int, size: int, *, periodic: bool = False) -> Lattice:
    """A lattice of one size along each of some axes.

    >>> len(xo.lattice.cube(4, 10))
    10000
    """
    return Lattice([size] * dimensions, periodic=periodic)


def xor_transform(data, key) -> "Array":
    """Elements XOR a key that repeats along the last axis; twice gives the data back. Leading axes are a batch.

    >>> xo.lattice.xor_transform(xo.asarray([1, 2, 3], dtype=xo.uint8), xo.asarray([255, 0], dtype=xo.uint8))
    array([254,   2, 252], dtype=uint8)
    """
    return lattice_xor(data, key)


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
