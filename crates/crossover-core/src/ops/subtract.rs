//! `subtract`: difference.

use super::{Binary, OpInfo};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane, IntLane},
};

/// Difference; integers wrap.
pub struct Subtract;

impl Binary for Subtract {
    const INFO: OpInfo = OpInfo::new("subtract", DTypeSet::NUMBER, "Difference; integers wrap.");
    #[inline(always)]
    fn float<L: FloatLane>(a: L, b: L) -> L {
        a - b
    }

    #[inline(always)]
    fn int<L: IntLane>(a: L, b: L) -> L {
        a.minus(b)
    }

    #[inline(always)]
    fn complex<L: FloatLane>(a: Cx<L>, b: Cx<L>) -> Cx<L> {
        Cx { re: a.re - b.re, im: a.im - b.im }
    }
}
