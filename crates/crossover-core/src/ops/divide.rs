//! `divide`: quotient of real or complex numbers.

use super::{Binary, Cost, OpInfo};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane},
};

/// Quotient, correctly rounded for reals; complex by scaling with the larger part of the divisor.
pub struct Divide;

impl Binary for Divide {
    const INFO: OpInfo = OpInfo::new(
        "divide",
        DTypeSet::FLOAT.or(DTypeSet::COMPLEX),
        "Quotient, correctly rounded for reals; complex by scaling with the larger part of the divisor.",
    )
    .cost(Cost::Divide);
    #[inline(always)]
    fn float<L: FloatLane>(a: L, b: L) -> L {
        a / b
    }

    #[inline(always)]
    fn complex<L: FloatLane>(a: Cx<L>, b: Cx<L>) -> Cx<L> {
        // Smith's method: dividing by the larger part first keeps |b|² from overflowing.
        let flat = b.im.magnitude().is_le(b.re.magnitude());
        let large = L::select(flat, b.re, b.im);
        let small = L::select(flat, b.im, b.re);
        let ratio = small / large;
        let divisor = large + small * ratio;
        let (p, q) = (L::select(flat, a.re, a.im), L::select(flat, a.im, a.re));
        let re = (p + q * ratio) / divisor;
        let cross = (q - p * ratio) / divisor;
        Cx { re, im: L::select(flat, cross, -cross) }
    }
}
