//! `fma`: product and sum in one rounding.

use super::{OpInfo, Ternary};
use crate::{
    DTypeSet,
    lane::{FloatLane, IntLane},
};

/// `a * b + c` rounded once; integers wrap.
pub struct Fma;

impl Ternary for Fma {
    const INFO: OpInfo = OpInfo::new("fma", DTypeSet::REAL, "`a * b + c` rounded once; integers wrap.");
    #[inline(always)]
    fn float<L: FloatLane>(a: L, b: L, c: L) -> L {
        a.fma(b, c)
    }

    #[inline(always)]
    fn int<L: IntLane>(a: L, b: L, c: L) -> L {
        a.times(b).plus(c)
    }
}
