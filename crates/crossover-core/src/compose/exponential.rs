//! Exponential random numbers of mean 1 by inversion, a pure function of key and position.

use super::{Build, cast, unary, uniform::from_streams};
use crate::{DType, Result, Shape, ops::MapOp};

/// -log(1 - u) with u uniform: 24 bits for `f32` and 16-bit dtypes (which round it), 53 for `f64`.
pub fn exponential<B: Build>(b: &mut B, key: &B::Value, shape: &Shape, dtype: DType) -> Result<B::Value> {
    let uniform = from_streams(b, key, shape, dtype.compute(), 0)?;
    let negated = unary(b, MapOp::Negative, &uniform)?;
    // u is below 1: the logarithm is finite.
    let logarithm = unary(b, MapOp::Log1p, &negated)?;
    let value = unary(b, MapOp::Negative, &logarithm)?;
    cast(b, &value, dtype)
}
