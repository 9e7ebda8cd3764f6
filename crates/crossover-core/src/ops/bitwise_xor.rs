//! `bitwise_xor`: exclusive or of every bit.

use super::{Binary, NanRule, OpInfo};
use crate::{DTypeSet, lane::IntLane};

/// Bitwise exclusive or; logical for booleans.
pub struct BitwiseXor;

impl Binary for BitwiseXor {
    const INFO: OpInfo = OpInfo::new(
        "bitwise_xor",
        DTypeSet::BOOL.or(DTypeSet::INT),
        "Bitwise exclusive or; logical for booleans.",
    )
    .nan(NanRule::Exact)
    .commutative();
    #[inline(always)]
    fn int<L: IntLane>(a: L, b: L) -> L {
        a.xor(b)
    }
}
