//! Iteration over the first axis.

use std::panic::Location;

use crossover_core::Error as CoreError;

use crate::Array;

/// The entries along the first axis, in order; made by [`Array::rows`].
///
/// ```
/// use crossover_array::Array;
/// let x = Array::arange(6).reshape([3, 2]);
/// let last = x.rows().rev().next().expect("there are three");
/// assert_eq!(last.to_vec::<i64>()?, [4, 5]);
/// assert_eq!(x.rows().len(), 3);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Rows {
    array: Array,
    range: std::ops::Range<i64>,
}

/// Iteration.
impl Array {
    /// The entries along the first axis, as views: rows of a matrix, elements of a vector.
    ///
    /// An array without axes has no rows; the iterator then returns one array that carries the error, as does that of an
    /// array with an error.
    ///
    /// ```
    /// use crossover_array::Array;
    /// let x = Array::from([[1.0f32, 2.0], [3.0, 4.0]]);
    /// let mut sums = Vec::new();
    /// for row in &x {
    ///     sums.push(row.sum(()).item::<f32>()?);
    /// }
    /// assert_eq!(sums, [3.0, 7.0]);
    /// assert!(Array::scalar(1).rows().all(|row| row.check().is_err()));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn rows(&self) -> Rows {
        let alone = |array| Rows { array, range: 0..1 };
        match (self.failure(), self.shape().dims()) {
            (Some(error), _) => alone(Array::failed(error)),
            (None, []) => {
                let what = "an array without axes has no rows".to_string();
                alone(Array::wrong(CoreError::Value { op: "rows", what }, Location::caller()))
            }
            (None, &[first, ..]) => Rows { array: self.clone(), range: 0..first as i64 },
        }
    }
}

impl Iterator for Rows {
    type Item = Array;

    fn next(&mut self) -> Option<Array> {
        self.range.next().map(|at| self.array.index(at))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.range.end - self.range.start) as usize;
        (left, Some(left))
    }
}

impl DoubleEndedIterator for Rows {
    fn next_back(&mut self) -> Option<Array> {
        self.range.next_back().map(|at| self.array.index(at))
    }
}

impl ExactSizeIterator for Rows {}

impl IntoIterator for &Array {
    type Item = Array;
    type IntoIter = Rows;

    #[track_caller]
    fn into_iter(self) -> Rows {
        self.rows()
    }
}
