//! `logaddexp`: sum of two numbers given by their logarithms.

use super::{Binary, Cost, NanRule, OpInfo, parts::double::sum, softplus::log_one_plus_exp};
use crate::{DTypeSet, lane::FloatLane};

/// Logarithm of the sum of exponentials: log(exp(a) + exp(b)).
///
/// The error is in units of the last place of the larger operand where that is larger than the result: near a result
/// of zero the two terms cancel.
pub struct Logaddexp;

impl Binary for Logaddexp {
    const INFO: OpInfo = OpInfo::new(
        "logaddexp",
        DTypeSet::FLOAT,
        "Logarithm of the sum of exponentials: log(exp(a) + exp(b)).",
    )
    .max_ulp(3.0)
    .cost(Cost::Function)
    .nan(NanRule::Canonical)
    .commutative();

    #[inline(always)]
    fn float<L: FloatLane>(a: L, b: L) -> L {
        let zero = L::real(0.0);
        let larger = L::select(a.is_gt(b), a, b);
        let smaller = L::select(a.is_gt(b), b, a);
        // The exponential magnifies the rounding error of the distance, so that is kept. Two equal infinities differ
        // by nothing.
        let (distance, error) = sum(smaller, -larger);
        let same = a.is_eq(b);
        let value = larger + log_one_plus_exp(L::select(same, zero, distance), L::select(same, zero, error));
        L::select(a.is_nan() | b.is_nan(), L::nan(), value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values() {
        let (inf, f) = (f64::INFINITY, Logaddexp::float::<f64>);
        assert_eq!(f(0.0, 0.0), std::f64::consts::LN_2);
        assert_eq!(f(inf, inf), inf);
        assert_eq!(f(-inf, -inf), -inf);
        assert_eq!(f(inf, -inf), inf);
        assert_eq!(f(-inf, 3.5), 3.5);
        assert_eq!(f(1000.0, 0.0), 1000.0);
        for (a, b) in [(f64::NAN, 1.0), (1.0, -f64::NAN), (f64::NAN, inf)] {
            assert_eq!(f(a, b).to_bits(), 0x7ff8 << 48);
        }
    }
}
