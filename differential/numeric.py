"""NumPy's and SciPy's counterparts of reductions, products and convolutions: results within a bound.

The truth is computed in many more digits wherever the peer can; the bounds are those of docs/exactness.md.
"""

import numpy as np
import scipy.signal
import scipy.special

from elementwise import promote
from frames import BF16, DTYPES
from judge import Difference, is_complex, is_float, largest, real_of, rounding, unit, wide

BOOL = np.dtype(np.bool_)
# Sums are made of lanes of at most 8, trees of 7 levels and segments of 128; no chain of additions is longer.
LONGEST = 200
TINY = 2.0**-1070


def axes(p, x):
    return tuple(p["axes"]) or tuple(range(x.ndim))


def count(x, over):
    return int(np.prod([x.shape[a] for a in over], dtype=np.int64))


def chain(n):
    return min(n, LONGEST) + 4


def flush(dtype):
    """What a product that underflows may lose."""
    return float(np.finfo(np.float64 if real_of(dtype) == np.float64 else np.float32).tiny) * 2.0**-20


def floating(x):
    """Integers and booleans as f64."""
    return x.astype(np.float64) if x.dtype.kind in "iub" else x


def whole(dtype):
    """The dtype of sums of integers."""
    return np.uint64 if dtype.kind == "u" else np.int64


def sum_of(judge, case, p):
    x = case.operands[0]
    over, keep = axes(p, x), p["keepdims"]
    got = case.results[0]
    if x.dtype.kind in "iub":
        return judge.exact(got, np.sum(x, axis=over, dtype=whole(x.dtype), keepdims=keep))
    many = wide(x)
    truth = np.asarray(np.sum(many, axis=over, keepdims=keep))
    judge.like(got, x.dtype, truth.shape)
    size = np.asarray(np.sum(np.abs(many), axis=over, keepdims=keep))
    settled(judge, got, truth, size, unit(x.dtype) * chain(count(x, over)) * size, x)


def settled(judge, got, truth, size, bound, x):
    """Compares where no order of additions can overflow on the way."""
    part = real_of(x.dtype)
    carried = part if part == np.float64 else np.dtype(np.float32)
    fits = size < largest(carried) / 2
    mixed = ~np.isfinite(size) & ~np.isnan(truth) & np.isfinite(truth)
    where = fits | (np.isnan(truth) if not is_complex(truth.dtype) else np.zeros(truth.shape, bool))
    judge.note("order_of_overflow", np.count_nonzero(~where | mixed))
    judge.within(got, truth, np.where(where, bound, 1), where)


def mean(judge, case, p):
    x = case.operands[0]
    over, keep = axes(p, x), p["keepdims"]
    x = floating(x)
    many = wide(x)
    truth = np.asarray(np.mean(many, axis=over, keepdims=keep))
    judge.like(case.results[0], x.dtype, truth.shape)
    size = np.asarray(np.mean(np.abs(many), axis=over, keepdims=keep))
    settled(judge, case.results[0], truth, size * count(x, over), unit(x.dtype) * chain(count(x, over)) * size, x)


def spread(x, p):
    """Variance in many digits and the bound of ours."""
    over, keep = axes(p, x), p["keepdims"]
    n = count(x, over)
    many = wide(x)
    centre = np.mean(many, axis=over, keepdims=True)
    squares = np.abs(many - centre) ** 2
    divisor = n - p.get("correction", 0.0)
    with np.errstate(all="ignore"):
        truth = np.asarray(np.sum(squares, axis=over, keepdims=keep) / divisor)
    size = np.asarray(np.mean(np.abs(many), axis=over, keepdims=keep))
    u = unit(x.dtype)
    factor = abs(n / divisor) if divisor else 1
    shift = u * chain(n) * size
    bound = 4 * u * chain(n) * np.abs(truth) + factor * (shift**2 + 4 * shift * np.sqrt(np.abs(truth)))
    return truth, bound


