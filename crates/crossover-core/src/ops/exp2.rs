//! `exp2`: two to the power of the operand.

use super::{
    Cost, NanRule, OpInfo, Unary,
    parts::{at_least, at_most, exponential, pick},
};
use crate::{DTypeSet, lane::FloatLane};

/// Two to the power of the operand.
pub struct Exp2;

impl Unary for Exp2 {
    // Measured: f32 0.782 ulp over all arguments, f64 0.63 on 2000 points.
    const INFO: OpInfo = OpInfo::new("exp2", DTypeSet::FLOAT, "Two to the power of the operand.")
        .max_ulp(1.0)
        .cost(Cost::Function)
        .nan(NanRule::Canonical);

    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        // Beyond these the result is 0 or infinite for certain.
        let inside = at_least(at_most(x, pick(129.0, 1025.0)), pick(-151.0, -1076.0));
        let split = exponential::split_base_two(inside);
        L::select(x.is_nan(), L::nan(), split.scale(split.mantissa()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values() {
        assert_eq!(Exp2::float(-0.0f64), 1.0);
        assert_eq!(Exp2::float(f32::NEG_INFINITY).to_bits(), 0);
        assert_eq!(Exp2::float(f64::INFINITY), f64::INFINITY);
        assert_eq!(Exp2::float(-f32::NAN).to_bits(), 0x7fc0_0000);
        assert_eq!(Exp2::float(-150.0f32).to_bits(), 0);
        assert_eq!(Exp2::float(1024.0f64), f64::INFINITY);
    }

    #[test]
    fn whole_exponents_are_exact() {
        for n in -149..128 {
            assert_eq!(Exp2::float(n as f32) as f64, 2f64.powi(n));
        }
        for n in -1074..1024 {
            assert_eq!(Exp2::float(n as f64), 2f64.powi(n / 2) * 2f64.powi(n - n / 2));
        }
    }
}
