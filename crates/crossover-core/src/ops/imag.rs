//! `imag`: imaginary part.

use super::{NanRule, OpInfo, Part};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane},
};

/// Imaginary part of a complex number.
pub struct Imag;

impl Part for Imag {
    const INFO: OpInfo =
        OpInfo::new("imag", DTypeSet::COMPLEX, "Imaginary part of a complex number.").nan(NanRule::Exact);
    #[inline(always)]
    fn complex<L: FloatLane>(x: Cx<L>) -> L {
        x.im
    }
}
