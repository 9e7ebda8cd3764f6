//! `sinpi`: sine of half turns.

use super::{Binary, Cost, NanRule, OpInfo, parts::half_turns::sine};
use crate::{DTypeSet, lane::FloatLane};

/// Sine of π·(a + b); the sum is not rounded below 2^12 (f32) or 2^41 (f64).
///
/// Two numbers say where a far angle ends: its nearest multiple and what is left, or a product and its rounding error.
pub struct Sinpi;

impl Binary for Sinpi {
    const INFO: OpInfo = OpInfo::new(
        "sinpi",
        DTypeSet::FLOAT,
        "Sine of π·(a + b); the sum is not rounded below 2^12 (f32) or 2^41 (f64).",
    )
    .max_ulp(2.0)
    .cost(Cost::Function)
    .nan(NanRule::Canonical)
    .commutative();

    #[inline(always)]
    fn float<L: FloatLane>(a: L, b: L) -> L {
        sine(a, b, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_of_a_quarter_are_exact() {
        let f = Sinpi::float::<f64>;
        for (at, wanted) in [(0.0, 0.0), (0.5, 1.0), (1.0, 0.0), (1.5, -1.0), (-0.5, -1.0), (1e300, 0.0)] {
            assert_eq!(f(at, 0.0), wanted, "{at}");
        }
        assert_eq!(Sinpi::float(8388607.5f32, 0.0), -1.0);
        assert_eq!(f(4503599627370495.5, 0.0), -1.0);
        assert_eq!(
            (f(f64::MAX, 0.0), Sinpi::float(f32::MAX, 0.0), Sinpi::float(2e38f32, 1e38)),
            (0.0, 0.0, 0.0)
        );
        assert!(
            f(f64::INFINITY, 0.0).is_nan() && f(f64::NAN, 1.0).is_nan() && f(f64::MAX, f64::MAX).is_nan()
        );
    }

    #[test]
    fn a_small_second_part_keeps_its_digits() {
        // sin(π·(n + x)) = ±π·x for a tiny x, which no sum could hold.
        for (whole, sign) in [(1e12, 1.0), (1e12 + 1.0, -1.0), (3.0, -1.0), (-7.0, -1.0)] {
            let found = Sinpi::float(whole, 1e-30f64);
            assert!(
                (found / (sign * std::f64::consts::PI * 1e-30) - 1.0).abs() < 4e-16,
                "{whole}: {found:e}"
            );
        }
        let found = Sinpi::float(1e3f32, 1e-12);
        assert!((found / 3.141_592_7e-12 - 1.0).abs() < 2.4e-7, "{found:e}");
    }
}
