//! Products that sum over axes.

use crossover_core::compose;

use crate::{Array, Axes};

/// Sums of products in Einstein's notation, with NumPy's syntax: letters name axes, `...` stands for axes that broadcast,
/// a letter twice in one operand takes its diagonal, and without `->` the letters that occur once are the result's.
///
/// Several operands are contracted two at a time, in the order that costs least.
///
/// ```
/// use crossover_array::{Array, einsum};
/// let a = Array::from([[1.0f64, 2.0], [3.0, 4.0]]);
/// let v = Array::from([1.0f64, 10.0]);
/// assert_eq!(einsum("ij,j->i", &[&a, &v]).to_vec::<f64>()?, [21.0, 43.0]);
/// assert_eq!(einsum("ii", &[&a]).item::<f64>()?, 5.0);
/// assert_eq!(einsum("...j->...", &[&a]).to_vec::<f64>()?, [3.0, 7.0]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn einsum(subscripts: &str, operands: &[&Array]) -> Array {
    Array::build_many(operands, |b, values| compose::einsum(b, subscripts, values))
}

impl Array {
    /// Sum of products over pairs of axes, one list for each operand; the other axes of this come first.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let (a, b) = (Array::ones::<f32>([2, 3, 4]), Array::ones::<f32>([4, 3, 5]));
    /// let c = a.tensordot(&b, [1, 2], [1, 0]);
    /// assert_eq!((c.shape().dims(), c.to_vec::<f32>()?), (&[2, 5][..], vec![12.0; 10]));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn tensordot(&self, other: &Array, left: impl Into<Axes>, right: impl Into<Axes>) -> Array {
        let (left, right) = (left.into().axes, right.into().axes);
        Array::build([self, other], |b, [x, y]| compose::tensordot(b, x, y, &left, &right))
    }

    /// Sum of conj(x)·y along an axis counted from the last; other axes broadcast.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([[1.0f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.vecdot(&x, -1).to_vec::<f32>()?, [5.0, 25.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn vecdot(&self, other: &Array, axis: i64) -> Array {
        Array::build([self, other], |b, [x, y]| compose::vecdot(b, x, y, axis))
    }
}
