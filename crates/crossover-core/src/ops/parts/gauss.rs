//! The core of erfc and of the exact gelu: `erfc x = e^(-x²)·erfcx x`, with a smooth second factor.

use std::f64::consts::{LN_2, LOG2_E};

use super::{
    double::{product, sum},
    exponential, pick, polynomial,
};
use crate::lane::{Arith, FloatLane, IntLane};

/// `e^(-x²/2)`, [lifted](exponential::split_lifted).
#[inline(always)]
pub fn bell<L: FloatLane>(x: L) -> L {
    if L::DIGITS != 24 {
        let (square, square_lo) = product(L::real(0.5) * x, x);
        let split = exponential::split_lifted(-square, -square_lo);
        return split.scale_normal(split.short_mantissa());
    }
    // The same for x² itself and multiples of 2·ln 2, which saves the halving: what remains is w, of which e^(-w/2) is taken.
    let (square, square_lo) = product(x, x);
    let base = L::real(12582912.0 + 64.0);
    let shifted = square.fma(L::real(-0.5 * LOG2_E), base);
    let n = shifted - base;
    let w = n.fma(L::real(2.0 * LN_2), square) + n.fma(pick(2.0 * -1.9046542121259336e-9, 0.0), square_lo);
    let mantissa = w.fma(w.fma(polynomial(w, &BELL, &[0.0]), L::real(-0.5)), L::real(1.0));
    L::from_bits(mantissa.bits().plus(shifted.bits().shl(L::DIGITS - 1)))
}

/// `(e^(-w/2) - 1 + w/2) / w²` on ±1.0005·ln 2: error 2^-28.2 of `e^(-w/2)`.
const BELL: [f64; 5] = [
    0.1249999850988388,
    -0.020833151414990425,
    0.0026042666286230087,
    -0.0002615205885376781,
    2.1595245925709605e-05,
];

/// `erfcx x = e^(x²)·erfc x` for x from 0 to 10.2 (f32) or 27.5 (f64).
///
/// `(1 + 2x)·erfcx x` runs from 1 to 2/√π. With `u = 2x/(x + k)` it is `1 + u·Q(u - 1)`, which is exact at 0; error
/// 2^-26.8 (f32, k = 2.5) and 2^-57.6 (f64, k = 3.75).
#[inline(always)]
pub fn scaled_complement<L: FloatLane>(x: L) -> L {
    let one = L::real(1.0);
    let twice = x + x;
    let u = twice / (x + pick(2.5, 3.75));
    let q = polynomial(
        u - one,
        &[
            0.26483818888664246,
            -0.3871948719024658,
            0.2881704270839691,
            -0.13054300844669342,
            0.02757151611149311,
            0.005209711380302906,
            -0.004236157983541489,
            -0.00019833032274618745,
            0.0005438163061626256,
            8.785067620920017e-5,
        ],
        &[
            0.2375126308378276,
            -0.3777532294233746,
            0.3813386449088371,
            -0.29906190641868885,
            0.19025797627704114,
            -0.09795365511673543,
            0.039260256524857116,
            -0.010897979105449365,
            0.001151399573549073,
            0.000604226283006945,
            -0.0003105127975838001,
            2.035864508330435e-5,
            3.12912334417444e-5,
            -8.906513220841358e-6,
            -2.5397946213209625e-6,
            1.5644607357707064e-6,
            1.9095382367869677e-7,
            -2.4422870723975943e-7,
            -1.8286000983861203e-8,
            3.627779112181115e-8,
            4.112341249200817e-9,
            -3.943339182831509e-9,
            -9.304964780369511e-10,
        ],
    );
    let over = u.fma(q, one);
    // 1 + 2x in two parts, and what the quotient leaves divided by the same reciprocal.
    let (under, under_lo) = sum(one, twice);
    let inverse = one / under;
    let quotient = over * inverse;
    let left = (-quotient).fma(under, over) - quotient * under_lo;
    left.fma(inverse, quotient)
}
