//! `real`: real part.

use super::{NanRule, OpInfo, Part};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane},
};

/// Real part of a complex number.
pub struct Real;

impl Part for Real {
    const INFO: OpInfo =
        OpInfo::new("real", DTypeSet::COMPLEX, "Real part of a complex number.").nan(NanRule::Exact);
    #[inline(always)]
    fn complex<L: FloatLane>(x: Cx<L>) -> L {
        x.re
    }
}
