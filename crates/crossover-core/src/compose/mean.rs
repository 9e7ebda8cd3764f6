//! `mean`: the sum divided by the count.

use super::{Build, cast, count, floating, reduce, resolve, widened, with_number};
use crate::{
    Number, Result,
    ops::{MapOp, reduce::ReduceOp},
};

/// Mean over axes; none means all. The mean of nothing is NaN.
pub fn mean<B: Build>(b: &mut B, x: &B::Value, axes: &[i64], keepdims: bool) -> Result<B::Value> {
    let x = floating(b, x)?;
    let dtype = b.dtype(&x);
    let n = count(b.shape(&x), &resolve("mean", b.shape(&x), axes)?);
    let wide = widened(b, &x)?;
    let total = reduce(b, ReduceOp::Sum, &wide, axes, keepdims)?;
    let value = with_number(b, MapOp::Divide, &total, Number::Float(n as f64))?;
    cast(b, &value, dtype)
}
