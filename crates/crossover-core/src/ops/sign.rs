//! `sign`: -1, 0 or 1.

use super::{OpInfo, Unary, parts::length::length};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane, IntLane},
};

/// -1, 0 or 1 with the sign of the operand, a complex number over its magnitude; NaN stays itself.
pub struct Sign;

impl Unary for Sign {
    const INFO: OpInfo = OpInfo::new(
        "sign",
        DTypeSet::NUMBER,
        "-1, 0 or 1 with the sign of the operand, a complex number over its magnitude; NaN stays itself.",
    );
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        let (zero, unit) = (L::real(0.0), L::real(1.0).with_sign(x));
        // The sign of a zero is +0, as in NumPy and the standard.
        L::select(x.is_lt(zero) | x.is_gt(zero), unit, L::select(x.is_eq(zero), zero, x))
    }

    #[inline(always)]
    fn int<L: IntLane>(x: L) -> L {
        let positive = L::select(x.is_gt(L::int(0)), L::int(1), L::int(0));
        if L::SIGNED { L::select(x.is_lt(L::int(0)), L::int(-1), positive) } else { positive }
    }

    #[inline(always)]
    fn complex<L: FloatLane>(z: Cx<L>) -> Cx<L> {
        let (a, b) = (z.re.magnitude(), z.im.magnitude());
        // Over the larger part first, so that the length is in range.
        let large = L::select(a.is_gt(b), a, b);
        let (re, im) = (z.re / large, z.im / large);
        let size = length(re, im);
        let zero = L::real(0.0);
        let is_zero = large.is_eq(zero);
        Cx { re: L::select(is_zero, zero, re / size), im: L::select(is_zero, zero, im / size) }
    }
}
