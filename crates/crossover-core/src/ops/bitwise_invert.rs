//! `bitwise_invert`: complement of every bit.

use super::{NanRule, OpInfo, Unary};
use crate::{DTypeSet, lane::IntLane};

/// Every bit flipped; logical not for booleans.
pub struct BitwiseInvert;

impl Unary for BitwiseInvert {
    const INFO: OpInfo = OpInfo::new(
        "bitwise_invert",
        DTypeSet::BOOL.or(DTypeSet::INT),
        "Every bit flipped; logical not for booleans.",
    )
    .nan(NanRule::Exact)
    .involution();
    #[inline(always)]
    fn int<L: IntLane>(x: L) -> L {
        x.invert()
    }

    #[inline(always)]
    fn boolean<L: IntLane>(x: L) -> L {
        x.xor(L::int(1))
    }
}
