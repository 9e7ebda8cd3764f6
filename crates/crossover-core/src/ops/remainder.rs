//! `remainder`: what floor division leaves.

use super::{Binary, Cost, OpInfo};
use crate::{
    DTypeSet,
    lane::{FloatLane, IntLane},
};

/// Remainder with the sign of the divisor; integers modulo zero give 0.
pub struct Remainder;

impl Binary for Remainder {
    const INFO: OpInfo = OpInfo::new(
        "remainder",
        DTypeSet::REAL,
        "Remainder with the sign of the divisor; integers modulo zero give 0.",
    )
    .cost(Cost::Divide);

    #[inline(always)]
    fn float<L: FloatLane>(a: L, b: L) -> L {
        // One fused step is exact while the quotient has fewer bits than the significand; NumPy's fmod is exact for
        // all, so larger quotients go through it as well: the error of `a - q·b` is then at most one divisor.
        let q = (a / b).floor();
        let r = (-q).fma(b, a);
        // Rounding of a / b can put q one too high or too low.
        let r = L::select(r.is_ne(L::real(0.0)) & (r.is_lt(L::real(0.0)) ^ b.is_lt(L::real(0.0))), r + b, r);
        let r = L::select(r.magnitude().is_ge(b.magnitude()), r - b, r);
        let infinite =
            b.magnitude().is_eq(L::real(f64::INFINITY)) & a.magnitude().is_lt(L::real(f64::INFINITY));
        let same = a.is_eq(L::real(0.0))
            | (a.is_lt(L::real(0.0)) & b.is_lt(L::real(0.0)))
            | (a.is_gt(L::real(0.0)) & b.is_gt(L::real(0.0)));
        let r = L::select(infinite, L::select(same, a, b), r);
        L::select(r.is_eq(L::real(0.0)), L::real(0.0).with_sign(b), r)
    }

    #[inline(always)]
    fn int<L: IntLane>(a: L, b: L) -> L {
        let r = a.modulo(b);
        if !L::SIGNED {
            return r;
        }
        let wrong = r.is_ne(L::int(0)) & (r.is_lt(L::int(0)) ^ b.is_lt(L::int(0)));
        L::select(wrong, r.plus(b), r)
    }
}
