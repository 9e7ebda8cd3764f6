"""NumPy's counterparts of creation, movement, lookups, logic, sorting and sets: elements that keep their bits."""

import numpy as np

from elementwise import promote
from frames import BF16, DTYPES
from judge import Difference, is_complex, is_float

BOOL = np.dtype(np.bool_)


def key(x):
    """bf16 as f32, which orders it the same way; other dtypes as they are."""
    return x.astype(np.float32) if x.dtype == BF16 else x


def index(parameters, arrays=()):
    """An index as NumPy writes it."""

    def one(entry):
        if entry == "new":
            return None
        if entry == "...":
            return Ellipsis
        if isinstance(entry, list):
            return slice(*entry)
        if isinstance(entry, dict):
            return arrays[entry["array"]]
        return entry

    return tuple(one(entry) for entry in parameters["indices"])


def axes(p):
    """Axes as NumPy takes them: none listed means all."""
    return tuple(p["axes"]) or None


def joined(function):
    def peer(judge, case, p):
        dtype = case.operands[0].dtype
        for other in case.operands[1:]:
            dtype = promote(dtype, other.dtype)
        same = judge.bits if all(x.dtype == dtype for x in case.operands) else judge.exact
        same(case.results[0], function([x.astype(dtype) for x in case.operands], axis=p["axis"]))

    return peer


def moved(function):
    """One operand, one result with the same bits."""
    return lambda judge, case, p: judge.bits(case.results[0], function(case.operands[0], p))


def made(function):
    return lambda judge, case, p: judge.exact(case.results[0], function(p))


def computed(function):
    """One result that is exact, from all operands."""
    return lambda judge, case, p: judge.exact(case.results[0], np.asarray(function(*case.operands)))


def several(function):
    """Several results with the same bits."""

    def peer(judge, case, p):
        wanted = list(function(case.operands, p))
        if len(wanted) != len(case.results):
            raise Difference(f"{len(case.results)} results, not {len(wanted)}")
        for got, want in zip(case.results, wanted):
            judge.bits(got, want)

    return peer


def linspace(judge, case, p):
    dtype, endpoint = DTYPES[p.get("dtype", "f64")], p.get("endpoint", True)
    got = case.results[0]
    if dtype.kind in "iu":
        return judge.exact(got, np.linspace(p["start"], p["stop"], p["count"], endpoint, dtype=dtype))
    want = np.linspace(p["start"], p["stop"], p["count"], endpoint, dtype=np.float64)
    judge.like(got, dtype, want.shape)
    # Two roundings: the step and the product; NumPy's own are as many.
    scale = max(abs(p["start"]), abs(p["stop"]))
    judge.within(got, want.astype(np.longdouble), 4 * 2.0**-53 * scale)


def frequencies(function):
    """NumPy multiplies by a rounded inverse; ours divides."""

    def peer(judge, case, p):
        want = function(p["count"], p["step"])
        judge.like(case.results[0], want.dtype, want.shape)
        judge.within(case.results[0], want.astype(np.longdouble), 2.0**-52 * np.abs(want))

    return peer


def astype(judge, case, p):
    x, dtype = case.operands[0], DTYPES[p["dtype"]]
    got = case.results[0]
    if is_complex(x.dtype) and dtype == BOOL:
        return judge.exact(got, x != 0)
    if is_float(x.dtype) and dtype.kind in "iu":
        info, many = np.iinfo(dtype), x.astype(np.longdouble)
        outside = ~((many > np.longdouble(info.min) - 1) & (many < np.longdouble(info.max) + 1))
        judge.note("saturating_cast", np.count_nonzero(outside))
        inside = np.where(outside, 0, np.trunc(many)).astype(dtype)
        ends = np.where(np.isnan(many), 0, np.where(many > 0, info.max, info.min)).astype(dtype)
        return judge.exact(got, np.where(outside, ends, inside))
    if dtype == BOOL:
        return judge.exact(got, key(x) != 0)
    if x.dtype.kind in "iu" and x.dtype.itemsize == 8 and dtype.itemsize == 2 and is_float(dtype):
        want = x.astype(np.float64).astype(dtype)
        judge.note("conversion_rounds_once", np.count_nonzero(want != x.astype(np.float32).astype(dtype)))
        return judge.exact(got, want)
    if dtype == BF16 and x.dtype == np.float64:
        return judge.ulps(got, x.astype(np.longdouble), 0.5)
    if dtype == BF16 and x.dtype.kind in "iu":
        return judge.exact(got, x.astype(np.float64).astype(BF16)) if x.dtype.itemsize < 8 else None
    source = key(x) if dtype != BF16 else x
    judge.exact(got, source.astype(dtype))


