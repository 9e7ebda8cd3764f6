"""Written by python/tools/stubs.py."""

from typing import SupportsIndex

from . import _typing as _t
from . import Array

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfft2",
    "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]

def fft(x: _t.ArrayLike, /, *, n: SupportsIndex | None = None, axis: SupportsIndex = -1, norm: _t.FftNorm = 'backward') -> Array:
    """Transform along one axis."""

def fft2(x: _t.ArrayLike, /, *, s: _t.Shape | None = None, axes: _t.Axes = (-2, -1), norm: _t.FftNorm = 'backward') -> Array:
    """Transform over two axes."""

def fftfreq(n: SupportsIndex, /, *, d: float = 1.0, dtype: _t.DTypeLike | None = None, device: _t.DeviceLike | None = None) -> Array:
    """Frequencies of the values of `fft` of n points at distance d."""

def fftn(x: _t.ArrayLike, /, *, s: _t.Shape | None = None, axes: _t.Axes | None = None, norm: _t.FftNorm = 'backward') -> Array:
    """Transform over several axes, all by default."""

def fftshift(x: _t.ArrayLike, /, *, axes: _t.Axes | None = None) -> Array:
    """Zero frequency to the middle, along axes or all."""

def hfft(x: _t.ArrayLike, /, *, n: SupportsIndex | None = None, axis: SupportsIndex = -1, norm: _t.FftNorm = 'backward') -> Array:
    """Transform of a signal that is its own mirrored conjugate, of which half is given."""

def ifft(x: _t.ArrayLike, /, *, n: SupportsIndex | None = None, axis: SupportsIndex = -1, norm: _t.FftNorm = 'backward') -> Array:
    """Inverse of `fft`."""

def ifft2(x: _t.ArrayLike, /, *, s: _t.Shape | None = None, axes: _t.Axes = (-2, -1), norm: _t.FftNorm = 'backward') -> Array:
    """Inverse of `fft2`."""

def ifftn(x: _t.ArrayLike, /, *, s: _t.Shape | None = None, axes: _t.Axes | None = None, norm: _t.FftNorm = 'backward') -> Array:
    """Inverse of `fftn`."""

def ifftshift(x: _t.ArrayLike, /, *, axes: _t.Axes | None = None) -> Array:
    """Undoes `fftshift`."""

def ihfft(x: _t.ArrayLike, /, *, n: SupportsIndex | None = None, axis: SupportsIndex = -1, norm: _t.FftNorm = 'backward') -> Array:
    """Inverse of `hfft`."""

def irfft(x: _t.ArrayLike, /, *, n: SupportsIndex | None = None, axis: SupportsIndex = -1, norm: _t.FftNorm = 'backward') -> Array:
    """Inverse of `rfft`."""

def irfft2(x: _t.ArrayLike, /, *, s: _t.Shape | None = None, axes: _t.Axes = (-2, -1), norm: _t.FftNorm = 'backward') -> Array:
    """Inverse of `rfft2`."""

def irfftn(x: _t.ArrayLike, /, *, s: _t.Shape | None = None, axes: _t.Axes | None = None, norm: _t.FftNorm = 'backward') -> Array:
    """Inverse of `rfftn`."""

def rfft(x: _t.ArrayLike, /, *, n: SupportsIndex | None = None, axis: SupportsIndex = -1, norm: _t.FftNorm = 'backward') -> Array:
    """The first half of the transform of real numbers."""

def rfft2(x: _t.ArrayLike, /, *, s: _t.Shape | None = None, axes: _t.Axes = (-2, -1), norm: _t.FftNorm = 'backward') -> Array:
    """Real transform over two axes."""

def rfftfreq(n: SupportsIndex, /, *, d: float = 1.0, dtype: _t.DTypeLike | None = None, device: _t.DeviceLike | None = None) -> Array:
    """Frequencies of the values of `rfft` of n points at distance d."""

def rfftn(x: _t.ArrayLike, /, *, s: _t.Shape | None = None, axes: _t.Axes | None = None, norm: _t.FftNorm = 'backward') -> Array:
    """Real transform over the last of several axes, complex ones over the others."""
