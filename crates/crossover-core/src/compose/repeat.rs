//! `repeat` and `tile`: elements or whole arrays several times.

use super::{Build, expand, take::reshaped};
use crate::{Result, Shape};

/// Each entry along an axis `count` times in a row; without an axis, each element of the flattened array.
pub fn repeat<B: Build>(b: &mut B, x: &B::Value, count: usize, axis: Option<i64>) -> Result<B::Value> {
    let shape = b.ty(x).shape;
    let Some(axis) = axis else {
        let flat = reshaped(b, x, Shape::from([shape.size()]))?;
        return repeat(b, &flat, count, Some(0));
    };
    let axis = shape.axis("repeat", axis)?;
    let (lead, rest) = shape.dims().split_at(axis + 1);
    let with = |n: usize| lead.iter().copied().chain([n]).chain(rest.iter().copied());
    let mut result = shape.clone();
    result.dims_mut()[axis] = shape[axis].saturating_mul(count);
    let result = Shape::checked("repeat", result.iter().copied())?;
    let single = reshaped(b, x, with(1).collect())?;
    let wide = expand(b, &single, &with(count).collect())?;
    reshaped(b, &wide, result)
}

/// The whole array `counts[i]` times along axis i, counted from the last axis; missing axes are new, missing counts 1.
pub fn tile<B: Build>(b: &mut B, x: &B::Value, counts: &[usize]) -> Result<B::Value> {
    let shape = b.ty(x).shape;
    let rank = shape.rank().max(counts.len());
    let padded = |values: &[usize]| -> Vec<usize> {
        let missing = rank - values.len();
        std::iter::repeat_n(1, missing).chain(values.iter().copied()).collect()
    };
    let (dims, counts) = (padded(shape.dims()), padded(counts));
    let result = dims.iter().zip(&counts).map(|(&n, &count)| n.saturating_mul(count));
    let result = Shape::checked("tile", result)?;
    let single = reshaped(b, x, dims.iter().flat_map(|&n| [1, n]).collect())?;
    let wide = dims.iter().zip(&counts).flat_map(|(&n, &count)| [count, n]).collect();
    let wide = expand(b, &single, &wide)?;
    reshaped(b, &wide, result)
}
