//! `multiply`: product.

use super::{Binary, OpInfo};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane, IntLane},
};

/// Product; integers wrap, and for booleans it is and.
pub struct Multiply;

impl Binary for Multiply {
    const INFO: OpInfo =
        OpInfo::new("multiply", DTypeSet::ALL, "Product; integers wrap, and for booleans it is and.")
            .commutative();
    #[inline(always)]
    fn float<L: FloatLane>(a: L, b: L) -> L {
        a * b
    }

    #[inline(always)]
    fn int<L: IntLane>(a: L, b: L) -> L {
        a.times(b)
    }

    #[inline(always)]
    fn boolean<L: IntLane>(a: L, b: L) -> L {
        a.and(b)
    }

    #[inline(always)]
    fn complex<L: FloatLane>(a: Cx<L>, b: Cx<L>) -> Cx<L> {
        // Each part rounds its two products and their sum or difference; swapping the operands swaps equal terms.
        Cx { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
    }
}
