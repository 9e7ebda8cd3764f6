//! `var` and `std`: two passes, so that nothing cancels.

use super::{
    Build, binary, cast, count, expand, floating, mean, reduce, resolve, unary, widened, with_number,
};
use crate::{
    Number, Result,
    ops::{MapOp, reduce::ReduceOp},
};

/// Variance over axes; none means all. Divides by n - `correction`. That of complex numbers is real: the mean of the
/// squared distances from their mean.
pub fn var<B: Build>(
    b: &mut B,
    x: &B::Value,
    axes: &[i64],
    correction: f64,
    keepdims: bool,
) -> Result<B::Value> {
    let dtype = float_dtype(b, x)?;
    let value = wide_var(b, x, axes, correction, keepdims)?;
    cast(b, &value, dtype)
}

/// Standard deviation over axes; none means all. Divides by n - `correction`.
pub fn std<B: Build>(
    b: &mut B,
    x: &B::Value,
    axes: &[i64],
    correction: f64,
    keepdims: bool,
) -> Result<B::Value> {
    let dtype = float_dtype(b, x)?;
    let value = wide_var(b, x, axes, correction, keepdims)?;
    let root = unary(b, MapOp::Sqrt, &value)?;
    cast(b, &root, dtype)
}

fn float_dtype<B: Build>(b: &mut B, x: &B::Value) -> Result<crate::DType> {
    let x = floating(b, x)?;
    Ok(b.dtype(&x).real())
}

fn wide_var<B: Build>(
    b: &mut B,
    x: &B::Value,
    axes: &[i64],
    correction: f64,
    keepdims: bool,
) -> Result<B::Value> {
    let x = floating(b, x)?;
    let x = widened(b, &x)?;
    let shape = b.ty(&x).shape;
    let n = count(&shape, &resolve("var", &shape, axes)?);
    let centre = mean(b, &x, axes, true)?;
    let centre = expand(b, &centre, &shape)?;
    let distance = binary(b, MapOp::Subtract, &x, &centre)?;
    let squares = if b.dtype(&distance).is_complex() {
        let (re, im) = (unary(b, MapOp::Real, &distance)?, unary(b, MapOp::Imag, &distance)?);
        let (re, im) = (unary(b, MapOp::Square, &re)?, unary(b, MapOp::Square, &im)?);
        binary(b, MapOp::Add, &re, &im)?
    } else {
        unary(b, MapOp::Square, &distance)?
    };
    let total = reduce(b, ReduceOp::Sum, &squares, axes, keepdims)?;
    // As NumPy: no degrees of freedom left gives NaN or infinity, not an error.
    let freedom = (n as f64 - correction).max(0.0);
    with_number(b, MapOp::Divide, &total, Number::Float(freedom))
}
