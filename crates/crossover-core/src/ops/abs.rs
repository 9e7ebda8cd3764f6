//! `abs`: magnitude of real numbers.

use super::{NanRule, OpInfo, Unary};
use crate::{
    DTypeSet,
    lane::{FloatLane, IntLane},
};

/// Magnitude: the sign bit cleared; the most negative integer stays itself.
pub struct Abs;

impl Unary for Abs {
    const INFO: OpInfo = OpInfo::new(
        "abs",
        DTypeSet::REAL,
        "Magnitude: the sign bit cleared; the most negative integer stays itself.",
    )
    .nan(NanRule::Exact)
    .idempotent();
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        x.magnitude()
    }

    #[inline(always)]
    fn int<L: IntLane>(x: L) -> L {
        if L::SIGNED { L::select(x.is_lt(L::int(0)), L::int(0).minus(x), x) } else { x }
    }
}
