//! `sigmoid`: logistic function 1 / (1 + exp(-x)).

use super::{
    Cost, NanRule, OpInfo, Unary,
    parts::{at_least, exponential},
};
use crate::{DTypeSet, lane::FloatLane};

/// Logistic function 1 / (1 + exp(-x)).
pub struct Sigmoid;

impl Unary for Sigmoid {
    // Measured: f32 1.524 ulp over all arguments, f64 1.43 on 20 000 points.
    const INFO: OpInfo = OpInfo::new("sigmoid", DTypeSet::FLOAT, "Logistic function 1 / (1 + exp(-x)).")
        .max_ulp(1.6)
        .cost(Cost::Function)
        .nan(NanRule::Canonical);

    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        // With e = exp(-|x|) <= 1 nothing overflows, and the left tail is e itself down to the last subnormal.
        let (low, _) = exponential::limits();
        let split = exponential::split_rounded(at_least(-x.magnitude(), low));
        let e = split.scale(split.mantissa());
        let one = L::real(1.0);
        // 1 - q on the right and e - e·q on the left, with q = e/(1 + e): the errors of q shrink in both.
        let q = e / (one + e);
        let base = L::select(x.is_lt(L::real(0.0)), e, one);
        let value = (-base).fma(q, base);
        L::select(x.is_nan(), L::nan(), value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values() {
        assert_eq!(Sigmoid::float(0.0f32), 0.5);
        assert_eq!(Sigmoid::float(-0.0f64), 0.5);
        assert_eq!(Sigmoid::float(f32::INFINITY), 1.0);
        assert_eq!(Sigmoid::float(f64::NEG_INFINITY).to_bits(), 0);
        assert_eq!(Sigmoid::float(-f32::NAN).to_bits(), 0x7fc0_0000);
        // The left tail is exp(x), subnormal numbers included.
        assert_eq!(Sigmoid::float(-103.0f32).to_bits(), 1);
        assert_eq!(Sigmoid::float(-745.0f64).to_bits(), 1);
    }
}
