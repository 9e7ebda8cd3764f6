//! `gelu`: gaussian error linear unit, tanh form: x * sigmoid(2u), u = sqrt(2/pi) * (x + 0.044715 x^3).

use super::{
    Cost, NanRule, OpInfo, Unary,
    parts::{at_most, exponential, polynomial},
};
use crate::{
    DTypeSet,
    lane::{Arith, F32Lane, F64Lane, IntLane},
};

/// Gaussian error linear unit, tanh form: x * sigmoid(2u), u = sqrt(2/pi) * (x + 0.044715 x^3).
pub struct Gelu;

impl Unary for Gelu {
    // Measured: f32 3.18 ulp over all arguments, f64 2.14 on 20 000 points.
    const INFO: OpInfo = OpInfo::new(
        "gelu",
        DTypeSet::FLOAT,
        "Gaussian error linear unit, tanh form: x * sigmoid(2u), u = sqrt(2/pi) * (x + 0.044715 x^3).",
    )
    .max_ulp(3.2)
    .cost(Cost::Function)
    .nan(NanRule::Canonical);

    /// At most 3.18 ulp from the true value (`cargo run --release -p crossover-core --example ulp -- --op gelu`).
    ///
    /// With y = 2u·log2(e) = x·t: gelu = x / (1 + w) on the right and x·w / (1 + w) on the left, w = 2^-|y|. In base 2
    /// the reduction needs no multiples of ln 2: r = n - x·t is one fma of the factors, so the rounding of the
    /// product, which exp would magnify, never happens; only that of t is carried along.
    #[inline(always)]
    fn f32<L: F32Lane>(x: L) -> L {
        // t = k0 + k1·x². k0 is a multiple of the last place of the largest t, so that k0 - t is exact; what it leaves
        // out and the rest of k1 come back in t_lo.
        let (k0, k0_lo) = (L::real(2.3022079467773438), L::real(2.513669699055754e-7));
        let (k1, k1_lo) = (L::real(0.10294324159622192), L::real(-2.016198541454628e-9));
        // From here on the left side underflows to -0.
        let size = at_most(x.magnitude(), L::real(10.9));
        let square = size * size;
        let square_lo = size.fma(size, -square);
        let t = square.fma(k1, k0);
        let t_lo = square.fma(k1, k0 - t) + square.fma(k1_lo, square_lo.fma(k1, k0_lo));
        let shifter = L::real(12582912.0); // 1.5·2^23: the low bits of a sum with it are a whole number
        let shifted = (-size).fma(t, shifter);
        let n = shifted - shifter;
        let r = (-size).fma(t_lo, (-size).fma(t, -n));
        // 2^r on ±0.5003 by interpolation at Chebyshev nodes, error 2^-26.7.
        let two_to_r = polynomial(r, &POWER_OF_TWO, &[]);
        // 2^n can be subnormal, 2^(n+64) cannot; the last product rounds once.
        let bits = shifted.bits().plus(L::Bits::int(127 + 64 - 0x4b40_0000));
        let scale = L::from_bits(bits.shl(23));
        let back = L::real(5.421010862427522e-20); // 2^-64
        let power = two_to_r * scale;
        let w = power * back;
        let left = (-size) * power * back;
        let value = L::select(x.is_lt(L::real(0.0)), left, x) / (L::real(1.0) + w);
        L::select(x.is_nan(), L::nan(), value)
    }

    /// As for `f32`, with e in place of 2: its core is there for other functions already.
    #[inline(always)]
    fn f64<L: F64Lane>(x: L) -> L {
        // Beyond 24 the sigmoid is 1 on the right and underflows on the left.
        let limit = L::real(24.0);
        let size = at_most(x.magnitude(), limit);
        let (z, z_lo) = twice_u(size);
        let split = exponential::split(-z, -z_lo);
        let value = exponential::gate(x, size, split);
        // The fma makes +0 of -0 and NaN of infinity.
        let value = L::select(x.is_lt(limit), value.with_sign(x), x);
        L::select(x.is_nan(), L::nan(), value)
    }
}

/// Coefficients of 2^r, from the constant up.
const POWER_OF_TWO: [f64; 7] = [
    1.0,
    0.6931471824645996,
    0.24022650718688965,
    0.055503569543361664,
    0.009618082083761692,
    0.0013390931999310851,
    0.000154532230226323,
];

/// `sqrt(8/pi) · (x + 0.044715 x³)` for x between 0 and 24, as a rounded value and its error.
///
/// exp turns an error in the last place of its argument, up to 746, into that many in the result; hence the second
/// part.
#[inline(always)]
fn twice_u<L: F64Lane>(x: L) -> (L, L) {
    // sqrt(8/pi) = c0 + c0_lo, 0.044715·sqrt(8/pi) = c1 + c1_lo.
    let (c0, c0_lo) = (L::real(1.5957691216057341), L::real(-3.430362161966579e-15));
    let (c1, c1_lo) = (L::real(0.07135481627260025), L::real(-6.175149918155315e-19));
    let square = x * x;
    let square_lo = x.fma(x, -square);
    let factor = square.fma(c1, c0);
    // c0 has so few bits that c0 - factor is exact: both are multiples of the last place that a factor at the end
    // of the range has.
    let factor_lo = square.fma(c1, c0 - factor) + square.fma(c1_lo, square_lo.fma(c1, c0_lo));
    let z = x * factor;
    (z, x.fma(factor_lo, x.fma(factor, -z)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values() {
        assert_eq!(Gelu::f32(0.0f32).to_bits(), 0);
        assert_eq!(Gelu::f64(-0.0f64).to_bits(), (-0.0f64).to_bits());
        assert_eq!(Gelu::f32(f32::INFINITY), f32::INFINITY);
        assert_eq!(Gelu::f32(f32::MAX), f32::MAX);
        // The limit, where the formula itself is infinity times zero.
        assert_eq!(Gelu::f64(f64::NEG_INFINITY).to_bits(), (-0.0f64).to_bits());
        assert_eq!(Gelu::f32(-f32::MAX).to_bits(), (-0.0f32).to_bits());
        assert_eq!(Gelu::f32(-f32::NAN).to_bits(), 0x7fc0_0000);
        assert_eq!(Gelu::f64(1.0f64), 0.8411919906082767);
        assert_eq!(Gelu::f32(100.0f32), 100.0);
    }
}
