//! `tanh`: hyperbolic tangent.

use super::{
    Cost, NanRule, OpInfo, Unary,
    parts::{at_most, exponential, pick},
};
use crate::{
    DTypeSet,
    lane::FloatLane,
};

/// Hyperbolic tangent.
pub struct Tanh;

impl Unary for Tanh {
    const INFO: OpInfo = OpInfo::new("tanh", DTypeSet::FLOAT, "Hyperbolic tangent.")
        .max_ulp(2.0)
        .cost(Cost::Function)
        .nan(NanRule::Canonical);

    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        // tanh x = (e^2x - 1) / (e^2x + 1), both divided by 2^n: no overflow, and no cancellation near zero, where
        // n = 0 and the numerator is e^r - 1. From 10 (f32) or 20 (f64) on the result is 1.
        let doubled = x.magnitude() + x.magnitude();
        let split = exponential::split_rounded(at_most(doubled, pick(20.0, 40.0)));
        let power = split.inverse_power();
        let tail = split.tail();
        let one = L::real(1.0);
        let numerator = split.plus_constant(one - power, tail);
        let denominator = (one + power) + (split.r + tail);
        let value = (numerator / denominator).with_sign(x);
        L::select(x.is_nan(), L::nan(), value)
    }
}
