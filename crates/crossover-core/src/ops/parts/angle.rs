//! The core of sin, cos and tan: reduction by multiples of π/2, and the two polynomials on ±π/4.
//!
//! Up to [`limit`] the reduction subtracts three parts of π/2 by fma; beyond it [`reduce_huge`] multiplies the
//! significand with the bits of 2/π that matter for its exponent (Payne and Hanek), in integers, exactly.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use super::{
    double::{product, sum, sum_ordered},
    pick, polynomial,
};
use crate::lane::{Arith, F64Lane, FloatLane, IntLane, Lane};

/// A reduced angle.
#[derive(Clone, Copy)]
pub struct Angle<L: FloatLane> {
    /// Multiple of π/2 in the low two bits.
    quadrant: L::Bits,
    /// What remains, within ±π/4 and a little.
    r: L,
    /// The rounding error of `r`.
    rest: L,
}

/// The largest argument that [`reduce`] takes: multiples of π/2 up to 2^17 (f32) and 2^25 (f64).
#[inline(always)]
pub fn limit<L: FloatLane>() -> L {
    pick(205887.0, 52707178.0)
}

/// Reduces an argument between 0 and [`limit`]; for f32 the rounding error of the remainder is dropped.
#[inline(always)]
pub fn reduce<L: FloatLane>(x: L) -> Angle<L> {
    if L::DIGITS != 24 {
        return reduce_in_parts(x);
    }
    let (shifted, n, coarse) = nearest(x);
    let (middle, low) = half_pi_parts();
    // Two roundings of at most half a unit in the last place of r each.
    let r = (-n).fma(low, (-n).fma(middle, coarse));
    Angle { quadrant: shifted.bits(), r, rest: L::real(0.0) }
}

/// As [`reduce`], with the rounding error of the remainder in both widths.
#[inline(always)]
pub fn reduce_in_parts<L: FloatLane>(x: L) -> Angle<L> {
    let (shifted, n, coarse) = nearest(x);
    let (middle, low) = half_pi_parts();
    let (w, w_error) = product(n, middle);
    let (r, error) = sum(coarse, -w);
    Angle { quadrant: shifted.bits(), r, rest: (-n).fma(low, error - w_error) }
}

/// The nearest multiple n of π/2, as the low bits of a float and as a number, and `x` less n times π/2 rounded.
#[inline(always)]
fn nearest<L: FloatLane>(x: L) -> (L, L, L) {
    let shifter: L = pick(12582912.0, 6755399441055744.0);
    let shifted = x.fma(L::real(FRAC_2_PI), shifter);
    let n = shifted - shifter;
    // Exact: both terms are multiples of the last place of π/2 (or of x, where x is smaller), the result is below 1.
    (shifted, n, (-n).fma(L::real(FRAC_PI_2), x))
}

/// The second and third part of π/2.
#[inline(always)]
fn half_pi_parts<L: FloatLane>() -> (L, L) {
    (
        pick(-4.371138828673793e-8, 6.123233995736766e-17),
        pick(-1.7151245100058819e-15, -1.4973849048591698e-33),
    )
}

/// 2/π behind 48 zero bits: binary digits 2^-1 and on, 64 to a word, first word highest.
const TWO_OVER_PI: [u64; 19] = [
    0x0000_0000_0000_a2f9,
    0x836e_4e44_1529_fc27,
    0x57d1_f534_ddc0_db62,
    0x9599_3c43_9041_fe51,
    0x63ab_debb_c561_b724,
    0x6e3a_424d_d2e0_0649,
    0x2eea_09d1_921c_fe1d,
    0xeb1c_b129_a73e_e882,
    0x35f5_2ebb_4484_e99c,
    0x7026_b45f_7e41_3991,
    0xd639_8353_39f4_9c84,
    0x5f8b_bdf9_283b_1ff8,
    0x97ff_de05_980f_ef2f,
    0x118b_5a0a_6d1f_6d36,
    0x7ecf_27cb_09b7_4f46,
    0x3f66_9e5f_ea2d_7527,
    0xbac7_ebe5_f17b_3d07,
    0x39f7_8a52_92ea_6bfb,
    0x5fb1_1f8d_5d08_5603,
];

