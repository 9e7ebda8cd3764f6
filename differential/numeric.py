"""NumPy's and SciPy's counterparts of reductions, products, linear algebra and transforms: results within a bound.

The truth is computed in many more digits wherever the peer can; the bounds are those of docs/exactness.md.
"""

import numpy as np
import scipy.fft
import scipy.signal
import scipy.special

from elementwise import promote
from frames import BF16
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


def convolved(correlate):
    def call(operands, p):
        x, k = operands
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


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def epsilon(x):
    return unit(x.dtype)


def in_double(x):
    return x.astype(np.complex128 if is_complex(x.dtype) else np.float64)


def size_of(x):
    return np.sqrt(np.sum(np.abs(x) ** 2, axis=(-2, -1)))


def stable(x):
    """The bound of docs/exactness.md for a decomposition of x, with room for the other side's own error."""
    n = max(x.shape[-2:])
    return 16 * n * np.sqrt(n) * epsilon(x) * size_of(in_double(x))


def near(judge, got, truth, bound, what=""):
    """Matrices at a distance in the Frobenius norm."""
    if got.shape != truth.shape:
        raise Difference(f"{what} shape is {got.shape}, not {truth.shape}")
    judge.elements += got.size
    share = np.max(size_of(got - truth) / np.maximum(bound, TINY), initial=0)
    if not share <= 1:
        raise Difference(f"{what} is {share:.3g} times the bound away")
    judge.worst = max(judge.worst, float(share))


def unitary(judge, q, x, what):
    n = q.shape[-1]
    near(judge, adjoint(q) @ q, np.broadcast_to(np.eye(n), q.shape[:-2] + (n, n)), 16 * max(q.shape) ** 1.5 * epsilon(x), what)


def rebuilt(judge, parts, x):
    near(judge, parts, in_double(x), stable(x), "the product")


def typed(judge, got, dtype):
    if got.dtype != dtype:
        raise Difference(f"dtype is {got.dtype}, not {dtype}")


def conditioned(function):
    """Results that a well-conditioned matrix determines: compared with the peer's, by the condition."""

    def peer(judge, case, p):
        x, got = case.operands[0], case.results[0]
        typed(judge, got, x.dtype)
        truth = np.asarray(function(*(in_double(o) for o in case.operands), p))
        n = max(x.shape[-2:])
        condition = np.max(np.linalg.cond(in_double(x)), initial=1.0)
        size = np.max(np.abs(truth), initial=0.0)
        judge.within(got, truth, 32 * n * np.sqrt(n) * epsilon(x) * condition * size)

    return peer


def det(judge, case, p):
    x, got = case.operands[0], case.results[0]
    typed(judge, got, x.dtype)
    many = in_double(x)
    hadamard = np.prod(np.sqrt(np.sum(np.abs(many) ** 2, axis=-1)), axis=-1)
    judge.within(got, np.asarray(np.linalg.det(many)), 32 * x.shape[-1] ** 2 * epsilon(x) * hadamard)


def slogdet(judge, case, p):
    x = case.operands[0]
    sign, log = np.linalg.slogdet(in_double(x))
    typed(judge, case.results[0], x.dtype)
    bound = 64 * x.shape[-1] ** 2 * epsilon(x) * np.max(np.linalg.cond(in_double(x)))
    judge.within(case.results[0], np.asarray(sign), bound)
    judge.within(case.results[1], np.asarray(log), bound * (1 + np.abs(log)))


def qr(judge, case, p):
    x, (q, r) = case.operands[0], map(in_double, case.results)
    unitary(judge, q, x, "Q")
    rebuilt(judge, q @ r, x)
    if np.any(np.tril(r, -1)):
        raise Difference("R is not upper triangular")
    peer = np.linalg.qr(in_double(x), mode="complete" if q.shape[-1] != min(x.shape[-2:]) else "reduced")
    if peer[0].shape != q.shape or peer[1].shape != r.shape:
        raise Difference(f"shapes are {q.shape}, {r.shape}, not {peer[0].shape}, {peer[1].shape}")


def svd(judge, case, p):
    x, (u, s, v) = case.operands[0], case.results
    k = min(x.shape[-2:])
    truth = np.linalg.svd(in_double(x), compute_uv=False)
    typed(judge, s, real_of(x.dtype))
    judge.within(s, truth, np.broadcast_to(stable(x)[..., None], truth.shape))
    u, s, v = in_double(u), in_double(s), in_double(v)
    unitary(judge, u, x, "U")
    unitary(judge, adjoint(v), x, "V")
    rebuilt(judge, (u[..., :k] * s[..., None, :]) @ v[..., :k, :], x)


def values(function):
    def peer(judge, case, p):
        x = case.operands[0]
        truth = np.asarray(function(in_double(x)))
        typed(judge, case.results[0], real_of(x.dtype))
        judge.within(case.results[0], truth, np.broadcast_to(stable(x)[..., None], truth.shape))

    return peer


