//! `ceil`: smallest whole number not below.

use super::{OpInfo, Unary};
use crate::{
    DTypeSet,
    lane::{FloatLane, IntLane},
};

/// Smallest whole number not below.
pub struct Ceil;

impl Unary for Ceil {
    const INFO: OpInfo = OpInfo::new("ceil", DTypeSet::REAL, "Smallest whole number not below.").idempotent();
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        x.ceil()
    }

    #[inline(always)]
    fn int<L: IntLane>(x: L) -> L {
        x
    }
}
