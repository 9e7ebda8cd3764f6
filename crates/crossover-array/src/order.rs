//! Sorting and searching.
//!
//! Sorts are stable, and NaN comes last in both directions; zeros of both signs are equal. Complex numbers are ordered
//! by their real part, then their imaginary part, as in NumPy.

use crossover_core::{compose, compose::Build, graph::Op};

use crate::{Array, Operand};

/// On which side of equal elements a value belongs.
///
/// ```
/// use crossover_array::{Array, Side};
/// let sorted = Array::from([1, 2, 2, 3]);
/// assert_eq!(sorted.searchsorted(2, Side::Left).item::<i64>()?, 1);
/// assert_eq!(sorted.searchsorted(2, Side::Right).item::<i64>()?, 3);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Side {
    /// Before them.
    #[default]
    Left,
    /// After them.
    Right,
}

/// Sorting and searching. Sorts are stable, and NaN comes last.
impl Array {
    /// Elements in ascending order along an axis.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([[3.0f32, f32::NAN, 1.0], [-0.5, 2.0, 0.0]]);
    /// assert_eq!(x.sort(1).to_string(), "[[ 1.   3.   nan]\n [-0.5  0.   2. ]]");
    /// ```
    #[track_caller]
    pub fn sort(&self, axis: i64) -> Array {
        Array::build([self], |b, [x]| compose::sort(b, x, axis, false))
    }

    /// Elements in descending order along an axis; equal ones keep their order, and NaN is last.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([2u8, 9, 4]).sort_descending(0).to_vec::<u8>()?, [9, 4, 2]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn sort_descending(&self, axis: i64) -> Array {
        Array::build([self], |b, [x]| compose::sort(b, x, axis, true))
    }

    /// The indices that sort an axis in ascending order, as `i64`; equal elements keep their order.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([2, 1, 2, 1]).argsort(0).to_vec::<i64>()?, [1, 3, 0, 2]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn argsort(&self, axis: i64) -> Array {
        Array::build([self], |b, [x]| compose::argsort(b, x, axis, false))
    }

    /// The indices that sort an axis in descending order, as `i64`; equal elements keep their order.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([2, 1, 2, 1]).argsort_descending(0).to_vec::<i64>()?, [0, 2, 1, 3]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn argsort_descending(&self, axis: i64) -> Array {
        Array::build([self], |b, [x]| compose::argsort(b, x, axis, true))
    }

    /// The `k` largest elements along an axis, largest first, and their indices as `i64`. NaN is last, so it is among
    /// them only if there are fewer numbers than `k`.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let (values, indices) = Array::from([3, 9, 1, 9]).top_k(3, 0);
    /// assert_eq!(values.to_vec::<i32>()?, [9, 9, 3]);
    /// assert_eq!(indices.to_vec::<i64>()?, [1, 3, 0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn top_k(&self, k: usize, axis: i64) -> (Array, Array) {
        let indices = Array::build([self], |b, [x]| compose::top_k(b, x, k, axis, true));
        let values = Array::build([self, &indices], |b, [x, at]| compose::take_along_axis(b, x, at, axis));
        (values, indices)
    }

    /// Where values belong in this array, which has one axis and is sorted, as `i64`.
    ///
    /// ```
    /// # use crossover_array::{Array, Side};
    /// let sorted = Array::from([1.0f32, 2.0, 4.0]);
    /// let values = Array::from([[0.0f32, 2.0], [3.0, f32::NAN]]);
    /// assert_eq!(sorted.searchsorted(&values, Side::Left).to_vec::<i64>()?, [0, 1, 2, 3]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn searchsorted<'a>(&self, values: impl Into<Operand<'a>>, side: Side) -> Array {
        let values = values.into().into_array(self.dtype());
        Array::build([self, &values], |b, [line, values]| {
            compose::searchsorted(b, line, values, side == Side::Right, None)
        })
    }

    /// As [`searchsorted`](Array::searchsorted), for an array that `sorter` sorts: what [`argsort`](Array::argsort)
    /// returns.
    ///
    /// ```
    /// # use crossover_array::{Array, Side};
    /// let x = Array::from([30, 10, 20]);
    /// let at = x.searchsorted_by(&x.argsort(0), &Array::from([15, 30]), Side::Right);
    /// assert_eq!(at.to_vec::<i64>()?, [1, 3]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn searchsorted_by<'a>(&self, sorter: &Array, values: impl Into<Operand<'a>>, side: Side) -> Array {
        self.take(sorter, 0).searchsorted(values, side)
    }

    /// Whether each element equals one of `others`. NaN equals nothing.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([[1, 2], [3, 4]]);
    /// assert_eq!(x.isin(&Array::from([2, 3, 7])).to_vec::<bool>()?, [false, true, true, false]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn isin(&self, others: &Array) -> Array {
        Array::build([self, others], |b, [x, others]| compose::isin(b, x, others))
    }

    /// Entries at which a mask of one axis is true, where their number is known.
    #[track_caller]
    pub(crate) fn compressed(&self, mask: &Array, count: usize) -> Array {
        Array::build([mask, self], |b, [mask, x]| b.push(Op::Compress { count }, &[mask, x]))
    }
}
