//! `sqrt`: square root.

use super::{Cost, OpInfo, Unary, parts::plane};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane},
};

/// Square root, correctly rounded; NaN below zero.
pub struct Sqrt;

impl Unary for Sqrt {
    const INFO: OpInfo = OpInfo::new(
        "sqrt",
        DTypeSet::FLOAT.or(DTypeSet::COMPLEX),
        "Square root, correctly rounded; NaN below zero.",
    )
    .cost(Cost::Divide)
    .complex_signs();
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        x.sqrt()
    }
    #[inline(always)]
    fn complex<L: FloatLane>(z: Cx<L>) -> Cx<L> {
        plane::sqrt(z)
    }
}
