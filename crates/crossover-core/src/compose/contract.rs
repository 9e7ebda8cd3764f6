//! Products that sum over axes, and the diagonals they leave: `tensordot`, `vecdot`, `outer`, `cross`, `diagonal`,
//! `trace`.

use smallvec::SmallVec;

use super::{Build, binary, cast, fft::part, matmul, sum, unary};
use crate::{
    Error, Layout, Result, Shape,
    graph::{Axes, Op},
    ops::{MapOp, reduce::ReduceOp},
};

/// Axes in another order.
pub(super) fn permuted<B: Build>(b: &mut B, x: &B::Value, axes: &[usize]) -> Result<B::Value> {
    if axes.iter().enumerate().all(|(i, &a)| i == a) {
        return Ok(x.clone());
    }
    b.push(Op::Permute(Axes::from_slice(axes)), &[x])
}

/// Another shape for the same elements.
pub(super) fn reshaped<B: Build>(b: &mut B, x: &B::Value, shape: Shape) -> Result<B::Value> {
    if b.ty(x).shape == shape { Ok(x.clone()) } else { b.push(Op::Reshape(shape), &[x]) }
}

/// Sum of products over pairs of axes: `left[i]` of the first with `right[i]` of the second. The other axes of the first
/// come before those of the second.
pub fn tensordot<B: Build>(
    b: &mut B,
    x: &B::Value,
    y: &B::Value,
    left: &[i64],
    right: &[i64],
) -> Result<B::Value> {
    let op = "tensordot";
    let (a, c) = (b.ty(x).shape, b.ty(y).shape);
    if left.len() != right.len() {
        let what = format!("axes {left:?} and {right:?} are not pairs");
        return Err(Error::Value { op, what });
    }
    // Refuses an axis that is named twice.
    a.axes(op, left)?;
    c.axes(op, right)?;
    let place =
        |shape: &Shape, axes: &[i64]| axes.iter().map(|&i| shape.axis(op, i)).collect::<Result<Vec<_>>>();
    let (inner_a, inner_c) = (place(&a, left)?, place(&c, right)?);
    if inner_a.iter().zip(&inner_c).any(|(&i, &j)| a[i] != c[j]) {
        let why = "axes that are summed over together must have one length";
        return Err(Error::Shape { op, left: a, right: c, why });
    }
    let others =
        |shape: &Shape, inner: &[usize]| (0..shape.rank()).filter(|i| !inner.contains(i)).collect::<Vec<_>>();
    let (outer_a, outer_c) = (others(&a, &inner_a), others(&c, &inner_c));
    let length = |shape: &Shape, axes: &[usize]| axes.iter().map(|&i| shape[i]).product::<usize>();
    let inner = length(&a, &inner_a);
    let x = permuted(b, x, &[outer_a.as_slice(), &inner_a].concat())?;
    let y = permuted(b, y, &[inner_c.as_slice(), &outer_c].concat())?;
    let x = reshaped(b, &x, Shape::from([length(&a, &outer_a), inner]))?;
    let y = reshaped(b, &y, Shape::from([inner, length(&c, &outer_c)]))?;
    let product = matmul(b, &x, &y)?;
    let shape = outer_a.iter().map(|&i| a[i]).chain(outer_c.iter().map(|&i| c[i])).collect();
    reshaped(b, &product, shape)
}

/// Sum of conj(x)·y along an axis, counted from the last; other axes broadcast. In canonical order, hence exact.
pub fn vecdot<B: Build>(b: &mut B, x: &B::Value, y: &B::Value, axis: i64) -> Result<B::Value> {
    let op = "vecdot";
    let (a, c) = (b.ty(x).shape, b.ty(y).shape);
    let (i, j) = (a.axis(op, axis)?, c.axis(op, axis)?);
    if a[i] != c[j] || a.rank() - i != c.rank() - j {
        let why = "both have the same length along the axis, counted from the last";
        return Err(Error::Shape { op, left: a, right: c, why });
    }
    let dtype = b.dtype(x).promote(b.dtype(y));
    let x = cast(b, x, dtype)?;
    let x = if dtype.is_complex() { unary(b, MapOp::Conj, &x)? } else { x };
    dotted(b, &x, y, i as i64 - a.rank() as i64)
}

