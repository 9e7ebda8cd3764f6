//! `log`: natural logarithm.

use super::{Cost, OpInfo, Unary};
use crate::{DTypeSet, lane::FloatLane};

/// Natural logarithm.
pub struct Log;

impl Unary for Log {
    const INFO: OpInfo =
        OpInfo::new("log", DTypeSet::FLOAT, "Natural logarithm.").max_ulp(1.0).cost(Cost::Function);
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        x * x // stand-in until the body is written
    }
}
