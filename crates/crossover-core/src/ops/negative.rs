//! `negative`: the sign flipped.

use super::{NanRule, OpInfo, Unary};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane, IntLane},
};

/// The sign flipped; integers wrap.
pub struct Negative;

impl Unary for Negative {
    const INFO: OpInfo = OpInfo::new("negative", DTypeSet::NUMBER, "The sign flipped; integers wrap.")
        .nan(NanRule::Exact)
        .involution();
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        L::from_bits(x.bits().xor(L::Bits::int(1).shl(L::Bits::BITS - 1)))
    }

    #[inline(always)]
    fn int<L: IntLane>(x: L) -> L {
        L::int(0).minus(x)
    }

    #[inline(always)]
    fn complex<L: FloatLane>(x: Cx<L>) -> Cx<L> {
        Cx { re: Self::float(x.re), im: Self::float(x.im) }
    }
}
