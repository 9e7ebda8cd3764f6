//! `atan2`: the angle of a point.

use super::{Binary, Cost, NanRule, OpInfo, parts::arc::direction};
use crate::{
    DTypeSet,
    lane::{FloatLane, IntLane, Lane},
};

/// Angle in radians of the point whose height is the first operand and whose width the second, between -π and π.
pub struct Atan2;

impl Binary for Atan2 {
    const INFO: OpInfo = OpInfo::new(
        "atan2",
        DTypeSet::FLOAT,
        "Angle in radians of the point whose height is the first operand and whose width the second, \
         between -π and π.",
    )
    .max_ulp(2.0)
    .cost(Cost::Function)
    .nan(NanRule::Canonical);

    #[inline(always)]
    fn float<L: FloatLane>(y: L, x: L) -> L {
        // By the sign bit: a point on the left of zero can be zero itself.
        let left = x.int_bits().is_lt(L::Int::int(0));
        let value = direction(y.magnitude(), x.magnitude(), left).with_sign(y);
        L::select(y.is_nan() | x.is_nan(), L::nan(), value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_zeros_and_infinities_follow_c99() {
        let special =
            [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MAX, 5e-324, -5e-324];
        for y in special {
            for x in special {
                let (got, want) = (Atan2::float(y, x), y.atan2(x));
                let same = got.to_bits() == want.to_bits() || want.is_nan() && got.to_bits() == 0x7ff8 << 48;
                assert!(same, "atan2({y}, {x}) = {got}, not {want}");
                let (y, x) = (y as f32, x as f32);
                let (got, want) = (Atan2::float(y, x), y.atan2(x));
                let same = got.to_bits() == want.to_bits() || want.is_nan() && got.to_bits() == 0x7fc0_0000;
                assert!(same, "f32 atan2({y}, {x}) = {got}, not {want}");
            }
        }
    }

    #[test]
    fn large_operands_do_not_overflow() {
        assert!((Atan2::float(0.75 * f64::MAX, f64::MAX) - 0.75f64.atan()).abs() < 1e-15);
        assert!((Atan2::float(0.75 * f32::MAX, -f32::MAX) - 0.75f32.atan2(-1.0)).abs() < 1e-6);
    }
}
