//! `softmax` and `log_softmax` along an axis, shifted by the maximum so that nothing overflows.

use super::{Build, binary, cast, expand, floating, reduce, unary, widened};
use crate::{
    Result,
    ops::{MapOp, reduce::ReduceOp},
};

/// exp(x) / Σ exp(x) along an axis.
pub fn softmax<B: Build>(b: &mut B, x: &B::Value, axis: i64) -> Result<B::Value> {
    let (shifted, dtype) = shifted(b, x, axis)?;
    let shape = b.ty(&shifted).shape;
    let powers = unary(b, MapOp::Exp, &shifted)?;
    let total = reduce(b, ReduceOp::Sum, &powers, &[axis], true)?;
    let total = expand(b, &total, &shape)?;
    let share = binary(b, MapOp::Divide, &powers, &total)?;
    cast(b, &share, dtype)
}

/// log(softmax(x)) along an axis, without the rounding of the quotient.
pub fn log_softmax<B: Build>(b: &mut B, x: &B::Value, axis: i64) -> Result<B::Value> {
    let (shifted, dtype) = shifted(b, x, axis)?;
    let shape = b.ty(&shifted).shape;
    let powers = unary(b, MapOp::Exp, &shifted)?;
    let total = reduce(b, ReduceOp::Sum, &powers, &[axis], true)?;
    let total = unary(b, MapOp::Log, &total)?;
    let total = expand(b, &total, &shape)?;
    let value = binary(b, MapOp::Subtract, &shifted, &total)?;
    cast(b, &value, dtype)
}

/// x minus its maximum along an axis, in the dtype that is computed in, and the dtype of the result.
fn shifted<B: Build>(b: &mut B, x: &B::Value, axis: i64) -> Result<(B::Value, crate::DType)> {
    let x = floating(b, x)?;
    let ty = b.ty(&x);
    ty.shape.axis("softmax", axis)?;
    let wide = widened(b, &x)?;
    if ty.shape.size() == 0 {
        return Ok((wide, ty.dtype));
    }
    let top = reduce(b, ReduceOp::Max, &wide, &[axis], true)?;
    let top = expand(b, &top, &ty.shape)?;
    Ok((binary(b, MapOp::Subtract, &wide, &top)?, ty.dtype))
}
