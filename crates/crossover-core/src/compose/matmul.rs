//! `matmul` with NumPy's rules for vectors and leading axes.
//!
//! Error bound: |computed - exact| ≤ γ · (|a| @ |b|) with γ = k·ε/(1 - k·ε), where k is the inner length and ε
//! half a unit in the last place of the dtype that is accumulated in (`f32` for 16-bit floats, whose result is
//! then rounded once). Integers are exact, modulo their width.

use super::{Build, cast, expand};
use crate::{Error, Result, Shape, graph::Op};

/// Matrix product over the last two axes; a vector is a row on the left and a column on the right.
pub fn matmul<B: Build>(b: &mut B, x: &B::Value, y: &B::Value) -> Result<B::Value> {
    let (left, right) = (b.ty(x), b.ty(y));
    if left.shape.rank() == 0 || right.shape.rank() == 0 {
        let why = "both need at least one axis; use multiply for a single value";
        return Err(Error::Shape { op: "matmul", left: left.shape, right: right.shape, why });
    }
    let (inner, other) =
        (left.shape[left.shape.rank() - 1], right.shape[right.shape.rank().saturating_sub(2)]);
    if inner != other {
        // Said of the shapes that were given: a vector has no second axis.
        let why =
            "the last axis of the first must be as long as the last but one of the second, or its only one";
        return Err(Error::Shape { op: "matmul", left: left.shape, right: right.shape, why });
    }
    let dtype = left.dtype.promote(right.dtype);
    let (x, y) = (cast(b, x, dtype)?, cast(b, y, dtype)?);
    let (row, column) = (left.shape.rank() == 1, right.shape.rank() == 1);
    let x = if row { b.push(Op::Reshape(Shape::from([1, left.shape[0]])), &[&x])? } else { x };
    let y = if column { b.push(Op::Reshape(Shape::from([right.shape[0], 1])), &[&y])? } else { y };
    let leading = |shape: &Shape| shape.dims()[..shape.rank().saturating_sub(2)].iter().copied().collect();
    let (lead_x, lead_y): (Shape, Shape) = (leading(&left.shape), leading(&right.shape));
    let lead = lead_x.broadcast("matmul", &lead_y)?;
    let mut joined = |value: B::Value, own: &Shape| {
        if *own == lead {
            return Ok(value);
        }
        let shape = b.ty(&value).shape;
        let tail = &shape.dims()[shape.rank() - 2..];
        let shape = lead.iter().chain(tail).copied().collect::<Shape>();
        expand(b, &value, &shape)
    };
    let (x, y) = (joined(x, &lead_x)?, joined(y, &lead_y)?);
    let product = b.push(Op::MatMul, &[&x, &y])?;
    if !row && !column {
        return Ok(product);
    }
    let full = b.ty(&product).shape;
    let (rows, columns) = (full[full.rank() - 2], full[full.rank() - 1]);
    let tail = [(!row).then_some(rows), (!column).then_some(columns)];
    let shape: Shape = lead.iter().copied().chain(tail.into_iter().flatten()).collect();
    b.push(Op::Reshape(shape), &[&product])
}
