//! `floor_divide`: quotient rounded down.

use super::{Binary, Cost, OpInfo};
use crate::{
    DTypeSet,
    lane::{FloatLane, IntLane},
};

/// Quotient rounded towards minus infinity; integers divided by zero give 0.
pub struct FloorDivide;

impl Binary for FloorDivide {
    const INFO: OpInfo = OpInfo::new(
        "floor_divide",
        DTypeSet::REAL,
        "Quotient rounded towards minus infinity; integers divided by zero give 0.",
    )
    .cost(Cost::Divide);
    #[inline(always)]
    fn float<L: FloatLane>(a: L, b: L) -> L {
        // As NumPy: from the exact remainder, so that a = b * q + r holds as closely as rounding allows.
        let r = super::remainder::Remainder::float(a, b);
        let q = ((a - r) / b).round();
        let special = b.is_eq(L::real(0.0))
            | (a / b).magnitude().is_ge(L::real(f64::INFINITY))
            | a.is_nan()
            | b.is_nan();
        let zero = L::real(0.0).with_sign(a / b);
        L::select(special, a / b, L::select(q.is_eq(L::real(0.0)), zero, q))
    }

    #[inline(always)]
    fn int<L: IntLane>(a: L, b: L) -> L {
        let q = a.quotient(b);
        if !L::SIGNED {
            return q;
        }
        let r = a.minus(q.times(b));
        let uneven = r.is_ne(L::int(0)) & (r.is_lt(L::int(0)) ^ b.is_lt(L::int(0))) & b.is_ne(L::int(0));
        L::select(uneven, q.minus(L::int(1)), q)
    }
}
