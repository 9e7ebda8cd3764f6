//! The core of log, log1p, log2, log10, the inverse hyperbolic functions and pow.
//!
//! A positive number is `2^e · (1 + f)` with `1 + f` in [√½, √2]. With `s = f/(2+f)`, `log(1+f) = 2·atanh(s)
//! = 2s + s·R(s²)`, a series in `s² <= 0.0295` that needs few terms.

use super::{
    double::{product, sum_ordered},
    ln2, pick, polynomial,
};
use crate::lane::{Arith, F64Lane, FloatLane, IntLane};

/// Exponent `e` and reduced mantissa `1 + f` of a positive normal number. Other arguments give some numbers that
/// the caller replaces.
#[inline(always)]
pub fn decompose<L: FloatLane>(x: L) -> (L, L) {
    decompose_from(x, if L::DIGITS == 24 { ROOT_HALF } else { 0x3fe6_a09e_667f_3bcd })
}

/// The bits of √½ in `f32`.
pub const ROOT_HALF: i64 = 0x3f35_04f3;

/// As [`decompose`], with the bits of the least mantissa given; the largest is twice as much.
#[inline(always)]
fn decompose_from<L: FloatLane>(x: L, least: i64) -> (L, L) {
    let (one, fraction, hidden, offset) = if L::DIGITS == 24 {
        (0x3f80_0000, 0x007f_ffff, 0x4b00_0000, 8388735.0)
    } else {
        (0x3ff0_0000_0000_0000, 0x000f_ffff_ffff_ffff, 0x4330_0000_0000_0000, 4503599627371519.0)
    };
    let moved = x.bits().plus(L::Bits::int(one - least));
    // The biased exponent becomes the low bits of a float whose unit is one; subtracting that float and the bias
    // converts it without an integer conversion, which AVX2 lacks for 64 bits.
    let e = L::from_bits(moved.shr(L::DIGITS - 1).or(L::Bits::int(hidden))) - L::real(offset);
    let mantissa = moved.and(L::Bits::int(fraction)).plus(L::Bits::int(least));
    (e, L::from_bits(mantissa))
}

/// As [`decompose`], for subnormal numbers too.
#[inline(always)]
pub fn decompose_any<L: FloatLane>(x: L) -> (L, L) {
    decompose_any_by(x, decompose)
}

#[inline(always)]
fn decompose_any_by<L: FloatLane>(x: L, decompose: impl FnOnce(L) -> (L, L)) -> (L, L) {
    let tiny = x.is_lt(pick(f32::MIN_POSITIVE as f64, f64::MIN_POSITIVE));
    let (e, mantissa) = decompose(L::select(tiny, x * pick(16777216.0, 18014398509481984.0), x));
    (L::select(tiny, e - pick(24.0, 54.0), e), mantissa)
}

/// `R(z) = (2·atanh(s) - 2s) / s` for `z = s²` up to 1.0005·0.02944.
///
/// For f32 a plain polynomial, error 2^-29 of the logarithm. For f64 the first coefficient is 2/3 itself, so that
/// [`log_double`] can carry it in two parts; error 2^-65.
#[inline(always)]
fn series<L: FloatLane>(z: L) -> L {
    let inner = polynomial(z, &[0.666667640209198, 0.3997874855995178, 0.2984434962272644], &SERIES);
    if L::DIGITS == 24 { z * inner } else { z * z.fma(inner, L::real(2.0 / 3.0)) }
}

const SERIES: [f64; 7] = [
    0.40000000000001545,
    0.285714285704008,
    0.2222222247136692,
    0.18181788258408438,
    0.15386591451294188,
    0.13260420779322168,
    0.13164937720046163,
];

/// `e·ln 2 + log(1 + f) + low`, where `low` is far below the last place of `f` or zero.
#[inline(always)]
pub fn log_sum<L: FloatLane>(e: L, f: L, low: impl FnOnce(L) -> L) -> L {
    let (ln2_hi, ln2_lo) = ln2();
    let s = f / (L::real(2.0) + f);
    let half_square = L::real(0.5) * f * f;
    // 2s = f - s·f and s·f = half_square - s·half_square: the small terms are summed first.
    let small = s.fma(half_square + series(s * s), e.fma(ln2_lo, low(s)));
    e.fma(ln2_hi, f - (half_square - small))
}

/// Exponent, fraction and `low` for [`log_sum`] of `1 + x + x_lo`, where `x` is above -1 and `x_lo` far below its last
/// place or zero.
#[inline(always)]
pub fn one_plus<L: FloatLane>(x: L, x_lo: L) -> (L, L, L) {
    let (zero, one) = (L::real(0.0), L::real(1.0));
    // 1 + x = u + c exactly; u = 2^e · m.
    let u = one + x;
    let c = L::select(x.is_lt(one), x - (u - one), one - (u - x));
    let (e, m) = decompose(u);
    // Where 1 + x needs no scaling, x itself is the exact fraction; elsewhere c is scaled as u was, which is
    // to multiply by m/u, and log(m + c) = log m + c/m = log m + c/u.
    let near = e.is_eq(zero);
    let f = L::select(near, x, m - one);
    (e, f, L::select(near, x_lo, c + x_lo) / u)
}

/// `log(1 + x + x_lo)`, or `log(2·big)` where `far` holds: the inverse hyperbolic functions, whose argument is about
/// twice theirs once that is large.
#[inline(always)]
pub fn log_one_plus_or_twice<L: FloatLane>(x: L, x_lo: L, far: L::Mask, big: L) -> L {
    let (zero, one) = (L::real(0.0), L::real(1.0));
    let (e, f, low) = one_plus(x, x_lo);
    let (big_e, big_m) = decompose(big);
    let e = L::select(far, big_e + one, e);
    let f = L::select(far, big_m - one, f);
    let low = L::select(far, zero, low);
    log_sum(e, f, |_| low)
}