def var(root):
    def peer(judge, case, p):
        x = floating(case.operands[0])
        truth, bound = spread(x, p)
        got = case.results[0]
        judge.like(got, real_of(x.dtype), truth.shape)
        if root:
            deviation = np.sqrt(np.where(truth < 0, np.nan, truth))
            with np.errstate(all="ignore"):
                bound = np.minimum(np.where(deviation > 0, bound / np.where(deviation > 0, deviation, 1), np.inf), np.sqrt(bound))
            truth, bound = deviation, np.nan_to_num(bound + 2 * unit(x.dtype) * np.nan_to_num(deviation))
        # With as many degrees of freedom as are taken away, the quotient is 0/0 or rounding noise over 0.
        where = np.isfinite(truth)
        judge.note("order_of_overflow", np.count_nonzero(~where))
        judge.within(got, truth, np.where(where, bound, 1), where)

    return peer


def prod(judge, case, p):
    x = case.operands[0]
    over, keep = axes(p, x), p["keepdims"]
    got = case.results[0]
    if x.dtype.kind in "iub":
        return judge.exact(got, np.prod(x, axis=over, dtype=whole(x.dtype), keepdims=keep))
    truth = np.asarray(np.prod(wide(x), axis=over, keepdims=keep))
    judge.like(got, x.dtype, truth.shape)
    # No order of the factors leaves the range if all of them together do not, large and small ones by themselves.
    logs = np.log2(np.where(np.abs(wide(x)) > 0, np.abs(wide(x)), 1))
    reach = np.asarray(np.sum(np.abs(logs), axis=over, keepdims=keep))
    products(judge, got, truth, count(x, over), x, reach)


def products(judge, got, truth, n, x, reach):
    """A partial product may leave the range although the result would be in it."""
    part = real_of(x.dtype)
    info = np.finfo(np.float64 if part == np.float64 else np.float32)
    size = np.abs(truth)
    where = np.isfinite(truth) & (reach < abs(info.minexp) / 2)
    judge.note("order_of_overflow", np.count_nonzero(~where))
    judge.within(got, truth, np.where(where, unit(x.dtype) * 4 * (n + 2) * size + flush(x.dtype), 1), where)


def extreme(function):
    def peer(judge, case, p):
        x = case.operands[0]
        source = x.astype(np.float32) if x.dtype == BF16 else x
        want = np.asarray(function(source, axis=axes(p, x), keepdims=p["keepdims"])).astype(x.dtype)
        judge.exact(case.results[0], want, zeros=False)

    return peer


def place(function):
    def peer(judge, case, p):
        x = case.operands[0]
        x = x.astype(np.float32) if x.dtype == BF16 else x
        judge.exact(case.results[0], np.asarray(function(x, axis=p["axis"]), np.int64))

    return peer


def truth_of(function):
    def peer(judge, case, p):
        x = case.operands[0]
        x = x.astype(np.float32) if x.dtype == BF16 else x
        want = np.asarray(function(x != 0, axis=axes(p, x), keepdims=p["keepdims"]))
        judge.exact(case.results[0], want.astype(np.int64) if want.dtype.kind == "i" else want)

    return peer


def scan(multiply):
    def peer(judge, case, p):
        x, axis = case.operands[0], p["axis"]
        got, function = case.results[0], np.cumprod if multiply else np.cumsum
        start = (np.ones if multiply else np.zeros)

        def led(scanned):
            if not p["initial"]:
                return scanned
            shape = list(scanned.shape)
            shape[axis] = 1
            return np.concatenate([start(shape, scanned.dtype), scanned], axis)

        if x.dtype.kind in "iub":
            return judge.exact(got, led(function(x, axis=axis, dtype=whole(x.dtype))))
        truth = led(function(wide(x), axis=axis))
        judge.like(got, x.dtype, truth.shape)
        if multiply:
            lowest = np.minimum.accumulate(np.abs(truth), axis) if truth.size else np.abs(truth)
            highest = np.maximum.accumulate(np.abs(truth), axis) if truth.size else lowest
            info = np.finfo(np.float64 if real_of(x.dtype) == np.float64 else np.float32)
            calm = ((truth == 0) | (lowest > float(info.tiny) * 2**30) | (lowest == 0)) & (highest < float(info.max) / 2**30)
            calm &= (truth == 0) | (np.abs(truth) > float(info.tiny) * 2**30)
            # Products of runs may leave the range where the product from the start does not.
            logs = np.abs(np.log2(np.where(np.abs(wide(x)) > 0, np.abs(wide(x)), 1)))
            reach = np.sum(logs, axis=axis, keepdims=True)
            calm &= np.broadcast_to(reach < abs(info.minexp) / 2, calm.shape) | (truth != 0)
            judge.note("order_of_overflow", np.count_nonzero(~calm))
            bound = unit(x.dtype) * 4 * (x.shape[axis] + 2) * np.abs(truth) + flush(x.dtype)
            half = np.abs(truth) * rounding(x.dtype) * 2
            return judge.within(got, truth, np.where(calm, bound + half, 1), calm)
        size = led(function(np.abs(wide(x)), axis=axis))
        fits = size < largest(np.dtype(np.float64) if real_of(x.dtype) == np.float64 else np.dtype(np.float32)) / 2
        judge.note("order_of_overflow", np.count_nonzero(~fits & ~np.isnan(truth)))
        bound = unit(x.dtype) * chain(x.shape[axis]) * np.where(fits, size, 0)
        judge.within(got, truth, np.where(fits, bound, 1), fits)

    return peer


