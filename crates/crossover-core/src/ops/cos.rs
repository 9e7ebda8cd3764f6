//! `cos`: cosine of radians.

use super::{
    Cost, NanRule, OpInfo, Unary,
    parts::angle::{is_huge, reduce, reduce_huge, sine},
};
use crate::{
    DTypeSet,
    lane::{F32Lane, F64Lane, FloatLane},
};

/// Cosine of radians.
pub struct Cos;

impl Unary for Cos {
    const INFO: OpInfo = OpInfo::new("cos", DTypeSet::FLOAT, "Cosine of radians.")
        .max_ulp(2.0)
        .cost(Cost::Function)
        .nan(NanRule::Canonical);
    const RARE: bool = true;

    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        let size = x.magnitude();
        let value = sine(reduce(size), 1);
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
    sine(reduce_huge::<FLOAT32, L>(x.magnitude()), 1)
}
