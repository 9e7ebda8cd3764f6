//! `sign`: -1, 0 or 1.

use super::{OpInfo, Unary};
use crate::{
    DTypeSet,
    lane::{FloatLane, IntLane},
};

/// -1, 0 or 1 with the sign of the operand; zeros and NaN stay themselves.
pub struct Sign;

impl Unary for Sign {
    const INFO: OpInfo = OpInfo::new(
        "sign",
        DTypeSet::REAL,
        "-1, 0 or 1 with the sign of the operand; zeros and NaN stay themselves.",
    );
    #[inline(always)]
    fn float<L: FloatLane>(x: L) -> L {
        let unit = L::real(1.0).with_sign(x);
        L::select(x.is_lt(L::real(0.0)) | x.is_gt(L::real(0.0)), unit, x)
    }

    #[inline(always)]
    fn int<L: IntLane>(x: L) -> L {
        let positive = L::select(x.is_gt(L::int(0)), L::int(1), L::int(0));
        if L::SIGNED { L::select(x.is_lt(L::int(0)), L::int(-1), positive) } else { positive }
    }
}
