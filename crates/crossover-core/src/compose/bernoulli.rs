//! Truths that hold with a probability, a pure function of key and position.

use super::{Build, binary, cast, expand, uniform::from_streams};
use crate::{DType, Result, Shape, ops::MapOp};

/// Whether a uniform number of 53 bits is below the probability; NaN is never above one.
pub fn bernoulli<B: Build>(
    b: &mut B,
    key: &B::Value,
    probability: &B::Value,
    shape: &Shape,
) -> Result<B::Value> {
    let wide = cast(b, probability, DType::F64)?;
    let probability = expand(b, &wide, shape)?;
    let uniform = from_streams(b, key, shape, DType::F64, 0)?;
    binary(b, MapOp::Less, &uniform, &probability)
}
