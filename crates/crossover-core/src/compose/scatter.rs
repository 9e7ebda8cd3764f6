//! Values written or combined into an array: `scatter` at coordinates, `scatter_along` an axis.
//!
//! Values meet elements in row-major order of the indices. Indices outside the array write nothing. Sums of 16-bit
//! floats are carried in `f32` and rounded once.

use super::{
    Build, binary, cast, expand, number, select,
    take::{along, coordinates, joined, merged, reshaped},
    with_number,
};
use crate::{
    DType, Error, Result, Shape,
    graph::Op,
    ops::{MapOp, scatter::ScatterOp},
};

/// The array with values written or combined along an axis, each at an index of its own. Indices and values broadcast
/// to the array's other axes.
pub fn scatter_along<B: Build>(
    b: &mut B,
    op: ScatterOp,
    x: &B::Value,
    indices: &B::Value,
    values: &B::Value,
    axis: i64,
) -> Result<B::Value> {
    let shape = b.ty(x).shape;
    let (wide, indices, axis) = along(b, op.name(), x, indices, axis)?;
    if b.ty(&wide).shape != shape {
        let right = b.ty(&indices).shape;
        let why = "indices must broadcast to the array, which stays as it is";
        return Err(Error::Shape { op: op.name(), left: shape, right, why });
    }
    let target = b.ty(&indices).shape;
    pushed(b, op, x, &indices, values, (&target, &target), axis)
}

/// The array with values written or combined at coordinates: one index array per leading axis, broadcast against
/// each other; the values broadcast to their common shape and the axes that follow.
pub fn scatter<B: Build>(
    b: &mut B,
    op: ScatterOp,
    x: &B::Value,
    indices: &[B::Value],
    values: &B::Value,
) -> Result<B::Value> {
    let shape = b.ty(x).shape;
    let (places, common) = coordinates(b, op.name(), &shape, indices)?;
    let mut flat = b.scalar(crate::Scalar::zero(DType::I64));
    let mut outside = None;
    for (place, &length) in places.iter().zip(shape.iter()) {
        flat = joined(b, &flat, place, length)?;
        // As unsigned numbers, negative indices are past the end too.
        let unsigned = cast(b, place, DType::U64)?;
        let beyond = with_number(b, MapOp::GreaterEqual, &unsigned, length)?;
        outside = Some(match outside {
            None => beyond,
            Some(other) => binary(b, MapOp::BitwiseOr, &other, &beyond)?,
        });
    }
    if let Some(outside) = outside {
        let nowhere = number(b, (-1).into(), DType::I64)?;
        flat = select(b, &outside, &nowhere, &flat)?;
    }
    let rows = merged(&shape, places.len());
    let rest = &shape.dims()[places.len()..];
    let flat = expand(b, &flat, &common)?;
    let column: Shape = std::iter::once(common.size()).chain(rest.iter().map(|_| 1)).collect();
    let at = reshaped(b, &flat, column)?;
    let whole: Shape = std::iter::once(common.size()).chain(rest.iter().copied()).collect();
    let at = expand(b, &at, &whole)?;
    let table = reshaped(b, x, rows)?;
    let seen: Shape = common.iter().chain(rest).copied().collect();
    let result = pushed(b, op, &table, &at, values, (&seen, &whole), 0)?;
    reshaped(b, &result, shape)
}

/// The scatter itself, with values broadcast to the shape a user sees and reshaped to the one the op wants.
fn pushed<B: Build>(
    b: &mut B,
    op: ScatterOp,
    x: &B::Value,
    indices: &B::Value,
    values: &B::Value,
    (seen, whole): (&Shape, &Shape),
    axis: usize,
) -> Result<B::Value> {
    let dtype = b.dtype(x);
    op.check(dtype)?;
    let held = if op == ScatterOp::Add { dtype.compute() } else { dtype };
    let values = cast(b, values, dtype)?;
    let values = expand(b, &values, seen)?;
    let values = reshaped(b, &values, whole.clone())?;
    let (x, values) = (cast(b, x, held)?, cast(b, &values, held)?);
    let result = b.push(Op::Scatter { op, axis }, &[&x, indices, &values])?;
    cast(b, &result, dtype)
}
