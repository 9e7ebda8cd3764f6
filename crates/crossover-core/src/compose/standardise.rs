//! `standardise`: mean 0 and standard deviation 1 along an axis.

use super::{Build, binary, cast, floating, mean, unary, widened};
use crate::{Result, ops::MapOp};

/// (x - mean) / std along an axis. A constant column gives NaN, as 0 / 0 does.
pub fn standardise<B: Build>(b: &mut B, x: &B::Value, axis: i64) -> Result<B::Value> {
    let x = floating(b, x)?;
    let dtype = b.dtype(&x);
    b.ty(&x).shape.axis("standardise", axis)?;
    let wide = widened(b, &x)?;
    let distance = centred(b, &wide, axis)?;
    let squares = unary(b, MapOp::Square, &distance)?;
    let variance = mean(b, &squares, &[axis], true)?;
    let deviation = unary(b, MapOp::Sqrt, &variance)?;
    let out = binary(b, MapOp::Divide, &distance, &deviation)?;
    cast(b, &out, dtype)
}

/// x minus its mean along an axis.
pub(super) fn centred<B: Build>(b: &mut B, x: &B::Value, axis: i64) -> Result<B::Value> {
    let centre = mean(b, x, &[axis], true)?;
    binary(b, MapOp::Subtract, x, &centre)
}
