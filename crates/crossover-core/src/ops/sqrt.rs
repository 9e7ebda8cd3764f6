//! `sqrt`: square root.

use super::{Cost, OpInfo, Unary};
use crate::{DTypeSet, lane::FloatLane};

/// Square root, correctly rounded; NaN below zero.
pub struct Sqrt;

impl Unary for Sqrt {
    const INFO: OpInfo =
        OpInfo::new("sqrt", DTypeSet::FLOAT, "Square root, correctly rounded; NaN below zero.")
            .cost(Cost::Divide);
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        x.sqrt()
    }
}
