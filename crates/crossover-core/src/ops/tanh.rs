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
        // With E = e^2|x|: (E - 1)/(E + 1) has no cancellation near zero, where n = 0 and the numerator is e^r - 1;
        // from 1/2 up 1 - 2/(E + 1) is better, since the errors of its second term shrink. Both fractions are taken
        // over 2^n, so nothing overflows. From 10 (f32) or 20 (f64) on the result is 1.
        let doubled = x.magnitude() + x.magnitude();
        let split = exponential::split_rounded(at_most(doubled, pick(20.0, 40.0)));
        let power = split.inverse_power();
        let tail = split.tail();
        let one = L::real(1.0);
        let far = doubled.is_gt(L::real(1.1));
        let top = L::select(far, power + power, split.plus_constant(one - power, tail));
        let ratio = top / ((one + power) + (split.r + tail));
        let value = L::select(far, one - ratio, ratio).with_sign(x);
        L::select(x.is_nan(), L::nan(), value)
    }
}
