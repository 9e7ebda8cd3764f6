//! `sin`: sine of radians.

use super::{
    Cost, NanRule, OpInfo, Unary,
    parts::angle::{is_huge, reduce, reduce_huge, sine},
};
use crate::{
    DTypeSet,
    lane::{F32Lane, F64Lane, FloatLane, IntLane},
};

/// Sine of radians.
pub struct Sin;

impl Unary for Sin {
    const INFO: OpInfo = OpInfo::new("sin", DTypeSet::FLOAT, "Sine of radians.")
        .max_ulp(2.0)
        .cost(Cost::Function)
        .nan(NanRule::Canonical);
    const RARE: bool = true;

    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        let size = x.magnitude();
        let value = turn(sine(reduce(size), 0), x);
        L::select(size.is_lt(L::real(f64::INFINITY)), value, L::nan())
    }
    #[inline(always)]
    fn rare_f32<L: F32Lane>(x: L) -> L::Mask {
        is_huge(x)
    }
    #[inline(always)]
    fn slow_f32<L: F32Lane>(x: L) -> L {
        L::narrow(huge::<true, L::Wide>(x.widen()))
    }
    #[inline(always)]
    fn rare_f64<L: F64Lane>(x: L) -> L::Mask {
        is_huge(x)
    }
    #[inline(always)]
    fn slow_f64<L: F64Lane>(x: L) -> L {
        huge::<false, L>(x)
    }
}

#[inline(always)]
fn huge<const FLOAT32: bool, L: F64Lane>(x: L) -> L {
    turn(sine(reduce_huge::<FLOAT32, L>(x.magnitude()), 0), x)
}

/// The sine is odd: `value` belongs to the magnitude of `x`.
#[inline(always)]
fn turn<L: FloatLane>(value: L, x: L) -> L {
    let sign = x.bits().and(L::Bits::int(1).shl(L::Bits::BITS - 1));
    L::from_bits(value.bits().xor(sign))
}