def as_dtype(peer, integers):
    """A sum or product of the elements as another dtype, in which that of integers wraps."""

    def call(judge, case, p):
        x = case.operands[0].astype(DTYPES[p["dtype"]])
        case.operands = [x]
        if x.dtype.kind in "iu":
            return judge.exact(case.results[0], np.asarray(integers(x, p)))
        peer(judge, case, p)

    return call


def total_as(function):
    return lambda x, p: function(x, axis=axes(p, x), dtype=x.dtype, keepdims=p["keepdims"])


def scan_as(function):
    return lambda x, p: function(x, axis=p["axis"], dtype=x.dtype, include_initial=p["initial"])


def diff(judge, case, p):
    x, times = case.operands[0], p["times"]
    if x.dtype.kind in "iub":
        return judge.exact(case.results[0], np.diff(x, times, axis=p["axis"]))
    if x.dtype.itemsize > 2:
        return judge.exact(case.results[0], np.diff(x, times, axis=p["axis"]))
    want = x
    for _ in range(min(times, x.shape[p["axis"]])):
        want = np.diff(want.astype(np.float32), axis=p["axis"]).astype(x.dtype)
    judge.exact(case.results[0], want)


def diff_with(judge, case, p):
    """As diff of what the sides and the operand make together."""
    x, *sides = case.operands
    before = sides.pop(0) if p["before"] else None
    parts = [part for part in (before, x, sides[0] if p["after"] else None) if part is not None]
    case.operands = [np.concatenate(parts, axis=p["axis"])]
    diff(judge, case, p)


def turn_pairs(judge, case, p):
    x, sin, cos = case.operands
    halves = p["pairs"] == "halves"
    half = x.shape[-1] // 2
    many = wide(x)
    first, second = (many[..., :half], many[..., half:]) if halves else (many[..., ::2], many[..., 1::2])
    s, c = wide(sin), wide(cos)

    def laid(one, other):
        return np.concatenate([one, other], -1) if halves else np.stack([one, other], -1).reshape(x.shape)

    truth = laid(first * c - second * s, first * s + second * c)
    size = laid(np.abs(first * c) + np.abs(second * s), np.abs(first * s) + np.abs(second * c))
    judge.like(case.results[0], x.dtype, truth.shape)
    judge.within(case.results[0], truth, 4 * unit(x.dtype) * size + flush(x.dtype))


def softmax(judge, case, p):
    x = case.operands[0]
    many = wide(x)
    below = np.max(many, axis=p["axis"], keepdims=True) - many
    truth = scipy.special.softmax(many, axis=p["axis"])
    u = unit(x.dtype)
    judge.like(case.results[0], x.dtype, truth.shape)
    judge.within(case.results[0], truth, truth * u * (chain(x.shape[p["axis"]]) + 16 + 2 * below) + flush(x.dtype))


def log_softmax(judge, case, p):
    x = case.operands[0]
    many = wide(x)
    truth = scipy.special.log_softmax(many, axis=p["axis"])
    size = np.max(np.abs(many), axis=p["axis"], keepdims=True)
    u = unit(x.dtype)
    judge.like(case.results[0], x.dtype, truth.shape)
    judge.within(case.results[0], truth, u * (8 * (size + np.abs(truth)) + chain(x.shape[p["axis"]]) + 8))


