//! `expm1`: exp(x) - 1 without cancellation.

use super::{Cost, OpInfo, Unary};
use crate::{DTypeSet, lane::FloatLane};

/// exp(x) - 1 without cancellation.
pub struct Expm1;

impl Unary for Expm1 {
    const INFO: OpInfo = OpInfo::new("expm1", DTypeSet::FLOAT, "exp(x) - 1 without cancellation.")
        .max_ulp(2.0)
        .cost(Cost::Function);
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        x * x // stand-in until the body is written
    }
}
