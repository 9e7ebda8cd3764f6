//! `erf`: error function.

use super::{Cost, OpInfo, Unary};
use crate::{DTypeSet, lane::FloatLane};

/// Error function.
pub struct Erf;

impl Unary for Erf {
    const INFO: OpInfo =
        OpInfo::new("erf", DTypeSet::FLOAT, "Error function.").max_ulp(2.0).cost(Cost::Function);
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        x * x // stand-in until the body is written
    }
}
