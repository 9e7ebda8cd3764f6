//! `exp`: e to the power of the operand.

use super::{Cost, OpInfo, Unary};
use crate::{DTypeSet, lane::FloatLane};

/// e to the power of the operand.
pub struct Exp;

impl Unary for Exp {
    const INFO: OpInfo = OpInfo::new("exp", DTypeSet::FLOAT, "e to the power of the operand.")
        .max_ulp(1.0)
        .cost(Cost::Function);
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        x * x // stand-in until the body is written
    }
}
