"""Written by python/tools/stubs.py."""

from typing import Any

from . import Array

__all__ = [
    "convolve", "correlate",
]

def convolve(x: Any, kernel: Any, /, mode: Any = ..., *, boundary: Any = ..., fillvalue: Any = ..., method: Any = ...) -> Array:
    """Sums over a window of elements times a kernel of as many axes, flipped."""

def correlate(x: Any, kernel: Any, /, mode: Any = ..., *, boundary: Any = ..., fillvalue: Any = ..., method: Any = ...) -> Array:
    """Sums over a window of elements times a kernel of as many axes, conjugated; the arguments are those of `convolve`."""
