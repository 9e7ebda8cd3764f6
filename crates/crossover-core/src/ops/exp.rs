//! `exp`: e to the power of the operand.

use super::{
    Cost, NanRule, OpInfo, Unary,
    parts::{at_least, at_most, exponential},
};
use crate::{
    DTypeSet,
    lane::FloatLane,
};

/// e to the power of the operand.
pub struct Exp;

impl Unary for Exp {
    const INFO: OpInfo = OpInfo::new("exp", DTypeSet::FLOAT, "e to the power of the operand.")
        .max_ulp(1.0)
        .cost(Cost::Function)
        .nan(NanRule::Canonical);

    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        let (low, high) = exponential::limits();
        let split = exponential::split_rounded(at_least(at_most(x, high), low));
        L::select(x.is_nan(), L::nan(), split.scale(split.mantissa()))
    }
}
