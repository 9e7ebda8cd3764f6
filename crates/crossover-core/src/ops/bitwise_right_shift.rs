//! `bitwise_right_shift`: bits moved down.

use super::{Binary, NanRule, OpInfo};
use crate::{DTypeSet, lane::IntLane};

/// Bits moved down by the second operand, the sign repeated; all sign when it is negative or not below the width.
pub struct BitwiseRightShift;

impl Binary for BitwiseRightShift {
    const INFO: OpInfo = OpInfo::new("bitwise_right_shift", DTypeSet::INT, "Bits moved down by the second operand, the sign repeated; all sign when it is negative or not below the width.")
        .nan(NanRule::Exact);
    #[inline(always)]
    fn int<L: IntLane>(a: L, b: L) -> L {
        let inside = b.is_ge(L::int(0)) & b.is_lt(L::int(L::BITS as i64));
        let emptied = if L::SIGNED { a.shr(L::BITS - 1) } else { L::int(0) };
        L::select(inside, a.shr_lane(b), emptied)
    }
}
