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
        let scaled = p * ratio;
        let cross = L::select(flat, q - scaled, scaled - q);
        // As NumPy: division by zero goes by parts, so that it gives infinities rather than NaN.
        let zero = large.is_eq(L::real(0.0));
        let size = large.magnitude();
        Cx {
            re: L::select(zero, a.re / size, (p + q * ratio) / divisor),
            im: L::select(zero, a.im / size, cross / divisor),
        }
    }
}
