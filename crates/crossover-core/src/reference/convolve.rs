//! Convolution by its definition: the order of additions that [`crate::ops::convolve`] states.

use num_complex::Complex;

use super::{
    Tensor,
    elementwise::canonical,
    movement::{ravel, unravel},
};
use crate::{
    DType, Element, Scalar, Shape,
    ops::convolve::{Boundary, ConvolveMode},
};

/// The elements of the result in row-major order.
pub(super) fn convolve(
    mode: ConvolveMode,
    boundary: Boundary,
    shape: &Shape,
    args: &[&Tensor],
) -> Vec<Scalar> {
    let [x, kernel, fill] = [args[0], args[1], args[2]];
    let taps = kernel.shape.size();
    let outside = fill.at(0);
    let element = |position| {
        let at = unravel(shape, position);
        let terms = (0..taps).map(|tap| {
            let window = unravel(&kernel.shape, tap);
            let mut index = window.clone();
            let mut inside = true;
            for (axis, i) in index.iter_mut().enumerate() {
                let (n, k) = (x.shape[axis], kernel.shape[axis]);
                let place = (at[axis] + window[axis]) as isize - mode.extent(n, k).1 as isize;
                match boundary.source(place, n) {
                    Some(source) => *i = source,
                    None => inside = false,
                }
            }
            let value = if inside { x.at(ravel(&x.shape, &index)) } else { outside };
            // Row-major from the last element is the kernel flipped along every axis.
            (value, kernel.at(taps - 1 - tap))
        });
        summed(x.dtype, terms)
    };
    (0..shape.size()).map(element).collect()
}

fn summed(dtype: DType, terms: impl Iterator<Item = (Scalar, Scalar)>) -> Scalar {
    let single = |bits: u64| f32::from_bits(bits as u32);
    match dtype {
        DType::F32 => {
            let sum = terms.fold(0f32, |s, (x, w)| f32::from_scalar(x).mul_add(f32::from_scalar(w), s));
            canonical(sum.to_scalar())
        }
        DType::F64 => {
            let sum = terms.fold(0f64, |s, (x, w)| f64::from_scalar(x).mul_add(f64::from_scalar(w), s));
            canonical(sum.to_scalar())
        }
        DType::C64 => {
            let sum = terms.fold(Complex::new(0f32, 0.0), |s, (x, w)| {
                let ([a, b], [c, d]) = (x.bits().map(single), w.bits().map(single));
                Complex::new((-b).mul_add(d, a.mul_add(c, s.re)), b.mul_add(c, a.mul_add(d, s.im)))
            });
            canonical(sum.to_scalar())
        }
        DType::C128 => {
            let sum = terms.fold(Complex::new(0f64, 0.0), |s, (x, w)| {
                let ([a, b], [c, d]) = (x.bits().map(f64::from_bits), w.bits().map(f64::from_bits));
                Complex::new((-b).mul_add(d, a.mul_add(c, s.re)), b.mul_add(c, a.mul_add(d, s.im)))
            });
            canonical(sum.to_scalar())
        }
        _ => {
            // Products and sums modulo 2^64 are right modulo any smaller width, signed or not.
            let sum = terms.fold(0u64, |s, (x, w)| s.wrapping_add(x.bits()[0].wrapping_mul(w.bits()[0])));
            Scalar::from_bits(dtype, [sum, 0])
        }
    }
}
