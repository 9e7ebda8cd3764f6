//! `hypot`: length of a vector of two.

use super::{Binary, Cost, NanRule, OpInfo, parts::length::length};
use crate::{DTypeSet, lane::FloatLane};

/// Square root of the sum of squares, without overflow on the way.
pub struct Hypot;

impl Binary for Hypot {
    const INFO: OpInfo = OpInfo::new(
        "hypot",
        DTypeSet::FLOAT,
        "Square root of the sum of squares, without overflow on the way.",
    )
    .max_ulp(1.0)
    .cost(Cost::Function)
    .nan(NanRule::Canonical)
    .commutative();

    #[inline(always)]
    fn float<L: FloatLane>(a: L, b: L) -> L {
        length(a, b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values() {
        let f = Hypot::float::<f64>;
        assert_eq!(f(3.0, -4.0), 5.0);
        assert_eq!(f(-0.0, 0.0).to_bits(), 0);
        assert!((f(3e200, 4e200) / 5e200 - 1.0).abs() < 3e-16);
        assert_eq!(f(f64::MAX, f64::MAX), f64::INFINITY);
        assert_eq!(f(5e-324, 0.0), 5e-324);
        assert_eq!(f(f64::NAN, f64::NEG_INFINITY), f64::INFINITY);
        assert_eq!(f(f64::NAN, 1.0).to_bits(), 0x7ff8 << 48);
        assert_eq!(Hypot::float(3e-45f32 * 3.0, 3e-45 * 4.0), 3e-45 * 5.0);
    }
}
