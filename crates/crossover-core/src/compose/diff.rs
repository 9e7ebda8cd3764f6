//! `diff`: differences of neighbours.

use super::{Build, binary};
use crate::{DType, Result, Span, graph::Op, ops::MapOp};

/// Differences of neighbours along an axis, `times` over: each step makes the axis one shorter, down to nothing.
/// Booleans differ where they are not equal.
pub fn diff<B: Build>(b: &mut B, x: &B::Value, axis: i64, times: usize) -> Result<B::Value> {
    let axis = b.ty(x).shape.axis("diff", axis)?;
    let mut value = x.clone();
    // More steps than elements change nothing: the axis is empty by then.
    for _ in 0..times.min(b.ty(x).shape[axis]) {
        let ty = b.ty(&value);
        let op = if ty.dtype == DType::Bool { MapOp::NotEqual } else { MapOp::Subtract };
        let part = |start: usize| {
            let spans = ty.shape.iter().enumerate().map(|(i, &n)| match i == axis {
                true => Span { start: start.min(n - 1), step: 1, length: n - 1 },
                false => Span { start: 0, step: 1, length: n },
            });
            Op::Slice(spans.collect())
        };
        let (later, earlier) = (b.push(part(1), &[&value])?, b.push(part(0), &[&value])?);
        value = binary(b, op, &later, &earlier)?;
    }
    Ok(value)
}