/// High 64 bits of a product of 64-bit lanes, from products of halves.
#[inline(always)]
fn product_high<B: IntLane>(a: B, b: B) -> B {
    let mask = B::int(0xffff_ffff);
    let (a1, a0, b1, b0) = (a.shr(32), a.and(mask), b.shr(32), b.and(mask));
    let middle = a1.times(b0).plus(a0.times(b0).shr(32));
    let other = a0.times(b1).plus(middle.and(mask));
    a1.times(b1).plus(middle.shr(32)).plus(other.shr(32))
}

/// Reduces a finite argument of at least 2^10. `FLOAT32` promises that it is below 2^128, which shortens the
/// selection of the bits of 2/π.
#[inline(always)]
pub fn reduce_huge<const FLOAT32: bool, L: F64Lane>(x: L) -> Angle<L> {
    let int = L::Bits::int;
    let bits = x.bits();
    let significand = bits.and(int((1 << 52) - 1)).or(int(1 << 52));
    // x = significand · 2^E. Digits of 2/π above 2^-(E-2) only add multiples of four quadrants: skip E - 2 of
    // them, and the 48 zeros.
    let skip = bits.shr(52).minus(int(1075 + 2 - 48));
    let mut words = TWO_OVER_PI.map(|w| int(w as i64));
    // Four words are wanted, starting at word skip/64: halve the choice until they are in front.
    for step in [8usize, 4, 2, 1] {
        if FLOAT32 && step > 1 {
            continue;
        }
        let far = skip.and(int(64 * step as i64)).is_ne(int(0));
        for i in 0..step + 3 {
            words[i] = L::Bits::select(far, words[i + step], words[i]);
        }
    }
    let (left, right) = (skip.and(int(63)), int(63).minus(skip.and(int(63))));
    let window = |i: usize| words[i].shl_lane(left).or(words[i + 1].shr(1).shr_lane(right));
    let (v0, v1, v2) = (window(0), window(1), window(2));
    // The product modulo 2^192, without its lowest word: a fraction of four quadrants.
    let middle = significand.times(v1);
    let lo = middle.plus(product_high(significand, v2));
    let carry = L::Bits::select(lo.is_lt(middle), int(1), int(0));
    let hi = significand.times(v0).plus(product_high(significand, v1)).plus(carry);
    // Nearest quadrant, and the signed distance from it.
    let quadrant = hi.plus(int(1 << 61)).shr(62);
    let hi = hi.minus(quadrant.shl(62));
    let negative = hi.is_ge(int(i64::MIN));
    let lo_flipped = lo.invert().plus(int(1));
    let hi_flipped = hi.invert().plus(L::Bits::select(lo_flipped.is_eq(int(0)), int(1), int(0)));
    let hi = L::Bits::select(negative, hi_flipped, hi);
    let lo = L::Bits::select(negative, lo_flipped, lo);
    // 52 bits convert exactly, the 62 that follow are rounded.
    let float = |b: L::Bits| L::from_int(L::from_bits(b).int_bits());
    let first = float(hi.and(int(!1023))) * L::real(1.0 / (1u64 << 62) as f64);
    let second =
        float(hi.and(int(1023)).shl(52).or(lo.shr(12))) * L::real(f64::from_bits((1023 - 114) << 52));
    let (turn, turn_lo) = sum_ordered(first, second);
    let half_pi = L::real(FRAC_PI_2);
    let (r, r_error) = product(turn, half_pi);
    let rest = turn_lo.fma(half_pi, turn.fma(L::real(6.123233995736766e-17), r_error));
    Angle { quadrant, r: L::select(negative, -r, r), rest: L::select(negative, -rest, rest) }
}