def logsumexp(judge, case, p):
    x = case.operands[0]
    over = axes(p, x)
    truth = np.asarray(scipy.special.logsumexp(wide(x), axis=over, keepdims=p["keepdims"])) if x.ndim else wide(x)
    judge.like(case.results[0], x.dtype, truth.shape)
    judge.within(case.results[0], truth, unit(x.dtype) * (8 * np.abs(truth) + chain(count(x, over)) + 8))


def normalised(x, axis, epsilon):
    """(x - mean) / sqrt(var + epsilon) in many digits, with the bound of its error."""
    many, n, u = wide(x), x.shape[axis], unit(x.dtype)
    centre = np.mean(many, axis=axis, keepdims=True)
    variance = np.mean((many - centre) ** 2, axis=axis, keepdims=True)
    size = np.mean(np.abs(many), axis=axis, keepdims=True) + np.max(np.abs(many), axis=axis, keepdims=True)
    shift = u * chain(n) * size
    deviation = np.sqrt(variance + epsilon)
    truth = (many - centre) / deviation
    with np.errstate(all="ignore"):
        relative = 4 * u * chain(n) + (shift**2 + 4 * shift * np.sqrt(variance)) / (variance + epsilon)
        bound = 2 * shift / deviation + np.abs(truth) * relative
    return truth, bound, variance, shift


def layer_norm(judge, case, p):
    x, scale, shift = case.operands
    truth, bound, *_ = normalised(x, -1, p["epsilon"])
    s, t = wide(scale), wide(shift)
    u = unit(x.dtype)
    judge.like(case.results[0], x.dtype, truth.shape)
    judge.within(case.results[0], truth * s + t, bound * np.abs(s) + 4 * u * (np.abs(truth * s) + np.abs(t)))


def standardise(judge, case, p):
    x = case.operands[0]
    truth, bound, variance, shift = normalised(x, p["axis"], 0.0)
    judge.like(case.results[0], x.dtype, truth.shape)
    # A row without spread is 0/0, or its rounding errors over themselves.
    calm = np.broadcast_to((variance > (64 * shift) ** 2) & (shift > 0), truth.shape)
    judge.note("order_of_overflow", np.count_nonzero(~calm))
    judge.within(case.results[0], truth, np.where(calm, bound, 1), calm)


def vector_norm(judge, case, p):
    x = floating(case.operands[0])
    over, order = axes(p, x), float(p["order"])
    many = np.abs(wide(x))
    n = count(x, over)
    truth = np.asarray(many) if x.ndim == 0 and order != 0 else None
    if truth is None:
        moved = np.moveaxis(many, over, range(len(over))).reshape((n,) + tuple(s for a, s in enumerate(x.shape) if a not in {o % x.ndim for o in over}) if x.ndim else (1,))
        truth = np.linalg.norm(np.asarray(moved, np.float64) if order == 0 else moved, ord=order, axis=0) if order == 0 else power_norm(moved, order)
        if p["keepdims"]:
            shape = [1 if a in {o % x.ndim for o in over} else s for a, s in enumerate(x.shape)]
            truth = np.reshape(truth, shape)
    truth = np.asarray(truth)
    judge.like(case.results[0], real_of(x.dtype), truth.shape)
    judge.within(case.results[0], truth, np.abs(truth) * unit(x.dtype) * (chain(n) + 16) + flush(x.dtype))


def power_norm(x, order):
    if np.isinf(order):
        return (np.max if order > 0 else np.min)(x, axis=0)
    return np.sum(x ** x.dtype.type(order), axis=0) ** (1 / x.dtype.type(order))


def common(operands):
    dtype = operands[0].dtype
    for other in operands[1:]:
        dtype = promote(dtype, other.dtype)
    return dtype


def contracted(function, length, roundings=1, total=False):
    """A sum of products: exact for integers, else within gamma of the same sum of magnitudes."""

    def peer(judge, case, p):
        dtype = common(case.operands)
        operands = [x.astype(dtype) for x in case.operands]
        got = case.results[0]
        if dtype.kind in "iub":
            return judge.exact(got, np.asarray(function(operands, p)).astype(whole(dtype) if total else dtype))
        # Products of matrices in long double have no fast path in NumPy; these are small.
        truth = np.asarray(function([wide(x) for x in operands], p))
        size = np.asarray(function([np.abs(wide(x)) for x in operands], p))
        judge.like(got, dtype, truth.shape)
        u = unit(dtype) * (length(case, p) + 4) * (2 if is_complex(dtype) else 1)
        extra = rounding(dtype) * 2 * (roundings - 1) if dtype.itemsize == 2 else 0
        judge.within(got, truth, (u * len(operands) + extra) * np.abs(size) + flush(dtype))

    return peer


