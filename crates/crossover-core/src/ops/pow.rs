//! `pow`: power.

use super::{Binary, Cost, OpInfo};
use crate::{
    DTypeSet,
    lane::{FloatLane, IntLane},
};

/// The first operand to the power of the second; integers wrap.
pub struct Pow;

impl Binary for Pow {
    const INFO: OpInfo =
        OpInfo::new("pow", DTypeSet::REAL, "The first operand to the power of the second; integers wrap.")
            .max_ulp(2.0)
            .cost(Cost::Heavy);
    #[inline(always)]
    fn float<L: FloatLane>(a: L, b: L) -> L {
        a * b // stand-in until the body is written
    }

    #[inline(always)]
    fn int<L: IntLane>(a: L, b: L) -> L {
        a.times(b) // stand-in until the body is written
    }
}