def eigh(judge, case, p):
    x, (w, v) = case.operands[0], case.results
    truth = np.linalg.eigvalsh(in_double(x))
    judge.within(w, truth, np.broadcast_to(stable(x)[..., None], truth.shape))
    w, v = in_double(w), in_double(v)
    unitary(judge, v, x, "V")
    rebuilt(judge, (v * w[..., None, :]) @ adjoint(v), x)


def eigenvalues(judge, x, w):
    """Each is an eigenvalue of a matrix nearby, and together they have the trace."""
    many, n = in_double(x), x.shape[-1]
    for value in np.moveaxis(w, -1, 0):
        least = np.linalg.svd(many - value[..., None, None] * np.eye(n), compute_uv=False)[..., -1]
        share = np.max(least / np.maximum(stable(x), TINY), initial=0)
        if not share <= 4:
            raise Difference(f"no eigenvalue of a matrix nearby: {share:.3g} times the bound")
    trace = np.trace(many, axis1=-2, axis2=-1)
    if np.any(np.abs(np.sum(w, axis=-1) - trace) > n * stable(x)):
        raise Difference("the eigenvalues do not add up to the trace")
    judge.elements += w.size


def eigvals(judge, case, p):
    x, w = case.operands[0], case.results[0]
    typed(judge, w, np.dtype(np.complex64 if unit(x.dtype) > 1e-10 else np.complex128))
    eigenvalues(judge, x, in_double(w))


def eig(judge, case, p):
    x, w, v = case.operands[0], *map(in_double, case.results)
    eigenvalues(judge, x, w)
    near(judge, in_double(x) @ v, v * w[..., None, :], 8 * stable(x) * np.maximum(size_of(v), 1), "A V")


def triangular(upper):
    def call(x, p):
        factor = np.linalg.cholesky(x)
        return adjoint(factor) if upper else factor

    return conditioned(call)


def lstsq(judge, case, p):
    a, b = case.operands
    condition = np.linalg.cond(in_double(a))
    got = case.results[0]
    typed(judge, got, a.dtype)
    if not condition < 1e3:
        return judge.note("ill_conditioned")
    truth = np.linalg.lstsq(in_double(a), in_double(b), rcond=None)[0]
    size = np.max(np.abs(truth), initial=0) + np.max(np.abs(in_double(b)), initial=0) * condition
    judge.within(got, truth, 64 * max(a.shape) ** 1.5 * epsilon(a) * condition * size)


def rank(judge, case, p):
    x, got = case.operands[0], case.results[0]
    s = np.linalg.svd(in_double(x), compute_uv=False)
    threshold = max(x.shape[-2:]) * np.finfo(real_of(x.dtype)).eps * s[..., :1]
    want = np.count_nonzero(s > threshold, axis=-1)
    # A singular value within a factor of the threshold may fall on either side.
    unsure = np.any((s > threshold / 8) & (s < threshold * 8) & (s > 0), axis=-1)
    judge.note("ill_conditioned", np.count_nonzero(unsure))
    judge.exact(got, np.asarray(want, np.int64), where=~unsure)


def matrix_norm(judge, case, p):
    x, got = case.operands[0], case.results[0]
    order = p["order"] if p["order"] in ("fro", "nuc") else float(p["order"])
    truth = np.asarray(np.linalg.norm(in_double(x), ord=order, axis=(-2, -1), keepdims=p["keepdims"]))
    typed(judge, got, real_of(x.dtype))
    bound = np.reshape(stable(x), truth.shape)
    judge.within(got, truth, bound)


def transform(function, several, real):
    def peer(judge, case, p):
        x, got = case.operands[0], case.results[0]
        operand = x.astype(np.float32) if x.dtype.itemsize == 2 and is_float(x.dtype) else floating(x)
        single = unit(operand.dtype) > 1e-10
        want = np.dtype(np.float32 if single else np.float64) if real else np.dtype(np.complex64 if single else np.complex128)
        typed(judge, got, want)
        if several:
            truth = function(wide(operand), s=p["lengths"], axes=p["axes"], norm=p["norm"])
            points = int(np.prod(p["lengths"]))
        else:
            truth = function(wide(operand), n=p["length"], axis=p["axis"], norm=p["norm"])
            points = truth.shape[p["axis"]] * 2
        if got.shape != truth.shape:
            raise Difference(f"shape is {got.shape}, not {truth.shape}")
        judge.elements += got.size
        # The bound is one of vectors; that of all lines together follows from it. A real result drops a part.
        scale = np.linalg.norm(np.asarray(wide(operand)).ravel()) * np.sqrt(points)
        scale *= {"forward": 1, "backward": 1, "ortho": 1}[p["norm"]]
        size = max(float(np.linalg.norm(np.asarray(truth).ravel())), 0.0)
        shape_scale = size if not real else max(size, float(scale) * normalisation(p, points, function))
        bound = unit(operand.dtype) * (4 * np.log2(max(points, 2)) + 8) * shape_scale
        distance = float(np.linalg.norm(np.asarray(got.astype(truth.dtype) - truth).ravel()))
        if not distance <= bound + flush(operand.dtype):
            raise Difference(f"{distance / max(bound, TINY):.3g} times the bound away")
        judge.worst = max(judge.worst, distance / max(bound, TINY) if bound else 0.0)

    return peer


