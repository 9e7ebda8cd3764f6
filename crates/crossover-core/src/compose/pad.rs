//! `pad`: elements put around an array.

use super::{Build, expand, number, roll::slice};
use crate::{Error, Number, Result, Shape, Span, graph::Op};

/// What the elements around an array are.
///
/// ```
/// use crossover_core::{DType, Graph, Shape, compose::{Padding, pad}};
/// let mut graph = Graph::new();
/// let x = graph.input(DType::I32, Shape::from([3]))?;
/// let y = pad(&mut graph, &x, &[(2, 2)], Padding::Reflect)?;
/// assert_eq!(graph.node(y).ty.shape, Shape::from([7]));
/// # Ok::<(), crossover_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Padding {
    /// One number.
    Constant(Number),
    /// The nearest element.
    Edge,
    /// The array mirrored at its first and last elements, which are not repeated: `3 2 | 1 2 3 | 2 1`.
    Reflect,
    /// The array mirrored beyond its ends, whose elements are repeated: `2 1 | 1 2 3 | 3 2`.
    Symmetric,
    /// The array repeated: `2 3 | 1 2 3 | 1 2`.
    Wrap,
}

/// Elements put before and after each axis: one pair per axis, or one for all.
pub fn pad<B: Build>(
    b: &mut B,
    x: &B::Value,
    widths: &[(usize, usize)],
    padding: Padding,
) -> Result<B::Value> {
    let op = "pad";
    let shape = b.ty(x).shape;
    if widths.len() != shape.rank() && widths.len() != 1 {
        let what = format!("{} pairs of widths for {shape}; give one per axis, or one", widths.len());
        return Err(Error::Value { op, what });
    }
    let width = |axis: usize| widths[axis.min(widths.len() - 1)];
    // The whole must be addressable before any part is made.
    let grown = |axis: usize| {
        let (before, after) = width(axis);
        before.checked_add(after).and_then(|sum| sum.checked_add(shape[axis])).unwrap_or(usize::MAX)
    };
    Shape::checked(op, (0..shape.rank()).map(grown))?;
    let mut padded = x.clone();
    for axis in 0..shape.rank() {
        let (before, after) = width(axis);
        if before + after == 0 {
            continue;
        }
        padded = match padding {
            Padding::Constant(value) => constant(b, &padded, axis, (before, after), value)?,
            _ if shape[axis] == 0 => {
                let what = format!("axis {axis} of {shape} has no elements to repeat; pad with a constant");
                return Err(Error::Value { op, what });
            }
            _ => extended(b, &padded, axis, (before, after), padding)?,
        };
    }
    Ok(padded)
}

fn constant<B: Build>(
    b: &mut B,
    x: &B::Value,
    axis: usize,
    (before, after): (usize, usize),
    value: Number,
) -> Result<B::Value> {
    let ty = b.ty(x);
    if value.kind() > ty.dtype.kind() {
        let what = format!("{value:?} does not fit into {}; convert the array with astype first", ty.dtype);
        return Err(Error::Value { op: "pad", what });
    }
    let value = number(b, value, ty.dtype)?;
    let mut side = |length: usize| {
        let mut shape = ty.shape.clone();
        shape.dims_mut()[axis] = length;
        expand(b, &value, &shape)
    };
    let (first, last) = (side(before)?, side(after)?);
    joined(b, axis, [first, x.clone(), last])
}

