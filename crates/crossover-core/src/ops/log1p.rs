//! `log1p`: log(1 + x) without cancellation.

use super::{Cost, OpInfo, Unary};
use crate::{DTypeSet, lane::FloatLane};

/// log(1 + x) without cancellation.
pub struct Log1p;

impl Unary for Log1p {
    const INFO: OpInfo = OpInfo::new("log1p", DTypeSet::FLOAT, "log(1 + x) without cancellation.")
        .max_ulp(2.0)
        .cost(Cost::Function);
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        x * x // stand-in until the body is written
    }
}
