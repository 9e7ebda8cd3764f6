//! Random positions with given probabilities, a pure function of key and position.

use super::{
    Build, binary, cast, exponential::exponential, number, reduce, select, unary, uniform::from_streams,
    with_number,
};
use crate::{
    DType, Error, Number, Result, Shape,
    graph::Op,
    ops::{MapOp, reduce::ReduceOp},
};

/// The position of the largest of logits + Gumbel noise along an axis: i with probability exp(logit i) / Σ exp(logits).
///
/// The noise is -log of an exponential number, in `f64`. Logits of -inf are never chosen unless all are; the first NaN
/// always is.
pub fn categorical<B: Build>(b: &mut B, key: &B::Value, logits: &B::Value, axis: i64) -> Result<B::Value> {
    let shape = b.ty(logits).shape;
    let position = shape.axis("categorical", axis)?;
    if shape[position] == 0 {
        let what = format!("axis {axis} of {shape} has nothing to choose from");
        return Err(Error::Value { op: "categorical", what });
    }
    let logits = cast(b, logits, DType::F64)?;
    let exponential = exponential(b, key, &shape, DType::F64)?;
    let logarithm = unary(b, MapOp::Log, &exponential)?;
    let disturbed = binary(b, MapOp::Subtract, &logits, &logarithm)?;
    reduce(b, ReduceOp::ArgMax, &disturbed, &[axis], false)
}

/// Positions in `0..n` where `cumulative`, `f64` with one axis of length n, is the running sum of their weights.
///
/// Position i is chosen where u · total lies between sums i - 1 and i, with u uniform of 53 bits: the number of sums
/// that are at most u · total, found by bisection. Positions of weight zero are never chosen.
pub fn choice<B: Build>(b: &mut B, key: &B::Value, cumulative: &B::Value, shape: &Shape) -> Result<B::Value> {
    let length = b.ty(cumulative).shape.size();
    if length == 0 {
        return Err(Error::Value { op: "choice", what: "there is nothing to choose from".to_string() });
    }
    let size = shape.size();
    let flat = Shape::from([size]);
    let uniform = from_streams(b, key, &flat, DType::F64, 0)?;
    let last = number(b, Number::Int(length as i128 - 1), DType::I64)?;
    let at = b.push(Op::Reshape(Shape::from([1])), &[&last])?;
    let total = b.push(Op::Take { axis: 0 }, &[cumulative, &at])?;
    // Below the total, also after rounding: 1 - u is at least half a unit in the last place.
    let sought = binary(b, MapOp::Multiply, &uniform, &total)?;
    let zero = number(b, Number::Int(0), DType::I64)?;
    let mut found = super::expand(b, &zero, &flat)?;
    for bit in (0..=length.ilog2()).rev() {
        let step = 1i64 << bit;
        // Indices beyond the end are clamped by `take`, and refused below.
        let probe = with_number(b, MapOp::Add, &found, step)?;
        let before = with_number(b, MapOp::Subtract, &probe, 1)?;
        let sum = b.push(Op::Take { axis: 0 }, &[cumulative, &before])?;
        let passed = binary(b, MapOp::LessEqual, &sum, &sought)?;
        let inside = with_number(b, MapOp::LessEqual, &probe, length)?;
        let ahead = binary(b, MapOp::BitwiseAnd, &passed, &inside)?;
        found = select(b, &ahead, &probe, &found)?;
    }
    b.push(Op::Reshape(shape.clone()), &[&found])
}
