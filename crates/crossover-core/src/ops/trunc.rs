//! `trunc`: nearest whole number towards zero.

use super::{OpInfo, Unary};
use crate::{
    DTypeSet,
    lane::{FloatLane, IntLane},
};

/// Nearest whole number towards zero.
pub struct Trunc;

impl Unary for Trunc {
    const INFO: OpInfo =
        OpInfo::new("trunc", DTypeSet::REAL, "Nearest whole number towards zero.").idempotent();
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        x.trunc()
    }

    #[inline(always)]
    fn int<L: IntLane>(x: L) -> L {
        x
    }
}
