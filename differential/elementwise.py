"""NumPy's and SciPy's counterparts of the elementwise operations.

Exact operations are computed in the operands' own dtype and must agree in every bit. Functions are computed in many more
digits (f64 for f32 and below, long double for f64) and must lie within the ulp that the op table promises: rounding is then
the only error of the peer.
"""

from fractions import Fraction

import numpy as np
from scipy import special as scipy_special

import special
from frames import BF16, DTYPES
from judge import FORMATS, Difference, is_complex, is_float, real_of, wide

F64 = np.dtype(np.float64)
BOOL = np.dtype(np.bool_)
FEW_ULP = 8.0  # of the magnitude, for complex functions


def promote(first, second):
    """NumPy's promotion; pairs with bf16, which NumPy does not know, by the rule of the dtype table."""
    if BF16 not in (first, second):
        return np.promote_types(first, second)
    other = second if first == BF16 else first
    if other in (BF16, BOOL) or (other.kind in "iu" and other.itemsize == 1):
        return BF16
    if other == np.float16 or (other.kind in "iu" and other.itemsize == 2):
        return np.dtype(np.float32)
    return np.promote_types(np.float64 if other.kind in "iu" else np.float32, other)


def beside(dtype, number):
    """The dtype of an array beside a Python number, which is weak."""
    if dtype == BF16:
        return dtype
    return np.result_type(dtype, number)


def gelu(x):
    u = np.sqrt(2 / np.arccos(x.dtype.type(-1))) * (x + x.dtype.type("0.044715") * x * x * x)
    return product(x, scipy_special.expit(2 * u))


def product(x, share):
    """x times a share between 0 and 1; -inf times 0 is its limit, -0."""
    return np.where(np.isneginf(x), -0.0, x * share)


def gelu_exact(x):
    root = np.sqrt(np.longdouble(2))
    x = x.astype(np.longdouble)
    return product(x, special.erfc(-x / root) / 2)


def fma_exact(a, b, c):
    """One element of a * b + c, rounded once to the dtype of the operands."""
    dtype = a.dtype
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0:
        with np.errstate(all="ignore"):
            return dtype.type(float(a) * float(b) + float(c)) if float(a) * float(b) == 0 else dtype.type(0)
    try:
        nearest = float(exact)
    except OverflowError:
        nearest = float("inf") if exact > 0 else float("-inf")
    if dtype == F64 or np.isinf(nearest) or Fraction(nearest) == exact:
        return dtype.type(nearest)
    # Rounded to odd: then the second rounding, to the narrow dtype, is right.
    bits = np.float64(nearest).view(np.int64)
    if bits & 1 == 0:
        towards = float("inf") if exact > Fraction(nearest) else float("-inf")
        nearest = float(np.nextafter(nearest, towards))
    return dtype.type(nearest)


def power(a, b):
    """glibc's long double power of an infinity is wrong for large exponents; that of doubles is right."""
    # NumPy takes a square root where an exponent without axes is 0.5, which turns -0 into -0 instead of +0.
    base, exponent = a.ravel(), b.ravel()
    with np.errstate(all="ignore"):
        plain = np.power(base.astype(np.float64), exponent.astype(np.float64))
    return np.where(np.isinf(base), plain, np.power(base, exponent)).reshape(a.shape)


def log1p(x):
    """NumPy's complex log1p loses the digits it is there for; this is the definition, split into parts."""
    if not is_complex(x.dtype):
        return np.log1p(x)
    near = 0.5 * np.log1p(x.real * (2 + x.real) + x.imag * x.imag)
    far = np.log(np.hypot(1 + x.real, x.imag))
    close = (np.abs(x.real) < 1) & (np.abs(x.imag) < 1) & (np.hypot(1 + x.real, x.imag) > 0.5)
    return np.where(close, near, far) + 1j * np.arctan2(x.imag, 1 + x.real)


def rounded(x):
    return x if x.dtype.kind in "iub" else np.rint(x)


def sign(x):
    if not is_complex(x.dtype):
        return np.sign(x)
    size = np.abs(x)
    return np.where(size == 0, 0, x / np.where(size == 0, 1, size))


