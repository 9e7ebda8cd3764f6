//! `cosh`: hyperbolic cosine.

use super::{
    Cost, NanRule, OpInfo, Unary,
    parts::{angle::is_huge, exponential::wide_limit, hyperbolic::hyperbolic, plane},
};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane},
};

/// Hyperbolic cosine.
pub struct Cosh;

impl Unary for Cosh {
    // Measured: f32 0.709 ulp over every fifth argument, f64 0.61 on 2000 points.
    const INFO: OpInfo = OpInfo::new("cosh", DTypeSet::FLOAT.or(DTypeSet::COMPLEX), "Hyperbolic cosine.")
        .max_ulp(1.0)
        .cost(Cost::Function)
        .nan(NanRule::Canonical)
        .complex_signs();
    const RARE_COMPLEX: bool = true;

    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        let both = hyperbolic(x.magnitude(), wide_limit());
        L::select(x.is_nan(), L::nan(), both.scale(both.cosh))
    }
    #[inline(always)]
    fn complex<L: FloatLane>(z: Cx<L>) -> Cx<L> {
        plane::canonical(plane::cosh(z, plane::turn(z.im)))
    }
    #[inline(always)]
    fn rare_complex<L: FloatLane>(z: Cx<L>) -> L::Mask {
        is_huge(z.im)
    }
    #[inline(always)]
    fn slow_complex<L: FloatLane>(z: Cx<L>) -> Cx<L> {
        plane::canonical(plane::cosh(z, plane::turn_any(z.im)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complex_parts_are_finite_as_long_as_their_products_are() {
        let got = Cosh::complex(Cx { re: 190.0f32, im: f32::from_bits(1) }).im as f64;
        let want = 0.5 * (190f64 - 149.0 * std::f64::consts::LN_2).exp();
        assert!((got / want - 1.0).abs() < 1e-6, "{got} {want}");
    }

    #[test]
    fn special_values() {
        for x in [0.0f64, -0.0, 5e-324, -1e-20] {
            assert_eq!(Cosh::float(x), 1.0);
        }
        assert_eq!(Cosh::float(f32::NEG_INFINITY), f32::INFINITY);
        assert_eq!(Cosh::float(-f32::NAN).to_bits(), 0x7fc0_0000);
        assert!(Cosh::float(-89.4f32).is_finite() && Cosh::float(710.4f64).is_finite());
        assert_eq!(Cosh::float(1e30f32), f32::INFINITY);
        assert_eq!(Cosh::float(-710.5f64), f64::INFINITY);
    }
}