/// Where the inverse hyperbolic functions are `log 2x`, the next term being below half a unit in the last place.
#[inline(always)]
pub fn is_far<L: FloatLane>(size: L) -> L::Mask {
    size.is_gt(pick(8192.0, 268435456.0))
}

/// A base of logarithms. Numbers in two parts come once for `f32` and once for `f64`.
pub struct Base {
    /// The logarithm of 2. Its first part has so few digits that products with exponents are exact. `None` stands for 1.
    pub unit: Option<[(f64, f64); 2]>,
    /// The logarithm of e.
    pub factor: [(f64, f64); 2],
    /// For `f32`: the bits of the least mantissa, where the last place of the result is coarse enough on both sides of it.
    pub least: i64,
    /// For `f32`: `(log(1 + f) - f·factor) / f²` for mantissas `1 + f`; error 2^-27.6 of the logarithm.
    pub series: [f64; 9],
}

/// A logarithm in another base: `e·unit + factor·log(1 + f)`, all numbers in two parts. Exact where the true value is a
/// float, because everything before the last rounding is wrong by far less than half of it.
#[inline(always)]
pub fn log_in_base<L: FloatLane>(x: L, base: &Base) -> L {
    let (e, mantissa) = if L::DIGITS == 24 {
        decompose_any_by(x, |x| decompose_from(x, base.least))
    } else {
        decompose_any(x)
    };
    let f = mantissa - L::real(1.0);
    let width = if L::DIGITS == 24 { 0 } else { 1 };
    let (factor, factor_lo) = base.factor[width];
    let (factor, factor_lo) = (L::real(factor), L::real(factor_lo));
    let (p, p_lo) = if L::DIGITS == 24 {
        let (p, p_error) = product(f, factor);
        let q = polynomial(f, &base.series, &[0.0]);
        (p, (f * f).fma(q, f.fma(factor_lo, p_error)))
    } else {
        let s = f / (L::real(2.0) + f);
        let (half_square, square_error) = product(L::real(0.5) * f, f);
        let (hi, error) = sum_ordered(f, -half_square);
        let lo = s.fma(half_square + series(s * s), error - square_error);
        let (p, p_error) = product(hi, factor);
        (p, lo.fma(factor, hi.fma(factor_lo, p_error)))
    };
    let (whole, p_lo) = match base.unit {
        None => (e, p_lo),
        Some(unit) => (e * L::real(unit[width].0), e.fma(L::real(unit[width].1), p_lo)),
    };
    let (value, error) = sum_ordered(whole, p);
    with_ends(x, value + (error + p_lo))
}

/// The logarithm of any number, given that of a positive finite one.
#[inline(always)]
pub fn with_ends<L: FloatLane>(x: L, value: L) -> L {
    let (zero, infinity) = (L::real(0.0), L::real(f64::INFINITY));
    let value = L::select(x.is_lt(infinity), value, infinity);
    let value = L::select(x.is_eq(zero), -infinity, value);
    L::select(x.is_ge(zero), value, L::nan())
}

/// Logarithm to base 2 of a positive normal number with 37 bits: what an `f32` result computed in `f64` needs.
#[inline(always)]
pub fn log2_single<L: F64Lane>(x: L) -> L {
    // 2·atanh(s)/(s·ln 2) in s², error 2^-37.8.
    const SHORT: [f64; 5] =
        [2.8853900817903764, 0.9617966731361469, 0.5770836087551269, 0.4116718131203264, 0.34074109565374505];
    let (e, mantissa) = decompose(x);
    let f = mantissa - L::real(1.0);
    let s = f / (L::real(2.0) + f);
    s.fma(polynomial(s * s, &SHORT, &SHORT), e)
}

/// Logarithm of a positive number as `hi + lo` with about 64 bits, given its exponent and reduced mantissa: what pow
/// multiplies by its exponent. `lo` is at most a few units in the last place of `hi`.
#[inline(always)]
pub fn log_double<L: FloatLane>((e, mantissa): (L, L)) -> (L, L) {
    let f = mantissa - L::real(1.0);
    let (d, d_lo) = sum_ordered(L::real(2.0), f);
    let s = f / d;
    // What the division left, over d; 1/d = (1 - s)/2.
    let left = (-s).fma(d_lo, (-s).fma(d, f));
    let s_lo = left * L::real(0.5).fma(-s, L::real(0.5));
    let (z, z_error) = product(s, s);
    let z_lo = (s + s).fma(s_lo, z_error);
    // (2/3)·z in two parts, then the rest of the series, at most 2^-11 of the sum, in one.
    let third: L = L::real(2.0 / 3.0);
    let (a, a_error) = product(third, z);
    let a_lo = third.fma(z_lo, z.fma(L::real(3.700743415417188e-17), a_error));
    let (b, b_error) = sum_ordered(a, z * z * polynomial(z, &[0.0], &SERIES));
    let b_lo = b_error + a_lo;
    let (p, p_error) = product(s, b);
    let p_lo = s.fma(b_lo, s_lo.fma(b, p_error));
    let (m, m_error) = sum_ordered(s + s, p);
    let m_lo = m_error + (s_lo + s_lo + p_lo);
    // 40 bits of ln 2, so that the product with e is exact, and the next 53.
    let (hi, hi_error) = sum_ordered(e * L::real(0.6931471805601177), m);
    (hi, e.fma(L::real(-1.7239444525614835e-13), hi_error + m_lo))
}
