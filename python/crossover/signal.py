"""Convolution and correlation in any number of dimensions, with SciPy's modes and boundaries.

Sums of products are exact in the sense of the library: the order of additions is part of the definition, and the bits are the same on every
device. Large kernels go through Fourier transforms, with an error that is bounded.
"""

from . import _native

__all__ = ["convolve", "correlate"]


def convolve(x, kernel, /, mode="full", *, boundary="fill", fillvalue=0, method="auto"):
    """Sums over a window of elements times a kernel of as many axes, flipped.

    `mode` says which part is returned: 'full', all of it; 'same', the middle, with the shape of `x`; 'valid', where the kernel lies inside.
    `boundary` says what lies outside: 'fill', `fillvalue`; 'nearest', the nearest element; 'wrap', `x` again; 'symm', `x` mirrored, its edge repeated;
    'mirror', `x` mirrored, its edge once. `method` is 'direct', 'fft' or 'auto', the cheaper of them.

    >>> xo.signal.convolve(xo.asarray([0.0, 4.0, 0.0]), xo.asarray([0.25, 0.5, 0.25]))
    array([0., 1., 2., 1., 0.])
    >>> xo.signal.convolve(xo.asarray([1, 2, 3]), xo.ones(3, dtype=xo.int64), "same", boundary="wrap")
    array([6, 6, 6])
    >>> xo.signal.convolve(xo.asarray([1, 2, 3]), xo.ones(3, dtype=xo.int64), "same", boundary="mirror")
    array([5, 6, 7])
    """
    return _native.convolved(x, kernel, False, mode, boundary, fillvalue, method)


def correlate(x, kernel, /, mode="full", *, boundary="fill", fillvalue=0, method="auto"):
    """Sums over a window of elements times a kernel of as many axes, conjugated; the arguments are those of `convolve`.

    >>> xo.signal.correlate(xo.asarray([1.0, 2.0, 4.0, 8.0]), xo.asarray([-1.0, 1.0]), "valid")
    array([1., 2., 4.])
    """
    return _native.convolved(x, kernel, True, mode, boundary, fillvalue, method)
