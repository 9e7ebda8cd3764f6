//! `cospi`: cosine of half turns.

use super::{Binary, Cost, NanRule, OpInfo, parts::half_turns::sine};
use crate::{DTypeSet, lane::FloatLane};

/// Cosine of π·(a + b); the sum is not rounded below 2^12 (f32) or 2^41 (f64); see [`Sinpi`](super::sinpi::Sinpi).
pub struct Cospi;

impl Binary for Cospi {
    const INFO: OpInfo = OpInfo::new(
        "cospi",
        DTypeSet::FLOAT,
        "Cosine of π·(a + b); the sum is not rounded below 2^12 (f32) or 2^41 (f64).",
    )
    .max_ulp(2.0)
    .cost(Cost::Function)
    .nan(NanRule::Canonical)
    .commutative();

    #[inline(always)]
    fn float<L: FloatLane>(a: L, b: L) -> L {
        sine(a, b, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_of_a_quarter_are_exact() {
        let f = Cospi::float::<f64>;
        for (at, wanted) in [(0.0, 1.0), (0.5, 0.0), (1.0, -1.0), (1.5, 0.0), (-2.0, 1.0), (1e300, 1.0)] {
            assert_eq!(f(at, 0.0), wanted, "{at}");
        }
        assert!(f(f64::NEG_INFINITY, 0.0).is_nan());
    }

    #[test]
    fn next_to_a_zero_the_second_part_is_all_there_is() {
        for (whole, sign) in [(0.5, -1.0), (1.5, 1.0), (1e6 + 0.5, -1.0)] {
            let found = Cospi::float(whole, 1e-25f64);
            assert!(
                (found / (sign * std::f64::consts::PI * 1e-25) - 1.0).abs() < 4e-16,
                "{whole}: {found:e}"
            );
        }
    }
}
