//! The core of exp, exp2, expm1, sigmoid, silu, softplus, tanh, gelu, erf and pow.
//!
//! An argument is split as `x = n·ln 2 + r` with `|r| <= ln(2)/2`; then `e^x = 2^n · (1 + r + r²·q(r))`. Callers
//! keep the argument in a range where `n` fits the exponent field with room for one more bit (see
//! [`Split::halves`]); every range in use ends just beyond overflow and underflow.

use super::{
    double::{product, sum_ordered},
    ln2, pick, polynomial,
};
use crate::lane::{Arith, F64Lane, FloatLane, IntLane};

/// `(e^r - 1 - r) / r²` on ±1.0005·ln(2)/2: error 2^-31 of `e^r - 1`, 2^-33 of `e^r`.
const SERIES_SINGLE: [f64; 6] = [
    0.5,
    0.1666666716337204,
    0.04166647046804428,
    0.008333191275596619,
    0.0013934404123574495,
    0.00019959300698246807,
];

/// The same with one term less: error 2^-28.2 of `e^r`.
const SERIES_SHORT: [f64; 5] =
    [0.4999999403953552, 0.1666652113199234, 0.04166826605796814, 0.0083686588332057, 0.0013820957392454147];

/// The same as the first: error 2^-61 of `e^r - 1`.
const SERIES_DOUBLE: [f64; 11] = [
    0.5,
    0.16666666666666677,
    0.041666666666666685,
    0.008333333333321454,
    0.0013888888888872839,
    0.00019841269886527852,
    2.4801587350718177e-5,
    2.755724383152922e-6,
    2.755725013989812e-7,
    2.5109162765116287e-8,
    2.09223751880333e-9,
];

/// `(2^r - 1) / r` on ±1.001/2: error 2^-28.8 of `2^r`.
const POWER_SERIES: [f64; 6] = [
    0.6931472031514472,
    0.24022648163226185,
    0.05550332154367342,
    0.009618407528862925,
    0.001339896745070791,
    0.00015361579318195608,
];

/// An argument after reduction by multiples of ln 2.
#[derive(Clone, Copy)]
pub struct Split<L> {
    /// `n + 1.5·2^(DIGITS-1)`: the low bits of this float are `n` in two's complement.
    shifted: L,
    /// The multiple of ln 2, a whole number.
    pub n: L,
    /// What remains, rounded.
    pub r: L,
    /// The rounding error of `r`.
    pub rest: L,
}

/// Adding this to a small float rounds it to a whole number and leaves that number in the low bits.
#[inline(always)]
fn shifter<L: FloatLane>() -> L {
    pick(12582912.0, 6755399441055744.0)
}

/// The multiple of ln 2 nearest to `x`, as [`Split::shifted`] and [`Split::n`], and `x` less that many times ln 2
/// rounded. The difference is exact: both terms are multiples of the last place of ln 2 (or of `x`, where `x` is
/// smaller), and it is below 1/2.
#[inline(always)]
fn coarse<L: FloatLane>(x: L) -> (L, L, L) {
    let shifted = x.fma(L::real(std::f64::consts::LOG2_E), shifter());
    let n = shifted - shifter();
    (shifted, n, (-n).fma(ln2().0, x))
}

/// Splits `x + low`, where `low` is at most a few units in the last place of `x`.
#[inline(always)]
pub fn split<L: FloatLane>(x: L, low: L) -> Split<L> {
    let (shifted, n, coarse) = coarse(x);
    let (r, rest) = sum_ordered(coarse, (-n).fma(ln2().1, low));
    Split { shifted, n, r, rest }
}

/// Splits `x` and drops the rounding error of the remainder, which saves three operations and costs a quarter of a
/// unit in the last place of the exponential.
#[inline(always)]
pub fn split_rounded<L: FloatLane>(x: L) -> Split<L> {
    let (shifted, n, coarse) = coarse(x);
    Split { shifted, n, r: (-n).fma(ln2().1, coarse), rest: L::real(0.0) }
}