def normalisation(p, points, function):
    """The factor that a transform back to real numbers applies."""
    inverse = function in (scipy.fft.irfft, scipy.fft.irfft2, scipy.fft.irfftn)
    divides = p["norm"] == "backward" if inverse else p["norm"] == "forward"
    if p["norm"] == "ortho":
        return points**-0.5
    return 1.0 / points if divides else 1.0


# One line per operation; a test of the worker reads the names.
PEERS = {
    "all": truth_of(np.all),
    "any": truth_of(np.any),
    "argmax": place(np.argmax),
    "argmin": place(np.argmin),
    "count_nonzero": truth_of(np.count_nonzero),
    "cumulative_prod": scan(True),
    "cumulative_sum": scan(False),
    "diff": diff,
    "layer_norm": layer_norm,
    "log_softmax": log_softmax,
    "logsumexp": logsumexp,
    "max": extreme(np.max),
    "mean": mean,
    "min": extreme(np.min),
    "prod": prod,
    "softmax": softmax,
    "standardise": standardise,
    "std": var(True),
    "sum": sum_of,
    "sum_of_floats": sum_of,
    "var": var(False),
    "vector_norm": vector_norm,
    "convolve": convolved(False),
    "correlate": convolved(True),
    "cross": cross,
    "dot": contracted(lambda xs, p: np.dot(*xs), inner),
    "einsum": contracted(einsum, letters, roundings=3),
    "matmul": contracted(lambda xs, p: np.matmul(*xs), inner),
    "outer": contracted(lambda xs, p: np.outer(*xs), lambda case, p: 1),
    "tensordot": contracted(lambda xs, p: np.tensordot(*xs, axes=(p["left"], p["right"])), lambda case, p: case.operands[0].size),
    "trace": contracted(lambda xs, p: np.trace(xs[0], p["offset"], -2, -1), lambda case, p: min(case.operands[0].shape[-2:]), total=True),
    "vecdot": contracted(lambda xs, p: np.vecdot(*xs, axis=p["axis"]), lambda case, p: case.operands[0].shape[p["axis"]]),
    "cholesky": triangular(False),
    "cholesky_upper": triangular(True),
    "det": det,
    "eig": eig,
    "eigh": eigh,
    "eigvals": eigvals,
    "eigvalsh": values(np.linalg.eigvalsh),
    "inv": conditioned(lambda x, p: np.linalg.inv(x)),
    "lstsq": lstsq,
    "matrix_norm": matrix_norm,
    "matrix_power": conditioned(lambda x, p: np.linalg.matrix_power(x, p["power"])),
    "matrix_rank": rank,
    "pinv": conditioned(lambda x, p: np.linalg.pinv(x)),
    "qr": qr,
    "qr_complete": qr,
    "slogdet": slogdet,
    "solve": conditioned(lambda a, b, p: np.linalg.solve(a, b) if b.ndim > 1 else np.linalg.solve(a, b[:, None])[..., 0]),
    "svd": svd,
    "svd_full": svd,
    "svdvals": values(lambda x: np.linalg.svd(x, compute_uv=False)),
    "fft": transform(scipy.fft.fft, False, False),
    "fft2": transform(scipy.fft.fft2, True, False),
    "fftn": transform(scipy.fft.fftn, True, False),
    "hfft": transform(scipy.fft.hfft, False, True),
    "ifft": transform(scipy.fft.ifft, False, False),
    "ifft2": transform(scipy.fft.ifft2, True, False),
    "ifftn": transform(scipy.fft.ifftn, True, False),
    "ihfft": transform(scipy.fft.ihfft, False, False),
    "irfft": transform(scipy.fft.irfft, False, True),
    "irfft2": transform(scipy.fft.irfft2, True, True),
    "irfftn": transform(scipy.fft.irfftn, True, True),
    "rfft": transform(scipy.fft.rfft, False, False),
    "rfft2": transform(scipy.fft.rfft2, True, False),
    "rfftn": transform(scipy.fft.rfftn, True, False),
}


def check(judge, case, entry):
    """One case of these families."""
    if case.error is not None:
        raise Difference(f"refused: {case.error}")
    PEERS[entry["name"]](judge, case, case.parameters)