def clip(judge, case, p):
    x, low, high = case.operands
    want = key(x)
    if p["bounds"] != "high":
        want = np.maximum(want, key(low))
    if p["bounds"] != "low":
        want = np.minimum(want, key(high))
    want = np.asarray(want).astype(x.dtype)
    zero = want == 0 if is_float(x.dtype) else np.zeros(want.shape, bool)
    judge.note("signed_zero_of_extremes", np.count_nonzero(zero & (np.signbit(key(case.results[0])) != np.signbit(key(want))))
               if is_float(x.dtype) else 0)
    judge.exact(case.results[0], want, zeros=False)


def choose(judge, case, p):
    mask, yes, no = case.operands
    dtype = promote(yes.dtype, no.dtype)
    judge.exact(case.results[0], np.where(key(mask) != 0, yes.astype(dtype), no.astype(dtype)))


def relu(judge, case, p):
    x = case.operands[0]
    want = np.maximum(key(x), key(x).dtype.type(0)).astype(x.dtype)
    judge.exact(case.results[0], want, zeros=False)


def logical(function):
    return lambda judge, case, p: judge.exact(case.results[0], function(*(key(x) != 0 for x in case.operands)))


def pad(judge, case, p):
    x = case.operands[0]
    extra = {"constant_values": 3} if p["mode"] == "constant" else {}
    judge.bits(case.results[0], np.pad(x, p["widths"], mode=p["mode"], **extra))


def assigned(judge, case, p):
    before, value = case.operands[:2]
    want = before.copy()
    want[index(p, case.operands[2:])] = value
    judge.bits(case.results[0], want)


def scattered(along):
    def peer(judge, case, p):
        if along:
            x, at, values = case.operands
            at = at.astype(np.int64)
            axis = p["axis"] % x.ndim
            grid = list(np.indices(at.shape))
            grid[axis] = at
            places = tuple(grid)
        else:
            x, values, *at = case.operands
            places = tuple(a.astype(np.int64) for a in at)
        # ufunc.at with values that have fewer axes than the indices reads past them; they are repeated first.
        values = np.broadcast_to(values, x[places].shape).copy()
        want = x.copy()
        half = is_float(x.dtype) and x.dtype.itemsize == 2
        if half:
            want = want.astype(np.float32)
            values = values.astype(np.float32)
        if p["how"] == "set":
            want[places] = values
        else:
            {"add": np.add, "min": np.minimum, "max": np.maximum}[p["how"]].at(want, places, values)
        judge.exact(case.results[0], want.astype(x.dtype), zeros=p["how"] in ("set", "add"))

    return peer


def taken(judge, case, p):
    x, at = case.operands
    judge.bits(case.results[0], np.take(x, at.astype(np.int64), axis=p["axis"]))


def taken_clipped(judge, case, p):
    x, at = case.operands
    # The largest of 64 bits without sign are no index of NumPy's.
    at = np.minimum(at, np.iinfo(np.int64).max).astype(np.int64) if at.dtype == np.uint64 else at.astype(np.int64)
    judge.bits(case.results[0], np.take(x, at, axis=p["axis"], mode="clip"))


def taken_along(judge, case, p):
    x, at = case.operands
    judge.bits(case.results[0], np.take_along_axis(x, at.astype(np.int64), axis=p["axis"]))


def missing(x):
    """Where an element counts as NaN in orders."""
    return np.isnan(x) if is_float(x.dtype) or is_complex(x.dtype) else np.zeros(x.shape, bool)


def ascending(x, axis):
    return np.argsort(key(x), axis=axis, kind="stable").astype(np.int64)


def descending(x, axis):
    """Stable, NaN last: the order of the mirrored line, mirrored, with NaN moved behind."""
    mirrored = np.flip(key(x), axis)
    order = x.shape[axis] - 1 - np.flip(np.argsort(mirrored, axis=axis, kind="stable"), axis)
    nan = np.take_along_axis(missing(x), order, axis)
    return np.take_along_axis(order, np.argsort(nan, axis=axis, kind="stable"), axis).astype(np.int64)


def ordered(order, indices):
    def peer(judge, case, p):
        x = case.operands[0]
        wanted = order(x, p["axis"])
        where = None
        if order is descending and is_complex(x.dtype):
            lines = np.any(missing(x), axis=p["axis"], keepdims=True)
            judge.note("complex_nan_order", np.count_nonzero(lines))
            where = np.broadcast_to(~lines, x.shape)
        judge.exact(case.results[0], wanted if indices else np.take_along_axis(x, wanted, p["axis"]), where)

    return peer


