//! `log1p`: natural logarithm of one plus the operand, accurate near zero.

use super::{
    Cost, NanRule, OpInfo, Unary,
    parts::logarithm::{decompose, log_sum},
};
use crate::{DTypeSet, lane::FloatLane};

/// Natural logarithm of one plus the operand, accurate near zero.
pub struct Log1p;

impl Unary for Log1p {
    // Measured: f32 0.841 ulp over all arguments, f64 0.75 on 20 000 points.
    const INFO: OpInfo = OpInfo::new(
        "log1p",
        DTypeSet::FLOAT,
        "Natural logarithm of one plus the operand, accurate near zero.",
    )
    .max_ulp(1.0)
    .cost(Cost::Function)
    .nan(NanRule::Canonical);

    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        let (zero, one, infinity) = (L::real(0.0), L::real(1.0), L::real(f64::INFINITY));
        // 1 + x = u + c exactly; u = 2^e · m.
        let u = one + x;
        let c = L::select(x.is_lt(one), x - (u - one), one - (u - x));
        let (e, m) = decompose(u);
        // Where 1 + x needs no scaling, x itself is the exact fraction; elsewhere c is scaled as u was, which is
        // to multiply by m/u, and log(m + c) = log m + c/m = log m + c/u.
        let near = e.is_eq(zero);
        let f = L::select(near, x, m - one);
        let c = L::select(near, zero, c / u);
        let value = log_sum(e, f, |_| c);
        let value = L::select(x.is_lt(infinity), value.with_sign(x), infinity);
        let value = L::select(x.is_eq(-one), -infinity, value);
        L::select(x.is_ge(-one), value, L::nan())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values() {
        for x in [0.0f64, -0.0, 5e-324, -5e-324, 1e-300, -1e-20] {
            assert_eq!(Log1p::float(x).to_bits(), x.to_bits());
        }
        assert_eq!(Log1p::float(-0.0f32).to_bits(), (-0.0f32).to_bits());
        assert_eq!(Log1p::float(-1.0f32), f32::NEG_INFINITY);
        assert_eq!(Log1p::float(f64::INFINITY), f64::INFINITY);
        for x in [-1.5f32, f32::NEG_INFINITY, f32::NAN] {
            assert_eq!(Log1p::float(x).to_bits(), 0x7fc0_0000);
        }
    }
}
