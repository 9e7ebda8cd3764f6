//! The length of a vector of two: the core of hypot and modulus.

use super::{
    double::{product, sum_ordered},
    pick,
};
use crate::lane::FloatLane;

/// `√(a² + b²)`, within 0.75 ulp and without overflow on the way. An infinite part makes it infinite, even beside NaN.
#[inline(always)]
pub fn length<L: FloatLane>(a: L, b: L) -> L {
    let (zero, one, infinity) = (L::real(0.0), L::real(1.0), L::real(f64::INFINITY));
    let (a, b) = (a.magnitude(), b.magnitude());
    let large = L::select(a.is_gt(b), a, b);
    let small = L::select(a.is_gt(b), b, a);
    // Powers of two that bring the squares of very large and very small numbers, and their errors, into range.
    let (huge, tiny) = (
        large.is_gt(pick(2f64.powi(60), 2f64.powi(500))),
        large.is_lt(pick(2f64.powi(-40), 2f64.powi(-450))),
    );
    let scale = L::select(huge, pick(2f64.powi(-68), 2f64.powi(-600)), one);
    let scale = L::select(tiny, pick(2f64.powi(90), 2f64.powi(600)), scale);
    let back = L::select(huge, pick(2f64.powi(68), 2f64.powi(600)), one);
    let back = L::select(tiny, pick(2f64.powi(-90), 2f64.powi(-600)), back);
    let (p, p_error) = product(large * scale, large * scale);
    let (q, q_error) = product(small * scale, small * scale);
    let (square, square_error) = sum_ordered(p, q);
    let root = square.sqrt();
    let left = (-root).fma(root, square) + (square_error + (p_error + q_error));
    let value = (root + left / (root + root)) * back;
    let value = L::select(large.is_eq(zero), zero, value);
    let value = L::select(a.is_nan() | b.is_nan(), L::nan(), value);
    L::select(a.is_eq(infinity) | b.is_eq(infinity), infinity, value)
}
