//! The order of sorting and searching.
//!
//! - Real numbers by value; zeros of both signs are equal. False comes before true.
//! - NaN comes last, ascending or descending; all NaNs are equal.
//! - Complex numbers by their real part, then their imaginary part, as in NumPy: those without NaN first, then
//!   those whose imaginary part is NaN, then those whose real part is, then those with two.
//!
//! Sorting is stable: equal elements keep their order, descending too.

use std::cmp::Ordering;

use crate::{DType, Scalar};

/// How two values of one dtype are ordered.
///
/// ```
/// use std::cmp::Ordering;
/// use crossover_core::{Element, ops::order::compare};
/// assert_eq!(compare(1.0f32.to_scalar(), f32::NAN.to_scalar(), false), Ordering::Less);
/// assert_eq!(compare(1.0f32.to_scalar(), f32::NAN.to_scalar(), true), Ordering::Less);
/// assert_eq!(compare(1u8.to_scalar(), 2u8.to_scalar(), true), Ordering::Greater);
/// ```
pub fn compare(a: Scalar, b: Scalar, descending: bool) -> Ordering {
    let directed = |order: Ordering| if descending { order.reverse() } else { order };
    let dtype = a.dtype();
    if dtype.is_complex() {
        let (left, right) = (parts(a), parts(b));
        let nans = |(re, im): (f64, f64)| (re.is_nan(), im.is_nan());
        let part = |x: f64, y: f64| directed(x.partial_cmp(&y).unwrap_or(Ordering::Equal));
        return nans(left)
            .cmp(&nans(right))
            .then_with(|| part(left.0, right.0))
            .then_with(|| part(left.1, right.1));
    }
    if dtype.is_float() {
        let (x, y) = (real(a), real(b));
        let order = x.partial_cmp(&y).map(directed);
        return order.unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()));
    }
    let (x, y) = (a.bits()[0], b.bits()[0]);
    if dtype.is_signed_int() {
        let wide = |value: Scalar| value.cast(DType::I64).bits()[0] as i64;
        return directed(wide(a).cmp(&wide(b)));
    }
    directed(x.cmp(&y))
}

/// A real float as `f64`, which holds every one of them exactly.
fn real(value: Scalar) -> f64 {
    f64::from_bits(value.cast(DType::F64).bits()[0])
}

fn parts(value: Scalar) -> (f64, f64) {
    let part = |bits: u64| real(Scalar::from_bits(value.dtype().real(), [bits, 0]));
    (part(value.bits()[0]), part(value.bits()[1]))
}

#[cfg(test)]
mod tests {
    use num_complex::Complex;

    use super::*;
    use crate::Element;

    #[test]
    fn zeros_and_nans_are_equal_among_themselves() {
        assert_eq!(compare((-0.0f64).to_scalar(), 0.0f64.to_scalar(), false), Ordering::Equal);
        let odd = f32::from_bits(0xffc0_0001);
        assert_eq!(compare(odd.to_scalar(), f32::NAN.to_scalar(), true), Ordering::Equal);
        assert_eq!(compare(odd.to_scalar(), f32::INFINITY.to_scalar(), true), Ordering::Greater);
    }

    #[test]
    fn integers_use_all_their_bits() {
        assert_eq!(compare(i64::MIN.to_scalar(), (i64::MIN + 1).to_scalar(), false), Ordering::Less);
        assert_eq!(compare(u64::MAX.to_scalar(), (u64::MAX - 1).to_scalar(), false), Ordering::Greater);
        assert_eq!(compare((-1i8).to_scalar(), 1i8.to_scalar(), false), Ordering::Less);
    }

    #[test]
    fn complex_numbers_with_nan_come_in_three_groups() {
        let nan = f32::NAN;
        let sorted = [(1.0, 5.0), (2.0, 1.0), (0.0, nan), (nan, 0.0), (nan, 1.0), (nan, nan)];
        for pair in sorted.windows(2) {
            let [a, b] = [pair[0], pair[1]].map(|(re, im)| Complex::new(re, im).to_scalar());
            assert_eq!(compare(a, b, false), Ordering::Less, "{a:?} {b:?}");
        }
    }
}