/// Sum of x·y along an axis counted from the last, in the promoted dtype.
fn dotted<B: Build>(b: &mut B, x: &B::Value, y: &B::Value, axis: i64) -> Result<B::Value> {
    let dtype = b.dtype(x).promote(b.dtype(y));
    let wide = dtype.compute();
    let (x, y) = (cast(b, x, wide)?, cast(b, y, wide)?);
    let product = binary(b, MapOp::Multiply, &x, &y)?;
    let total = if dtype == crate::DType::Bool {
        super::reduce(b, ReduceOp::Max, &product, &[axis], false)?
    } else {
        super::reduce(b, ReduceOp::Sum, &product, &[axis], false)?
    };
    cast(b, &total, dtype)
}

/// Every product of an element of the first, flattened, with one of the second.
pub fn outer<B: Build>(b: &mut B, x: &B::Value, y: &B::Value) -> Result<B::Value> {
    let (m, n) = (b.ty(x).shape.size(), b.ty(y).shape.size());
    let column = reshaped(b, x, Shape::from([m, 1]))?;
    let row = reshaped(b, y, Shape::from([1, n]))?;
    binary(b, MapOp::Multiply, &column, &row)
}

/// Cross product of vectors of three elements along an axis; other axes broadcast.
pub fn cross<B: Build>(b: &mut B, x: &B::Value, y: &B::Value, axis: i64) -> Result<B::Value> {
    let op = "cross";
    let (a, c) = (b.ty(x).shape, b.ty(y).shape);
    let (i, j) = (a.axis(op, axis)?, c.axis(op, axis)?);
    if a[i] != 3 || c[j] != 3 || a.rank() - i != c.rank() - j {
        let why = "both have 3 elements along the axis, counted from the last";
        return Err(Error::Shape { op, left: a, right: c, why });
    }
    let from_last = a.rank() - i;
    let mut parts: SmallVec<[B::Value; 3]> = SmallVec::new();
    for k in 0..3 {
        let (next, last) = ((k + 1) % 3, (k + 2) % 3);
        let (x1, y1) = (part(b, x, i, next, 1)?, part(b, y, j, last, 1)?);
        let (x2, y2) = (part(b, x, i, last, 1)?, part(b, y, j, next, 1)?);
        let (plus, minus) = (binary(b, MapOp::Multiply, &x1, &y1)?, binary(b, MapOp::Multiply, &x2, &y2)?);
        parts.push(binary(b, MapOp::Subtract, &plus, &minus)?);
    }
    let axis = b.ty(&parts[0]).shape.rank() - from_last;
    let parts: SmallVec<[&B::Value; 3]> = parts.iter().collect();
    b.push(Op::Concat { axis }, &parts)
}

/// The diagonal of two axes, which become the last one; a positive offset moves it to the right.
pub fn diagonal<B: Build>(b: &mut B, x: &B::Value, offset: i64, first: i64, second: i64) -> Result<B::Value> {
    let op = "diagonal";
    let shape = b.ty(x).shape;
    let (i, j) = (shape.axis(op, first)?, shape.axis(op, second)?);
    if i == j {
        return Err(Error::Value { op, what: format!("axes {first} and {second} of {shape} are the same") });
    }
    let order: Vec<usize> = (0..shape.rank()).filter(|&a| a != i && a != j).chain([i, j]).collect();
    let x = permuted(b, x, &order)?;
    let shape = b.ty(&x).shape;
    let lead = shape.rank() - 2;
    let (rows, columns) = (shape[lead], shape[lead + 1]);
    let (down, right) = (offset.min(0).unsigned_abs() as usize, offset.max(0) as usize);
    let length = rows.saturating_sub(down).min(columns.saturating_sub(right));
    let strides = shape.strides();
    let start = if length == 0 { 0 } else { down * columns + right };
    let layout = Layout {
        shape: shape.dims()[..lead].iter().copied().chain([length]).collect(),
        strides: strides[..lead].iter().copied().chain([columns as isize + 1]).collect(),
        offset: if shape.size() == 0 { 0 } else { start },
    };
    b.push(Op::Strided(layout), &[&x])
}

/// Sum of a diagonal of the last two axes.
pub fn trace<B: Build>(b: &mut B, x: &B::Value, offset: i64) -> Result<B::Value> {
    if b.ty(x).shape.rank() < 2 {
        let what = format!("{} is no matrix: give at least two axes", b.ty(x).shape);
        return Err(Error::Value { op: "trace", what });
    }
    let line = diagonal(b, x, offset, -2, -1)?;
    sum(b, &line, &[-1], false)
}
