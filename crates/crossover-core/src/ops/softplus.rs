//! `softplus`: smooth version of the larger of zero and the operand.

use super::{
    Cost, NanRule, OpInfo, Unary,
    parts::{
        at_least,
        exponential::{limits, split},
        logarithm::{log_sum, one_plus},
    },
};
use crate::{DTypeSet, lane::FloatLane};

/// Smooth version of max(x, 0): log(1 + exp(x)).
pub struct Softplus;

impl Unary for Softplus {
    // Measured: f32 1.542 ulp over every 37th argument, f64 1.03 on 2000 points.
    const INFO: OpInfo =
        OpInfo::new("softplus", DTypeSet::FLOAT, "Smooth version of max(x, 0): log(1 + exp(x)).")
            .max_ulp(2.0)
            .cost(Cost::Function)
            .nan(NanRule::Canonical);

    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        let zero = L::real(0.0);
        let value = L::select(x.is_gt(zero), x, zero) + log_one_plus_exp(-x.magnitude(), zero);
        L::select(x.is_nan(), L::nan(), value)
    }
}

/// `log(1 + e^(x + x_lo))` for x below zero, where `x_lo` is at most a unit in its last place.
#[inline(always)]
pub(super) fn log_one_plus_exp<L: FloatLane>(x: L, x_lo: L) -> L {
    let zero = L::real(0.0);
    let (low, _) = limits();
    let split = split(at_least(x, low), L::select(x.is_gt(low), x_lo, zero));
    let (e, f, rest) = one_plus(split.scale(split.mantissa()), zero);
    log_sum(e, f, |_| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values() {
        assert_eq!(Softplus::float(0.0f64), std::f64::consts::LN_2);
        assert_eq!(Softplus::float(f32::NEG_INFINITY).to_bits(), 0);
        assert_eq!(Softplus::float(f64::INFINITY), f64::INFINITY);
        assert_eq!(Softplus::float(1000.0f32), 1000.0);
        // The left tail is exp(x), subnormal numbers included.
        assert_eq!(Softplus::float(-103.0f32).to_bits(), 1);
        assert_eq!(Softplus::float(-f32::NAN).to_bits(), 0x7fc0_0000);
    }
}
