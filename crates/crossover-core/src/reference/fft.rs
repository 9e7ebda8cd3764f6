//! Fourier transforms by their definition, in `f64`, rounded once: the centre of the error bound of [`crate::ops::fft`].

use std::f64::consts::TAU;

use num_complex::Complex;

use super::{
    Tensor,
    elementwise::canonical,
    movement::{ravel, unravel},
};
use crate::{
    DType, Element, Scalar, Shape,
    ops::fft::{FftKind, FftScale},
};

type Wide = Complex<f64>;

/// The elements of the transform in row-major order.
pub(super) fn fft(kind: FftKind, axes: &[usize], scale: FftScale, shape: &Shape, x: &Tensor) -> Vec<Scalar> {
    let factor = scale.factor(kind.points(&x.shape, axes));
    let mut values: Vec<Wide> = x.scalars().map(|v| Wide::from_scalar(v.cast(DType::C128))).collect();
    let mut from = x.shape.clone();
    for &axis in axes {
        let mut to = from.clone();
        to.dims_mut()[axis] = shape[axis];
        values = along(kind, axis, &values, &from, &to);
        from = to;
    }
    let dtype = match kind {
        FftKind::Real => x.dtype.complex(),
        FftKind::Hermitian { .. } => x.dtype.real(),
        _ => x.dtype,
    };
    let rounded = |value: Wide| {
        let value = value * factor;
        let scalar = if dtype.is_complex() { value.to_scalar() } else { value.re.to_scalar() };
        canonical(scalar.cast(dtype))
    };
    values.into_iter().map(rounded).collect()
}

fn along(kind: FftKind, axis: usize, values: &[Wide], from: &Shape, to: &Shape) -> Vec<Wide> {
    let element = |position: usize| {
        let mut index = unravel(to, position);
        let k = index[axis];
        let mut line = (0..from[axis]).map(|j| {
            index[axis] = j;
            (j, values[ravel(from, &index)])
        });
        match kind {
            FftKind::Hermitian { length } => line.map(|(j, value)| mirrored(j, value, k, length)).sum(),
            _ => {
                let (n, forward) = (from[axis], kind != FftKind::Inverse);
                line.by_ref().map(|(j, value)| value * turn(j, k, n, forward)).sum()
            }
        }
    };
    (0..to.size()).map(element).collect()
}

/// What value j of half a spectrum and its conjugate contribute to point k of n.
fn mirrored(j: usize, value: Wide, k: usize, n: usize) -> Wide {
    let alone = j == 0 || 2 * j == n;
    let value = if alone { Wide::new(value.re, 0.0) } else { value * 2.0 };
    Wide::new((value * turn(j, k, n, false)).re, 0.0)
}

/// exp(∓2πi·jk/n), exact at eighths of a turn's axes: the angle is reduced to an eighth before any rounding.
fn turn(j: usize, k: usize, n: usize, forward: bool) -> Wide {
    let part = (j as u128 * k as u128 % n as u128) as usize;
    let (quarter, rest) = (4 * part / n, 4 * part % n);
    let upper = 2 * rest > n;
    let angle = TAU * (if upper { n - rest } else { rest }) as f64 / (4 * n) as f64;
    let (sin, cos) = angle.sin_cos();
    let (sin, cos) = if upper { (cos, sin) } else { (sin, cos) };
    let (re, im) = match quarter {
        0 => (cos, sin),
        1 => (-sin, cos),
        2 => (-cos, -sin),
        _ => (sin, -cos),
    };
    Wide::new(re, if forward { -im } else { im })
}
