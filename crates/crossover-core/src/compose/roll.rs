//! `roll`: elements moved along axes, those pushed out coming in at the other end.

use super::{Build, take::reshaped};
use crate::{Error, Result, Shape, Span, graph::Op};

/// Moved by `shifts[i]` along `axes[i]`; one shift serves all axes, and without axes elements move in row-major order.
pub fn roll<B: Build>(b: &mut B, x: &B::Value, shifts: &[i64], axes: &[i64]) -> Result<B::Value> {
    let op = "roll";
    let shape = b.ty(x).shape;
    if axes.is_empty() {
        let flat = reshaped(b, x, Shape::from([shape.size()]))?;
        let total = shifts.iter().fold(0i64, |sum, &s| sum.wrapping_add(reduced(s, shape.size())));
        let rolled = along(b, &flat, total, 0)?;
        return reshaped(b, &rolled, shape);
    }
    if shifts.len() != axes.len() && shifts.len() != 1 {
        let what = format!("{} shifts for {} axes; give one per axis, or one", shifts.len(), axes.len());
        return Err(Error::Value { op, what });
    }
    let mut rolled = x.clone();
    for (i, &axis) in axes.iter().enumerate() {
        let axis = shape.axis(op, axis)?;
        rolled = along(b, &rolled, shifts[i.min(shifts.len() - 1)], axis)?;
    }
    Ok(rolled)
}

/// A shift in 0..length.
fn reduced(shift: i64, length: usize) -> i64 {
    shift.rem_euclid(length.max(1) as i64)
}

fn along<B: Build>(b: &mut B, x: &B::Value, shift: i64, axis: usize) -> Result<B::Value> {
    let shape = b.ty(x).shape;
    let length = shape[axis];
    let shift = reduced(shift, length) as usize;
    if shift == 0 {
        return Ok(x.clone());
    }
    let mut part = |start: usize, length: usize| slice(b, x, axis, Span { start, step: 1, length });
    let (tail, head) = (part(length - shift, shift)?, part(0, length - shift)?);
    b.push(Op::Concat { axis }, &[&tail, &head])
}

/// A span of one axis, all of the others.
pub(super) fn slice<B: Build>(b: &mut B, x: &B::Value, axis: usize, span: Span) -> Result<B::Value> {
    let shape = b.ty(x).shape;
    let whole =
        |(i, &n): (usize, &usize)| if i == axis { span } else { Span { start: 0, step: 1, length: n } };
    b.push(Op::Slice(shape.iter().enumerate().map(whole).collect()), &[x])
}