class Exact:
    """An operation whose result is exact or correctly rounded."""

    def __init__(self, function, dtype=None, zeros=True, loose=False):
        self.function, self.dtype, self.zeros, self.loose = function, dtype, zeros, loose

    def check(self, judge, got, operands, op):
        dtype = operands[0].dtype
        if is_complex(dtype) and self.loose:
            return loose(judge, got, operands, self.function)
        if dtype.itemsize == 2 and is_float(dtype) and op != "nextafter":
            want = np.asarray(self.function(*(x.astype(np.float32) for x in operands)))
            want = want.astype(dtype) if want.dtype == np.float32 else want
        else:
            want = np.asarray(self.function(*operands))
        if self.dtype is None and want.dtype != dtype and want.dtype != BOOL:
            want = want.astype(dtype)
        where = None
        if op in ("maximum", "minimum") and is_float(dtype):
            both = (np.broadcast_to(operands[0] == 0, want.shape)) & (operands[1] == 0)
            judge.note("signed_zero_of_extremes", np.count_nonzero(both & (np.signbit(got) != np.signbit(want))))
            where = ~both
        if op == "nextafter" and dtype == np.float16:
            both = np.broadcast_to((operands[0] == 0) & (operands[1] == 0), want.shape)
            judge.note("half_neighbours_of_zero", np.count_nonzero(both & (np.signbit(got) != np.signbit(want))))
            where = ~both
        judge.exact(got, want, where, self.zeros)


class Function:
    """An operation with an error, compared in many more digits."""

    def __init__(self, function, wide_only=None, against=None, slack=0.02):
        self.function, self.wide_only, self.against, self.slack = function, wide_only, against, slack

    def check(self, judge, got, operands, op):
        dtype = operands[0].dtype
        if is_complex(dtype):
            return loose(judge, got, operands, self.function)
        many = [wide(x) for x in operands]
        truth = np.asarray(self.function(*many))
        half = dtype.itemsize == 2
        # A 16-bit result is rounded from f32: half a unit, and a trace of the f32 function's own error.
        limit = 0.5 + judge.max_ulp * 2.0**-12 if half else judge.max_ulp + self.slack
        against = self.against(*many) if self.against else None
        if half and against is not None:
            limit += 1.0
        judge.ulps(got, truth, limit, against=against)


def loose(judge, got, operands, function):
    """Complex results: close to NumPy's in more digits, measured against the magnitude."""
    truth = np.asarray(function(*(wide(x) for x in operands)))
    part = real_of(got.dtype)
    info = np.finfo(part)
    size = np.abs(truth)
    whole = np.all([np.broadcast_to(np.isfinite(x), truth.shape) for x in operands], axis=0)
    fits = np.isfinite(truth) & (size < info.max / 4) if is_complex(truth.dtype) else np.isfinite(truth) & (size < info.max / 2)
    # A tiny intermediate loses digits before the result is tiny.
    low, high = float(info.tiny) * 2**26, float(info.max) / 4
    near = np.all([np.broadcast_to((np.abs(x) == 0) | ((np.abs(x) > low) & (np.abs(x) < high)), truth.shape) for x in operands], axis=0)
    where = whole & fits & near
    judge.note("complex_specials", np.count_nonzero(~where))
    bound = FEW_ULP * float(info.eps) * size + float(info.tiny)
    judge.within(got, truth, np.where(where, bound, 1), where)


class Fma:
    """a * b + c rounded once; NumPy has none, so a few elements are computed as fractions."""

    def check(self, judge, got, operands, op):
        a, b, c = operands = np.broadcast_arrays(*operands)
        if not is_float(a.dtype):
            return judge.exact(got, a * b + c)
        judge.like(got, a.dtype, a.shape)
        plain = np.asarray([wide(x) for x in operands][0] * wide(b) + wide(c))
        whole = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
        special_ = ~whole
        if np.any(special_ & (np.isnan(plain) != np.isnan(got))):
            raise Difference("NaN where a * b + c is none, or the other way round")
        flat = np.flatnonzero(whole)[:6]
        for at in flat:
            x, y, z = a.flat[at], b.flat[at], c.flat[at]
            if a.dtype.itemsize == 2:
                # Computed in f32 and rounded from there, as every operation of 16-bit floats.
                want = a.dtype.type(fma_exact(*(np.float32(v) for v in (x, y, z))))
            else:
                want = fma_exact(x, y, z)
            found = got.flat[at]
            if not (found == want and np.signbit(found) == np.signbit(want)):
                raise Difference(f"fma({x!r}, {y!r}, {z!r}) is {found!r}, not {want!r}")


