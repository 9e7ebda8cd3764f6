//! Exact remainder of positive floats, whatever the size of the quotient: the core of `remainder`.
//!
//! With `a = A·2^i` and `b = B·2^j` (A and B whole, B normalised) the remainder is `(A·2^(i-j) mod B)·2^j`. The
//! power of two modulo B is found by repeated squaring; all numbers are whole floats, products keep their error,
//! so nothing is ever rounded. The number of steps is fixed by the exponent range.

use super::double::product;
use crate::lane::{F64Lane, IntLane};

const FRACTION: i64 = (1 << 52) - 1;
/// Bits of 2^52: a float whose low bits are a whole number.
const WHOLE: i64 = 0x4330_0000_0000_0000;

/// Remainder of `a` over `b`, positive and finite, `b` not zero. Other operands give some number.
///
/// `FLOAT32` promises that both were `f32`, which saves steps.
#[inline(always)]
pub fn residue<const FLOAT32: bool, L: F64Lane>(a: L, b: L) -> L {
    let (a_exponent, a_whole) = normal::<FLOAT32, L>(a);
    let (b_exponent, b_whole) = normal::<FLOAT32, L>(b);
    let modulus = Modulus::<FLOAT32, L> { value: b_whole, inverse: L::real(1.0) / b_whole };
    // 2^(i-j) = (2^high)^(2^SQUARINGS) · 2^low; 2^high is below every normalised B.
    let squarings = if FLOAT32 { 4 } else { 6 };
    let step = (1u32 << squarings) as f64;
    let gap = a_exponent - b_exponent;
    let gap = L::select(gap.is_gt(L::real(0.0)), gap, L::real(0.0));
    let high = (gap * L::real(1.0 / step)).floor();
    let low = (-high).fma(L::real(step), gap);
    let mut power = power_of_two(high);
    for _ in 0..squarings {
        power = modulus.times(power, power);
    }
    let value = modulus.times(modulus.fold(a_whole), power);
    let value = if FLOAT32 {
        modulus.times(value, power_of_two(low))
    } else {
        // In two factors, each below B/2.
        let half = (low * L::real(0.5)).floor();
        modulus.times(modulus.times(value, power_of_two(half)), power_of_two(low - half))
    };
    let value = L::select(value.is_lt(L::real(0.0)), value + b_whole, value);
    // Back to the scale of b; in two halves, since the power may lie below the normal range.
    let unit = b_exponent - L::real(if FLOAT32 { 1046.0 } else { 1075.0 });
    let half = (unit * L::real(0.5)).floor();
    let value = value * power_of_two(half) * power_of_two(unit - half);
    L::select(a.is_lt(b), a, value)
}

/// Biased exponent and significand of a positive float as whole floats, the significand in [2^52, 2^53).
#[inline(always)]
fn normal<const FLOAT32: bool, L: F64Lane>(x: L) -> (L, L) {
    let int = L::Bits::int;
    // A subnormal f64 is scaled into the normal range; an f32 never is one here.
    let tiny = x.is_lt(L::real(f64::MIN_POSITIVE));
    let scaled = if FLOAT32 { x } else { L::select(tiny, x * L::real(18014398509481984.0), x) };
    let exponent = L::from_bits(scaled.bits().shr(52).or(int(WHOLE))) - L::real(4503599627370496.0);
    let exponent = if FLOAT32 { exponent } else { L::select(tiny, exponent - L::real(54.0), exponent) };
    let whole = L::from_bits(scaled.bits().and(int(FRACTION)).or(int(WHOLE)));
    if FLOAT32 {
        // The 24 bits in use, at their own scale.
        return (exponent, whole * L::real(1.0 / 536870912.0));
    }
    (exponent, whole)
}

/// `2^n` for a whole `n` between -1022 and 1023.
#[inline(always)]
fn power_of_two<L: F64Lane>(n: L) -> L {
    let biased = n + L::real(4503599627370496.0 + 1023.0);
    L::from_bits(biased.bits().shl(52))
}

struct Modulus<const FLOAT32: bool, L> {
    value: L,
    inverse: L,
}

impl<const FLOAT32: bool, L: F64Lane> Modulus<FLOAT32, L> {
    /// `x` less a multiple of B: within ±B/2 and a little for `|x| <= 2^53`, within ±B for a product.
    #[inline(always)]
    fn fold(&self, x: L) -> L {
        (-(x * self.inverse).round()).fma(self.value, x)
    }

    /// A number in ±B/2 congruent to the product of two such numbers.
    #[inline(always)]
    fn times(&self, a: L, b: L) -> L {
        if FLOAT32 {
            return self.fold(a * b); // at most 47 bits
        }
        let (hi, lo) = product(a, b);
        // The quotient hi/B is below 2^51, and computed within 1/2 of itself; rounded, within 1. So the first fold
        // leaves at most B < 2^53 and its fma is exact; the second leaves B/2, and |lo| <= 2^50 <= B/4, so the sum is
        // exact too.
        self.fold(self.fold(self.fold(hi)) + lo)
    }
}
