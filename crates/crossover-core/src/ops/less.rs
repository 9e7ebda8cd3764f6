//! `less`: whether the first operand is less than the second.

use super::{Compare, NanRule, OpInfo};
use crate::{DTypeSet, lane::Lane};

/// True where the first operand is less than the second.
pub struct Less;

impl Compare for Less {
    const INFO: OpInfo = OpInfo::new(
        "less",
        DTypeSet::BOOL.or(DTypeSet::REAL),
        "True where the first operand is less than the second.",
    )
    .nan(NanRule::Canonical);
    #[inline(always)]
    fn real<L: Lane>(a: L, b: L) -> L::Mask {
        a.is_lt(b)
    }
}
