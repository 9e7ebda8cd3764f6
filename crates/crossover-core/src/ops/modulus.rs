//! `modulus`: magnitude of complex numbers.

use super::{Cost, NanRule, OpInfo, Part, parts::length::length};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane},
};

/// Magnitude of a complex number, without overflow on the way; `abs` of a complex array.
pub struct Modulus;

impl Part for Modulus {
    const INFO: OpInfo = OpInfo::new(
        "modulus",
        DTypeSet::COMPLEX,
        "Magnitude of a complex number, without overflow on the way; `abs` of a complex array.",
    )
    .max_ulp(1.0)
    .cost(Cost::Divide)
    .nan(NanRule::Canonical);
    #[inline(always)]
    fn complex<L: FloatLane>(x: Cx<L>) -> L {
        length(x.re, x.im)
    }
}
