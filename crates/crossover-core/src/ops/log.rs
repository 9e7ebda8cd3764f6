//! `log`: natural logarithm.

use super::{
    Binary, Cost, NanRule, OpInfo, Unary,
    atan2::Atan2,
    parts::{
        logarithm::{decompose_any, log_sum, with_ends},
        plane,
    },
};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane},
};

/// Natural logarithm.
pub struct Log;

impl Unary for Log {
    // Measured: f32 0.840 ulp over all arguments, f64 0.79 on 20 000 points.
    const INFO: OpInfo = OpInfo::new("log", DTypeSet::FLOAT.or(DTypeSet::COMPLEX), "Natural logarithm.")
        .max_ulp(1.0)
        .cost(Cost::Function)
        .nan(NanRule::Canonical);

    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        let (e, mantissa) = decompose_any(x);
        let value = log_sum(e, mantissa - L::real(1.0), |_| L::real(0.0));
        with_ends(x, value)
    }
    #[inline(always)]
    fn complex<L: FloatLane>(z: Cx<L>) -> Cx<L> {
        plane::canonical(Cx { re: plane::log_length(z), im: Atan2::float(z.im, z.re) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values() {
        assert_eq!(Log::float(1.0f32).to_bits(), 0);
        assert_eq!(Log::float(1.0f64).to_bits(), 0);
        assert_eq!(Log::float(0.0f32), f32::NEG_INFINITY);
        assert_eq!(Log::float(-0.0f64), f64::NEG_INFINITY);
        assert_eq!(Log::float(f64::INFINITY), f64::INFINITY);
        for x in [-1.0f32, -1e-45, f32::NEG_INFINITY, -f32::NAN] {
            assert_eq!(Log::float(x).to_bits(), 0x7fc0_0000);
        }
        assert_eq!(Log::float(5e-324f64), -744.4400719213812);
        assert_eq!(Log::float(1e-45f32), -103.27893);
    }
}