/// Repeats what is there, as much as fits in one go, until the widths are reached: what was added serves the next go.
fn extended<B: Build>(
    b: &mut B,
    x: &B::Value,
    axis: usize,
    (mut before, mut after): (usize, usize),
    padding: Padding,
) -> Result<B::Value> {
    let period = b.ty(x).shape[axis];
    let mut grown = x.clone();
    while before + after > 0 {
        let length = b.ty(&grown).shape[axis];
        let last = length - 1;
        // How much a side can grow at once: whole periods, so that it ends where the next go can mirror or repeat.
        let limit = match padding {
            Padding::Reflect if period > 1 => last / (period - 1) * (period - 1),
            Padding::Symmetric | Padding::Wrap => length / period * period,
            _ => usize::MAX,
        };
        let (left, right) = (before.min(limit), after.min(limit));
        let span = |start: usize, step: isize, length: usize| Span { start, step, length };
        let (first, second) = match padding {
            Padding::Reflect if period > 1 => (span(left, -1, left), span(last - right.min(1), -1, right)),
            Padding::Symmetric => (span(left.max(1) - 1, -1, left), span(last, -1, right)),
            Padding::Wrap => (span(limit - left, 1, left), span(length - limit, 1, right)),
            _ => (span(0, 0, left), span(last, 0, right)),
        };
        let (first, second) = (slice(b, &grown, axis, first)?, slice(b, &grown, axis, second)?);
        grown = joined(b, axis, [first, grown, second])?;
        before -= left;
        after -= right;
    }
    Ok(grown)
}

/// Parts one after another; empty ones are left out.
fn joined<B: Build>(b: &mut B, axis: usize, parts: [B::Value; 3]) -> Result<B::Value> {
    let parts: Vec<&B::Value> = parts.iter().filter(|part| b.ty(part).shape[axis] > 0).collect();
    match parts.as_slice() {
        [one] => Ok((*one).clone()),
        // Nothing but empty parts: an empty array padded by nothing was returned before.
        several => b.push(Op::Concat { axis }, several),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        DType, Graph,
        reference::{Tensor, evaluate},
    };

    fn padded(n: usize, widths: (usize, usize), padding: Padding) -> Vec<i32> {
        let mut graph = Graph::new();
        let x = graph.input(DType::I32, Shape::from([n])).unwrap();
        let y = pad(&mut graph, &x, &[widths], padding).unwrap();
        graph.output(y);
        let values: Vec<i32> = (0..n as i32).collect();
        evaluate(&graph, &[Tensor::from_slice([n], &values).unwrap()]).unwrap()[0].to_vec().unwrap()
    }

    /// The index that each mode shows at a position, which may be far outside.
    fn expected(n: i64, at: i64, padding: Padding) -> i64 {
        let mirrored = |period: i64, n: i64| {
            let i = at.rem_euclid(period);
            if i < n { i } else { period - i }
        };
        match padding {
            Padding::Edge => at.clamp(0, n - 1),
            Padding::Wrap => at.rem_euclid(n),
            Padding::Reflect if n == 1 => 0,
            Padding::Reflect => mirrored(2 * n - 2, n),
            _ => {
                let i = at.rem_euclid(2 * n);
                if i < n { i } else { 2 * n - 1 - i }
            }
        }
    }

    #[test]
    fn widths_may_be_many_times_the_length() {
        let modes = [Padding::Edge, Padding::Wrap, Padding::Reflect, Padding::Symmetric];
        for padding in modes {
            for n in 1..6usize {
                for before in 0..17usize {
                    for after in 0..9usize {
                        let got = padded(n, (before, after), padding);
                        let at = |i: usize| expected(n as i64, i as i64 - before as i64, padding) as i32;
                        let want: Vec<i32> = (0..before + n + after).map(at).collect();
                        assert_eq!(got, want, "{padding:?} of {n} by {before} and {after}");
                    }
                }
            }
        }
    }

    #[test]
    fn constants_keep_the_dtype_and_fill_empty_arrays() {
        assert_eq!(padded(0, (2, 1), Padding::Constant(7.into())), [7, 7, 7]);
        assert_eq!(padded(2, (1, 0), Padding::Constant(7.into())), [7, 0, 1]);
        let mut graph = Graph::new();
        let x = graph.input(DType::I8, Shape::from([0])).unwrap();
        assert!(pad(&mut graph, &x, &[(1, 1)], Padding::Edge).is_err());
        assert!(pad(&mut graph, &x, &[(1, 1)], Padding::Constant(0.5.into())).is_err());
        assert!(pad(&mut graph, &x, &[(1, 1)], Padding::Constant(300.into())).is_err());
        assert!(pad(&mut graph, &x, &[(usize::MAX, 1)], Padding::Constant(0.into())).is_err());
    }
}
