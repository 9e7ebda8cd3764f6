//! The core of sinh and cosh.
//!
//! With `x = n·ln 2 + r`, `sinh x = 2^n·(a·cosh r + b·sinh r)` and `cosh x = 2^n·(b·cosh r + a·sinh r)`, where
//! `a = (1 - 4^-n)/2` and `b = (1 + 4^-n)/2`. Near zero n is 0, a is 0 and the sine keeps every digit.

use super::{
    at_most,
    double::{product, sum_ordered},
    exponential::{Split, split},
    polynomial,
};
use crate::lane::FloatLane;

/// Hyperbolic sine and cosine of a magnitude, each less a common power of two.
pub struct Hyperbolic<L> {
    /// The sine over the power of two.
    pub sinh: L,
    /// The cosine over the power of two.
    pub cosh: L,
    split: Split<L>,
}

impl<L: FloatLane> Hyperbolic<L> {
    /// `value` times the power of two, rounded once.
    #[inline(always)]
    pub fn scale(&self, value: L) -> L {
        self.split.scale(value)
    }

    /// `value` times a part of a direction times the power of two, given the magnitude; see [`Split::product`].
    #[inline(always)]
    pub fn product(&self, size: L, value: L, part: L) -> L {
        self.split.product(size, value, part)
    }
}

/// Both functions of a magnitude. Beyond `most`, where both have overflowed by far, they stay what they are there.
#[inline(always)]
pub fn hyperbolic<L: FloatLane>(size: L, most: L) -> Hyperbolic<L> {
    let split = split(at_most(size, most), L::real(0.0));
    let (zero, half) = (L::real(0.0), L::real(0.5));
    let inverse = L::select(split.n.is_gt(L::whole(L::DIGITS as i32)), zero, split.inverse_power());
    let small = half * inverse * inverse;
    let (a, b) = (half - small, half + small);
    let r = split.r;
    let z = r * r;
    // sinh r - r, with the rounding error of r, and cosh r - 1.
    let sine = (r * z).fma(sine_series(z), split.rest);
    let cosine = (z * z).fma(cosine_series(z), half * z);
    let mixed = |first: L, second: L, lost: L| {
        let (p, p_error) = product(second, r);
        let (hi, lo) = sum_ordered(first, p);
        hi + (lo + (p_error + second.fma(sine, first.fma(cosine, lost))))
    };
    let (a_lost, b_lost) = ((half - a) - small, (half - b) + small);
    Hyperbolic { sinh: mixed(a, b, a_lost), cosh: mixed(b, a, b_lost), split }
}

/// `(sinh r - r)/r³` for `z = r²`, r up to 1.0005·ln(2)/2; error 2^-34.2 (f32) and 2^-61.7 (f64) of the sine.
#[inline(always)]
fn sine_series<L: FloatLane>(z: L) -> L {
    polynomial(
        z,
        &[0.1666666716337204, 0.008333190344274044, 0.00019960167992394418],
        &[
            0.16666666666666677,
            0.00833333333332146,
            0.00019841269886497365,
            2.7557243872398634e-6,
            2.510914599430879e-8,
        ],
    )
}

/// `(cosh r - 1 - r²/2)/r⁴` on the same range; error 2^-33.2 (f32) and 2^-70 (f64) of the cosine.
#[inline(always)]
fn cosine_series<L: FloatLane>(z: L) -> L {
    polynomial(
        z,
        &[0.041666459292173386, 0.0013935387833043933],
        &[
            0.041666666666666685,
            0.001388888888887334,
            2.48015873490056e-5,
            2.7557252041220187e-7,
            2.0921688537928943e-9,
        ],
    )
}
