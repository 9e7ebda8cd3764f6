"""Convolutions and correlations as `scipy.ndimage`, `scipy.signal` and NumPy have them, by `crossover.signal`.

`scipy.ndimage` adds in double precision and gives the dtype of its input; so does this. Where the two could differ by more than a rounding
(fractions of which whole numbers are made, infinities beside weights of zero, results that do not fit), SciPy computes.
"""

import math
import operator

import numpy as np

from . import _native as _n
from . import signal as _signal
from ._forms import _floats, array, lacking, only

_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "int64")
# Names of boundaries by those of SciPy's: that of the convolution, and that of `pad`.
_BOUNDARIES = {
    "reflect": ("symm", "symmetric"), "grid-mirror": ("symm", "symmetric"), "constant": ("fill", "constant"), "grid-constant": ("fill", "constant"),
    "nearest": ("nearest", "edge"), "mirror": ("mirror", "reflect"), "wrap": ("wrap", "wrap"), "grid-wrap": ("wrap", "wrap"),
}
# SciPy takes smaller weights for zeros, and leaves out what they would be multiplied with.
_EPSILON = float(np.finfo(np.float64).eps)


def _weighed(x, weights, outside, skips):
    """Elements and weights in the dtype in which they are to be multiplied: floats in double precision, whole numbers exactly."""
    if x.dtype.kind == "f":
        if skips and not np.all(weights) and not _n.all(_n.isfinite(x)) or not math.isfinite(outside):
            raise lacking("infinities beside weights of zero")
        return x.astype(_n.float64), weights
    if not np.array_equal(weights, np.round(weights)) or outside != round(outside):
        raise lacking("weights with fractions for whole numbers")
    total = float(np.abs(weights).sum())
    bits = 8 * x.dtype.itemsize
    # Results that do not fit keep their lowest bits, as long as they are not too large for the processor's conversion.
    most = abs(outside) if bits <= 16 else max(abs(outside), *(abs(int(end)) for end in (_n.max(x), _n.min(x))))
    limit = 2.0**31 if bits <= 32 else 2.0**53
    if total * max(most, 2.0**bits if bits <= 16 else 0.0) >= limit:
        raise lacking("sums of whole numbers that may not fit")
    wide = np.int32 if bits <= 32 else np.int64
    return x.astype(wide), weights.astype(wide)


def _correlated(x, weights, boundary, outside, before, skips):
    """Sums of elements under weights, where `before` of these lie before an element along each axis. The result has the dtype of `x`.
    `skips` says that SciPy leaves weights of zero out, whatever the elements there."""
    values, weights = _weighed(x, weights, outside, skips)
    outside = int(outside) if values.dtype.kind == "i" else float(outside)
    native, padding = _BOUNDARIES[boundary]
    kernel = _n.asarray(weights)
    if all(2 * first + 1 == length for first, length in zip(before, weights.shape)):
        fill = {"fillvalue": outside} if native == "fill" else {}
        result = _signal.correlate(values, kernel, "same", boundary=native, **fill)
    else:
        widths = [(first, length - 1 - first) for first, length in zip(before, weights.shape)]
        fill = {"constant_values": outside} if padding == "constant" else {}
        result = _signal.correlate(_n.pad(values, widths, padding, **fill), kernel, "valid")
    return result.astype(x.dtype)


def _operands(input, weights, output, mode, cval, axes=None):
    """The arguments of a filter of SciPy's that is computed here."""
    only(output=(output, None), axes=(axes, None))
    if not isinstance(mode, str) or mode not in _BOUNDARIES or type(cval) not in (int, float):
        raise lacking(f"mode={mode!r}, cval={cval!r}")
    x = array(input, ("float32", "float64", *_INTEGERS))
    array(weights, ("float32", "float64", *_INTEGERS))
    weights = np.array(weights, dtype=np.float64)
    if not x.ndim or not x.size or not weights.size or not np.all(np.isfinite(weights)):
        raise lacking(f"a filter of shapes {x.shape} and {weights.shape}")
    return x, weights


def _origins(origin, count):
    origins = [operator.index(one) for one in (origin if isinstance(origin, (list, tuple)) else [origin] * count)]
    if len(origins) != count:
        raise lacking(f"origin={origin!r}")
    return origins


