//! `sum`, `prod` and `cumulative_sum`: small integers widen to 64 bits, 16-bit floats accumulate in `f32`.

use super::{Build, cast, reduce};
use crate::{DType, Kind, Result, graph::Op, ops::reduce::ReduceOp};

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
    let dtype = accumulated(b.ty(x).dtype);
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

/// Running sum along an axis.
pub fn cumulative_sum<B: Build>(b: &mut B, x: &B::Value, axis: i64) -> Result<B::Value> {
    let ty = b.ty(x);
    let axis = ty.shape.axis("cumulative_sum", axis)?;
    let dtype = accumulated(ty.dtype);
    let wide = cast(b, x, dtype.compute())?;
    let total = b.push(Op::Scan { op: ReduceOp::Sum, axis }, &[&wide])?;
    cast(b, &total, dtype)
}
