//! `logical_not`: not, on booleans.

use super::{NanRule, OpInfo, Unary};
use crate::{DTypeSet, lane::IntLane};

/// True where the operand is false.
pub struct LogicalNot;

impl Unary for LogicalNot {
    const INFO: OpInfo = OpInfo::new("logical_not", DTypeSet::BOOL, "True where the operand is false.")
        .nan(NanRule::Exact)
        .involution();
    #[inline(always)]
    fn boolean<L: IntLane>(x: L) -> L {
        x.xor(L::int(1))
    }
}
