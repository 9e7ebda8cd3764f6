//! `add`: sum.

use super::{Binary, OpInfo};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane, IntLane},
};

/// Sum; integers wrap, and for booleans it is or.
pub struct Add;

impl Binary for Add {
    const INFO: OpInfo =
        OpInfo::new("add", DTypeSet::ALL, "Sum; integers wrap, and for booleans it is or.").commutative();
    #[inline(always)]
    fn float<L: FloatLane>(a: L, b: L) -> L {
        a + b
    }

    #[inline(always)]
    fn int<L: IntLane>(a: L, b: L) -> L {
        a.plus(b)
    }

    #[inline(always)]
    fn boolean<L: IntLane>(a: L, b: L) -> L {
        a.or(b)
    }

    #[inline(always)]
    fn complex<L: FloatLane>(a: Cx<L>, b: Cx<L>) -> Cx<L> {
        Cx { re: a.re + b.re, im: a.im + b.im }
    }
}
