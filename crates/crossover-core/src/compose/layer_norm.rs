//! `layer_norm` over the last axis.

use super::{Build, binary, cast, floating, mean, number, standardise::centred, unary, widened, with_number};
use crate::{Number, Result, ops::MapOp};

/// (x - mean) / sqrt(var + epsilon) over the last axis, times `scale` and plus `shift` where given.
pub fn layer_norm<B: Build>(
    b: &mut B,
    x: &B::Value,
    scale: Option<&B::Value>,
    shift: Option<&B::Value>,
    epsilon: f64,
) -> Result<B::Value> {
    let x = floating(b, x)?;
    let dtype = b.dtype(&x);
    b.ty(&x).shape.axis("layer_norm", -1)?;
    let wide = widened(b, &x)?;
    let distance = centred(b, &wide, -1)?;
    let squares = unary(b, MapOp::Square, &distance)?;
    let variance = mean(b, &squares, &[-1], true)?;
    let padded = with_number(b, MapOp::Add, &variance, Number::Float(epsilon))?;
    let deviation = unary(b, MapOp::Sqrt, &padded)?;
    // One division per row; the product costs half a unit in the last place.
    let one = number(b, Number::Float(1.0), b.dtype(&deviation))?;
    let inverse = binary(b, MapOp::Divide, &one, &deviation)?;
    let mut out = binary(b, MapOp::Multiply, &distance, &inverse)?;
    if let Some(scale) = scale {
        let scale = widened(b, scale)?;
        out = binary(b, MapOp::Multiply, &out, &scale)?;
    }
    if let Some(shift) = shift {
        let shift = widened(b, shift)?;
        out = binary(b, MapOp::Add, &out, &shift)?;
    }
    cast(b, &out, dtype)
}
