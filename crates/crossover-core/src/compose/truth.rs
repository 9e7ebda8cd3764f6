//! `any` and `all`: maximum and minimum of truth values.

use super::{Build, cast, count, expand, reduce, resolve};
use crate::{DType, Element, Result, ops::reduce::ReduceOp};

/// Whether any element is not zero, over axes; none means all. False for nothing.
pub fn any<B: Build>(b: &mut B, x: &B::Value, axes: &[i64], keepdims: bool) -> Result<B::Value> {
    over(b, ReduceOp::Max, x, axes, keepdims)
}

/// Whether every element is not zero, over axes; none means all. True for nothing.
pub fn all<B: Build>(b: &mut B, x: &B::Value, axes: &[i64], keepdims: bool) -> Result<B::Value> {
    over(b, ReduceOp::Min, x, axes, keepdims)
}

fn over<B: Build>(b: &mut B, op: ReduceOp, x: &B::Value, axes: &[i64], keepdims: bool) -> Result<B::Value> {
    let shape = b.ty(x).shape;
    let resolved = resolve(if op == ReduceOp::Max { "any" } else { "all" }, &shape, axes)?;
    if count(&shape, &resolved) == 0 {
        let value = b.scalar((op == ReduceOp::Min).to_scalar());
        return expand(b, &value, &shape.reduced(&resolved, keepdims));
    }
    let truth = if b.ty(x).dtype.is_complex() {
        let zero = super::number(b, 0.into(), b.ty(x).dtype)?;
        super::binary(b, crate::ops::MapOp::NotEqual, x, &zero)?
    } else {
        cast(b, x, DType::Bool)?
    };
    reduce(b, op, &truth, axes, keepdims)
}