def _filtered(input, weights, output, mode, cval, origin, axes, turned):
    x, weights = _operands(input, weights, output, mode, cval, axes)
    if weights.ndim != x.ndim:
        raise lacking(f"weights of shape {weights.shape} for shape {x.shape}")
    weights[np.abs(weights) <= _EPSILON] = 0.0
    origins = _origins(origin, x.ndim)
    if turned:
        weights, origins = _turned(weights, origins)
    before = [length // 2 + shift for length, shift in zip(weights.shape, origins)]
    if not all(0 <= first < length for first, length in zip(before, weights.shape)):
        raise lacking(f"origin={origin!r}")
    return _correlated(x, weights, mode, cval, before, True)


def _turned(weights, origins):
    """Weights and origins of the correlation that a convolution is."""
    origins = [-shift - (length % 2 == 0) for length, shift in zip(weights.shape, origins)]
    return np.ascontiguousarray(weights[(slice(None, None, -1),) * weights.ndim]), origins


def _filtered_along(input, weights, axis, output, mode, cval, origin, turned):
    x, weights = _operands(input, weights, output, mode, cval)
    if weights.ndim != 1 or type(axis) is not int or not -x.ndim <= axis < x.ndim:
        raise lacking(f"weights of shape {weights.shape} along axis {axis!r}")
    origins = _origins(origin, 1)
    if turned:
        weights, origins = _turned(weights, origins)
    first, length = len(weights) // 2 + origins[0], len(weights)
    if not 0 <= first < length:
        raise lacking(f"origin={origin!r}")
    shape, before = [1] * x.ndim, [0] * x.ndim
    shape[axis], before[axis] = length, first
    return _correlated(x, weights.reshape(shape), mode, cval, before, False)


class Ndimage:
    """`scipy.ndimage`."""

    @staticmethod
    def convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
        """Convolution, in the dtype of the input."""
        return _filtered(input, weights, output, mode, cval, origin, axes, True)

    @staticmethod
    def correlate(input, weights, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
        """Correlation, in the dtype of the input."""
        return _filtered(input, weights, output, mode, cval, origin, axes, False)

    @staticmethod
    def convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
        """Convolution along one axis."""
        return _filtered_along(input, weights, axis, output, mode, cval, origin, True)

    @staticmethod
    def correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
        """Correlation along one axis."""
        return _filtered_along(input, weights, axis, output, mode, cval, origin, False)


def _pair(in1, in2, mode):
    """Two signals of as many axes."""
    x, kernel = array(in1), array(in2)
    if x.ndim != kernel.ndim or not x.ndim or not x.size or not kernel.size or mode not in ("full", "same", "valid"):
        raise lacking(f"shapes {x.shape} and {kernel.shape}, mode={mode!r}")
    if mode == "valid" and any(n < k for n, k in zip(x.shape, kernel.shape)):
        raise lacking(f"shapes {x.shape} and {kernel.shape}, mode={mode!r}")
    return x, kernel


class Signal:
    """`scipy.signal`."""

    @staticmethod
    def convolve(in1, in2, mode="full", method="auto"):
        """Convolution of two signals."""
        if method not in ("auto", "direct"):
            raise lacking(f"method={method!r}")
        return _signal.convolve(*_pair(in1, in2, mode), mode, method=method)

    @staticmethod
    def correlate(in1, in2, mode="full", method="auto"):
        """Correlation of two signals."""
        if method not in ("auto", "direct"):
            raise lacking(f"method={method!r}")
        return _signal.correlate(*_pair(in1, in2, mode), mode, method=method)

    @staticmethod
    def fftconvolve(in1, in2, mode="full", axes=None):
        """Convolution of two signals through transforms; whole numbers become floats."""
        only(axes=(axes, None))
        x, kernel = _pair(in1, in2, mode)
        if all(1 in lengths for lengths in zip(x.shape, kernel.shape)):
            # SciPy transforms nothing then, and whole numbers stay such.
            return _signal.convolve(x, kernel, mode, method="direct")
        return _signal.convolve(_floats(x), _floats(kernel), mode, method="fft")

    oaconvolve = fftconvolve

    @staticmethod
    def convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
        """Convolution of two images."""
        return _images(_signal.convolve, in1, in2, mode, boundary, fillvalue)

    @staticmethod
    def correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
        """Correlation of two images; the middle is SciPy's where the kernel is even."""
        if mode == "same" and not all(n % 2 for n in np.shape(in2)):
            raise lacking("correlate2d in mode 'same' with an even kernel")
        return _images(_signal.correlate, in1, in2, mode, boundary, fillvalue)


def _images(function, in1, in2, mode, boundary, fillvalue):
    x, kernel = _pair(in1, in2, mode)
    if x.ndim != 2 or type(fillvalue) not in (int, float) or boundary not in ("fill", "wrap", "symm"):
        raise lacking(f"shape {x.shape}, boundary={boundary!r}, fillvalue={fillvalue!r}")
    fill = {"fillvalue": fillvalue} if boundary == "fill" else {}
    return function(x, kernel, mode, boundary=boundary, **fill)
