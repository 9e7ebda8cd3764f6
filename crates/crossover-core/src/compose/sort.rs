//! `sort`, `argsort` and the order of the `k` largest. The order is [`crate::ops::order`]; NaN is last.

use super::Build;
use crate::{Result, graph::Op};

/// Elements in order along an axis, stably.
pub fn sort<B: Build>(b: &mut B, x: &B::Value, axis: i64, descending: bool) -> Result<B::Value> {
    let axis = b.ty(x).shape.axis("sort", axis)?;
    b.push(Op::Sort { axis, descending, indices: false }, &[x])
}

/// The `i64` indices that sort an axis, stably.
pub fn argsort<B: Build>(b: &mut B, x: &B::Value, axis: i64, descending: bool) -> Result<B::Value> {
    let axis = b.ty(x).shape.axis("argsort", axis)?;
    b.push(Op::Sort { axis, descending, indices: true }, &[x])
}

/// The `i64` indices of the `k` largest elements along an axis, largest first (or smallest, smallest first); of equal
/// ones, the first come first.
pub fn top_k<B: Build>(b: &mut B, x: &B::Value, k: usize, axis: i64, largest: bool) -> Result<B::Value> {
    let axis = b.ty(x).shape.axis("top_k", axis)?;
    b.push(Op::TopK { axis, k, descending: largest }, &[x])
}
