//! `copysign`: magnitude of one, sign of another.

use super::{Binary, NanRule, OpInfo};
use crate::{DTypeSet, lane::FloatLane};

/// Magnitude of the first operand with the sign bit of the second.
pub struct Copysign;

impl Binary for Copysign {
    const INFO: OpInfo = OpInfo::new(
        "copysign",
        DTypeSet::FLOAT,
        "Magnitude of the first operand with the sign bit of the second.",
    )
    .nan(NanRule::Exact);

    #[inline(always)]
    fn float<L: FloatLane>(a: L, b: L) -> L {
        a.with_sign(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_zeros_and_nan_count() {
        assert_eq!(Copysign::float(1.5f32, -0.0), -1.5);
        assert_eq!(Copysign::float(-0.0f64, 3.0).to_bits(), 0);
        assert_eq!(Copysign::float(2.0f64, -f64::NAN), -2.0);
        assert_eq!(Copysign::float(f32::from_bits(0x7fc0_1234), -1.0).to_bits(), 0xffc0_1234);
    }
}