class HalfTurns:
    """Sines of half turns given as sums that are not rounded; a few elements are reduced as fractions."""

    def __init__(self, function):
        self.function = function

    def check(self, judge, got, operands, op):
        a, b = np.broadcast_arrays(*operands)
        judge.like(got, a.dtype, a.shape)
        within = np.float64 if a.dtype == F64 else np.float32
        with np.errstate(all="ignore"):
            rounded = a.astype(within) + b.astype(within)
        if np.any(np.isfinite(rounded) == np.isnan(got)):
            raise Difference("NaN where a + b is finite, or none where it is not")
        exact = 2.0**41 if within is np.float64 else 2.0**12
        for at in np.flatnonzero(np.isfinite(rounded))[:16]:
            sum_ = Fraction(float(a.flat[at])) + Fraction(float(b.flat[at]))
            if abs(float(rounded.flat[at])) >= exact:
                sum_ = Fraction(float(rounded.flat[at]))
            truth = self.function(sum_)
            if truth == 0:
                if got.flat[at] != 0:
                    raise Difference(f"{op}({a.flat[at]!r}, {b.flat[at]!r}) is {got.flat[at]!r}, not 0")
                continue
            limit = 0.5 + judge.max_ulp * 2.0**-12 if a.dtype.itemsize == 2 else judge.max_ulp + 0.02
            judge.ulps(got.reshape(-1)[at : at + 1], np.asarray([truth]), limit)


def sine_of_half_turns(turns):
    """In long doubles, of a fraction: the nearest quarter is taken off before anything is rounded."""
    quarter = round(2 * turns)
    rest = turns - Fraction(quarter, 2)
    # Both parts of the fraction may be longer than any float; their quotient is not.
    high = float(rest)
    angle = (np.longdouble(high) + np.longdouble(float(rest - Fraction(high)))) * np.arccos(np.longdouble(-1))
    value = np.cos(angle) if quarter % 2 else np.sin(angle)
    return -value if quarter % 4 >= 2 else value


class FloorDivide:
    """Rounded down; floats by the exact quotient."""

    def __init__(self, remainder):
        self.remainder = remainder

    def check(self, judge, got, operands, op):
        a, b = np.broadcast_arrays(*operands)
        dtype = a.dtype
        if not is_float(dtype):
            return judge.exact(got, (np.remainder if self.remainder else np.floor_divide)(a, b))
        judge.like(got, dtype, a.shape)
        many = [wide(x) for x in (a, b)]
        truth = np.remainder(*many) if self.remainder else np.floor_divide(*many)
        quotient = np.abs(many[0] / many[1])
        # Beyond the digits of the wide dtype its quotient is not exact either.
        whole = np.isfinite(a) & np.isfinite(b) & (b != 0)
        # Beyond the digits of the dtype, every float is whole and ours is the rounded quotient.
        limit = 2.0**50 if self.remainder else 2.0 ** min(FORMATS[dtype][0], 50) if dtype.itemsize > 2 else 2.0**23
        sure, unsure = whole & (quotient < limit), whole & ~(quotient < limit)
        judge.note("floor_of_exact_quotient", np.count_nonzero(unsure))
        # A remainder is rounded once, a whole quotient is exact; 16-bit ones are rounded from f32.
        exact = truth.astype(np.longdouble) if self.remainder else truth.astype(dtype).astype(np.longdouble)
        judge.ulps(got, exact, 0.51 if self.remainder else 0.0, where=sure)
        native = np.remainder(a.astype(np.float64), b.astype(np.float64)) if self.remainder else np.floor_divide(
            a.astype(np.float64), b.astype(np.float64))
        rest = ~sure & ~unsure
        if not self.remainder:
            endless = np.isinf(a) | np.isinf(b)
            floor = np.floor(a.astype(np.float64) / b.astype(np.float64))
            judge.note("infinite_quotient", np.count_nonzero(endless & ~((floor == native) | (np.isnan(floor) & np.isnan(native)))))
            native = np.where(endless, floor, native)
        wrong = rest & ~((got == native) | (np.isnan(got) & np.isnan(native)))
        if np.any(wrong):
            at = tuple(np.argwhere(wrong)[0])
            raise Difference(f"at {at}: {got[at]!r}, not {native[at]!r} for {a[at]!r} and {b[at]!r}")


