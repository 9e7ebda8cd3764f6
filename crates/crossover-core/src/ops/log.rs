//! `log`: natural logarithm.

use super::{
    Cost, NanRule, OpInfo, Unary,
    parts::logarithm::{decompose_any, log_sum},
};
use crate::{
    DTypeSet,
    lane::FloatLane,
};

/// Natural logarithm.
pub struct Log;

impl Unary for Log {
    const INFO: OpInfo = OpInfo::new("log", DTypeSet::FLOAT, "Natural logarithm.")
        .max_ulp(1.0)
        .cost(Cost::Function)
        .nan(NanRule::Canonical);

    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        let (e, mantissa) = decompose_any(x);
        let value = log_sum(e, mantissa - L::real(1.0), |_| L::real(0.0));
        let (zero, infinity) = (L::real(0.0), L::real(f64::INFINITY));
        let value = L::select(x.is_lt(infinity), value, infinity);
        let value = L::select(x.is_eq(zero), -infinity, value);
        L::select(x.is_ge(zero), value, L::nan())
    }
}