/// Splits `x + low` for an `x` of at most 0 as [`split_rounded`] does, with a power of two that is 2^64 (f32) or 2^128 (f64) times too large: a normal
/// number where the exponential is none. What is made of it is multiplied by [`unlift`] in the end, and rounded once then.
#[inline(always)]
pub fn split_lifted<L: FloatLane>(x: L, low: L) -> Split<L> {
    let base = pick(12582912.0 + 64.0, 6755399441055744.0 + 128.0);
    let shifted = x.fma(L::real(std::f64::consts::LOG2_E), base);
    let n = shifted - base;
    let coarse = (-n).fma(ln2().0, x);
    Split { shifted, n, r: coarse + (-n).fma(ln2().1, low), rest: L::real(0.0) }
}

/// 2^-64 or 2^-128: takes back what [`split_lifted`] has added.
#[inline(always)]
pub fn unlift<L: FloatLane>() -> L {
    pick(2f64.powi(-64), 2f64.powi(-128))
}

/// Splits `x·ln 2`, the argument of a power of two: the remainder needs no reduction.
#[inline(always)]
pub fn split_base_two<L: FloatLane>(x: L) -> Split<L> {
    let shifted = x + shifter();
    let n = shifted - shifter();
    let fraction = x - n;
    let (hi, lo) = ln2();
    let (r, error) = product(fraction, hi);
    Split { shifted, n, r, rest: fraction.fma(lo, error) }
}

/// `2^x` with 28 bits, for a magnitude below 1022: what an `f32` result computed in `f64` needs.
#[inline(always)]
pub fn power_of_two<L: F64Lane>(x: L) -> L {
    let shifted = x + shifter();
    let r = x - (shifted - shifter());
    let value = polynomial(r, &[], &POWER_SERIES).fma(r, L::real(1.0));
    L::from_bits(value.bits().plus(shifted.bits().shl(L::DIGITS - 1)))
}

/// `x` times the logistic function of a number with the sign of `x`, given `size = |x|` and the split of minus the
/// magnitude of that number.
#[inline(always)]
pub fn gate<L: FloatLane>(x: L, size: L, split: Split<L>) -> L {
    let mantissa = split.mantissa();
    let (first, second) = split.halves();
    let one = L::real(1.0);
    // x - x·q on the right, x·e - x·e·q on the left, with e <= 1 the exponential and q = e/(1 + e). On the left the power of two
    // in e is applied last, so that a subnormal e costs no digits of a larger product.
    let e = mantissa.times_power(|| split.exponent(), |value| value * first * second);
    let q = e / (one + e);
    let left = x.is_lt(L::real(0.0));
    let base = L::select(left, -(size * mantissa), x);
    let by_parts = |value: L| value * L::select(left, first, one) * L::select(left, second, one);
    (-base).fma(q, base).times_power(|| L::select(left, split.exponent(), L::real(0.0)), by_parts)
}

impl<L: FloatLane> Split<L> {
    /// `e^r - 1 - r`, with the rounding error of `r` added; good relative to `e^r - 1`.
    #[inline(always)]
    pub fn tail(self) -> L {
        (self.r * self.r).fma(polynomial(self.r, &SERIES_SINGLE, &SERIES_DOUBLE), self.rest)
    }

    /// `e^r` in the fewest operations; without the rounding error of `r`.
    #[inline(always)]
    pub fn short_mantissa(self) -> L {
        let one = L::real(1.0);
        self.r.fma(self.r.fma(polynomial(self.r, &SERIES_SHORT, &SERIES_DOUBLE), one), one)
    }

    /// `constant + (e^r - 1)`, rounded almost once, given the [`Split::tail`]. Needs `|constant| >= |r|` or a constant
    /// of zero.
    #[inline(always)]
    pub fn plus_constant(self, constant: L, tail: L) -> L {
        let (hi, lo) = sum_ordered(constant, self.r);
        hi + (lo + tail)
    }

