//! `bitwise_and`: and of every bit.

use super::{Binary, NanRule, OpInfo};
use crate::{DTypeSet, lane::IntLane};

/// Bitwise and; logical for booleans.
pub struct BitwiseAnd;

impl Binary for BitwiseAnd {
    const INFO: OpInfo =
        OpInfo::new("bitwise_and", DTypeSet::BOOL.or(DTypeSet::INT), "Bitwise and; logical for booleans.")
            .nan(NanRule::Exact)
            .commutative();
    #[inline(always)]
    fn int<L: IntLane>(a: L, b: L) -> L {
        a.and(b)
    }
}
