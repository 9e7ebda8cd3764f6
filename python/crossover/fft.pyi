"""Written by python/tools/stubs.py."""

from typing import Any

from . import Array

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfft2",
    "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]

def fft(x: Any, /, *, n: Any = ..., axis: Any = ..., norm: Any = ...) -> Array:
    """Transform along one axis."""

def fft2(x: Any, /, *, s: Any = ..., axes: Any = ..., norm: Any = ...) -> Array:
    """Transform over two axes."""

def fftfreq(n: Any, /, *, d: Any = ..., dtype: Any = ..., device: Any = ...) -> Array:
    """Frequencies of the values of `fft` of n points at distance d."""

def fftn(x: Any, /, *, s: Any = ..., axes: Any = ..., norm: Any = ...) -> Array:
    """Transform over several axes, all by default."""

def fftshift(x: Any, /, *, axes: Any = ...) -> Array:
    """Zero frequency to the middle, along axes or all."""

def hfft(x: Any, /, *, n: Any = ..., axis: Any = ..., norm: Any = ...) -> Array:
    """Transform of a signal that is its own mirrored conjugate, of which half is given."""

def ifft(x: Any, /, *, n: Any = ..., axis: Any = ..., norm: Any = ...) -> Array:
    """Inverse of `fft`."""

def ifft2(x: Any, /, *, s: Any = ..., axes: Any = ..., norm: Any = ...) -> Array:
    """Inverse of `fft2`."""

def ifftn(x: Any, /, *, s: Any = ..., axes: Any = ..., norm: Any = ...) -> Array:
    """Inverse of `fftn`."""

def ifftshift(x: Any, /, *, axes: Any = ...) -> Array:
    """Undoes `fftshift`."""

def ihfft(x: Any, /, *, n: Any = ..., axis: Any = ..., norm: Any = ...) -> Array:
    """Inverse of `hfft`."""

def irfft(x: Any, /, *, n: Any = ..., axis: Any = ..., norm: Any = ...) -> Array:
    """Inverse of `rfft`."""

def irfft2(x: Any, /, *, s: Any = ..., axes: Any = ..., norm: Any = ...) -> Array:
    """Inverse of `rfft2`."""

def irfftn(x: Any, /, *, s: Any = ..., axes: Any = ..., norm: Any = ...) -> Array:
    """Inverse of `rfftn`."""

def rfft(x: Any, /, *, n: Any = ..., axis: Any = ..., norm: Any = ...) -> Array:
    """The first half of the transform of real numbers."""

def rfft2(x: Any, /, *, s: Any = ..., axes: Any = ..., norm: Any = ...) -> Array:
    """Real transform over two axes."""

def rfftfreq(n: Any, /, *, d: Any = ..., dtype: Any = ..., device: Any = ...) -> Array:
    """Frequencies of the values of `rfft` of n points at distance d."""

def rfftn(x: Any, /, *, s: Any = ..., axes: Any = ..., norm: Any = ...) -> Array:
    """Real transform over the last of several axes, complex ones over the others."""
