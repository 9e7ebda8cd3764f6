//! `not_equal`: whether the first operand is different from the second.

use super::{Compare, NanRule, OpInfo};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane, Lane},
};

/// True where the first operand is different from the second.
pub struct NotEqual;

impl Compare for NotEqual {
    const INFO: OpInfo =
        OpInfo::new("not_equal", DTypeSet::ALL, "True where the first operand is different from the second.")
            .nan(NanRule::Canonical)
            .commutative();
    #[inline(always)]
    fn real<L: Lane>(a: L, b: L) -> L::Mask {
        a.is_ne(b)
    }

    #[inline(always)]
    fn complex<L: FloatLane>(a: Cx<L>, b: Cx<L>) -> L::Mask {
        a.re.is_ne(b.re) | a.im.is_ne(b.im)
    }
}
