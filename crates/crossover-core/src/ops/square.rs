//! `square`: the operand times itself.

use super::{OpInfo, Unary};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane, IntLane},
};

/// The operand times itself.
pub struct Square;

impl Unary for Square {
    const INFO: OpInfo = OpInfo::new("square", DTypeSet::NUMBER, "The operand times itself.");
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        x * x
    }

    #[inline(always)]
    fn int<L: IntLane>(x: L) -> L {
        x.times(x)
    }

    #[inline(always)]
    fn complex<L: FloatLane>(x: Cx<L>) -> Cx<L> {
        <super::multiply::Multiply as super::Binary>::complex(x, x)
    }
}