def cross(judge, case, p):
    dtype = common(case.operands)
    a, b = (x.astype(dtype) for x in case.operands)
    got = case.results[0]
    if dtype.kind in "iu":
        return judge.exact(got, np.cross(a, b, axis=p["axis"]))
    truth = np.cross(wide(a), wide(b), axis=p["axis"])
    judge.like(got, dtype, truth.shape)
    x, y = (np.abs(np.moveaxis(wide(o), p["axis"], 0)) for o in (a, b))
    size = np.stack([x[i] * y[j] + x[j] * y[i] for i, j in ((1, 2), (2, 0), (0, 1))])
    # Two products and a difference, each rounded to the dtype.
    judge.within(got, truth, 8 * rounding(dtype) * np.moveaxis(size, 0, p["axis"]) + flush(dtype))


def inner(case, p):
    return case.operands[0].shape[-1] if case.operands[0].ndim else 1


def einsum(operands, p):
    """By its definition: NumPy's own einsum of long doubles corrupts its heap (2.4.6)."""
    inputs, _, output = p["form"].partition("->")
    terms = inputs.split(",")
    extra = max((x.ndim - len(t.replace("...", "")) for x, t in zip(operands, terms) if "..." in t), default=0)
    dots = "ABCDEFGH"[:extra]
    if "->" not in p["form"]:
        letters = sorted(set(inputs) - set(",."))
        output = ("..." if "..." in inputs else "") + "".join(c for c in letters if inputs.count(c) == 1)
    output = output.replace("...", dots)
    labels = sorted({c for t in terms for c in t.replace("...", dots) if c != ","})
    product = None
    for x, term in zip(operands, terms):
        term = term.replace("...", dots)
        # A letter twice takes the diagonal.
        while len(set(term)) < len(term):
            twice = next(c for c in term if term.count(c) > 1)
            i, j = [k for k, c in enumerate(term) if c == twice][:2]
            x = np.diagonal(x, 0, i, j)
            term = "".join(c for k, c in enumerate(term) if k not in (i, j)) + twice
        x = np.transpose(x, [term.index(c) for c in labels if c in term])
        x = x.reshape([n for n in spread_out(x.shape, [c in term for c in labels])])
        product = x if product is None else product * x
    kept = [c for c in labels if c in output]
    summed = tuple(k for k, c in enumerate(labels) if c not in output)
    if product.dtype == BOOL:
        total = np.any(product, axis=summed) if summed else product
    else:
        total = np.sum(product, axis=summed, dtype=product.dtype) if summed else product
    return np.transpose(total, [kept.index(c) for c in output])


def spread_out(shape, present):
    """The lengths of axes that are there, 1 for those that are not."""
    lengths = iter(shape)
    return [next(lengths) if there else 1 for there in present]


def letters(case, p):
    """The longest sum that a form can make."""
    return max((int(np.prod(x.shape)) for x in case.operands), default=1)