def top_k(judge, case, p):
    x, k = case.operands[0], p["k"]
    wanted = np.take(descending(x, p["axis"]), np.arange(k), axis=p["axis"])
    where = None
    if is_complex(x.dtype):
        lines = np.any(missing(x), axis=p["axis"], keepdims=True)
        judge.note("complex_nan_order", np.count_nonzero(lines))
        where = np.broadcast_to(~lines, wanted.shape)
    judge.exact(case.results[0], np.take_along_axis(x, wanted, p["axis"]), where)
    judge.exact(case.results[1], wanted, where)


def searched(by):
    def peer(judge, case, p):
        line, *rest = case.operands
        order = rest[0] if by else None
        want = np.searchsorted(key(line), key(rest[-1]), side=p["side"], sorter=order)
        judge.exact(case.results[0], np.asarray(want, np.int64))

    return peer


def isin(judge, case, p):
    x, others = case.operands
    judge.exact(case.results[0], np.isin(key(x), key(others)))


def distinct(judge, x):
    """NumPy's unique with everything, every NaN distinct."""
    found = np.unique(key(x), return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    judge.note("distinct_nan", np.count_nonzero(missing(x)))
    return [found[0].astype(x.dtype), *(np.asarray(part, np.int64) for part in found[1:])]


def unique(pick):
    def peer(judge, case, p):
        x = case.operands[0]
        values, first, inverse, counts = distinct(judge, x)
        whole = {"values": values, "indices": first, "inverse": inverse.reshape(x.shape), "counts": counts}
        for got, name in zip(case.results, pick):
            judge.exact(got, whole[name], zeros=False)

    return peer


def bincount(judge, case, p):
    x = case.operands[0].astype(np.int64)
    if len(case.operands) == 1:
        return judge.exact(case.results[0], np.bincount(x, minlength=p["least"]).astype(np.int64))
    weights = case.operands[1].astype(np.float64)
    judge.exact(case.results[0], np.bincount(x, weights, p["least"]).astype(np.float64))


def histogram(judge, case, p):
    x = case.operands[0]
    counts, edges = np.histogram(x, p["bins"], (p["low"], p["high"]) if "low" in p else None)
    judge.exact(case.results[0], counts.astype(np.int64))
    judge.exact(case.results[1], edges.astype(case.results[1].dtype), zeros=False)


def histogram_edges(judge, case, p):
    x, edges, *weights = case.operands
    weights = weights[0].astype(np.float64) if weights else None
    counts = np.histogram(x, edges, weights=weights)[0]
    got = case.results[0]
    if not p["density"]:
        if weights is None:
            return judge.exact(got, counts.astype(np.int64))
        return judge.within(got, counts, 2.0**-52 * (x.size + 1) * np.sum(weights))
    lengths = np.diff(edges.astype(np.float64))
    total = np.sum(counts)
    # An interval without length, or nothing counted: 0/0.
    calm = np.broadcast_to((lengths > 0) & (total > 0), counts.shape)
    with np.errstate(all="ignore"):
        want = counts / lengths / total
        # Small shares are differences of running sums in NumPy, good against the total.
        bound = 2.0**-51 * (x.size + 4) * (np.abs(want) + 1 / lengths)
    judge.note("order_of_overflow", np.count_nonzero(~calm))
    judge.within(got, np.where(calm, want, 0), np.where(calm, bound, 1), calm)


# One line per operation; a test of the worker reads the names.
PEERS = {
    "arange": made(lambda p: np.arange(p["start"], p["stop"], p["step"], dtype=DTYPES[p["dtype"]])),
    "eye": made(lambda p: np.eye(p["rows"], p["columns"], p["offset"], dtype=DTYPES[p["dtype"]])),
    "fftfreq": frequencies(np.fft.fftfreq),
    "full": made(lambda p: np.full(p["shape"], p["value"], dtype=DTYPES[p["dtype"]])),
    "full_like": moved(lambda x, p: np.full_like(x, p["value"])),
    "linspace": linspace,
    "linspace_before": linspace,
    "linspace_dtype": linspace,
    "ones_like": moved(lambda x, p: np.ones_like(x)),
    "rfftfreq": frequencies(np.fft.rfftfreq),
    "zeros_like": moved(lambda x, p: np.zeros_like(x)),
    "assign": assigned,
    "broadcast_arrays": several(lambda xs, p: np.broadcast_arrays(*xs)),
    "broadcast_to": moved(lambda x, p: np.broadcast_to(x, p["shape"])),
    "concat": joined(np.concatenate),
    "copy": moved(lambda x, p: x.copy()),
    "diagonal": moved(lambda x, p: np.diagonal(x, p["offset"], -2, -1)),
    "expand_dims": moved(lambda x, p: np.expand_dims(x, p["axis"])),
    "fftshift": moved(lambda x, p: np.fft.fftshift(x, axes(p))),
    "flatten": moved(lambda x, p: x.ravel()),
    "flip": moved(lambda x, p: np.flip(x, axes(p))),
    "ifftshift": moved(lambda x, p: np.fft.ifftshift(x, axes(p))),
    "matrix_transpose": moved(lambda x, p: np.matrix_transpose(x)),
    "meshgrid": several(lambda xs, p: np.meshgrid(*xs, indexing=p.get("indexing", "xy"))),
    "move_axis": moved(lambda x, p: np.moveaxis(x, p["from"], p["to"])),
    "pad": pad,
    "permute": moved(lambda x, p: np.transpose(x, p["order"])),
    "repeat": moved(lambda x, p: np.repeat(x, p["count"], p["axis"])),
    "repeat_each": lambda judge, case, p: judge.bits(
        case.results[0], np.repeat(case.operands[0], case.operands[1], p["axis"])),
    "reshape": moved(lambda x, p: x.reshape(p["shape"])),
    "roll": moved(lambda x, p: np.roll(x, p["shift"], axes(p))),
    "slice": moved(lambda x, p: x[index(p)]),
    "squeeze": moved(lambda x, p: np.squeeze(x, axes(p))),
    "stack": joined(np.stack),
    "swap_axes": moved(lambda x, p: np.swapaxes(x, p["first"], p["second"])),
    "t": moved(lambda x, p: x.T),
    "tile": moved(lambda x, p: np.tile(x, p["counts"])),
    "tril": moved(lambda x, p: np.tril(x, p["offset"])),
    "triu": moved(lambda x, p: np.triu(x, p["offset"])),
    "unstack": several(lambda xs, p: np.unstack(xs[0], axis=p["axis"])),
    "argwhere": lambda judge, case, p: judge.exact(case.results[0], np.argwhere(key(case.operands[0]) != 0)),
    "compress": lambda judge, case, p: judge.bits(
        case.results[0], np.compress(case.operands[1], case.operands[0], p["axis"])),
    "gather": lambda judge, case, p: judge.bits(
        case.results[0], case.operands[0][tuple(at.astype(np.int64) for at in case.operands[1:])]),
    "get": lambda judge, case, p: judge.bits(case.results[0], case.operands[0][index(p, case.operands[1:])]),
    "nonzero": several(lambda xs, p: (key(xs[0]) != 0).nonzero()),
    "put_along_axis": scattered(True),
    "scatter": scattered(False),
    "set": assigned,
    "take": taken,
    "take_along_axis": taken_along,
    "take_clipped": taken_clipped,
    "astype": astype,
    "clip": clip,
    "iscomplex": computed(np.iscomplex),
    "isfinite": computed(np.isfinite),
    "isinf": computed(np.isinf),
    "isnan": computed(np.isnan),
    "isneginf": computed(np.isneginf),
    "isposinf": computed(np.isposinf),
    "isreal": computed(np.isreal),
    "logical_and": logical(np.logical_and),
    "logical_or": logical(np.logical_or),
    "logical_xor": logical(np.logical_xor),
    "positive": moved(lambda x, p: x),
    "relu": relu,
    "signbit": computed(np.signbit),
    "where": choose,
    "argsort": ordered(ascending, True),
    "argsort_descending": ordered(descending, True),
    "bincount": bincount,
    "bincount_weighted": bincount,
    "histogram": histogram,
    "histogram_edges": histogram_edges,
    "histogram_of_range": histogram,
    "isin": isin,
    "searchsorted": searched(False),
    "searchsorted_by": searched(True),
    "sort": ordered(ascending, False),
    "sort_descending": ordered(descending, False),
    "top_k": top_k,
    "unique_all": unique(["values", "indices", "inverse", "counts"]),
    "unique_counts": unique(["values", "counts"]),
    "unique_inverse": unique(["values", "inverse"]),
    "unique_values": unique(["values"]),
}


def check(judge, case, entry):
    """One case of these families."""
    if case.error is not None:
        raise Difference(f"refused: {case.error}")
    PEERS[entry["name"]](judge, case, case.parameters)
