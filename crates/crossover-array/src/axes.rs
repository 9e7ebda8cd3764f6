//! Axes to reduce over, and shapes that leave one length to be worked out.

use crossover_core::{Error, Result, Shape};
use smallvec::SmallVec;

/// The axes of a reduction, and whether they stay with length 1.
///
/// `()` is all axes, a number is one (negative counts from the last), a list is several; an empty list is all.
///
/// ```
/// use crossover_array::{Array, keepdims};
/// let x = Array::ones::<f32>([2, 3, 4]);
/// assert_eq!(x.sum(()).shape().dims(), []);
/// assert_eq!(x.sum(-1).shape().dims(), [2, 3]);
/// assert_eq!(x.sum([0, 2]).shape().dims(), [3]);
/// assert_eq!(x.sum(keepdims(1)).shape().dims(), [2, 1, 4]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Axes {
    pub(crate) axes: SmallVec<[i64; 4]>,
    pub(crate) keepdims: bool,
}

impl Axes {
    /// The same axes, kept with length 1 so that the result broadcasts against the operand.
    ///
    /// ```
    /// use crossover_array::{Array, Axes};
    /// let x = Array::ones::<f32>([2, 3]);
    /// assert_eq!((&x / x.sum(Axes::from(1).keepdims())).shape().dims(), [2, 3]);
    /// ```
    pub fn keepdims(mut self) -> Axes {
        self.keepdims = true;
        self
    }
}

/// Axes that stay with length 1; short for [`Axes::keepdims`].
///
/// ```
/// use crossover_array::{Array, keepdims};
/// let x = Array::from([[1.0f32, 3.0], [2.0, 6.0]]);
/// let shares = &x / x.sum(keepdims(1));
/// assert_eq!(shares.to_vec::<f32>()?, [0.25, 0.75, 0.25, 0.75]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
pub fn keepdims(axes: impl Into<Axes>) -> Axes {
    axes.into().keepdims()
}

impl From<()> for Axes {
    fn from((): ()) -> Axes {
        Axes::default()
    }
}

/// How far elements move along axes: a number, or a list of one per axis.
///
/// ```
/// # use crossover_array::Array;
/// let x = Array::from([[1, 2], [3, 4]]);
/// assert_eq!(x.roll([0, 1], [0, 1]).to_vec::<i32>()?, [2, 1, 4, 3]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shifts(pub(crate) SmallVec<[i64; 4]>);

/// A shape in which one length may be -1: whatever makes the number of elements right.
///
/// ```
/// # use crossover_array::Array;
/// let x = Array::arange(12);
/// assert_eq!(x.reshape([3, -1]).shape().dims(), [3, 4]);
/// assert_eq!(x.reshape(-1).shape().dims(), [12]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dims(SmallVec<[i64; 4]>);

impl Dims {
    /// The shape for an array of shape `from`.
    pub(crate) fn resolve(&self, op: &'static str, from: &Shape) -> Result<Shape> {
        let given = &self.0;
        let wrong = |what: String| Error::Value { op, what };
        if let Some(bad) = given.iter().find(|&&n| n < -1) {
            return Err(wrong(format!("{bad} in {given:?} is no length; -1 stands for the rest")));
        }
        let open = given.iter().filter(|&&n| n == -1).count();
        if open > 1 {
            return Err(wrong(format!("{given:?} leaves more than one length open")));
        }
        let known = Shape::checked(op, given.iter().filter(|&&n| n >= 0).map(|&n| n as usize))?.size();
        if open == 0 {
            return Ok(given.iter().map(|&n| n as usize).collect());
        }
        // With an empty axis beside it, any length would do.
        if known == 0 || !from.size().is_multiple_of(known) {
            return Err(wrong(format!(
                "no length for -1 in {given:?} gives the {} elements of {from}",
                from.size()
            )));
        }
        let rest = from.size() / known;
        Ok(given.iter().map(|&n| if n == -1 { rest } else { n as usize }).collect())
    }
}

macro_rules! from_lists {
    ($($int:ty)*) => {$(
        impl From<$int> for Axes {
            fn from(axis: $int) -> Axes {
                Axes::from([axis])
            }
        }

        impl<const N: usize> From<[$int; N]> for Axes {
            fn from(axes: [$int; N]) -> Axes {
                Axes::from(axes.as_slice())
            }
        }

        impl<const N: usize> From<&[$int; N]> for Axes {
            fn from(axes: &[$int; N]) -> Axes {
                Axes::from(axes.as_slice())
            }
        }

        impl From<Vec<$int>> for Axes {
            fn from(axes: Vec<$int>) -> Axes {
                Axes::from(axes.as_slice())
            }
        }

        impl From<&[$int]> for Axes {
            fn from(axes: &[$int]) -> Axes {
                // An axis beyond i64 is none of any array, and neither is i64::MAX.
                let axes = axes.iter().map(|&axis| i64::try_from(axis).unwrap_or(i64::MAX));
                Axes { axes: axes.collect(), keepdims: false }
            }
        }

        impl From<$int> for Shifts {
            fn from(shift: $int) -> Shifts {
                Shifts::from([shift])
            }
        }

        impl<const N: usize> From<[$int; N]> for Shifts {
            fn from(shifts: [$int; N]) -> Shifts {
                Shifts::from(shifts.as_slice())
            }
        }

        impl From<Vec<$int>> for Shifts {
            fn from(shifts: Vec<$int>) -> Shifts {
                Shifts::from(shifts.as_slice())
            }
        }

        impl From<&[$int]> for Shifts {
            fn from(shifts: &[$int]) -> Shifts {
                Shifts(shifts.iter().map(|&shift| shift as i64).collect())
            }
        }

        impl From<$int> for Dims {
            fn from(length: $int) -> Dims {
                Dims::from([length])
            }
        }

        impl<const N: usize> From<[$int; N]> for Dims {
            fn from(dims: [$int; N]) -> Dims {
                Dims::from(dims.as_slice())
            }
        }

        impl<const N: usize> From<&[$int; N]> for Dims {
            fn from(dims: &[$int; N]) -> Dims {
                Dims::from(dims.as_slice())
            }
        }

        impl From<Vec<$int>> for Dims {
            fn from(dims: Vec<$int>) -> Dims {
                Dims::from(dims.as_slice())
            }
        }

        impl From<&[$int]> for Dims {
            fn from(dims: &[$int]) -> Dims {
                // A length beyond i64 is too large in any case, and i64::MAX is refused as such.
                Dims(dims.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect())
            }
        }
    )*};
}

from_lists!(i32 i64 usize);

impl From<()> for Dims {
    fn from((): ()) -> Dims {
        Dims(SmallVec::new())
    }
}

impl From<&Shape> for Dims {
    fn from(shape: &Shape) -> Dims {
        Dims::from(shape.dims())
    }
}

impl From<Shape> for Dims {
    fn from(shape: Shape) -> Dims {
        Dims::from(shape.dims())
    }
}