    /// `e^r`.
    #[inline(always)]
    pub fn mantissa(self) -> L {
        self.plus_constant(L::real(1.0), self.tail())
    }

    /// Two powers of two whose product is `2^n`, each a normal number even where `2^n` is not: multiplying by one
    /// and then the other rounds once, however far below the normal range the result lies.
    #[inline(always)]
    pub fn halves(self) -> (L, L) {
        let bias = (1i64 << (L::Bits::BITS - L::DIGITS)) - 2; // twice the exponent bias
        let shifter = if L::DIGITS == 24 { 0x4b40_0000 } else { 0x4338_0000_0000_0000 };
        let twice = self.shifted.bits().plus(L::Bits::int(bias - shifter));
        let first = twice.shr(1);
        let second = twice.minus(first);
        (L::from_bits(first.shl(L::DIGITS - 1)), L::from_bits(second.shl(L::DIGITS - 1)))
    }

    /// `2^n`, for `|n|` below the exponent bias.
    #[inline(always)]
    pub fn power(self) -> L {
        let bias = (1i64 << (L::Bits::BITS - L::DIGITS - 1)) - 1;
        let shifter = if L::DIGITS == 24 { 0x4b40_0000 } else { 0x4338_0000_0000_0000 };
        L::from_bits(self.shifted.bits().plus(L::Bits::int(bias - shifter)).shl(L::DIGITS - 1))
    }

    /// `2^-n`, for `|n|` below the exponent bias.
    #[inline(always)]
    pub fn inverse_power(self) -> L {
        let bias = (1i64 << (L::Bits::BITS - L::DIGITS - 1)) - 1;
        let shifter = if L::DIGITS == 24 { 0x4b40_0000 } else { 0x4338_0000_0000_0000 };
        let exponent = L::Bits::int(bias + shifter).minus(self.shifted.bits());
        L::from_bits(exponent.shl(L::DIGITS - 1))
    }

    /// `value · part · 2^n` for an argument `x` up to [`product_limit`]. From 60 on, 2^64 goes to the part, which may be
    /// so small that the product is finite where `2^n` is not, or a subnormal number whose digits count.
    #[inline(always)]
    pub fn product(self, x: L, value: L, part: L) -> L {
        let far = x.is_gt(L::real(60.0));
        let shifted = L::select(far, self.shifted - L::real(64.0), self.shifted);
        let part = L::select(far, part * L::real(2f64.powi(64)), part);
        Split { shifted, ..self }.scale(value * part)
    }

    /// `value · 2^n`, or more of a [lifted](split_lifted) split, where it and the value are normal numbers: the
    /// exponents are added.
    #[inline(always)]
    pub fn scale_normal(self, value: L) -> L {
        L::from_bits(value.bits().plus(self.shifted.bits().shl(L::DIGITS - 1)))
    }

    /// `value · 2^n`, rounded once.
    #[inline(always)]
    pub fn scale(self, value: L) -> L {
        let by_parts = |value: L| {
            let (first, second) = self.halves();
            value * first * second
        };
        value.times_power(|| self.exponent(), by_parts)
    }

    /// `n`, as a float.
    #[inline(always)]
    fn exponent(self) -> L {
        self.shifted - shifter()
    }
}

/// The arguments beyond which exp is 0 or infinite for certain.
#[inline(always)]
pub fn limits<L: FloatLane>() -> (L, L) {
    (pick(-104.0, -746.0), pick(89.0, 710.0))
}

/// The widest range in which [`Split::scale`] works: twice that of exp.
#[inline(always)]
pub fn wide_limit<L: FloatLane>() -> L {
    pick(174.0, 1410.0)
}

/// The largest argument whose exponential has a finite product with the smallest number: where [`Split::product`] ends.
#[inline(always)]
pub fn product_limit<L: FloatLane>() -> L {
    pick(194.0, 1455.0)
}
