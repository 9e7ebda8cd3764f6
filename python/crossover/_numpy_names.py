"""NumPy's spellings of the namespace, and NumPy functions that are a line or two of it."""

from operator import index as _index

from . import _native as _n
from . import signal as _signal
from ._sets import unique_all as _unique_all
from .exceptions import AxisError as _AxisError

absolute = _n.abs
arccos = _n.acos
arccosh = _n.acosh
arcsin = _n.asin
arcsinh = _n.asinh
arctan = _n.atan
arctan2 = _n.atan2
arctanh = _n.atanh
around = _n.round
bool_ = _n.bool
cdouble = _n.complex128
concatenate = _n.concat
conjugate = _n.conj
double = _n.float64
fabs = _n.fabs
fmod = _n.fmod
invert = bitwise_not = _n.bitwise_invert
left_shift = _n.bitwise_left_shift
mod = _n.remainder
nanmax = _n.nanmax
nanmean = _n.nanmean
nanmin = _n.nanmin
nansum = _n.nansum
ndarray = _n.Array
power = _n.pow
right_shift = _n.bitwise_right_shift
rint = _n.rint
single = _n.float32
true_divide = _n.divide


def _floats(x):
    """The array, as floats if it is of whole numbers."""
    x = _n.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(_n.float64)


def float_power(x1, x2, /):
    """x1 to the power of x2, in double precision.

    >>> xo.float_power(xo.asarray([2, 4]), -1)
    array([0.5 , 0.25])
    """
    x1, x2 = _n.asarray(x1), _n.asarray(x2)
    wide = _n.complex128 if "c" in (x1.dtype.kind, x2.dtype.kind) else _n.float64
    return _n.pow(x1.astype(wide), x2.astype(wide))


def array(object, dtype=None, *, copy=True, ndmin=0):
    """An array of its own: NumPy's `array`.

    >>> xo.array([1, 2])
    array([1, 2])
    """
    made = _n.asarray(object, dtype=dtype, copy=True if copy and isinstance(object, _n.Array) else None)
    while made.ndim < ndmin:
        made = _n.expand_dims(made, 0)
    return made


def ascontiguousarray(a, dtype=None):
    """The array; how it lies in memory is the library's concern.

    >>> xo.ascontiguousarray([1, 2])
    array([1, 2])
    """
    return _n.asarray(a, dtype=dtype)


def transpose(a, axes=None):
    """Axes in another order, or reversed; a view.

    >>> xo.transpose(xo.asarray([[1, 2], [3, 4]]))
    array([[1, 3],
           [2, 4]])
    """
    a = _n.asarray(a)
    return a.T if axes is None else _n.permute_dims(a, tuple(axes))


