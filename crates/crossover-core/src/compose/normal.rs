//! Standard normal random numbers by Box and Muller's transform, a pure function of key and position.

use super::{Build, binary, cast, unary, uniform::from_streams, with_number};
use crate::{DType, Result, Shape, ops::MapOp};

/// sqrt(-2 log(1 - u)) · cos(2π v), with u and v from independent streams.
pub fn normal<B: Build>(b: &mut B, key: &B::Value, shape: &Shape, dtype: DType) -> Result<B::Value> {
    let wide = dtype.compute();
    let radius = from_streams(b, key, shape, wide, 0)?;
    let angle = from_streams(b, key, shape, wide, 2)?;
    // 1 - u is in (0, 1]: the logarithm is finite.
    let negated = unary(b, MapOp::Negative, &radius)?;
    let distance = with_number(b, MapOp::Add, &negated, 1.0)?;
    let logarithm = unary(b, MapOp::Log, &distance)?;
    let squared = with_number(b, MapOp::Multiply, &logarithm, -2.0)?;
    let radius = unary(b, MapOp::Sqrt, &squared)?;
    let angle = with_number(b, MapOp::Multiply, &angle, std::f64::consts::TAU)?;
    let direction = unary(b, MapOp::Cos, &angle)?;
    let value = binary(b, MapOp::Multiply, &radius, &direction)?;
    cast(b, &value, dtype)
}
