//! `reciprocal`: one over the operand.

use super::{Binary, Cost, OpInfo, Unary, divide::Divide};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane},
};

/// One over the operand, correctly rounded for reals.
pub struct Reciprocal;

impl Unary for Reciprocal {
    const INFO: OpInfo = OpInfo::new(
        "reciprocal",
        DTypeSet::FLOAT.or(DTypeSet::COMPLEX),
        "One over the operand, correctly rounded for reals.",
    )
    .cost(Cost::Divide);

    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        L::real(1.0) / x
    }

    #[inline(always)]
    fn complex<L: FloatLane>(x: Cx<L>) -> Cx<L> {
        Divide::complex(Cx { re: L::real(1.0), im: L::real(0.0) }, x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_give_infinities_of_their_sign() {
        assert_eq!(Reciprocal::float(0.0f32), f32::INFINITY);
        assert_eq!(Reciprocal::float(-0.0f64), f64::NEG_INFINITY);
        assert_eq!(Reciprocal::float(4.0f64), 0.25);
        let z = Reciprocal::complex(Cx { re: 3.0f64, im: 4.0 });
        assert!((z.re - 0.12).abs() < 1e-16 && (z.im + 0.16).abs() < 1e-16);
    }
}
