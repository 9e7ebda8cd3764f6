//! `sum`, `prod` and their running forms: small integers widen to 64 bits, 16-bit floats accumulate in `f32`.

use super::{Build, cast, expand, reduce};
use crate::{DType, Kind, Result, Scalar, graph::Op, ops::reduce::ReduceOp};

/// The dtype that sums of `dtype` have, as the Array API standard says.
fn accumulated(dtype: DType) -> DType {
    match dtype.kind() {
        Kind::Bool => DType::I64,
        Kind::Int if dtype.is_signed_int() => DType::I64,
        Kind::Int => DType::U64,
        _ => dtype,
    }
}

fn totalled<B: Build>(
    b: &mut B,
    op: ReduceOp,
    x: &B::Value,
    axes: &[i64],
    keepdims: bool,
) -> Result<B::Value> {
    let dtype = accumulated(b.dtype(x));
    let wide = cast(b, x, dtype.compute())?;
    let total = reduce(b, op, &wide, axes, keepdims)?;
    cast(b, &total, dtype)
}

/// Sum over axes; none means all.
pub fn sum<B: Build>(b: &mut B, x: &B::Value, axes: &[i64], keepdims: bool) -> Result<B::Value> {
    totalled(b, ReduceOp::Sum, x, axes, keepdims)
}

/// Product over axes; none means all.
pub fn prod<B: Build>(b: &mut B, x: &B::Value, axes: &[i64], keepdims: bool) -> Result<B::Value> {
    totalled(b, ReduceOp::Prod, x, axes, keepdims)
}

/// Running sum along an axis, after a zero where `include_initial` is set.
pub fn cumulative_sum<B: Build>(
    b: &mut B,
    x: &B::Value,
    axis: i64,
    include_initial: bool,
) -> Result<B::Value> {
    running(b, ReduceOp::Sum, x, axis, include_initial.then_some(Scalar::zero))
}

/// Running product along an axis, after a one where `include_initial` is set.
pub fn cumulative_prod<B: Build>(
    b: &mut B,
    x: &B::Value,
    axis: i64,
    include_initial: bool,
) -> Result<B::Value> {
    running(b, ReduceOp::Prod, x, axis, include_initial.then_some(Scalar::one))
}

fn running<B: Build>(
    b: &mut B,
    op: ReduceOp,
    x: &B::Value,
    axis: i64,
    initial: Option<fn(DType) -> Scalar>,
) -> Result<B::Value> {
    let ty = b.ty(x);
    let name = Op::Scan { op, axis: 0 }.name();
    let axis = ty.shape.axis(name, axis)?;
    let dtype = accumulated(ty.dtype);
    let wide = cast(b, x, dtype.compute())?;
    let total = b.push(Op::Scan { op, axis }, &[&wide])?;
    let total = cast(b, &total, dtype)?;
    let Some(initial) = initial else { return Ok(total) };
    let first = b.scalar(initial(dtype));
    let mut shape = ty.shape;
    shape.dims_mut()[axis] = 1;
    let first = expand(b, &first, &shape)?;
    b.push(Op::Concat { axis }, &[&first, &total])
}
