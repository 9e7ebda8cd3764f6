"""Written by python/tools/stubs.py."""

from typing import Literal

from . import _typing as _t
from . import Array

__all__ = [
    "convolve", "correlate",
]

def convolve(x: _t.ArrayLike, kernel: _t.ArrayLike, /, mode: _t.Part = 'full', *, boundary: _t.Boundary = 'fill', fillvalue: _t.Number = 0, method: Literal['auto', 'direct', 'fft'] = 'auto') -> Array:
    """Sums over a window of elements times a kernel of as many axes, flipped."""

def correlate(x: _t.ArrayLike, kernel: _t.ArrayLike, /, mode: _t.Part = 'full', *, boundary: _t.Boundary = 'fill', fillvalue: _t.Number = 0, method: Literal['auto', 'direct', 'fft'] = 'auto') -> Array:
    """Sums over a window of elements times a kernel of as many axes, conjugated; the arguments are those of `convolve`."""
