"""Discrete Fourier transforms: any length, any axes, real and complex."""

from . import _native

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfft2", "irfftn",
    "rfft", "rfft2", "rfftfreq", "rfftn",
]


def fft(x, /, *, n=None, axis=-1, norm="backward"):
    """Transform along one axis.

    >>> xo.fft.fft(xo.asarray([1.0, 0.0, -1.0, 0.0]))
    array([0.+0.j, 2.+0.j, 0.+0.j, 2.+0.j])
    """
    return _native.fft_along("fft", x, n, axis, norm)


def ifft(x, /, *, n=None, axis=-1, norm="backward"):
    """Inverse of `fft`."""
    return _native.fft_along("ifft", x, n, axis, norm)


def fftn(x, /, *, s=None, axes=None, norm="backward"):
    """Transform over several axes, all by default."""
    return _native.fft_over("fftn", x, s, axes, norm)


def ifftn(x, /, *, s=None, axes=None, norm="backward"):
    """Inverse of `fftn`."""
    return _native.fft_over("ifftn", x, s, axes, norm)


def rfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The first half of the transform of real numbers."""
    return _native.fft_along("rfft", x, n, axis, norm)


def irfft(x, /, *, n=None, axis=-1, norm="backward"):
    """Inverse of `rfft`."""
    return _native.fft_along("irfft", x, n, axis, norm)


def rfftn(x, /, *, s=None, axes=None, norm="backward"):
    """Real transform over the last of several axes, complex ones over the others."""
    return _native.fft_over("rfftn", x, s, axes, norm)


def irfftn(x, /, *, s=None, axes=None, norm="backward"):
    """Inverse of `rfftn`."""
    return _native.fft_over("irfftn", x, s, axes, norm)


def hfft(x, /, *, n=None, axis=-1, norm="backward"):
    """Transform of a signal that is its own mirrored conjugate, of which half is given."""
    return _native.fft_along("hfft", x, n, axis, norm)


def ihfft(x, /, *, n=None, axis=-1, norm="backward"):
    """Inverse of `hfft`."""
    return _native.fft_along("ihfft", x, n, axis, norm)


def fft2(x, /, *, s=None, axes=(-2, -1), norm="backward"):
    """Transform over two axes."""
    return fftn(x, s=s, axes=axes, norm=norm)


def ifft2(x, /, *, s=None, axes=(-2, -1), norm="backward"):
    """Inverse of `fft2`."""
    return ifftn(x, s=s, axes=axes, norm=norm)


def rfft2(x, /, *, s=None, axes=(-2, -1), norm="backward"):
    """Real transform over two axes."""
    return rfftn(x, s=s, axes=axes, norm=norm)


def irfft2(x, /, *, s=None, axes=(-2, -1), norm="backward"):
    """Inverse of `rfft2`."""
    return irfftn(x, s=s, axes=axes, norm=norm)


def _made(array, dtype, device):
    if dtype is not None:
        array = array.astype(dtype)
    return array if device is None else array.to_device(device)


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """Frequencies of the values of `fft` of n points at distance d."""
    return _made(_native.fftfreq(n, d), dtype, device)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """Frequencies of the values of `rfft` of n points at distance d."""
    return _made(_native.rfftfreq(n, d), dtype, device)


def fftshift(x, /, *, axes=None):
    """Zero frequency to the middle, along axes or all."""
    return _native.fftshift(x, axes)


def ifftshift(x, /, *, axes=None):
    """Undoes `fftshift`."""
    return _native.ifftshift(x, axes)
