//! `maximum`: larger of two.

use super::{Binary, NanRule, OpInfo};
use crate::{
    DTypeSet,
    lane::{FloatLane, IntLane},
};

/// Larger of two; NaN wins, and +0 is larger than -0.
pub struct Maximum;

impl Binary for Maximum {
    const INFO: OpInfo = OpInfo::new(
        "maximum",
        DTypeSet::BOOL.or(DTypeSet::REAL),
        "Larger of two; NaN wins, and +0 is larger than -0.",
    )
    .nan(NanRule::Canonical)
    .commutative();
    #[inline(always)]
    fn float<L: FloatLane>(a: L, b: L) -> L {
        // Equal operands differ at most in the sign of zero, which the bits decide.
        let tie = L::from_bits(a.bits().and(b.bits()));
        let best = L::select(a.is_gt(b), a, L::select(a.is_eq(b), tie, b));
        L::select(a.is_nan() | b.is_nan(), L::nan(), best)
    }

    #[inline(always)]
    fn int<L: IntLane>(a: L, b: L) -> L {
        L::select(a.is_gt(b), a, b)
    }
}
