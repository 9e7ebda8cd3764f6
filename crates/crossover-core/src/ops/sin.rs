//! `sin`: sine of radians.

use super::{Cost, OpInfo, Unary};
use crate::{DTypeSet, lane::FloatLane};

/// Sine of radians.
pub struct Sin;

impl Unary for Sin {
    const INFO: OpInfo =
        OpInfo::new("sin", DTypeSet::FLOAT, "Sine of radians.").max_ulp(2.0).cost(Cost::Function);
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        x * x // stand-in until the body is written
    }
}
