//! Arrays made from indices: `arange`, `linspace`, `eye`.

use super::{Build, binary, cast, number, with_number};
use crate::{DType, Error, Number, Result, Shape, graph::Op, ops::MapOp};

/// start, start + step, … as long as it is before `stop`.
pub fn arange<B: Build>(
    b: &mut B,
    start: Number,
    stop: Number,
    step: Number,
    dtype: DType,
) -> Result<B::Value> {
    let length = length(start, stop, step)?;
    let index = b.push(Op::Index { shape: Shape::from([length]), axis: 0 }, &[])?;
    // Integers count exactly; floats multiply and add once each, so that no error accumulates.
    let wide = if dtype.is_int() { dtype } else { DType::F64.promote(dtype) };
    let index = cast(b, &index, wide)?;
    let (start, step) = (b.scalar(start.to_scalar(wide)), b.scalar(step.to_scalar(wide)));
    let scaled = binary(b, MapOp::Multiply, &index, &step)?;
    let value = binary(b, MapOp::Add, &scaled, &start)?;
    cast(b, &value, dtype)
}

fn length(start: Number, stop: Number, step: Number) -> Result<usize> {
    let wrong = |what: String| Error::Value { op: "arange", what };
    if let (Number::Int(a), Number::Int(z), Number::Int(s)) = (start, stop, step) {
        if s == 0 {
            return Err(wrong("step is 0".to_string()));
        }
        let span = if s > 0 { z - a } else { a - z }.max(0);
        let n = (span + s.abs() - 1) / s.abs();
        return usize::try_from(n).map_err(|_| wrong(format!("{n} elements are too many")));
    }
    let real = |n: Number| match n {
        Number::Bool(v) => v as u8 as f64,
        Number::Int(v) => v as f64,
        Number::Float(v) | Number::Complex(v, _) => v,
    };
    let (a, z, s) = (real(start), real(stop), real(step));
    let n = ((z - a) / s).ceil();
    if !n.is_finite() || n > (1u64 << 53) as f64 {
        return Err(wrong(format!("from {a} to {z} by {s} has no finite length")));
    }
    Ok(n.max(0.0) as usize)
}

/// `count` numbers from start to stop, both included.
pub fn linspace<B: Build>(b: &mut B, start: f64, stop: f64, count: usize, dtype: DType) -> Result<B::Value> {
    let index = b.push(Op::Index { shape: Shape::from([count]), axis: 0 }, &[])?;
    let wide = DType::F64.promote(dtype);
    let position = cast(b, &index, wide)?;
    let steps = count.max(2) - 1;
    let scaled = with_number(b, MapOp::Multiply, &position, (stop - start) / steps as f64)?;
    let value = with_number(b, MapOp::Add, &scaled, start)?;
    // The last one is stop itself, whatever the step rounds to.
    let last = number(b, Number::Int(steps as i128), DType::I64)?;
    let is_last = binary(b, MapOp::Equal, &index, &last)?;
    let end = b.scalar(Number::Float(stop).to_scalar(wide));
    let value = super::select(b, &is_last, &end, &value)?;
    cast(b, &value, dtype)
}

/// Ones on a diagonal, zeros elsewhere; `offset` moves the diagonal to the right.
pub fn eye<B: Build>(b: &mut B, rows: usize, columns: usize, offset: i64, dtype: DType) -> Result<B::Value> {
    let shape = Shape::checked("eye", [rows, columns])?;
    let row = b.push(Op::Index { shape: shape.clone(), axis: 0 }, &[])?;
    let column = b.push(Op::Index { shape, axis: 1 }, &[])?;
    let row = with_number(b, MapOp::Add, &row, offset)?;
    let on = binary(b, MapOp::Equal, &row, &column)?;
    cast(b, &on, dtype)
}
