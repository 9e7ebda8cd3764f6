//! `searchsorted` and `isin`.

use super::{Build, binary, cast, expand, take::reshaped, take::take, with_number};
use crate::{DType, Result, Scalar, Shape, graph::Op, ops::MapOp};

/// Where values belong in a sorted line, as `i64`: before equal elements, or after them. A sorter is the indices that
/// sort the line.
pub fn searchsorted<B: Build>(
    b: &mut B,
    line: &B::Value,
    values: &B::Value,
    right: bool,
    sorter: Option<&B::Value>,
) -> Result<B::Value> {
    let line = sorter.map_or(Ok(line.clone()), |sorter| take(b, line, sorter, 0))?;
    let dtype = b.dtype(&line).promote(b.dtype(values));
    let (line, values) = (cast(b, &line, dtype)?, cast(b, values, dtype)?);
    b.push(Op::SearchSorted { right }, &[&line, &values])
}

/// Whether each element equals one of `others`, whatever their shape. NaN equals nothing.
pub fn isin<B: Build>(b: &mut B, x: &B::Value, others: &B::Value) -> Result<B::Value> {
    let (left, right) = (b.ty(x), b.ty(others));
    let count = right.shape.size();
    if count == 0 {
        let no = b.scalar(Scalar::zero(DType::Bool));
        return expand(b, &no, &left.shape);
    }
    let dtype = left.dtype.promote(right.dtype);
    let (x, others) = (cast(b, x, dtype)?, cast(b, others, dtype)?);
    let line = reshaped(b, &others, Shape::from([count]))?;
    let line = b.push(Op::Sort { axis: 0, descending: false, indices: false }, &[&line])?;
    let at = b.push(Op::SearchSorted { right: false }, &[&line, &x])?;
    let at = with_number(b, MapOp::Minimum, &at, count - 1)?;
    let found = take(b, &line, &at, 0)?;
    binary(b, MapOp::Equal, &found, &x)
}
