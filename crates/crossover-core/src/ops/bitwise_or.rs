//! `bitwise_or`: or of every bit.

use super::{Binary, NanRule, OpInfo};
use crate::{DTypeSet, lane::IntLane};

/// Bitwise or; logical for booleans.
pub struct BitwiseOr;

impl Binary for BitwiseOr {
    const INFO: OpInfo =
        OpInfo::new("bitwise_or", DTypeSet::BOOL.or(DTypeSet::INT), "Bitwise or; logical for booleans.")
            .nan(NanRule::Exact)
            .commutative();
    #[inline(always)]
    fn int<L: IntLane>(a: L, b: L) -> L {
        a.or(b)
    }
}
