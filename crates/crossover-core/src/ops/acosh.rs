//! `acosh`: inverse hyperbolic cosine.

use std::f64::consts::{FRAC_PI_2, LN_2};

use super::{
    Binary, Cost, NanRule, OpInfo, Unary,
    asinh::Asinh,
    atan2::Atan2,
    parts::{
        double::{product, sum_ordered},
        logarithm::{is_far, log_one_plus_or_twice},
        plane,
    },
};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane},
};

/// Inverse hyperbolic cosine; NaN below 1.
pub struct Acosh;

impl Unary for Acosh {
    // Measured: f32 1.130 ulp over every fifth argument, f64 0.97 on 2000 points.
    const INFO: OpInfo = OpInfo::new(
        "acosh",
        DTypeSet::FLOAT.or(DTypeSet::COMPLEX),
        "Inverse hyperbolic cosine; NaN below 1.",
    )
    .max_ulp(2.0)
    .cost(Cost::Function)
    .nan(NanRule::Canonical);

    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        let (zero, one) = (L::real(0.0), L::real(1.0));
        // log(x + √(x² - 1)) = log1p(d + v) with d = x - 1 and v = √(d·(x + 1)), v with its rounding error.
        let d = x - one;
        let (square, square_error) = product(d, x + one);
        let v = square.sqrt();
        let left = (-v).fma(v, square) + square_error;
        let v_lo = L::select(v.is_gt(zero), left / (v + v), zero);
        let (sum, sum_lo) = sum_ordered(v, d);
        let value = log_one_plus_or_twice(sum, sum_lo + v_lo, is_far(x), x);
        let value = L::select(x.is_lt(L::real(f64::INFINITY)), value, x);
        L::select(x.is_ge(one), value, L::nan())
    }
    #[inline(always)]
    fn complex<L: FloatLane>(z: Cx<L>) -> Cx<L> {
        let one = L::real(1.0);
        let a = plane::sqrt(Cx { re: z.re - one, im: z.im });
        let b = plane::sqrt(Cx { re: z.re + one, im: z.im });
        let far = plane::is_far(z);
        let re =
            L::select(far, plane::log_length(z) + L::real(LN_2), Asinh::float(a.re * b.re + a.im * b.im));
        let im = L::select(far, Atan2::float(z.im, z.re), L::real(2.0) * Atan2::float(a.im, b.re));
        // Every number over the origin has a right angle, also one that is not known.
        let above = z.re.is_eq(L::real(0.0)) & z.im.is_nan();
        plane::canonical(Cx { re, im: L::select(above, L::real(FRAC_PI_2), im) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values() {
        assert_eq!(Acosh::float(1.0f64).to_bits(), 0);
        assert_eq!(Acosh::float(1.0f32).to_bits(), 0);
        assert_eq!(Acosh::float(f32::INFINITY), f32::INFINITY);
        assert!((Acosh::float(f64::MAX) - 710.4758600739439).abs() < 2e-13);
        for x in [0.99f32, 0.0, -1.0, f32::NEG_INFINITY, -f32::NAN] {
            assert_eq!(Acosh::float(x).to_bits(), 0x7fc0_0000);
        }
    }
}
