//! `sigmoid`: 1 / (1 + exp(-x)).

use super::{Cost, OpInfo, Unary};
use crate::{DTypeSet, lane::FloatLane};

/// 1 / (1 + exp(-x)).
pub struct Sigmoid;

impl Unary for Sigmoid {
    const INFO: OpInfo =
        OpInfo::new("sigmoid", DTypeSet::FLOAT, "1 / (1 + exp(-x)).").max_ulp(2.0).cost(Cost::Function);
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        x * x // stand-in until the body is written
    }
}
