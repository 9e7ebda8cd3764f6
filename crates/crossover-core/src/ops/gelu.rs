//! `gelu`: gaussian error linear unit, tanh form: x * sigmoid(2u), u = sqrt(2/pi) * (x + 0.044715 x^3).

use super::{Cost, OpInfo, Unary};
use crate::{DTypeSet, lane::FloatLane};

/// Gaussian error linear unit, tanh form: x * sigmoid(2u), u = sqrt(2/pi) * (x + 0.044715 x^3).
pub struct Gelu;

impl Unary for Gelu {
    const INFO: OpInfo = OpInfo::new(
        "gelu",
        DTypeSet::FLOAT,
        "Gaussian error linear unit, tanh form: x * sigmoid(2u), u = sqrt(2/pi) * (x + 0.044715 x^3).",
    )
    .max_ulp(4.0)
    .cost(Cost::Function);
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        x * x // stand-in until the body is written
    }
}
