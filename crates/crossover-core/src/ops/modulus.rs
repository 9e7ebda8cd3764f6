//! `modulus`: magnitude of complex numbers.

use super::{Cost, OpInfo, Part};
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
    .max_ulp(2.0)
    .cost(Cost::Divide);
    #[inline(always)]
    fn complex<L: FloatLane>(x: Cx<L>) -> L {
        let (a, b) = (x.re.magnitude(), x.im.magnitude());
        let large = L::select(a.is_gt(b), a, b);
        let small = L::select(a.is_gt(b), b, a);
        // Scaling by the larger part keeps the squares in range; 0/0 and inf/inf are put right at the end.
        let ratio = small / large;
        let length = large * ratio.fma(ratio, L::real(1.0)).sqrt();
        let plain = large.is_eq(L::real(0.0)) | large.is_eq(L::real(f64::INFINITY));
        let infinite = a.is_eq(L::real(f64::INFINITY)) | b.is_eq(L::real(f64::INFINITY));
        let value = L::select(plain, large, length);
        let value = L::select(a.is_nan() | b.is_nan(), L::nan(), value);
        L::select(infinite, L::real(f64::INFINITY), value)
    }
}
