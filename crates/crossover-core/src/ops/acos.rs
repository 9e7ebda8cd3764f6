//! `acos`: arc cosine.

use std::f64::consts::{FRAC_PI_2, LN_2};

use super::{
    Binary, Cost, NanRule, OpInfo, Unary,
    asinh::Asinh,
    atan2::Atan2,
    parts::{
        arc::{arc, half_pi},
        plane,
    },
};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane},
};

/// Arc cosine in radians, between 0 and π; NaN beyond ±1.
pub struct Acos;

impl Unary for Acos {
    // Measured: f32 1.093 ulp over every fifth argument, f64 0.98 on 2000 points.
    const INFO: OpInfo = OpInfo::new(
        "acos",
        DTypeSet::FLOAT.or(DTypeSet::COMPLEX),
        "Arc cosine in radians, between 0 and π; NaN beyond ±1.",
    )
    .max_ulp(1.5)
    .cost(Cost::Function)
    .nan(NanRule::Canonical)
    .complex_signs();

    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        let size = x.magnitude();
        let arc = arc(size);
        let (hi, lo) = half_pi::<L>();
        let two = L::real(2.0);
        let negative = x.is_lt(L::real(0.0));
        // π/2 - asin x in the middle; 2·asin √((1 - x)/2) on the right, and π less that of the mirror image on the
        // left.
        let (s, rest) = (arc.s.with_sign(x), arc.rest.with_sign(x));
        let middle = hi - (s - (lo - rest));
        let right = two * (arc.s + arc.rest);
        let left = two * (hi - (arc.s - (lo - arc.rest)));
        let value = L::select(arc.steep, L::select(negative, left, right), middle);
        L::select(size.is_le(L::real(1.0)), value, L::nan())
    }
    #[inline(always)]
    fn complex<L: FloatLane>(z: Cx<L>) -> Cx<L> {
        let (zero, two) = (L::real(0.0), L::real(2.0));
        let (a, b) = plane::roots(z);
        let far = plane::is_far(z);
        let re = L::select(far, Atan2::float(z.im.magnitude(), z.re), two * Atan2::float(a.re, b.re));
        let near = Asinh::float(b.re * a.im - b.im * a.re);
        let sign = plane::signed(L::real(-1.0), z.im);
        let im = L::select(far, (plane::log_length(z) + L::real(LN_2)).with_sign(sign), near);
        // On the imaginary axis the real part is a right angle, even without a height.
        let re = L::select(z.re.is_eq(zero) & z.im.is_nan(), L::real(FRAC_PI_2), re);
        plane::canonical(Cx { re, im: L::select(z.im.is_eq(zero), im.with_sign(sign), im) })
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    #[test]
    fn special_values() {
        assert_eq!(Acos::float(1.0f64).to_bits(), 0);
        assert_eq!(Acos::float(-1.0f64), PI);
        assert_eq!(Acos::float(-1.0f32), std::f32::consts::PI);
        for x in [0.0f64, -0.0, 1e-300] {
            assert_eq!(Acos::float(x), FRAC_PI_2);
        }
        for x in [1.0000001f32, -2.0, f32::INFINITY, -f32::NAN] {
            assert_eq!(Acos::float(x).to_bits(), 0x7fc0_0000);
        }
    }
}
