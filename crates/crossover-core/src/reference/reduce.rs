//! Reductions and scans in the canonical order.
//!
//! The longest run of reduced axes at the end is one row per remaining index; the other reduced axes, flattened in
//! logical order, are one column of row results. 16-bit floats are combined in `f32` and rounded once at the end.

use smallvec::SmallVec;

use super::{
    Tensor,
    elementwise::{canonical, map},
    movement::{Index, ravel, unravel},
};
use crate::{
    DType, Scalar, Shape, canonical as order,
    ops::{cast, reduce::ReduceOp},
};

/// The result's elements in row-major order.
pub(super) fn reduce(op: ReduceOp, axes: &[usize], x: &Tensor) -> Vec<Scalar> {
    let rank = x.shape.rank();
    let trailing = (0..rank).rev().take_while(|axis| axes.contains(axis)).count();
    let rows: Vec<usize> = (rank - trailing..rank).collect();
    let columns: Vec<usize> = axes.iter().copied().filter(|axis| *axis < rank - trailing).collect();
    let kept: Vec<usize> = (0..rank).filter(|axis| !axes.contains(axis)).collect();

    let lengths = |axes: &[usize]| axes.iter().map(|&a| x.shape[a]).collect::<Shape>();
    let groups = [&kept, &columns, &rows].map(|axes| (axes, lengths(axes)));
    let [kept_size, column_length, row_length] = [0, 1, 2].map(|i| groups[i].1.size());
    // The element at a position within the kept, the column and the row axes.
    let at = |k: usize, c: usize, r: usize| {
        let mut index: Index = SmallVec::from_elem(0, rank);
        for ((axes, shape), position) in groups.iter().zip([k, c, r]) {
            for (&axis, i) in axes.iter().zip(unravel(shape, position)) {
                index[axis] = i;
            }
        }
        x.at(ravel(&x.shape, &index))
    };
    let one = |k: usize| {
        if op.is_arg() {
            // One axis or all of them: the index is the position in the only group, or in the whole array.
            let values = (0..column_length).flat_map(|c| (0..row_length).map(move |r| (c, r)));
            return arg(op, values.map(|(c, r)| at(k, c, r)));
        }
        let column: Vec<Scalar> = (0..column_length)
            .map(|c| {
                let row: Vec<Scalar> = (0..row_length).map(|r| cast::hold(at(k, c, r))).collect();
                order::row(&row, |a, b| map(op.combine(), &[a, b])).unwrap_or_else(|| identity(op, x.dtype))
            })
            .collect();
        let total = order::column(&column, |a, b| map(op.combine(), &[a, b]));
        finish(total.unwrap_or_else(|| identity(op, x.dtype)), x.dtype)
    };
    (0..kept_size).map(one).collect()
}

/// The value of an empty sum or product, in the dtype that is combined in.
fn identity(op: ReduceOp, dtype: DType) -> Scalar {
    match op {
        ReduceOp::Prod => Scalar::one(dtype.compute()),
        _ => Scalar::zero(dtype.compute()),
    }
}

/// A combined value as memory has it. A row of one element was never combined, hence the canonical NaN here.
fn finish(held: Scalar, dtype: DType) -> Scalar {
    cast::release(canonical(held), dtype)
}

/// Index of the first NaN, else of the first smallest or largest value; zeros of both signs are equal here.
fn arg(op: ReduceOp, values: impl Iterator<Item = Scalar>) -> Scalar {
    let mut best: Option<(usize, Scalar)> = None;
    for (i, value) in values.enumerate() {
        let better = best.is_none_or(|(_, held)| !is_nan(held) && (is_nan(value) || before(op, value, held)));
        if better {
            best = Some((i, value));
        }
    }
    let index = best.map_or(0, |(i, _)| i);
    Scalar::from_bits(DType::I64, [index as u64, 0])
}

fn before(op: ReduceOp, a: Scalar, b: Scalar) -> bool {
    use crate::ops::MapOp;
    let compare = if op == ReduceOp::ArgMin { MapOp::Less } else { MapOp::Greater };
    map(compare, &[a, b]).bits()[0] != 0
}

fn is_nan(value: Scalar) -> bool {
    value.dtype().is_float() && f64::from_bits(value.cast(DType::F64).bits()[0]).is_nan()
}

/// The running sum or product along an axis, in row-major order.
pub(super) fn scan(op: ReduceOp, axis: usize, x: &Tensor) -> Vec<Scalar> {
    let mut out = vec![Scalar::zero(x.dtype); x.len()];
    let length = x.shape[axis];
    let lines = x.shape.reduced(&[axis], true);
    for line in 0..lines.size() {
        let mut index = unravel(&lines, line);
        let positions: Vec<usize> = (0..length)
            .map(|i| {
                index[axis] = i;
                ravel(&x.shape, &index)
            })
            .collect();
        let values: Vec<Scalar> = positions.iter().map(|&p| cast::hold(x.at(p))).collect();
        let sums = order::scan(&values, |a, b| map(op.combine(), &[a, b]));
        for (position, sum) in positions.into_iter().zip(sums) {
            out[position] = finish(sum, x.dtype);
        }
    }
    out
}
