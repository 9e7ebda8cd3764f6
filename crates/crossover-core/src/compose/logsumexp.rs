//! `logsumexp`: the logarithm of a sum of exponentials, shifted by the maximum so that nothing overflows.

use super::{
    Build, binary, cast, count, expand, floating, isfinite, number, reduce, resolve, select, unary, widened,
};
use crate::{
    Error, Result,
    ops::{MapOp, reduce::ReduceOp},
};

/// log(Σ exp(x)) over axes; none means all. Of nothing it is minus infinity, the logarithm of zero.
pub fn logsumexp<B: Build>(b: &mut B, x: &B::Value, axes: &[i64], keepdims: bool) -> Result<B::Value> {
    let x = floating(b, x)?;
    let ty = b.ty(&x);
    if ty.dtype.is_complex() {
        let supported = crate::DTypeSet::REAL.to_string();
        return Err(Error::DType { op: "logsumexp", dtype: ty.dtype, supported });
    }
    let resolved = resolve("logsumexp", &ty.shape, axes)?;
    let reduced = ty.shape.reduced(&resolved, keepdims);
    if count(&ty.shape, &resolved) == 0 {
        let nothing = number(b, f64::NEG_INFINITY.into(), ty.dtype)?;
        return expand(b, &nothing, &reduced);
    }
    let wide = widened(b, &x)?;
    let top = reduce(b, ReduceOp::Max, &wide, axes, true)?;
    // An infinite maximum would be subtracted from itself; without a shift its exponential is what it should be.
    let finite = isfinite(b, &top)?;
    let zero = number(b, 0.0.into(), b.dtype(&top))?;
    let shift = select(b, &finite, &top, &zero)?;
    let shifted = binary(b, MapOp::Subtract, &wide, &shift)?;
    let powers = unary(b, MapOp::Exp, &shifted)?;
    let total = reduce(b, ReduceOp::Sum, &powers, axes, true)?;
    let log = unary(b, MapOp::Log, &total)?;
    let value = binary(b, MapOp::Add, &log, &shift)?;
    let value = cast(b, &value, ty.dtype)?;
    if keepdims { Ok(value) } else { super::reshape(b, &value, &reduced) }
}
