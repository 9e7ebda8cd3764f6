"""Comparison: bits, units in the last place, and bounds.

What always holds: dtype and shape are compared first; a NaN equals a NaN whatever its payload; zeros of different sign
differ unless a documented difference says otherwise.
"""

from collections import Counter

import numpy as np

from differences import DIFFERENCES
from frames import BF16

# Bits behind the point of the significand, smallest normal exponent.
FORMATS = {
    np.dtype(np.float16): (10, -14),
    BF16: (7, -126),
    np.dtype(np.float32): (23, -126),
    np.dtype(np.float64): (52, -1022),
}
WIDER = {
    np.dtype(np.float16): np.dtype(np.float64),
    BF16: np.dtype(np.float64),
    np.dtype(np.float32): np.dtype(np.float64),
    np.dtype(np.float64): np.dtype(np.longdouble),
    np.dtype(np.complex64): np.dtype(np.complex128),
    np.dtype(np.complex128): np.dtype(np.clongdouble),
}


class Difference(Exception):
    """A result that is not what it should be."""


def is_float(dtype):
    return dtype in FORMATS


def is_complex(dtype):
    return dtype.kind == "c"


def real_of(dtype):
    """The dtype of the parts."""
    return np.dtype(f"f{dtype.itemsize // 2}") if is_complex(dtype) else dtype


def wide(x):
    """A copy in a dtype with many more digits; integers and booleans as they are."""
    return x.astype(WIDER[x.dtype]) if x.dtype in WIDER else x


def largest(dtype):
    bits, low = FORMATS[dtype]
    return np.longdouble(2) ** (1 - low) * (2 - np.longdouble(2) ** -bits)


def unit(dtype):
    """Half an ulp of 1 in the dtype that sums are carried in."""
    dtype = real_of(dtype)
    return 2.0**-53 if dtype == np.float64 else 2.0**-24


def rounding(dtype):
    """The relative error of one rounding to the dtype itself."""
    return 2.0 ** -(FORMATS[real_of(dtype)][0] + 1)


def ulp_of(truth, dtype):
    """The distance between neighbours of the dtype around each value."""
    bits, low = FORMATS[dtype]
    _, exponent = np.frexp(np.abs(truth))
    exponent = np.maximum(np.where(truth == 0, low, exponent - 1), low)
    return np.ldexp(np.longdouble(1), (exponent - bits).astype(np.int64))