def extended(x, k, part, **outside):
    """A convolution from its definition, of the array with what `numpy.pad` puts around it: SciPy has numbers outside for two axes only,
    and `nearest` and `mirror` in `ndimage`, which knows neither modes nor complex numbers and rounds integers."""
    around = np.pad(x, [(n - 1, n - 1) for n in k.shape], **outside)
    whole = scipy.signal.convolve(around, k, mode="valid", method="direct")
    if part == "full":
        return whole
    lengths = x.shape if part == "same" else [n - m + 1 for n, m in zip(x.shape, k.shape)]
    starts = [(w - n) // 2 for w, n in zip(whole.shape, lengths)]
    return whole[tuple(slice(a, a + n) for a, n in zip(starts, lengths))]


# Boundaries by the names of `numpy.pad`.
PADS = {"nearest": "edge", "mirror": "reflect"}


def convolved(correlate):
    def call(operands, p):
        x, k = operands
        if p["fill"]:
            return extended(x, np.conj(np.flip(k)) if correlate else k, p["mode"], constant_values=p["fill"])
        if p["boundary"] in PADS:
            return extended(x, np.conj(np.flip(k)) if correlate else k, p["mode"], mode=PADS[p["boundary"]])
        if p["boundary"] == "fill":
            function = scipy.signal.correlate if correlate else scipy.signal.convolve
            return function(x, k, mode=p["mode"], method="direct")
        # correlate2d is centred differently from correlate where the kernel is even; ours is centred as correlate.
        k = np.conj(np.flip(k)) if correlate else k
        return scipy.signal.convolve2d(x, k, mode=p["mode"], boundary=p["boundary"])

    compare = contracted(call, lambda case, p: case.operands[1].size)

    def peer(judge, case, p):
        if correlate and p["mode"] == "same" and any(n % 2 == 0 for n in case.operands[1].shape):
            judge.note("correlate_same")
        compare(judge, case, p)

    return peer


def transformed(judge, case, p):
    """Through Fourier transforms: integers exactly, floats within the bound of compose/convolve.rs."""
    dtype = common(case.operands)
    x, k = case.operands
    got = case.results[0]
    if dtype.kind in "iu":
        return judge.exact(got, scipy.signal.convolve(x, k, mode=p["mode"], method="direct").astype(dtype))
    large = x.size > 2000  # long double has no fast way; f64 is many more digits than f32
    truth = scipy.signal.convolve(wide(x), wide(k), mode=p["mode"], method="fft" if large and dtype == np.float32 else "direct")
    judge.like(got, dtype, truth.shape)
    points = int(np.prod([2 * (n + m) for n, m in zip(x.shape, k.shape)]))
    sizes = np.linalg.norm(wide(x).astype(np.complex128).ravel()) * np.linalg.norm(wide(k).astype(np.complex128).ravel())
    judge.within(got, truth, 32 * unit(dtype) * np.log2(max(points, 2)) * sizes + flush(dtype))


# One line per operation; a test of the worker reads the names.
PEERS = {
    "all": truth_of(np.all),
    "any": truth_of(np.any),
    "argmax": place(np.argmax),
    "argmin": place(np.argmin),
    "count_nonzero": truth_of(np.count_nonzero),
    "cumulative_prod": scan(True),
    "cumulative_prod_dtype": as_dtype(scan(True), scan_as(np.cumulative_prod)),
    "cumulative_sum": scan(False),
    "cumulative_sum_dtype": as_dtype(scan(False), scan_as(np.cumulative_sum)),
    "diff": diff,
    "diff_with": diff_with,
    "layer_norm": layer_norm,
    "log_softmax": log_softmax,
    "logsumexp": logsumexp,
    "max": extreme(np.max),
    "mean": mean,
    "min": extreme(np.min),
    "prod": prod,
    "prod_dtype": as_dtype(prod, total_as(np.prod)),
    "softmax": softmax,
    "standardise": standardise,
    "std": var(True),
    "sum": sum_of,
    "sum_dtype": as_dtype(sum_of, total_as(np.sum)),
    "sum_of_floats": sum_of,
    "turn_pairs": turn_pairs,
    "var": var(False),
    "vector_norm": vector_norm,
    "convolve": convolved(False),
    "convolve_by_transforms": transformed,
    "correlate": convolved(True),
    "cross": cross,
    "dot": contracted(lambda xs, p: np.dot(*xs), inner),
    "einsum": contracted(einsum, letters, roundings=3),
    "matmul": contracted(lambda xs, p: np.matmul(*xs), inner),
    "outer": contracted(lambda xs, p: np.outer(*xs), lambda case, p: 1),
    "tensordot": contracted(lambda xs, p: np.tensordot(*xs, axes=(p["left"], p["right"])), lambda case, p: case.operands[0].size),
    "trace": contracted(lambda xs, p: np.trace(xs[0], p["offset"], -2, -1), lambda case, p: min(case.operands[0].shape[-2:]), total=True),
    "vecdot": contracted(lambda xs, p: np.vecdot(*xs, axis=p["axis"]), lambda case, p: case.operands[0].shape[p["axis"]]),
}


def check(judge, case, entry):
    """One case of these families."""
    if case.error is not None:
        raise Difference(f"refused: {case.error}")
    PEERS[entry["name"]](judge, case, case.parameters)
