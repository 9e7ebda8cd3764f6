//! `cos`: cosine of radians.

use super::{Cost, OpInfo, Unary};
use crate::{DTypeSet, lane::FloatLane};

/// Cosine of radians.
pub struct Cos;

impl Unary for Cos {
    const INFO: OpInfo =
        OpInfo::new("cos", DTypeSet::FLOAT, "Cosine of radians.").max_ulp(2.0).cost(Cost::Function);
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        x * x // stand-in until the body is written
    }
}
