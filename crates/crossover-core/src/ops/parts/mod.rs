//! Pieces that several function bodies share: polynomials, exp and log cores, reduction of angles, exact
//! remainders.
//!
//! Everything is generic over the lane, so a piece is written once for both widths and both devices. Where the
//! widths need different numbers, the pair is given and [`FloatLane::DIGITS`] picks at compile time.
//!
//! Coefficients were fitted in 60-digit arithmetic: weighted least squares on Chebyshev nodes, reweighted
//! towards equal ripple (Lawson's iteration), then rounded to the width one at a time from the lowest power up,
//! refitting the others after each. The error stated beside each set is that of the rounded coefficients, relative
//! to the function.

pub mod angle;
pub mod arc;
pub mod double;
pub mod exponential;
pub mod gauss;
pub mod half_turns;
pub mod hyperbolic;
pub mod length;
pub mod logarithm;
pub mod plane;
pub mod residue;

use crate::lane::FloatLane;

/// The number for the width of the lane, as a lane.
#[inline(always)]
pub fn pick<L: FloatLane>(single: f64, double: f64) -> L {
    L::real(if L::DIGITS == 24 { single } else { double })
}

/// A polynomial by Horner's rule, one fma per term; coefficients from the constant up, one set per width.
#[inline(always)]
pub fn polynomial<L: FloatLane>(x: L, single: &[f64], double: &[f64]) -> L {
    let coefficients = if L::DIGITS == 24 { single } else { double };
    let (&top, rest) = coefficients.split_last().expect("a polynomial has a coefficient");
    rest.iter().rev().fold(L::real(top), |sum, &c| sum.fma(x, L::real(c)))
}

/// `x` if it is below `limit`, else `limit`; a NaN becomes the limit.
#[inline(always)]
pub fn at_most<L: FloatLane>(x: L, limit: L) -> L {
    L::select(x.is_lt(limit), x, limit)
}

/// `x` if it is above `limit`, else `limit`; a NaN becomes the limit.
#[inline(always)]
pub fn at_least<L: FloatLane>(x: L, limit: L) -> L {
    L::select(x.is_gt(limit), x, limit)
}

/// ln 2 rounded, and the error.
#[inline(always)]
pub fn ln2<L: FloatLane>() -> (L, L) {
    (L::real(std::f64::consts::LN_2), pick(-1.9046542121259336e-9, 2.3190468138462996e-17))
}
