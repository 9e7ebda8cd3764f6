//! `less_equal`: whether the first operand is less than or equal to the second.

use super::{Compare, NanRule, OpInfo};
use crate::{DTypeSet, lane::Lane};

/// True where the first operand is less than or equal to the second.
pub struct LessEqual;

impl Compare for LessEqual {
    const INFO: OpInfo = OpInfo::new(
        "less_equal",
        DTypeSet::BOOL.or(DTypeSet::REAL),
        "True where the first operand is less than or equal to the second.",
    )
    .nan(NanRule::Canonical);
    #[inline(always)]
    fn real<L: Lane>(a: L, b: L) -> L::Mask {
        a.is_le(b)
    }
}
