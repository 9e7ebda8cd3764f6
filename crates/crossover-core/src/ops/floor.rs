//! `floor`: largest whole number not above.

use super::{OpInfo, Unary};
use crate::{
    DTypeSet,
    lane::{FloatLane, IntLane},
};

/// Largest whole number not above.
pub struct Floor;

impl Unary for Floor {
    const INFO: OpInfo = OpInfo::new("floor", DTypeSet::REAL, "Largest whole number not above.").idempotent();
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        x.floor()
    }

    #[inline(always)]
    fn int<L: IntLane>(x: L) -> L {
        x
    }
}
