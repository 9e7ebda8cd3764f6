//! Matrix products, accumulated in `f64` in order of the inner index and rounded once.
//!
//! Devices accumulate in narrower types and in other orders, so this is the centre of the error bound that
//! `compose::matmul` states, not bits to reproduce. Integers are exact modulo their width, on every device.

use num_complex::Complex;

use super::{Tensor, elementwise::canonical};
use crate::{DType, Element, Scalar};

/// The product's elements in row-major order.
pub(super) fn matmul(a: &Tensor, b: &Tensor) -> Vec<Scalar> {
    let rank = a.shape.rank();
    let (rows, inner, columns) = (a.shape[rank - 2], a.shape[rank - 1], b.shape[rank - 1]);
    let batches: usize = a.shape.dims()[..rank - 2].iter().product();
    let mut out = Vec::new();
    for batch in 0..batches {
        for row in 0..rows {
            for column in 0..columns {
                let terms = (0..inner).map(|k| {
                    let left = a.at((batch * rows + row) * inner + k);
                    let right = b.at((batch * inner + k) * columns + column);
                    (left, right)
                });
                out.push(dot(a.dtype, terms));
            }
        }
    }
    out
}

fn dot(dtype: DType, terms: impl Iterator<Item = (Scalar, Scalar)>) -> Scalar {
    if dtype.is_int() {
        // Products and sums modulo 2^64 are right modulo any smaller width, signed or not.
        let sum = terms.fold(0u64, |sum, (a, b)| sum.wrapping_add(a.bits()[0].wrapping_mul(b.bits()[0])));
        return Scalar::from_bits(dtype, [sum, 0]);
    }
    if dtype.is_complex() {
        let wide = |x: Scalar| Complex::<f64>::from_scalar(x.cast(DType::C128));
        let sum = terms.fold(Complex::new(0.0, 0.0), |sum, (a, b)| sum + wide(a) * wide(b));
        return canonical(sum.to_scalar().cast(dtype));
    }
    let wide = |x: Scalar| f64::from_scalar(x.cast(DType::F64));
    let sum = terms.fold(0.0, |sum, (a, b)| sum + wide(a) * wide(b));
    canonical(sum.to_scalar().cast(dtype))
}
