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
    """Inverse of `fft`.

    >>> xo.fft.ifft(xo.asarray([0.0, 2.0, 0.0, 2.0]))
    array([ 1.+0.j,  0.+0.j, -1.+0.j,  0.+0.j])
    """
    return _native.fft_along("ifft", x, n, axis, norm)


def fftn(x, /, *, s=None, axes=None, norm="backward"):
    """Transform over several axes, all by default.

    >>> xo.fft.fftn(xo.asarray([[1.0, 2.0], [3.0, 4.0]]))
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]])
    """
    return _native.fft_over("fftn", x, s, axes, norm)


def ifftn(x, /, *, s=None, axes=None, norm="backward"):
    """Inverse of `fftn`.

    >>> xo.fft.ifftn(xo.asarray([[10.0, -2.0], [-4.0, 0.0]]))
    array([[1.+0.j, 2.+0.j],
           [3.+0.j, 4.+0.j]])
    """
    return _native.fft_over("ifftn", x, s, axes, norm)


def rfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The first half of the transform of real numbers.

    >>> xo.fft.rfft(xo.ones(4))
    array([4.+0.j, 0.-0.j, 0.+0.j])
    """
    return _native.fft_along("rfft", x, n, axis, norm)


def irfft(x, /, *, n=None, axis=-1, norm="backward"):
    """Inverse of `rfft`.

    >>> xo.fft.irfft(xo.asarray([0.0, 2.0, 0.0]))
    array([ 1.,  0., -1.,  0.])
    """
    return _native.fft_along("irfft", x, n, axis, norm)


def rfftn(x, /, *, s=None, axes=None, norm="backward"):
    """Real transform over the last of several axes, complex ones over the others.

    >>> xo.fft.rfftn(xo.ones((2, 4))).shape
    (2, 3)
    """
    return _native.fft_over("rfftn", x, s, axes, norm)


def irfftn(x, /, *, s=None, axes=None, norm="backward"):
    """Inverse of `rfftn`.

    >>> xo.fft.irfftn(xo.fft.rfftn(xo.asarray([[1.0, 2.0], [3.0, 4.0]])))
    array([[1., 2.],
           [3., 4.]])
    """
    return _native.fft_over("irfftn", x, s, axes, norm)


def hfft(x, /, *, n=None, axis=-1, norm="backward"):
    """Transform of a signal that is its own mirrored conjugate, of which half is given.

    >>> xo.fft.hfft(xo.asarray([1.0, 2.0, 3.0]))
    array([ 8., -2.,  0., -2.])
    """
    return _native.fft_along("hfft", x, n, axis, norm)


def ihfft(x, /, *, n=None, axis=-1, norm="backward"):
    """Inverse of `hfft`.

    >>> xo.real(xo.fft.ihfft(xo.asarray([12.0, -2.0, 0.0, -2.0])))
    array([2., 3., 4.])
    """
    return _native.fft_along("ihfft", x, n, axis, norm)


def fft2(x, /, *, s=None, axes=(-2, -1), norm="backward"):
    """Transform over two axes.

    >>> xo.fft.fft2(xo.ones((2, 2)))
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return fftn(x, s=s, axes=axes, norm=norm)


def ifft2(x, /, *, s=None, axes=(-2, -1), norm="backward"):
    """Inverse of `fft2`.

    >>> xo.fft.ifft2(xo.fft.fft2(xo.ones((2, 2))))
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    return ifftn(x, s=s, axes=axes, norm=norm)


def rfft2(x, /, *, s=None, axes=(-2, -1), norm="backward"):
    """Real transform over two axes.

    >>> xo.fft.rfft2(xo.ones((2, 2)))
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return rfftn(x, s=s, axes=axes, norm=norm)


def irfft2(x, /, *, s=None, axes=(-2, -1), norm="backward"):
    """Inverse of `rfft2`.

    >>> xo.fft.irfft2(xo.fft.rfft2(xo.ones((2, 2))))
    array([[1., 1.],
           [1., 1.]])
    """
    return irfftn(x, s=s, axes=axes, norm=norm)


def _made(array, dtype, device):
    if dtype is not None:
        array = array.astype(dtype)
    return array if device is None else array.to_device(device)


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """Frequencies of the values of `fft` of n points at distance d.

    >>> xo.fft.fftfreq(4)
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    return _made(_native.fftfreq(n, d), dtype, device)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """Frequencies of the values of `rfft` of n points at distance d.

    >>> xo.fft.rfftfreq(4)
    array([0.  , 0.25, 0.5 ])
    """
    return _made(_native.rfftfreq(n, d), dtype, device)


def fftshift(x, /, *, axes=None):
    """Zero frequency to the middle, along axes or all.

    >>> xo.fft.fftshift(xo.fft.fftfreq(4))
    array([-0.5 , -0.25,  0.  ,  0.25])
    """
    return _native.fftshift(x, axes)


def ifftshift(x, /, *, axes=None):
    """Undoes `fftshift`.

    >>> xo.fft.ifftshift(xo.asarray([-2, -1, 0, 1]))
    array([ 0,  1, -2, -1])
    """
    return _native.ifftshift(x, axes)
