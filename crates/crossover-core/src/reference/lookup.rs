//! Gathers, scatters, sorts, searches and masks, one element at a time.

use std::cmp::Ordering;

use super::{
    Tensor,
    elementwise::map,
    movement::{ravel, unravel},
};
use crate::{
    DType, Scalar, Shape,
    ops::{order::compare, scatter::ScatterOp},
};

fn whole(value: Scalar) -> i64 {
    value.bits()[0] as i64
}

fn index(value: usize) -> Scalar {
    Scalar::from_bits(DType::I64, [value as u64, 0])
}

/// Elements along an axis; indices below 0 take the first, indices past the end the last.
pub(super) fn gather(axis: usize, x: &Tensor, indices: &Tensor) -> Vec<Scalar> {
    let value = |position| {
        let mut at = unravel(&indices.shape, position);
        at[axis] = whole(indices.at(position)).clamp(0, x.shape[axis] as i64 - 1) as usize;
        x.at(ravel(&x.shape, &at))
    };
    (0..indices.len()).map(value).collect()
}

/// The array with values written into it in row-major order of the indices; indices outside the axis write nothing.
pub(super) fn scatter(
    op: ScatterOp,
    axis: usize,
    x: &Tensor,
    indices: &Tensor,
    values: &Tensor,
) -> Vec<Scalar> {
    let mut out: Vec<Scalar> = x.scalars().collect();
    for position in 0..indices.len() {
        let wanted = whole(indices.at(position));
        if !(0..x.shape[axis] as i64).contains(&wanted) {
            continue;
        }
        let mut at = unravel(&indices.shape, position);
        at[axis] = wanted as usize;
        let to = ravel(&x.shape, &at);
        let value = values.at(position);
        out[to] = op.combine().map_or(value, |combine| map(combine, &[out[to], value]));
    }
    out
}

/// Every line along an axis sorted, or the indices that sort it.
pub(super) fn sort(axis: usize, descending: bool, indices: bool, x: &Tensor) -> Vec<Scalar> {
    let mut out = vec![Scalar::zero(if indices { DType::I64 } else { x.dtype }); x.len()];
    let lines: Shape = x.shape.reduced(&[axis], true);
    for line in 0..lines.size() {
        let mut at = unravel(&lines, line);
        let mut position = |i: usize| {
            at[axis] = i;
            ravel(&x.shape, &at)
        };
        let positions: Vec<usize> = (0..x.shape[axis]).map(&mut position).collect();
        let mut order: Vec<usize> = (0..positions.len()).collect();
        // The sort of the standard library is stable.
        order.sort_by(|&a, &b| compare(x.at(positions[a]), x.at(positions[b]), descending));
        for (&to, from) in positions.iter().zip(order) {
            out[to] = if indices { index(from) } else { x.at(positions[from]) };
        }
    }
    out
}

/// The indices of the first elements of sorted lines: as many as `shape` has along the axis.
pub(super) fn top(axis: usize, descending: bool, shape: &Shape, x: &Tensor) -> Vec<Scalar> {
    let order = sort(axis, descending, true, x);
    (0..shape.size()).map(|at| order[ravel(&x.shape, &unravel(shape, at))]).collect()
}

/// Where each value belongs in a sorted line. The bisection is part of the definition: an unsorted line has one
/// result too.
pub(super) fn search(right: bool, line: &Tensor, values: &Tensor) -> Vec<Scalar> {
    let place = |value: Scalar| {
        let (mut low, mut high) = (0, line.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let order = compare(line.at(middle), value, false);
            let is_before = order == Ordering::Less || (right && order == Ordering::Equal);
            if is_before {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        index(low)
    };
    values.scalars().map(place).collect()
}

/// The first `count` entries at which the mask is true; zeros where there are fewer.
pub(super) fn compress(count: usize, mask: &Tensor, x: &Tensor) -> Vec<Scalar> {
    let entry: usize = x.shape.dims()[1..].iter().product();
    let taken = (0..mask.len()).filter(|&i| mask.at(i).bits()[0] != 0).take(count);
    let mut out: Vec<Scalar> =
        taken.flat_map(|i| (i * entry..(i + 1) * entry).map(|position| x.at(position))).collect();
    out.resize(count * entry, Scalar::zero(x.dtype));
    out
}
