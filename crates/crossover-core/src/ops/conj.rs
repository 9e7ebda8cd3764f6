//! `conj`: complex conjugate.

use super::{NanRule, OpInfo, Unary};
use crate::{
    DTypeSet,
    lane::{Cx, FloatLane},
};

/// Complex conjugate: the sign of the imaginary part flipped.
pub struct Conj;

impl Unary for Conj {
    const INFO: OpInfo =
        OpInfo::new("conj", DTypeSet::COMPLEX, "Complex conjugate: the sign of the imaginary part flipped.")
            .nan(NanRule::Exact)
            .involution();
    #[inline(always)]
    fn complex<L: FloatLane>(x: Cx<L>) -> Cx<L> {
        Cx { re: x.re, im: super::negative::Negative::float(x.im) }
    }
}
