//! Arrays made from indices: `arange`, `linspace`, `eye`.

use super::{Build, binary, cast, number, with_number};
use crate::{DType, Error, Number, Result, Shape, graph::Op, ops::MapOp};

/// start, start + step, … as long as it is before `stop`. Integers count exactly, so every element fits into the dtype.
pub fn arange<B: Build>(
    b: &mut B,
    start: Number,
    stop: Number,
    step: Number,
    dtype: DType,
) -> Result<B::Value> {
    let (start, stop, step) = (real("start", start)?, real("stop", stop)?, real("step", step)?);
    let length = length(start, stop, step)?;
    if !dtype.is_float() && !dtype.is_complex() {
        counts(start, step, length, dtype)?;
    }
    let index = b.push(Op::Index { shape: Shape::from([length]), axis: 0 }, &[])?;
    // Integers count exactly; floats multiply and add once each, so that no error accumulates.
    let wide = if dtype.is_int() { dtype } else { DType::F64.promote(dtype) };
    let index = cast(b, &index, wide)?;
    let (start, step) = (b.scalar(start.to_scalar(wide)), b.scalar(step.to_scalar(wide)));
    let scaled = binary(b, MapOp::Multiply, &index, &step)?;
    let value = binary(b, MapOp::Add, &scaled, &start)?;
    cast(b, &value, dtype)
}

fn wrong(what: String) -> Error {
    Error::Value { op: "arange", what }
}

/// The number, which must not be complex.
fn real(name: &str, number: Number) -> Result<Number> {
    match number {
        Number::Bool(value) => Ok(Number::Int(value.into())),
        Number::Complex(re, im) => {
            Err(wrong(format!("{name} is {re}{im:+}j; give real numbers and add the imaginary part")))
        }
        real => Ok(real),
    }
}

/// Whether all elements are values of a dtype without fractions.
fn counts(start: Number, step: Number, length: usize, dtype: DType) -> Result<()> {
    let whole = |name, number| match number {
        Number::Int(value) => Ok(value),
        Number::Bool(value) => Ok(value.into()),
        Number::Float(value) | Number::Complex(value, _) if value.fract() == 0.0 => Ok(value as i128),
        Number::Float(value) | Number::Complex(value, _) => Err(wrong(format!(
            "{name} is {value}, which is no {dtype}; count in f64 and convert with astype"
        ))),
    };
    let (start, step) = (whole("start", start)?, whole("step", step)?);
    let Some(steps) = length.checked_sub(1) else { return Ok(()) };
    for element in [start, start.saturating_add(step.saturating_mul(steps as i128))] {
        let fits = if dtype == DType::Bool {
            (0..2).contains(&element)
        } else {
            !Number::Int(element).overflows(dtype)
        };
        if !fits {
            return Err(wrong(format!("{element} occurs, which does not fit into {dtype}")));
        }
    }
    Ok(())
}

fn length(start: Number, stop: Number, step: Number) -> Result<usize> {
    if let (Number::Int(a), Number::Int(z), Number::Int(s)) = (start, stop, step) {
        if s == 0 {
            return Err(wrong("step is 0".to_string()));
        }
        let span = if s > 0 { z.saturating_sub(a) } else { a.saturating_sub(z) }.max(0);
        let s = s.saturating_abs();
        let n = span / s + i128::from(span % s != 0);
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

/// `count` numbers from start to stop, which is the last one if `endpoint` is set, else the one after the last.
/// Computed in `f64`; integers are rounded down.
pub fn linspace<B: Build>(
    b: &mut B,
    start: f64,
    stop: f64,
    count: usize,
    endpoint: bool,
    dtype: DType,
) -> Result<B::Value> {
    let steps = if endpoint { count.max(2) - 1 } else { count.max(1) };
    let step = (stop - start) / steps as f64;
    let last = match count {
        0 | 1 => start,
        _ if endpoint => stop,
        _ => (count - 1) as f64 * step + start,
    };
    for end in [start, last] {
        let whole = end.floor();
        if dtype.is_int() && count > 0 && (!whole.is_finite() || Number::Int(whole as i128).overflows(dtype))
        {
            let what = format!("{end} occurs, which does not fit into {dtype}");
            return Err(Error::Value { op: "linspace", what });
        }
    }
    let index = b.push(Op::Index { shape: Shape::from([count]), axis: 0 }, &[])?;
    let wide = DType::F64.promote(dtype);
    let position = cast(b, &index, wide)?;
    let scaled = with_number(b, MapOp::Multiply, &position, step)?;
    let mut value = with_number(b, MapOp::Add, &scaled, start)?;
    if endpoint {
        // The last one is stop itself, whatever the step rounds to.
        let last = number(b, Number::Int(steps as i128), DType::I64)?;
        let is_last = binary(b, MapOp::Equal, &index, &last)?;
        let end = b.scalar(Number::Float(stop).to_scalar(wide));
        value = super::select(b, &is_last, &end, &value)?;
    }
    if dtype.is_int() {
        value = super::unary(b, MapOp::Floor, &value)?;
    }
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
