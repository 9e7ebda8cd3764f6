//! What an index takes along one axis, and the `s!` macro that writes several.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use crossover_core::{DType, Error, Result, Span};
use smallvec::SmallVec;

use crate::Array;

/// What is taken along one axis. Made from integers and ranges; [`s!`](crate::s) makes lists of them.
///
/// Negative numbers count from the end. Bounds outside the axis are cut off as in NumPy; an integer outside it is
/// an error. Write ranges such as `1..-1` inside `s!`: elsewhere Clippy takes them for mistakes.
///
/// ```
/// use crossover_array::{Array, Index, s};
/// let x = Array::from([[1, 2, 3], [4, 5, 6]]);
/// assert_eq!(x.slice(s![.., -1]).to_vec::<i32>()?, [3, 6]);
/// assert_eq!(x.slice(s![0, 1..100]).to_vec::<i32>()?, [2, 3]);
/// assert_eq!(x.slice(s![1, ..; -1]).to_vec::<i32>()?, [6, 5, 4]);
/// assert_eq!(x.slice(s![Index::NewAxis, 0]).shape().dims(), [1, 3]);
/// assert!(x.slice(s![2]).check().is_err());
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone)]
pub enum Index {
    /// One entry; the axis goes away.
    At(i64),
    /// Entries from `start` to before `stop`, every `step`-th; a negative step walks backwards.
    Range {
        /// First entry; the first (or last, walking backwards) if there is none.
        start: Option<i64>,
        /// The entry to stop before; the end if there is none.
        stop: Option<i64>,
        /// Distance between entries; not 0.
        step: i64,
    },
    /// A new axis of length 1.
    NewAxis,
    /// All of as many axes as are left.
    Ellipsis,
    /// Entries by an array: integers are indices along one axis; booleans are a mask over as many axes as they have. Only
    /// [`get`](Array::get) and [`set`](Array::set) take these: the result is no view.
    Array(Box<Array>),
}

impl Index {
    /// The same range with another step. Only ranges have steps; anything else stays as it is.
    ///
    /// ```
    /// use crossover_array::{Array, Index};
    /// let every_other = Index::from(..).step(2);
    /// assert_eq!(Array::arange(5).slice(every_other).to_vec::<i64>()?, [0, 2, 4]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn step(self, step: i64) -> Index {
        match self {
            Index::Range { start, stop, .. } => Index::Range { start, stop, step },
            other => other,
        }
    }

    /// How many axes this takes care of; an ellipsis takes those that are left.
    pub(crate) fn covers(&self) -> usize {
        match self {
            Index::At(_) | Index::Range { .. } => 1,
            Index::NewAxis | Index::Ellipsis => 0,
            Index::Array(array) if array.dtype() == DType::Bool => array.ndim(),
            Index::Array(_) => 1,
        }
    }
}

impl From<&Array> for Index {
    fn from(array: &Array) -> Index {
        Index::Array(Box::new(array.clone()))
    }
}

impl From<Array> for Index {
    fn from(array: Array) -> Index {
        Index::Array(Box::new(array))
    }
}

/// The span of a range along an axis, by the rules of Python slices.
pub(crate) fn span(start: Option<i64>, stop: Option<i64>, step: i64, length: usize) -> Result<Span> {
    if step == 0 {
        return Err(Error::Value { op: "slice", what: "step is 0".to_string() });
    }
    let n = length as i64;
    // Walking backwards, positions end at -1: one before the first.
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let place = |bound: i64| if bound < 0 { (bound + n).max(low) } else { bound.min(high) };
    let (first, last) = if step > 0 { (low, high) } else { (high, low) };
    let start = start.map_or(first, place);
    let stop = stop.map_or(last, place);
    let distance = if step > 0 { stop - start } else { start - stop };
    if distance <= 0 {
        return Ok(Span { start: 0, step: 1, length: 0 });
    }
    let taken = (distance as u64).div_ceil(step.unsigned_abs()) as usize;
    Ok(Span { start: start as usize, step: step as isize, length: taken })
}

/// The position of an integer index.
pub(crate) fn position(op: &'static str, index: i64, axis: usize, length: usize) -> Result<usize> {
    let n = length as i64;
    if (-n..n).contains(&index) {
        Ok((if index < 0 { index + n } else { index }) as usize)
    } else {
        Err(Error::Index { op, index, axis, length })
    }
}

/// Indices for several axes: one of them, or a list from [`s!`](crate::s).
///
/// ```
/// # use crossover_array::{Array, s};
/// let x = Array::arange(10);
/// assert_eq!(x.slice(2..4).to_vec::<i64>()?, [2, 3]);
/// assert_eq!(x.slice(s![2..4]).to_vec::<i64>()?, [2, 3]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Indices(pub(crate) SmallVec<[Index; 4]>);

impl Indices {
    /// Whether some are arrays, so that the result is no view.
    pub(crate) fn has_arrays(&self) -> bool {
        self.0.iter().any(|index| matches!(index, Index::Array(_)))
    }
}