def swapaxes(a, axis1, axis2):
    """Two axes exchanged; a view.

    >>> xo.swapaxes(xo.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    a = _n.asarray(a)
    for axis in (axis1, axis2):
        if not -a.ndim <= axis < a.ndim:
            raise _AxisError(f"axis {axis} of an array of shape {a.shape}")
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return _n.permute_dims(a, tuple(order))


def ravel(a):
    """All elements along one axis; a view where possible.

    >>> xo.ravel(xo.asarray([[1, 2], [3, 4]]))
    array([1, 2, 3, 4])
    """
    return _n.reshape(a, (-1,))


def cumsum(a, axis=None, dtype=None):
    """Running sum along an axis, or of all elements.

    >>> xo.cumsum(xo.asarray([[1, 2], [3, 4]]))
    array([ 1,  3,  6, 10])
    """
    a = _n.asarray(a)
    return _n.cumulative_sum(ravel(a) if axis is None else a, axis=0 if axis is None else axis, dtype=dtype)


def cumprod(a, axis=None, dtype=None):
    """Running product along an axis, or of all elements.

    >>> xo.cumprod(xo.asarray([[1, 2], [3, 4]]), axis=0)
    array([[1, 2],
           [3, 8]])
    """
    a = _n.asarray(a)
    return _n.cumulative_prod(ravel(a) if axis is None else a, axis=0 if axis is None else axis, dtype=dtype)


amax = _n.max
amin = _n.min


def average(a, axis=None, weights=None):
    """Mean, or with weights the weighted one.

    >>> xo.average(xo.asarray([1.0, 4.0]), weights=[2, 1])
    array(2.)
    """
    a = _n.asarray(a)
    if weights is None:
        return _n.mean(a, axis=axis)
    weights = _n.asarray(weights)
    if weights.shape != a.shape and axis is None:
        raise TypeError(f"weights of shape {weights.shape} for an array of shape {a.shape}: say along which axis they are")
    if weights.shape != a.shape:
        axes = [one % a.ndim for one in (axis if isinstance(axis, tuple) else (_index(axis),))]
        along = tuple(a.shape[one] for one in axes)
        if weights.shape != along:
            raise ValueError(f"weights of shape {weights.shape} for axes of lengths {along}: give one for each entry along them")
        weights = _n.permute_dims(weights, tuple(sorted(range(len(axes)), key=axes.__getitem__)))
        weights = _n.reshape(weights, tuple(n if one in axes else 1 for one, n in enumerate(a.shape)))
    total = _n.sum(_n.broadcast_to(weights, a.shape), axis=axis)
    if _n.any(total == 0):
        raise ZeroDivisionError(f"weights of shape {weights.shape} sum to zero: there is no average")
    return _n.sum(a * weights, axis=axis) / total


def ptp(a, axis=None):
    """Largest less smallest element.

    >>> xo.ptp(xo.asarray([3, 9, 1]))
    array(8)
    """
    return _n.max(a, axis=axis) - _n.min(a, axis=axis)


def vstack(tup):
    """Arrays joined along the first axis; vectors become rows.

    >>> xo.vstack([xo.asarray([1, 2]), xo.asarray([3, 4])])
    array([[1, 2],
           [3, 4]])
    """
    return _n.concat([atleast_2d(a) for a in tup], axis=0)


def hstack(tup):
    """Arrays joined along the second axis; vectors along their own.

    >>> xo.hstack([xo.asarray([1, 2]), xo.asarray([3])])
    array([1, 2, 3])
    """
    parts = [atleast_1d(a) for a in tup]
    return _n.concat(parts, axis=0 if parts[0].ndim == 1 else 1)


def atleast_1d(a):
    """The array with at least one axis.

    >>> xo.atleast_1d(5)
    array([5])
    """
    a = _n.asarray(a)
    return _n.reshape(a, (1,)) if a.ndim == 0 else a


def atleast_2d(a):
    """The array with at least two axes; a vector becomes a row.

    >>> xo.atleast_2d([1, 2])
    array([[1, 2]])
    """
    a = atleast_1d(a)
    return a[None, :] if a.ndim == 1 else a


def outer(a, b):
    """Products of all pairs of elements.

    >>> xo.outer(xo.asarray([1, 2]), xo.asarray([3, 4]))
    array([[3, 4],
           [6, 8]])
    """
    return ravel(a)[:, None] * ravel(b)[None, :]


def inner(a, b):
    """Sums of products along the last axes.

    >>> xo.inner(xo.asarray([1, 2]), xo.asarray([3, 4]))
    array(11)
    """
    a, b = _n.asarray(a), _n.asarray(b)
    return a * b if a.ndim == 0 or b.ndim == 0 else _n.tensordot(a, b, axes=((-1,), (-1,)))


def trace(a, offset=0):
    """Sum of the diagonal of the first two axes.

    >>> xo.trace(xo.asarray([[1, 2], [3, 4]]))
    array(5)
    """
    a = _n.asarray(a)
    return _n.trace(_n.moveaxis(a, (0, 1), (-2, -1)), offset, None)


def diag(v, k=0):
    """The diagonal of a matrix, or a matrix with a diagonal.

    >>> xo.diag(xo.asarray([1, 2]))
    array([[1, 0],
           [0, 2]])
    """
    v = _n.asarray(v)
    if v.ndim != 1:
        return _n.diagonal(v, k)
    n = v.shape[0] + abs(k)
    matrix = _n.zeros((n, n), dtype=v.dtype)
    at = _n.arange(v.shape[0])
    matrix[at + max(0, -k), at + max(0, k)] = v
    return matrix


def identity(n, dtype=None):
    """The identity matrix.

    >>> xo.identity(2)
    array([[1., 0.],
           [0., 1.]])
    """
    return _n.eye(n, dtype=dtype)


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True where elements are within a tolerance of each other.

    >>> xo.isclose(xo.asarray([1.0, 2.0]), xo.asarray([1.0 + 1e-9, 2.1]))
    array([ True, False])
    """
    # Differences of whole numbers may not have a sign, and truth values have none at all.
    a, b = _n.asarray(a), _floats(b)
    near = _n.logical_and(_n.abs(a - b) <= atol + rtol * _n.abs(b), _n.isfinite(b))
    near = _n.logical_or(near, a == b)
    return _n.logical_or(near, _n.logical_and(_n.isnan(a), _n.isnan(b))) if equal_nan else near


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are within a tolerance of each other.

    >>> xo.allclose(xo.asarray([1.0, 2.0]), xo.asarray([1.0 + 1e-9, 2.0]))
    True
    """
    return bool(_n.all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1, a2):
    """Whether two arrays have the same shape and elements.

    >>> xo.array_equal(xo.asarray([1, 2]), xo.asarray([1, 2]))
    True
    """
    a1, a2 = _n.asarray(a1), _n.asarray(a2)
    return a1.shape == a2.shape and bool(_n.all(a1 == a2))


def unique(ar, return_index=False, return_inverse=False, return_counts=False):
    """Distinct elements in ascending order, and what else is asked for.

    >>> xo.unique(xo.asarray([3, 1, 3]), return_counts=True)
    (array([1, 3]), array([1, 2]))
    """
    if not (return_index or return_inverse or return_counts):
        return _n.unique_values(ar)
    found = _unique_all(ar)
    flags = (return_index, return_inverse, return_counts)
    return (found.values, *(part for part, wanted in zip(found[1:], flags) if wanted))


def argwhere(a):
    """Indices of the elements that are not zero, one row per element.

    >>> xo.argwhere(xo.asarray([[0, 3], [5, 0]]))
    array([[0, 1],
           [1, 0]])
    """
    return _n.stack(_n.nonzero(a), axis=1)


def flatnonzero(a):
    """Indices in the flattened array of the elements that are not zero.

    >>> xo.flatnonzero(xo.asarray([[0, 3], [5, 0]]))
    array([1, 2])
    """
    return _n.nonzero(ravel(a))[0]


def flipud(m):
    """The first axis reversed.

    >>> xo.flipud(xo.asarray([[1, 2], [3, 4]]))
    array([[3, 4],
           [1, 2]])
    """
    return _n.flip(m, 0)


def fliplr(m):
    """The second axis reversed.

    >>> xo.fliplr(xo.asarray([[1, 2], [3, 4]]))
    array([[2, 1],
           [4, 3]])
    """
    return _n.flip(m, 1)


def split(ary, indices_or_sections, axis=0):
    """Parts of an array along an axis: as many equal ones, or between indices.

    >>> xo.split(xo.arange(4), 2)
    [array([0, 1]), array([2, 3])]
    """
    ary = _n.asarray(ary)
    length = ary.shape[axis]
    if isinstance(indices_or_sections, int):
        if length % indices_or_sections:
            raise ValueError(f"{length} entries make no {indices_or_sections} equal parts")
        step = length // indices_or_sections
        cuts = [step * part for part in range(1, indices_or_sections)]
    else:
        cuts = [int(cut) for cut in indices_or_sections]
    front = [slice(None)] * (axis % ary.ndim)
    bounds = zip([0, *cuts], [*cuts, length])
    return [ary[(*front, slice(start, stop))] for start, stop in bounds]


def percentile(a, q, axis=None):
    """The value below which so many percent of the elements lie, by linear interpolation.

    >>> xo.percentile(xo.asarray([1.0, 2.0, 3.0, 4.0, 5.0]), 75)
    array(4.)
    """
    return quantile(a, _shares(q, 100.0, "percentiles") / 100.0, axis)


def _shares(q, most, what):
    """Numbers between 0 and a most, both included."""
    q = _n.asarray(q, dtype=_n.float64)
    if not _n.all(_n.logical_and(q >= 0, q <= most)):
        raise ValueError(f"{what} are between 0 and {most:g}, not {q}")
    return q


def _in_order(a, axis):
    """The elements as floats, in order along the first axis."""
    a = _floats(a)
    return _n.sort(ravel(a) if axis is None else _n.moveaxis(a, _index(axis), 0), axis=0)


def quantile(a, q, axis=None):
    """The value below which such a share of the elements lies, by linear interpolation.

    >>> xo.quantile(xo.asarray([1.0, 2.0, 4.0]), [0.5, 0.75])
    array([2., 3.])
    """
    a, q = _in_order(a, axis), _shares(q, 1.0, "quantiles")
    if not a.shape[0]:
        raise IndexError(f"an axis of no elements has no quantiles; the shape is {a.shape}")
    at = q * (a.shape[0] - 1)
    low = _n.floor(at)
    share = _n.reshape(at - low, q.shape + (1,) * (a.ndim - 1)).astype(a.dtype)
    below = _n.take(a, low.astype(_n.int64), axis=0)
    above = _n.take(a, _n.ceil(at).astype(_n.int64), axis=0)
    # From the nearer end, and nowhere else where both are one, of which the difference is nothing even if they are infinite.
    apart = above - below
    between = _n.where(share < 0.5, below + apart * share, above - apart * (1 - share))
    # NaN is sorted to the end, and makes every quantile one.
    return _n.where(_n.isnan(a[-1]), a[-1], _n.where(below == above, below, between))


def median(a, axis=None):
    """The middle of the elements in order, or the mean of the two there; NaN where there are none.

    >>> xo.median(xo.asarray([7.0, 1.0, 3.0]))
    array(3.)
    """
    a = _in_order(a, axis)
    count = a.shape[0]
    if not count:
        return _n.full(a.shape[1:], float("nan"), dtype=a.dtype)
    middle = a[count // 2] if count % 2 else (a[count // 2 - 1] + a[count // 2]) / 2
    return _n.where(_n.isnan(a[-1]), a[-1], middle)


def interp(x, xp, fp):
    """Values between points, on straight lines from each to the next.

    >>> xo.interp(xo.asarray([0.5, 9.0]), xo.asarray([0.0, 1.0, 2.0]), xo.asarray([10.0, 20.0, 40.0]))
    array([15., 40.])
    """
    x, xp, fp = (_n.asarray(one, dtype=_n.float64) for one in (x, xp, fp))
    at = _n.clip(_n.searchsorted(xp, x, side="right") - 1, 0, xp.shape[0] - 2)
    x0, x1 = _n.take(xp, at, axis=0), _n.take(xp, at + 1, axis=0)
    y0, y1 = _n.take(fp, at, axis=0), _n.take(fp, at + 1, axis=0)
    value = y0 + (y1 - y0) * ((x - x0) / (x1 - x0))
    value = _n.where(x <= xp[0], fp[0], value)
    return _n.where(x >= xp[-1], fp[-1], value)


def _signals(a, v, op):
    """Two vectors that are not empty, and what becomes of sums of their products: those of truth values are truth values."""
    a, v = atleast_1d(a), atleast_1d(v)
    if a.ndim != 1 or v.ndim != 1 or not a.size or not v.size:
        raise ValueError(f"{op} takes two vectors that are not empty, not arrays of shapes {a.shape} and {v.shape}")
    if a.dtype.kind == v.dtype.kind == "b":
        return a.astype(_n.int64), v.astype(_n.int64), lambda sums: sums != 0
    return a, v, lambda sums: sums


def convolve(a, v, mode="full"):
    """Convolution of two vectors: 'full', 'same' (as long as the longer one) or 'valid'; `crossover.signal` has more.

    >>> xo.convolve(xo.asarray([1, 2, 3]), xo.asarray([1, 1]))
    array([1, 3, 5, 3])
    """
    a, v, made = _signals(a, v, "convolve")
    return made(_signal.convolve(*((v, a) if a.shape[0] < v.shape[0] else (a, v)), mode))


def correlate(a, v, mode="valid"):
    """Correlation of two vectors: 'valid', 'same' or 'full'; `crossover.signal` has more.

    >>> xo.correlate(xo.asarray([1, 2, 3]), xo.asarray([0, 1]), "full")
    array([1, 2, 3, 0])
    """
    a, v, made = _signals(a, v, "correlate")
    if a.shape[0] >= v.shape[0]:
        return made(_signal.correlate(a, v, mode))
    # The shorter one is moved, which turns the result round.
    turned = made(_n.flip(_signal.correlate(v, a, mode), 0))
    return _n.conj(turned) if turned.dtype.kind == "c" else turned


__all__ = [name for name in dict(globals()) if not name.startswith("_")]
