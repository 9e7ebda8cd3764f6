//! `atanh`: inverse hyperbolic tangent.

use std::f64::consts::FRAC_PI_2;

use super::{
    Binary, Cost, NanRule, OpInfo, Unary,
    atan2::Atan2,
    log1p::Log1p,
    parts::{
        logarithm::{log_sum, one_plus},
        plane,
    },
};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane},
};

/// Inverse hyperbolic tangent; infinite at ±1, NaN beyond.
pub struct Atanh;

impl Unary for Atanh {
    // Measured: f32 0.821 ulp over every fifth argument, f64 0.70 on 2000 points.
    const INFO: OpInfo = OpInfo::new(
        "atanh",
        DTypeSet::FLOAT.or(DTypeSet::COMPLEX),
        "Inverse hyperbolic tangent; infinite at ±1, NaN beyond.",
    )
    .max_ulp(2.0)
    .cost(Cost::Function)
    .nan(NanRule::Canonical)
    .complex_signs();

    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        let one = L::real(1.0);
        let size = x.magnitude();
        // log1p(2x/(1 - x))/2, the quotient in two parts.
        let d = one - size;
        let d_lo = (one - d) - size;
        let inverse = one / d;
        let twice = size + size;
        let q = twice * inverse;
        let q_lo = ((-q).fma(d, twice) - q * d_lo) * inverse;
        let (e, f, low) = one_plus(q, q_lo);
        let value = L::real(0.5) * log_sum(e, f, |_| low);
        let value = L::select(size.is_lt(one), value, L::real(f64::INFINITY)).with_sign(x);
        L::select(size.is_le(one), value, L::nan())
    }
    #[inline(always)]
    fn complex<L: FloatLane>(z: Cx<L>) -> Cx<L> {
        let (zero, one) = (L::real(0.0), L::real(1.0));
        // log1p(4x/((1 - x)² + y²))/4 for the right half plane, and half the angle of 1 - z² + 2iy.
        let x = z.re.magnitude();
        let beside = one - x;
        let under = beside.fma(beside, z.im * z.im);
        let re = L::real(0.25) * Log1p::float(L::real(4.0) * x / under);
        let along = beside.fma(one + x, -(z.im * z.im));
        let im = L::real(0.5) * Atan2::float(z.im + z.im, along);
        // Far away it is 1/z and a right angle.
        let far = plane::is_far(z);
        let (across, high) = (z.re.magnitude(), z.im.magnitude());
        let large = L::select(across.is_gt(high), across, high);
        let endless = across.is_eq(L::real(f64::INFINITY)) | high.is_eq(L::real(f64::INFINITY));
        let (u, v) = (across / large, high / large);
        let inverse = u / u.fma(u, v * v) / large;
        let re = L::select(far, L::select(endless, zero, inverse), re);
        let right = L::select(z.im.is_nan(), L::nan(), L::real(FRAC_PI_2));
        let im = L::select(far, right.with_sign(z.im), im);
        plane::canonical(Cx { re: plane::signed(re, z.re), im: L::select(im.is_nan(), L::nan(), im) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values() {
        for x in [0.0f64, -0.0, 5e-324, -5e-324, 1e-300, -1e-20] {
            assert_eq!(Atanh::float(x).to_bits(), x.to_bits());
        }
        assert_eq!(Atanh::float(1.0f32), f32::INFINITY);
        assert_eq!(Atanh::float(-1.0f64), f64::NEG_INFINITY);
        for x in [1.0000001f32, -2.0, f32::INFINITY, -f32::NAN] {
            assert_eq!(Atanh::float(x).to_bits(), 0x7fc0_0000);
        }
    }
}
