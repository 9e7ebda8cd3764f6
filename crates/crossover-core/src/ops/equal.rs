//! `equal`: whether the first operand is equal to the second.

use super::{Compare, NanRule, OpInfo};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane, Lane},
};

/// True where the first operand is equal to the second.
pub struct Equal;

impl Compare for Equal {
    const INFO: OpInfo =
        OpInfo::new("equal", DTypeSet::ALL, "True where the first operand is equal to the second.")
            .nan(NanRule::Canonical)
            .commutative();
    #[inline(always)]
    fn real<L: Lane>(a: L, b: L) -> L::Mask {
        a.is_eq(b)
    }

    #[inline(always)]
    fn complex<L: FloatLane>(a: Cx<L>, b: Cx<L>) -> L::Mask {
        a.re.is_eq(b.re) & a.im.is_eq(b.im)
    }
}
