//! `expm1`: e to the power of the operand, minus one, accurate near zero.

use super::{
    Cost, NanRule, OpInfo, Unary,
    parts::{at_least, at_most, exponential, pick},
};
use crate::{
    DTypeSet,
    lane::FloatLane,
};

/// e to the power of the operand, minus one, accurate near zero.
pub struct Expm1;

impl Unary for Expm1 {
    const INFO: OpInfo =
        OpInfo::new("expm1", DTypeSet::FLOAT, "e to the power of the operand, minus one, accurate near zero.")
            .max_ulp(1.0)
            .cost(Cost::Function)
            .nan(NanRule::Canonical);

    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        // Below -20 (f32) or -40 (f64) the result is -1.
        let (_, high) = exponential::limits();
        let split = exponential::split(at_least(at_most(x, high), pick(-20.0, -40.0)), L::real(0.0));
        // e^x - 1 = 2^n · ((1 - 2^-n) + (e^r - 1)); past n = 2·DIGITS the power no longer counts, and is no longer
        // a float.
        let (zero, one) = (L::real(0.0), L::real(1.0));
        let power = L::select(split.n.is_gt(L::whole(2 * L::DIGITS as i32)), zero, split.inverse_power());
        let constant = one - power;
        let lost = (one - constant) - power;
        let value = split.scale(split.plus_constant(constant, split.tail() + lost)).with_sign(x);
        L::select(x.is_nan(), L::nan(), value)
    }
}
