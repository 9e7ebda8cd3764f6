//! `round`: nearest whole number, ties to even.

use super::{OpInfo, Unary};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane, IntLane},
};

/// Nearest whole number, ties to even.
pub struct Round;

impl Unary for Round {
    const INFO: OpInfo =
        OpInfo::new("round", DTypeSet::NUMBER, "Nearest whole number, ties to even.").idempotent();
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        x.round()
    }

    #[inline(always)]
    fn int<L: IntLane>(x: L) -> L {
        x
    }

    #[inline(always)]
    fn complex<L: FloatLane>(z: Cx<L>) -> Cx<L> {
        Cx { re: z.re.round(), im: z.im.round() }
    }
}
