//! `bitwise_left_shift`: bits moved up.

use super::{Binary, NanRule, OpInfo};
use crate::{DTypeSet, lane::IntLane};

/// Bits moved up by the second operand; 0 when it is negative or not below the width.
pub struct BitwiseLeftShift;

impl Binary for BitwiseLeftShift {
    const INFO: OpInfo = OpInfo::new(
        "bitwise_left_shift",
        DTypeSet::INT,
        "Bits moved up by the second operand; 0 when it is negative or not below the width.",
    )
    .nan(NanRule::Exact);
    #[inline(always)]
    fn int<L: IntLane>(a: L, b: L) -> L {
        let inside = b.is_ge(L::int(0)) & b.is_lt(L::int(L::BITS as i64));
        L::select(inside, a.shl_lane(b), L::int(0))
    }
}
