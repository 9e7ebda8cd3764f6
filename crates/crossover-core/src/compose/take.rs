//! Elements by index: `take`, `take_along_axis` and `gather`.
//!
//! Indices count from 0 here and are clamped; [`wrapped`] makes negative ones count from the end.

use super::{Build, binary, cast, expand, number, select, with_number};
use crate::{DType, DTypeSet, Error, Result, Shape, graph::Op, ops::MapOp};

/// Integer indices as `i64`.
pub(super) fn whole<B: Build>(b: &mut B, op: &'static str, indices: &B::Value) -> Result<B::Value> {
    let dtype = b.dtype(indices);
    if !dtype.is_int() {
        return Err(Error::DType { op, dtype, supported: DTypeSet::INT.to_string() });
    }
    cast(b, indices, DType::I64)
}

/// Indices in which negative ones count from the end of an axis of `length`.
pub fn wrapped<B: Build>(b: &mut B, indices: &B::Value, length: usize) -> Result<B::Value> {
    let indices = whole(b, "take", indices)?;
    let zero = number(b, 0.into(), DType::I64)?;
    let below = binary(b, MapOp::Less, &indices, &zero)?;
    let counted = with_number(b, MapOp::Add, &indices, length)?;
    select(b, &below, &counted, &indices)
}

/// Entries along an axis; the axis is replaced by the axes of `indices`.
pub fn take<B: Build>(b: &mut B, x: &B::Value, indices: &B::Value, axis: i64) -> Result<B::Value> {
    let from = b.ty(x).shape;
    let axis = from.axis("take", axis)?;
    let indices = whole(b, "take", indices)?;
    let shape = b.ty(&indices).shape;
    let line = reshaped(b, &indices, Shape::from([shape.size()]))?;
    let taken = b.push(Op::Take { axis }, &[x, &line])?;
    let dims = from.dims();
    let result = dims[..axis].iter().chain(shape.iter()).chain(&dims[axis + 1..]).copied().collect();
    reshaped(b, &taken, result)
}

/// Elements along an axis, each at an index of its own; all other axes broadcast.
pub fn take_along_axis<B: Build>(b: &mut B, x: &B::Value, indices: &B::Value, axis: i64) -> Result<B::Value> {
    let op = "take_along_axis";
    let (x, indices, axis) = along(b, op, x, indices, axis)?;
    b.push(Op::Gather { axis }, &[&x, &indices])
}

/// Both operands with all axes but one broadcast against each other.
pub(super) fn along<B: Build>(
    b: &mut B,
    op: &'static str,
    x: &B::Value,
    indices: &B::Value,
    axis: i64,
) -> Result<(B::Value, B::Value, usize)> {
    let from = b.ty(x).shape;
    let axis = from.axis(op, axis)?;
    let indices = whole(b, op, indices)?;
    let at = b.ty(&indices).shape;
    if at.rank() != from.rank() {
        let why = "indices have as many axes as the array; use take for entries along one axis";
        return Err(Error::Shape { op, left: from, right: at, why });
    }
    let without = |shape: &Shape| {
        let mut shape = shape.clone();
        shape.dims_mut()[axis] = 1;
        shape
    };
    let common = without(&from).broadcast(op, &without(&at))?;
    let with = |length: usize| {
        let mut shape = common.clone();
        shape.dims_mut()[axis] = length;
        shape
    };
    let (x, indices) = (expand(b, x, &with(from[axis]))?, expand(b, &indices, &with(at[axis]))?);
    Ok((x, indices, axis))
}

/// Elements at coordinates: one index array per leading axis, broadcast against each other. Further axes follow.
pub fn gather<B: Build>(b: &mut B, x: &B::Value, indices: &[B::Value]) -> Result<B::Value> {
    let from = b.ty(x).shape;
    let (places, common) = coordinates(b, "gather", &from, indices)?;
    let mut flat = b.scalar(crate::Scalar::zero(DType::I64));
    for (place, &length) in places.iter().zip(from.iter()) {
        let low = with_number(b, MapOp::Maximum, place, 0)?;
        let inside = with_number(b, MapOp::Minimum, &low, length.max(1) - 1)?;
        flat = joined(b, &flat, &inside, length)?;
    }
    let flat = expand(b, &flat, &common)?;
    let rest = &from.dims()[places.len()..];
    let merged = merged(&from, places.len());
    let rows = reshaped(b, x, merged)?;
    let line = reshaped(b, &flat, Shape::from([common.size()]))?;
    let taken = b.push(Op::Take { axis: 0 }, &[&rows, &line])?;
    reshaped(b, &taken, common.iter().chain(rest).copied().collect())
}

/// Index arrays as `i64`, and their common shape.
pub(super) fn coordinates<B: Build>(
    b: &mut B,
    op: &'static str,
    from: &Shape,
    indices: &[B::Value],
) -> Result<(Vec<B::Value>, Shape)> {
    if indices.is_empty() || indices.len() > from.rank() {
        let what = format!("{} index arrays for the {} axes of {from}", indices.len(), from.rank());
        return Err(Error::Value { op, what });
    }
    let mut common = Shape::scalar();
    let mut places = Vec::with_capacity(indices.len());
    for index in indices {
        let place = whole(b, op, index)?;
        common = common.broadcast(op, &b.ty(&place).shape)?;
        places.push(place);
    }
    Ok((places, common))
}

/// `flat * length + place`: the row-major position after one more axis.
pub(super) fn joined<B: Build>(
    b: &mut B,
    flat: &B::Value,
    place: &B::Value,
    length: usize,
) -> Result<B::Value> {
    let scaled = with_number(b, MapOp::Multiply, flat, length)?;
    binary(b, MapOp::Add, &scaled, place)
}

/// A shape whose first `count` axes are one.
pub(super) fn merged(shape: &Shape, count: usize) -> Shape {
    let (lead, rest) = shape.dims().split_at(count);
    std::iter::once(lead.iter().product()).chain(rest.iter().copied()).collect()
}

/// Reshapes, if there is anything to reshape.
pub(super) fn reshaped<B: Build>(b: &mut B, x: &B::Value, shape: Shape) -> Result<B::Value> {
    if b.ty(x).shape == shape { Ok(x.clone()) } else { b.push(Op::Reshape(shape), &[x]) }
}