class Judge:
    """What one operation has shown so far."""

    def __init__(self, max_ulp=0.0):
        self.max_ulp = max_ulp
        self.worst = 0.0
        self.elements = 0
        self.known = Counter()

    def note(self, key, count=1):
        """Counts elements or cases that differ for a reason given in differences.py."""
        if key not in DIFFERENCES:
            raise KeyError(f"{key} is not in differences.py")
        if count:
            self.known[key] += int(count)

    def like(self, got, dtype, shape):
        if got.dtype != dtype:
            raise Difference(f"dtype is {got.dtype}, not {dtype}")
        if got.shape != tuple(shape):
            raise Difference(f"shape is {got.shape}, not {tuple(shape)}")
        self.elements += got.size

    def exact(self, got, want, where=None, zeros=True):
        """The same elements; `where` limits the comparison, `zeros` asks for the same sign of zero."""
        want = np.asarray(want)
        self.like(got, want.dtype, want.shape)
        if is_complex(want.dtype):
            got, want = parts(got), parts(want)
            where = None if where is None else np.stack([where, where], -1)
        if is_float(want.dtype):
            same = (got == want) | (np.isnan(got) & np.isnan(want))
            if zeros:
                same &= np.isnan(want) | (np.signbit(got) == np.signbit(want))
        else:
            same = got == want
        if where is not None:
            same = same | ~where
        if not np.all(same):
            fail(got, want, same)

    def bits(self, got, want):
        """The same bytes, payloads of NaN included."""
        want = np.asarray(want, order="C")
        self.like(got, want.dtype, want.shape)
        if got.tobytes() != want.tobytes():
            self.exact(got, want)
            raise Difference("the payload of a NaN differs")

    def ulps(self, got, truth, limit, where=None, against=None):
        """Within `limit` units in the last place of the value in many digits; `against` measures units elsewhere."""
        dtype = got.dtype
        if got.shape != truth.shape:
            raise Difference(f"shape is {got.shape}, not {truth.shape}")
        self.elements += got.size
        wanted, found = truth.astype(np.longdouble), got.astype(np.longdouble)
        # What is too large is one step beyond the largest: an infinity may stand there, and so may the largest.
        edge = largest(dtype) + ulp_of(largest(dtype), dtype)
        overflows = np.abs(wanted) >= edge
        wanted = np.where(overflows & np.isfinite(wanted) | np.isinf(wanted), np.copysign(edge, wanted), wanted)
        found = np.where(np.isinf(found), np.copysign(edge, found), found)
        steps = ulp_of(wanted if against is None else np.maximum(np.abs(wanted), np.abs(against)), dtype)
        with np.errstate(all="ignore"):
            distance = np.abs(found - wanted) / steps
        distance = np.where(np.isnan(wanted) & np.isnan(found), 0, distance)
        distance = np.where(np.isnan(wanted) != np.isnan(found), np.inf, distance)
        # Where the true value is a zero, its sign counts.
        distance = np.where((wanted == 0) & (found == 0) & (np.signbit(wanted) != np.signbit(found)), np.inf, distance)
        if where is not None:
            distance = np.where(where, distance, 0)
        if distance.size:
            most = float(distance.max())
            if most > limit:
                raise_at(got, truth, distance, f"{most:.3f} ulp, at most {limit:.3f}")
            self.worst = max(self.worst, most)

    def within(self, got, truth, bound, where=None):
        """|got - truth| <= bound, and what is not finite agrees. The worst is kept as a share of the bound."""
        if got.shape != truth.shape:
            raise Difference(f"shape is {got.shape}, not {truth.shape}")
        self.elements += got.size
        if got.size == 0:
            return
        if is_complex(got.dtype):
            bound = np.broadcast_to(bound, truth.shape)
            return self.within(parts(got), parts(truth), np.stack([bound, bound], -1), both(where))
        dtype = got.dtype
        found, wanted = got.astype(np.longdouble), truth.astype(np.longdouble)
        bound = np.broadcast_to(np.asarray(bound, np.longdouble), wanted.shape)
        # One rounding to the result's own dtype, and the smallest number.
        bound = bound + ulp_of(np.where(np.isfinite(wanted), wanted, 0), dtype) * np.longdouble(0.51)
        with np.errstate(all="ignore"):
            share = np.abs(found - wanted) / bound
            reaches = np.abs(wanted) + bound >= largest(dtype)
        share = np.where(np.isinf(found) & reaches & (np.signbit(found) == np.signbit(wanted)), 0, share)
        share = np.where(np.isnan(found) & np.isnan(wanted), 0, share)
        share = np.where(np.isnan(found) != np.isnan(wanted), np.inf, share)
        if where is not None:
            share = np.where(where, share, 0)
        most = float(np.max(share))
        if not most <= 1:
            raise_at(got, truth, share, f"{most:.3g} times the bound")
        self.worst = max(self.worst, most)


def both(where):
    return None if where is None else np.stack([where, where], -1)


def parts(x):
    """Real and imaginary part along a last axis."""
    return np.stack([x.real, x.imag], -1)


def fail(got, want, same):
    at = tuple(int(i) for i in np.argwhere(~same)[0])
    raise Difference(f"at {at}: {got[at]!r}, not {want[at]!r} ({int((~same).sum())} of {same.size})")


def raise_at(got, truth, measure, text):
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(measure)), measure.shape))
    raise Difference(f"at {at}: {got[at]!r}, not {truth[at]!r}: {text}")