/// The series of [`sine`] and [`tangent`] at `s = r²`, on ±1.0005·π/4: `(sin r - r)/r³`, error 2^-27.8 (f32) and
/// 2^-57.7 (f64) of the sine, and `(cos r - 1 + r²/2)/r⁴`, error 2^-32.9 and 2^-63.8 of the cosine.
#[inline(always)]
fn series<L: FloatLane>(s: L) -> (L, L) {
    let sin_series = polynomial(
        s,
        &[-0.16666656732559204, 0.008332261815667152, -0.00019526368123479187],
        &[
            -0.16666666666666646,
            0.008333333333325177,
            -0.000198412698316453,
            2.7557314242246757e-6,
            -2.505083439889385e-8,
            1.5900780325174046e-10,
        ],
    );
    let cos_series = polynomial(
        s,
        &[0.04166664928197861, -0.0013887467794120312, 2.4448481781291775e-5],
        &[
            0.041666666666666616,
            -0.0013888888888876597,
            2.4801587290865897e-5,
            -2.7557314716274616e-7,
            2.0875768846198406e-9,
            -1.136184121492397e-11,
        ],
    );
    (sin_series, cos_series)
}

/// Sine of `angle + shift·π/2`.
#[inline(always)]
pub fn sine<L: FloatLane>(angle: Angle<L>, shift: i64) -> L {
    let Angle { quadrant, r, rest } = angle;
    let s = r * r;
    let (sin_series, cos_series) = series(s);
    let half = L::real(-0.5);
    let (sin, cos) = if L::DIGITS == 24 {
        (r + (r * s) * sin_series, s.fma(s.fma(cos_series, half), L::real(1.0)))
    } else {
        // sin(r + rest) = sin r + rest·cos r, cos(r + rest) = cos r - rest·r, and 1 - s/2 keeps its rounding error.
        let correction = rest.fma(s * half, rest);
        let sin = r + (r * s).fma(sin_series, correction);
        let (hi, lo) = sum_ordered(L::real(1.0), s * half);
        (sin, hi + (s * s).fma(cos_series, (-rest).fma(r, lo)))
    };
    let turns = quadrant.plus(L::Bits::int(shift));
    let sign = turns.shr(1).shl(L::Bits::BITS - 1);
    L::from_bits(L::select(is_odd::<L>(turns), cos, sin).bits().xor(sign))
}

/// Tangent of the angle: sine over cosine, or in odd quadrants the negative of cosine over sine, each in two parts.
#[inline(always)]
pub fn tangent<L: FloatLane>(angle: Angle<L>) -> L {
    let Angle { quadrant, r, rest } = angle;
    let (s, s_lo) = product(r, r);
    let (sin_series, cos_series) = series(s);
    let half = L::real(-0.5);
    let (sin, sin_lo) = sum_ordered(r, (r * s).fma(sin_series, rest.fma(s * half, rest)));
    let (hi, lo) = sum_ordered(L::real(1.0), s * half);
    let (cos, cos_lo) = sum_ordered(hi, (s * s).fma(cos_series, (-rest).fma(r, half.fma(s_lo, lo))));
    let odd = is_odd::<L>(quadrant);
    let (over, over_lo) = (L::select(odd, -cos, sin), L::select(odd, -cos_lo, sin_lo));
    let (under, under_lo) = (L::select(odd, sin, cos), L::select(odd, sin_lo, cos_lo));
    // One division; what it leaves is divided by the same reciprocal.
    let inverse = L::real(1.0) / under;
    let quotient = over * inverse;
    let left = (-quotient).fma(under, over) + (-quotient).fma(under_lo, over_lo);
    left.fma(inverse, quotient)
}

#[inline(always)]
fn is_odd<L: FloatLane>(turns: L::Bits) -> L::Mask {
    turns.and(L::Bits::int(1)).is_ne(L::Bits::int(0))
}

/// Arguments beyond [`limit`] that are still finite.
#[inline(always)]
pub fn is_huge<L: FloatLane>(x: L) -> L::Mask {
    let size = x.magnitude();
    size.is_gt(limit()) & size.is_lt(L::real(f64::INFINITY))
}
