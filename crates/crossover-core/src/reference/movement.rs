//! Ops that only move elements: for each index of the result, the index it comes from.
//!
//! Written without [`crate::Layout`] on purpose: strides are how backends do this, indices are what it means, and
//! tests compare the two.

use smallvec::SmallVec;

use super::Tensor;
use crate::{Scalar, Shape, graph::Op};

/// An index: one number per axis.
pub(super) type Index = SmallVec<[usize; 4]>;

/// The index of a row-major position.
pub(super) fn unravel(shape: &Shape, mut position: usize) -> Index {
    let mut index: Index = SmallVec::from_elem(0, shape.rank());
    for (at, &n) in index.iter_mut().zip(shape.dims()).rev() {
        *at = position % n;
        position /= n;
    }
    index
}

/// The row-major position of an index.
pub(super) fn ravel(shape: &Shape, index: &[usize]) -> usize {
    index.iter().zip(shape.iter()).fold(0, |position, (&at, &n)| position * n + at)
}

/// The elements of a view in row-major order of its shape.
pub(super) fn view(op: &Op, shape: &Shape, x: &Tensor) -> Vec<Scalar> {
    (0..shape.size()).map(|position| x.at(source(op, shape, &x.shape, position))).collect()
}

/// The row-major position in the operand that a position in the view shows.
fn source(op: &Op, shape: &Shape, from: &Shape, position: usize) -> usize {
    let index = unravel(shape, position);
    match op {
        Op::Permute(axes) => {
            let mut at: Index = SmallVec::from_elem(0, from.rank());
            for (&axis, &i) in axes.iter().zip(&index) {
                at[axis] = i;
            }
            ravel(from, &at)
        }
        Op::Expand(_) => {
            let lead = shape.rank() - from.rank();
            let at: Index =
                index[lead..].iter().zip(from.iter()).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
            ravel(from, &at)
        }
        Op::Flip(axes) => {
            let mut at = index;
            for &axis in axes {
                at[axis] = from[axis] - 1 - at[axis];
            }
            ravel(from, &at)
        }
        Op::Slice(spans) => {
            let along =
                |(span, &i): (&crate::Span, &usize)| (span.start as isize + span.step * i as isize) as usize;
            let at: Index = spans.iter().zip(&index).map(along).collect();
            ravel(from, &at)
        }
        Op::Strided(window) => {
            let shift: isize = window.strides.iter().zip(&index).map(|(&s, &i)| s * i as isize).sum();
            (window.offset as isize + shift) as usize
        }
        // Reshape: the same elements in the same order.
        _ => position,
    }
}

/// Operands one after another along an axis.
pub(super) fn concat(axis: usize, shape: &Shape, args: &[&Tensor]) -> Vec<Scalar> {
    let value = |position| {
        let mut index = unravel(shape, position);
        let mut rest = args.iter();
        let mut arg = rest.next().expect("concat has an operand");
        while index[axis] >= arg.shape[axis] {
            index[axis] -= arg.shape[axis];
            arg = rest.next().expect("an index of the result lies in one of the operands");
        }
        arg.at(ravel(&arg.shape, &index))
    };
    (0..shape.size()).map(value).collect()
}

/// Entries along an axis; indices below 0 take the first entry, indices past the end the last.
pub(super) fn take(axis: usize, shape: &Shape, x: &Tensor, indices: &Tensor) -> Vec<Scalar> {
    let value = |position| {
        let mut index = unravel(shape, position);
        let wanted = indices.at(index[axis]).bits()[0] as i64;
        index[axis] = wanted.clamp(0, x.shape[axis] as i64 - 1) as usize;
        x.at(ravel(&x.shape, &index))
    };
    (0..shape.size()).map(value).collect()
}