class Power:
    """Powers; integers wrap, and negative exponents have a rule of ours."""

    def check(self, judge, got, operands, op):
        a, b = np.broadcast_arrays(*operands)
        if a.dtype.kind in "iu":
            negative = b < 0
            judge.note("integer_negative_power", np.count_nonzero(negative))
            want = np.power(a, np.where(negative, 0, b).astype(b.dtype))
            rule = np.where(a == 1, 1, np.where(a == -1, np.where(b % 2 == 0, 1, -1), 0)) if a.dtype.kind == "i" else 0
            return judge.exact(got, np.where(negative, rule, want).astype(a.dtype))
        if is_complex(a.dtype):
            size = np.abs(wide(b)) * (np.abs(np.log(np.abs(wide(a)))) + 4)
            calm = np.isfinite(size) & (size < 30)
            judge.note("complex_specials", np.count_nonzero(~calm))
            keep = np.nonzero(np.atleast_1d(calm))
            a, b, got, size = (np.atleast_1d(x) for x in (a, b, got, size))
            judge.like(got, a.dtype, a.shape)
            truth = np.power(wide(a)[keep], wide(b)[keep])
            bound = FEW_ULP * np.finfo(real_of(a.dtype)).eps * np.abs(truth) * (4 + size[keep])
            return judge.within(got[keep], truth, bound + np.finfo(real_of(a.dtype)).tiny)
        Function(power).check(judge, got, [a, b], op)


class Compare:
    """Truth values; operands of different dtypes meet at their common one."""

    def __init__(self, function):
        self.function = function

    def check(self, judge, got, operands, op):
        judge.exact(got, np.asarray(self.function(*operands)))


class Shift:
    """Counts outside the width move every bit out."""

    def __init__(self, function, left):
        self.function, self.left = function, left

    def check(self, judge, got, operands, op):
        a, b = np.broadcast_arrays(*operands)
        width = a.dtype.itemsize * 8
        out = (b < 0) | (b >= width)
        inside = self.function(a, np.where(out, 0, b).astype(b.dtype))
        beyond = np.zeros_like(a) if self.left or a.dtype.kind == "u" else np.where(a < 0, -1, 0).astype(a.dtype)
        judge.exact(got, np.where(out, beyond, inside).astype(a.dtype))


