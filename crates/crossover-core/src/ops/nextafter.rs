//! `nextafter`: the neighbour of a float.

use super::{Binary, NanRule, OpInfo};
use crate::{
    DTypeSet,
    lane::{Arith, FloatLane, IntLane, Lane},
};

/// Next float after the first operand in the direction of the second.
pub struct Nextafter;

impl Binary for Nextafter {
    // 16-bit floats compute in `f32`, whose neighbours round back to where they came from: `compose::binary` has theirs.
    const INFO: OpInfo = OpInfo::new(
        "nextafter",
        DTypeSet::FLOAT32_64,
        "Next float after the first operand in the direction of the second.",
    )
    .nan(NanRule::Canonical);

    #[inline(always)]
    fn float<L: FloatLane>(a: L, b: L) -> L {
        let zero = L::real(0.0);
        let one = L::Bits::int(1);
        // Away from zero the magnitude grows by one unit, which is one in the bits; towards zero it shrinks.
        let away = a.is_lt(b) ^ a.is_lt(zero);
        let bits = a.bits();
        let moved = L::from_bits(L::Bits::select(away, bits.plus(one), bits.minus(one)));
        let first = L::from_bits(one).with_sign(b);
        let value = L::select(a.is_eq(zero), first, moved);
        let value = L::select(a.is_eq(b), b, value);
        L::select(a.is_nan() | b.is_nan(), L::nan(), value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_cross_zero_and_reach_infinity() {
        let f = Nextafter::float::<f64>;
        assert_eq!(f(1.0, 2.0), 1.0f64.next_up());
        assert_eq!(f(1.0, -2.0), 1.0f64.next_down());
        assert_eq!(f(-1.0, 0.0), (-1.0f64).next_up());
        assert_eq!(f(-1.0, -9.0), (-1.0f64).next_down());
        assert_eq!(f(0.0, 1.0).to_bits(), 1);
        assert_eq!(f(-0.0, -1.0), -5e-324);
        assert_eq!(f(5e-324, -1.0).to_bits(), 0);
        assert_eq!(f(-5e-324, 1.0).to_bits(), (-0f64).to_bits());
        assert_eq!(f(0.0, -0.0).to_bits(), (-0f64).to_bits());
        assert_eq!(f(f64::MAX, f64::INFINITY), f64::INFINITY);
        assert_eq!(f(f64::NEG_INFINITY, 0.0), -f64::MAX);
        assert_eq!(f(f64::NAN, 1.0).to_bits(), 0x7ff8 << 48);
        assert_eq!(Nextafter::float(1.0f32, 1.0), 1.0);
    }
}
