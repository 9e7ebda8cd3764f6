//! `tanh`: hyperbolic tangent.

use super::{Cost, OpInfo, Unary};
use crate::{DTypeSet, lane::FloatLane};

/// Hyperbolic tangent.
pub struct Tanh;

impl Unary for Tanh {
    const INFO: OpInfo =
        OpInfo::new("tanh", DTypeSet::FLOAT, "Hyperbolic tangent.").max_ulp(2.0).cost(Cost::Function);
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        x * x // stand-in until the body is written
    }
}