# One line per operation of the op table; a test of the worker reads the names.
PEERS = {
    "abs": Exact(np.abs),
    "acos": Function(np.arccos),
    "acosh": Function(np.arccosh),
    "asin": Function(np.arcsin),
    "asinh": Function(np.arcsinh),
    "atan": Function(np.arctan),
    "atanh": Function(np.arctanh),
    "bitwise_invert": Exact(np.invert),
    "ceil": Exact(np.ceil),
    "conj": Exact(np.conj),
    "cos": Function(np.cos),
    "cosh": Function(np.cosh),
    "erf": Function(special.erf),
    "erfc": Function(special.erfc),
    "exp": Function(np.exp),
    "exp2": Function(np.exp2),
    "expm1": Function(np.expm1),
    "floor": Exact(np.floor),
    "gelu": Function(gelu),
    "gelu_exact": Function(gelu_exact),
    "log": Function(np.log),
    "log10": Function(np.log10),
    "log1p": Function(log1p),
    "log2": Function(np.log2),
    "logical_not": Exact(np.logical_not),
    "negative": Exact(np.negative),
    "reciprocal": Exact(lambda x: x.dtype.type(1) / x, loose=True),
    "round": Exact(rounded),
    "sigmoid": Function(scipy_special.expit),
    "sign": Exact(sign, loose=True),
    "silu": Function(lambda x: product(x, scipy_special.expit(x))),
    "sin": Function(np.sin),
    "sinh": Function(np.sinh),
    "softplus": Function(lambda x: np.logaddexp(x.dtype.type(0), x)),
    "sqrt": Exact(np.sqrt, loose=True),
    "square": Exact(np.square, loose=True),
    "tan": Function(np.tan),
    "tanh": Function(np.tanh),
    "trunc": Exact(np.trunc),
    "add": Exact(np.add),
    "atan2": Function(np.arctan2),
    "bitwise_and": Exact(np.bitwise_and),
    "bitwise_left_shift": Shift(np.left_shift, True),
    "bitwise_or": Exact(np.bitwise_or),
    "bitwise_right_shift": Shift(np.right_shift, False),
    "bitwise_xor": Exact(np.bitwise_xor),
    "copysign": Exact(np.copysign),
    "cospi": HalfTurns(lambda turns: sine_of_half_turns(turns + Fraction(1, 2))),
    "divide": Exact(np.divide, loose=True),
    "floor_divide": FloorDivide(False),
    "hypot": Function(np.hypot),
    "logaddexp": Function(np.logaddexp, against=lambda a, b: np.fmax(np.abs(a), np.abs(b))),
    "maximum": Exact(np.maximum),
    "minimum": Exact(np.minimum),
    "multiply": Exact(np.multiply, loose=True),
    "nextafter": Exact(np.nextafter),
    "pow": Power(),
    "remainder": FloorDivide(True),
    "sinpi": HalfTurns(sine_of_half_turns),
    "subtract": Exact(np.subtract),
    "equal": Compare(np.equal),
    "greater": Compare(np.greater),
    "greater_equal": Compare(np.greater_equal),
    "less": Compare(np.less),
    "less_equal": Compare(np.less_equal),
    "not_equal": Compare(np.not_equal),
    "fma": Fma(),
    "imag": Exact(np.imag, dtype="part"),
    "modulus": Function(np.abs),
    "real": Exact(np.real, dtype="part"),
}


def check(judge, case, entry):
    """One case of an operation of the op table."""
    name, supported = entry["name"], [DTYPES[d] for d in entry["dtypes"]]
    operands = list(case.operands)
    dtype = operands[0].dtype
    for other in operands[1:]:
        dtype = promote(dtype, other.dtype)
    if "number" in case.parameters:
        numbers = [case.parameters["number"]] + ([case.parameters["third"]] if name == "fma" else [])
        for number in numbers:
            dtype = beside(dtype, number)
        operands += numbers
    if dtype not in supported and dtype.kind in "iub" and F64 in supported and name not in ("real", "imag", "modulus"):
        dtype = DTYPES["i8"] if dtype == BOOL and DTYPES["i8"] in supported else F64
        judge.note("integer_functions")
    if dtype not in supported:
        if case.error is None:
            raise Difference(f"{dtype} is not supported, and yet there is a result")
        return judge.note("both_refuse")
    if case.error is not None:
        raise Difference(f"refused: {case.error}")
    if name not in ("real", "imag", "modulus", "logical_not") and not isinstance(PEERS[name], Compare):
        if case.results[0].dtype != dtype:
            raise Difference(f"dtype is {case.results[0].dtype}, not {dtype}")
    if isinstance(PEERS[name], Compare) and len(case.operands) == 2 and all(x.dtype.kind in "iu" for x in case.operands):
        # No dtype holds both; the numbers themselves are compared.
        return PEERS[name].check(judge, case.results[0], case.operands, name)
    operands = [np.asarray(x).astype(dtype) for x in operands]
    shape = np.broadcast_shapes(*(x.shape for x in operands))
    if case.results[0].shape != shape:
        raise Difference(f"shape is {case.results[0].shape}, not {shape}")
    result = case.results[0]
    if name == "copysign" and len(case.operands) > 1 and case.operands[1].dtype != dtype:
        # A conversion makes every NaN the canonical one, which has no sign.
        lost = np.broadcast_to(np.isnan(operands[1]), shape)
        judge.note("converted_nan", np.count_nonzero(lost))
        operands, result = [np.broadcast_to(x, shape)[~lost] for x in operands], result[~lost]
    PEERS[name].check(judge, result, operands, name)
