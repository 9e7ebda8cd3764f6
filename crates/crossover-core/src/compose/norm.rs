//! Norms of vectors and matrices. Complex operands count by their magnitudes; the result is real.

use super::{
    Build, binary, cast, count_nonzero, floating, linalg::svdvals, reduce, reshape, resolve, unary, widened,
    with_number,
};
use crate::{
    DType, Error, Result,
    ops::{MapOp, reduce::ReduceOp},
};

/// Which norm of a matrix is meant.
///
/// ```
/// use crossover_core::{DType, Graph, Shape, compose::{MatrixNorm, matrix_norm}};
/// let mut graph = Graph::new();
/// let x = graph.input(DType::C64, Shape::from([5, 2, 3]))?;
/// let norm = matrix_norm(&mut graph, &x, MatrixNorm::Frobenius, false)?;
/// assert_eq!(graph.node(norm).ty.to_string(), "f32[5]");
/// # Ok::<(), crossover_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MatrixNorm {
    /// Square root of the sum of squared magnitudes.
    #[default]
    Frobenius,
    /// Sum of the singular values.
    Nuclear,
    /// Largest singular value.
    Spectral,
    /// Smallest singular value.
    LeastSingular,
    /// Largest sum of magnitudes of a column.
    One,
    /// Smallest sum of magnitudes of a column.
    LeastOne,
    /// Largest sum of magnitudes of a row.
    Infinity,
    /// Smallest sum of magnitudes of a row.
    LeastInfinity,
}

/// Norm of vectors along axes; none means all, flattened. `order` is 2 for the length, 1 for the sum of magnitudes,
/// ±∞ for the largest or smallest, 0 for the number of elements that are not zero, and otherwise the exponent p of
/// `(Σ |x|^p)^(1/p)`.
pub fn vector_norm<B: Build>(
    b: &mut B,
    x: &B::Value,
    axes: &[i64],
    order: f64,
    keepdims: bool,
) -> Result<B::Value> {
    if order.is_nan() {
        let what = "order is NaN; give 2 for the length, 1 for the sum of magnitudes".to_string();
        return Err(Error::Value { op: "vector_norm", what });
    }
    let (x, dtype) = prepared(b, x)?;
    resolve("vector_norm", &b.ty(&x).shape, axes)?;
    let value = match order {
        0.0 => count_nonzero(b, &x, axes, keepdims)?,
        1.0 => {
            let sizes = magnitudes(b, &x)?;
            reduce(b, ReduceOp::Sum, &sizes, axes, keepdims)?
        }
        2.0 => length(b, &x, axes, keepdims)?,
        f64::INFINITY | f64::NEG_INFINITY => {
            let op = if order > 0.0 { ReduceOp::Max } else { ReduceOp::Min };
            let sizes = magnitudes(b, &x)?;
            reduce(b, op, &sizes, axes, keepdims)?
        }
        _ => {
            let sizes = magnitudes(b, &x)?;
            let powers = with_number(b, MapOp::Pow, &sizes, order)?;
            let total = reduce(b, ReduceOp::Sum, &powers, axes, keepdims)?;
            with_number(b, MapOp::Pow, &total, 1.0 / order)?
        }
    };
    cast(b, &value, dtype)
}

/// Norm of the matrices in the last two axes.
pub fn matrix_norm<B: Build>(b: &mut B, x: &B::Value, order: MatrixNorm, keepdims: bool) -> Result<B::Value> {
    let shape = b.ty(x).shape;
    let rank = shape.rank();
    if rank < 2 {
        let what = format!("a matrix has two axes, {shape} has {rank}; use vector_norm");
        return Err(Error::Value { op: "matrix_norm", what });
    }
    let (x, dtype) = prepared(b, x)?;
    let value = match order {
        MatrixNorm::Frobenius => length(b, &x, &[-2, -1], true)?,
        MatrixNorm::Nuclear => of_singular_values(b, &x, ReduceOp::Sum)?,
        MatrixNorm::Spectral => of_singular_values(b, &x, ReduceOp::Max)?,
        MatrixNorm::LeastSingular => of_singular_values(b, &x, ReduceOp::Min)?,
        MatrixNorm::One => of_sums(b, &x, -2, ReduceOp::Max)?,
        MatrixNorm::LeastOne => of_sums(b, &x, -2, ReduceOp::Min)?,
        MatrixNorm::Infinity => of_sums(b, &x, -1, ReduceOp::Max)?,
        MatrixNorm::LeastInfinity => of_sums(b, &x, -1, ReduceOp::Min)?,
    };
    let value = cast(b, &value, dtype)?;
    reshape(b, &value, &shape.reduced(&[rank - 2, rank - 1], keepdims))
}

/// A reduction of the sums of magnitudes along one of the last two axes.
fn of_sums<B: Build>(b: &mut B, x: &B::Value, along: i64, op: ReduceOp) -> Result<B::Value> {
    let sizes = magnitudes(b, x)?;
    let totals = reduce(b, ReduceOp::Sum, &sizes, &[along], true)?;
    reduce(b, op, &totals, &[-3 - along], true)
}

/// A reduction of the singular values.
fn of_singular_values<B: Build>(b: &mut B, x: &B::Value, op: ReduceOp) -> Result<B::Value> {
    let values = svdvals(b, x)?;
    reduce(b, op, &values, &[-1], false)
}

/// The operand in the dtype that is computed in, and the real dtype of the result.
fn prepared<B: Build>(b: &mut B, x: &B::Value) -> Result<(B::Value, DType)> {
    let x = floating(b, x)?;
    let dtype = b.dtype(&x).real();
    Ok((widened(b, &x)?, dtype))
}

fn magnitudes<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    let op = if b.dtype(x).is_complex() { MapOp::Modulus } else { MapOp::Abs };
    unary(b, op, x)
}

/// Square root of the sum of squares.
fn length<B: Build>(b: &mut B, x: &B::Value, axes: &[i64], keepdims: bool) -> Result<B::Value> {
    let squares = if b.dtype(x).is_complex() {
        let (re, im) = (unary(b, MapOp::Real, x)?, unary(b, MapOp::Imag, x)?);
        let (re, im) = (unary(b, MapOp::Square, &re)?, unary(b, MapOp::Square, &im)?);
        binary(b, MapOp::Add, &re, &im)?
    } else {
        unary(b, MapOp::Square, x)?
    };
    let total = reduce(b, ReduceOp::Sum, &squares, axes, keepdims)?;
    unary(b, MapOp::Sqrt, &total)
}
