//! Truth values: what counts as true, tests of numbers, `any`, `all` and `count_nonzero`.

use super::{Build, binary, cast, count, expand, reduce, resolve, scalar, unary, with_number};
use crate::{
    DType, Element, Error, Kind, Result,
    ops::{MapOp, reduce::ReduceOp},
};

/// Whether elements are true, or not zero. NaN is not zero.
pub fn truth<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    let dtype = b.dtype(x);
    if !dtype.is_complex() {
        return cast(b, x, DType::Bool);
    }
    with_number(b, MapOp::NotEqual, x, 0)
}

/// Whether any element is not zero, over axes; none means all. False for nothing.
pub fn any<B: Build>(b: &mut B, x: &B::Value, axes: &[i64], keepdims: bool) -> Result<B::Value> {
    over(b, ReduceOp::Max, x, axes, keepdims)
}

/// Whether every element is not zero, over axes; none means all. True for nothing.
pub fn all<B: Build>(b: &mut B, x: &B::Value, axes: &[i64], keepdims: bool) -> Result<B::Value> {
    over(b, ReduceOp::Min, x, axes, keepdims)
}

fn over<B: Build>(b: &mut B, op: ReduceOp, x: &B::Value, axes: &[i64], keepdims: bool) -> Result<B::Value> {
    let shape = b.shape(x);
    let resolved = resolve(if op == ReduceOp::Max { "any" } else { "all" }, shape, axes)?;
    if count(shape, &resolved) == 0 {
        let (value, shape) = ((op == ReduceOp::Min).to_scalar(), shape.reduced(&resolved, keepdims));
        let value = b.scalar(value);
        return expand(b, &value, &shape);
    }
    let truth = truth(b, x)?;
    reduce(b, op, &truth, axes, keepdims)
}

/// How many elements are not zero, over axes; none means all. An `i64`.
pub fn count_nonzero<B: Build>(b: &mut B, x: &B::Value, axes: &[i64], keepdims: bool) -> Result<B::Value> {
    let truth = truth(b, x)?;
    let ones = cast(b, &truth, DType::I64)?;
    reduce(b, ReduceOp::Sum, &ones, axes, keepdims)
}

/// Whether elements are NaN, in either part.
pub fn isnan<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    // NaN is the only thing that differs from itself.
    binary(b, MapOp::NotEqual, x, x)
}

/// Whether elements are infinite, in either part.
pub fn isinf<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    test(b, x, |b, size| with_number(b, MapOp::Equal, size, f64::INFINITY), MapOp::BitwiseOr, MapOp::NotEqual)
}

/// Whether elements are +infinity.
pub fn isposinf<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    equals_infinity(b, "isposinf", x, f64::INFINITY)
}

/// Whether elements are -infinity.
pub fn isneginf<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    equals_infinity(b, "isneginf", x, f64::NEG_INFINITY)
}

fn equals_infinity<B: Build>(b: &mut B, op: &'static str, x: &B::Value, infinity: f64) -> Result<B::Value> {
    let dtype = b.dtype(x);
    match dtype.kind() {
        Kind::Float => with_number(b, MapOp::Equal, x, infinity),
        Kind::Complex => Err(Error::DType { op, dtype, supported: crate::DTypeSet::REAL.to_string() }),
        _ => binary(b, MapOp::NotEqual, x, x),
    }
}

/// Whether the imaginary part of elements is zero; that of real ones is.
pub fn isreal<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    imaginary(b, MapOp::Equal, x)
}

/// Whether the imaginary part of elements is not zero. NaN is not zero.
pub fn iscomplex<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    imaginary(b, MapOp::NotEqual, x)
}

fn imaginary<B: Build>(b: &mut B, compare: MapOp, x: &B::Value) -> Result<B::Value> {
    if b.dtype(x).is_complex() {
        let part = unary(b, MapOp::Imag, x)?;
        return with_number(b, compare, &part, 0);
    }
    b.filled((compare == MapOp::Equal).to_scalar(), x)
}

/// Whether elements are neither infinite nor NaN, in both parts.
pub fn isfinite<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    test(b, x, |b, size| with_number(b, MapOp::Less, size, f64::INFINITY), MapOp::BitwiseAnd, MapOp::Equal)
}

/// A test of magnitudes. Parts of complex numbers are joined by `join`; whole numbers pass as `whole` of themselves.
fn test<B: Build>(
    b: &mut B,
    x: &B::Value,
    mut of_size: impl FnMut(&mut B, &B::Value) -> Result<B::Value>,
    join: MapOp,
    whole: MapOp,
) -> Result<B::Value> {
    let kind = b.dtype(x).kind();
    if matches!(kind, Kind::Bool | Kind::Int) {
        return binary(b, whole, x, x);
    }
    let mut part = |b: &mut B, x: &B::Value| {
        let size = unary(b, MapOp::Abs, x)?;
        of_size(b, &size)
    };
    if kind == Kind::Float {
        return part(b, x);
    }
    let (re, im) = (unary(b, MapOp::Real, x)?, unary(b, MapOp::Imag, x)?);
    let (re, im) = (part(b, &re)?, part(b, &im)?);
    binary(b, join, &re, &im)
}

/// Whether the sign bit is set: negative numbers, -0 and NaN with a sign.
pub fn signbit<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    let dtype = b.dtype(x);
    if dtype.is_complex() {
        let supported = crate::DTypeSet::REAL.to_string();
        return Err(Error::DType { op: "signbit", dtype, supported });
    }
    let signed = if dtype.is_float() {
        // A unit with that sign compares, where -0 and NaN themselves do not.
        let one = scalar(1.0.into(), dtype)?;
        let one = b.filled(one, x)?;
        binary(b, MapOp::Copysign, &one, x)?
    } else {
        x.clone()
    };
    with_number(b, MapOp::Less, &signed, 0)
}