impl<const N: usize> From<[Index; N]> for Indices {
    fn from(indices: [Index; N]) -> Indices {
        Indices(indices.into_iter().collect())
    }
}

impl From<&[Index]> for Indices {
    fn from(indices: &[Index]) -> Indices {
        Indices(indices.iter().cloned().collect())
    }
}

impl From<Vec<Index>> for Indices {
    fn from(indices: Vec<Index>) -> Indices {
        Indices(SmallVec::from_vec(indices))
    }
}

impl<I: Into<Index>> From<I> for Indices {
    fn from(index: I) -> Indices {
        Indices(std::iter::once(index.into()).collect())
    }
}

impl From<RangeFull> for Index {
    fn from(_: RangeFull) -> Index {
        Index::Range { start: None, stop: None, step: 1 }
    }
}

macro_rules! from_integers {
    ($($int:ty)*) => {$(
        impl From<$int> for Index {
            fn from(at: $int) -> Index {
                Index::At(bound(at))
            }
        }

        impl From<Range<$int>> for Index {
            fn from(range: Range<$int>) -> Index {
                Index::Range { start: Some(bound(range.start)), stop: Some(bound(range.end)), step: 1 }
            }
        }

        impl From<RangeFrom<$int>> for Index {
            fn from(range: RangeFrom<$int>) -> Index {
                Index::Range { start: Some(bound(range.start)), stop: None, step: 1 }
            }
        }

        impl From<RangeTo<$int>> for Index {
            fn from(range: RangeTo<$int>) -> Index {
                Index::Range { start: None, stop: Some(bound(range.end)), step: 1 }
            }
        }

        impl From<RangeInclusive<$int>> for Index {
            fn from(range: RangeInclusive<$int>) -> Index {
                Index::Range { start: Some(bound(*range.start())), stop: after(bound(*range.end())), step: 1 }
            }
        }

        impl From<RangeToInclusive<$int>> for Index {
            fn from(range: RangeToInclusive<$int>) -> Index {
                Index::Range { start: None, stop: after(bound(range.end)), step: 1 }
            }
        }
    )*};
}

from_integers!(i32 i64 usize);

/// A bound; no axis is longer than i64 can say.
fn bound(at: impl TryInto<i64>) -> i64 {
    at.try_into().unwrap_or(i64::MAX)
}

/// What to stop before so that `last` is included; -1 is the last entry, and nothing is after it.
fn after(last: i64) -> Option<i64> {
    if last == -1 { None } else { Some(last.saturating_add(1)) }
}

/// A list of indices, one per axis: integers, ranges, ranges with a step after `;`, [`Index::NewAxis`],
/// [`Index::Ellipsis`], and for [`Array::get`] and [`Array::set`] index arrays and masks.
///
/// ```
/// use crossover_array::{Array, s};
/// let x = Array::arange(24).reshape([2, 3, 4]);
/// assert_eq!(x.slice(s![0, 1.., ..; 2]).to_vec::<i64>()?, [4, 6, 8, 10]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[macro_export]
macro_rules! s {
    ($($index:expr $(; $step:expr)?),* $(,)?) => {{
        // `1..-1` and `3..0; -1` are what is meant here.
        #[allow(clippy::reversed_empty_ranges)]
        let indices: [$crate::Index; _] = [$($crate::Index::from($index)$(.step($step))?),*];
        indices
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Indices that Python's `range(n)[start:stop:step]` gives.
    fn taken(start: Option<i64>, stop: Option<i64>, step: i64, n: usize) -> Vec<i64> {
        let span = span(start, stop, step, n).unwrap();
        (0..span.length as i64).map(|i| span.start as i64 + i * span.step as i64).collect()
    }

    #[test]
    fn spans_follow_python() {
        assert_eq!(taken(None, None, 1, 4), [0, 1, 2, 3]);
        assert_eq!(taken(None, None, -1, 4), [3, 2, 1, 0]);
        assert_eq!(taken(Some(-3), Some(-1), 1, 4), [1, 2]);
        assert_eq!(taken(Some(-100), Some(100), 2, 5), [0, 2, 4]);
        assert_eq!(taken(Some(100), Some(-100), -2, 5), [4, 2, 0]);
        assert_eq!(taken(Some(3), Some(1), 1, 5), []);
        assert_eq!(taken(Some(1), Some(3), -1, 5), []);
        assert_eq!(taken(Some(5), None, 1, 5), []);
        assert_eq!(taken(None, Some(0), -1, 5), [4, 3, 2, 1]);
        assert_eq!(taken(Some(i64::MIN), Some(i64::MAX), i64::MAX, 5), [0]);
        assert_eq!(taken(None, None, i64::MIN, 5), [4]);
        assert_eq!(taken(None, None, -1, 0), []);
        assert!(span(None, None, 0, 5).is_err());
    }

    #[test]
    fn inclusive_ranges_reach_the_last_entry() {
        let [index] = crate::s![1..=-1];
        assert!(matches!(index, Index::Range { start: Some(1), stop: None, step: 1 }));
        assert!(matches!(Index::from(..=2), Index::Range { start: None, stop: Some(3), step: 1 }));
    }
}
