//! `convolve` and `correlate` with SciPy's modes and boundaries, directly or through Fourier transforms.
//!
//! The direct way is exact in the sense of [`crate::ops::convolve`]. Through transforms, an element of the result is off by
//! at most 16·ε·log2(n)·‖x‖·‖k‖, with n the points of a transform ([`super::fourier`]). Integers go through transforms only where that is less
//! than a half for any values of their dtype; then they are rounded and wrap, and are those of the direct way.

use super::{
    Build, cast,
    fourier::{fft_pays, quick_length, transformed},
    number, unary, widened,
};
use crate::{
    DType, Error, Number, Result, Shape,
    graph::{Axes, Op},
    ops::{
        MapOp,
        convolve::{Boundary, ConvolveMode},
    },
};

/// How a convolution is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ConvolveMethod {
    /// Whichever costs less by [`fft_pays`]; integers and boundaries other than zeros directly.
    #[default]
    Auto,
    /// Sums of products; the order is part of the definition.
    Direct,
    /// Through Fourier transforms; zeros outside only. Integers where that is certain to be exact: those of 8 bits, those of
    /// 16 bits up to a size; others are refused.
    Fft,
}

/// Convolution of `x` with a kernel of as many axes.
pub fn convolve<B: Build>(
    b: &mut B,
    x: &B::Value,
    kernel: &B::Value,
    mode: ConvolveMode,
    boundary: Boundary,
    fill: Number,
    method: ConvolveMethod,
) -> Result<B::Value> {
    let op = "convolve";
    let dtype = b.dtype(x).promote(b.dtype(kernel));
    let (x, kernel) = (cast(b, x, dtype)?, cast(b, kernel, dtype)?);
    let (n, k) = (b.ty(&x).shape, b.ty(&kernel).shape);
    // As in SciPy: where only the kernel is the longer one along every axis, the two change places.
    let swap = mode == ConvolveMode::Valid
        && n.rank() == k.rank()
        && n != k
        && n.iter().zip(k.iter()).all(|(n, k)| n <= k);
    let (x, kernel) = if swap { (kernel, x) } else { (x, kernel) };
    let (x, kernel) = (widened(b, &x)?, widened(b, &kernel)?);
    let zeros = boundary == Boundary::Fill && matches!(fill, Number::Int(0) | Number::Float(0.0));
    let (n, k) = (b.ty(&x).shape, b.ty(&kernel).shape);
    let holds = mode != ConvolveMode::Valid || n.iter().zip(k.iter()).all(|(n, k)| k <= n);
    let fits = n.rank() == k.rank() && n.rank() > 0 && n.size() > 0 && k.size() > 0 && holds;
    let wanted = match method {
        ConvolveMethod::Direct => false,
        ConvolveMethod::Auto => {
            let float = dtype.is_float() || dtype.is_complex();
            float && zeros && fits && fft_pays(&n, &k, mode, dtype.is_complex())
        }
        ConvolveMethod::Fft if zeros => fits,
        ConvolveMethod::Fft => {
            let what = format!(
                "boundary {} has no way through Fourier transforms; use the direct method",
                boundary.name()
            );
            return Err(Error::Value { op, what });
        }
    };
    let value = if wanted && dtype.is_int() {
        rounds_right(dtype, &n, &k)?;
        let value = transformed(b, &x, &kernel, mode)?;
        let whole = unary(b, MapOp::Round, &value)?;
        // Conversions of floats saturate, those of integers wrap.
        cast(b, &whole, DType::I64)?
    } else if wanted {
        transformed(b, &x, &kernel, mode)?
    } else {
        let wide = b.dtype(&x);
        let outside = number(b, fill, wide)?;
        if b.dtype(&outside) != wide {
            let what = format!("the fill value {fill:?} is of a higher kind than {dtype}");
            return Err(Error::Value { op, what });
        }
        b.push(Op::Convolve { mode, boundary }, &[&x, &kernel, &outside])?
    };
    let made = b.dtype(&value);
    if made.is_complex() && !dtype.is_complex() {
        unary(b, MapOp::Real, &value)
    } else {
        cast(b, &value, dtype)
    }
}

/// Cross-correlation: convolution with the kernel flipped along every axis and conjugated.
pub fn correlate<B: Build>(
    b: &mut B,
    x: &B::Value,
    kernel: &B::Value,
    mode: ConvolveMode,
    boundary: Boundary,
    fill: Number,
    method: ConvolveMethod,
) -> Result<B::Value> {
    let flipped = flipped(b, kernel)?;
    convolve(b, x, &flipped, mode, boundary, fill, method)
}

fn flipped<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    let ty = b.ty(x);
    let all: Axes = (0..ty.shape.rank()).collect();
    let turned = b.push(Op::Flip(all), &[x])?;
    if ty.dtype.is_complex() { unary(b, MapOp::Conj, &turned) } else { Ok(turned) }
}

/// Whether Fourier transforms in `f64` give the nearest integers whatever the elements are.
fn rounds_right(dtype: DType, n: &Shape, k: &Shape) -> Result<()> {
    let bits = dtype.size() as i32 * 8 - i32::from(dtype.is_signed_int());
    let points: f64 = n.iter().zip(k.iter()).map(|(&n, &k)| quick_length(n + k - 1) as f64).product();
    let elements = n.size() as f64 * k.size() as f64;
    let error = 16.0 * f64::EPSILON * points.max(2.0).log2() * 2f64.powi(2 * bits) * elements.sqrt();
    if error < 0.5 {
        return Ok(());
    }
    let what = format!(
        "Fourier transforms of {n} and {k} elements of {dtype} may be off by {error:.2}, which does not round to the right \
         integers; use the direct method, or convert to a smaller dtype or to f64"
    );
    Err(Error::Value { op: "convolve", what })
}
