//! `greater`: whether the first operand is greater than the second.

use super::{Compare, NanRule, OpInfo};
use crate::{DTypeSet, lane::Lane};

/// True where the first operand is greater than the second.
pub struct Greater;

impl Compare for Greater {
    const INFO: OpInfo = OpInfo::new(
        "greater",
        DTypeSet::BOOL.or(DTypeSet::REAL),
        "True where the first operand is greater than the second.",
    )
    .nan(NanRule::Canonical);
    #[inline(always)]
    fn real<L: Lane>(a: L, b: L) -> L::Mask {
        a.is_gt(b)
    }
}
