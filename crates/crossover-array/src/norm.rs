//! Norms of vectors and matrices.

use crossover_core::compose::{self, MatrixNorm};

use crate::{Array, Axes};

/// Norms. Complex arrays count by their magnitudes; the result is real, and a float for integers.
impl Array {
    /// Length of the vectors along axes: the square root of the sum of squared magnitudes. `()` takes all elements.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([[3.0f32, 4.0], [5.0, 12.0]]);
    /// assert_eq!(x.vector_norm(1).to_vec::<f32>()?, [5.0, 13.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn vector_norm(&self, axes: impl Into<Axes>) -> Array {
        self.vector_norm_with(axes, 2.0)
    }

    /// Norm of vectors of another order: 1 is the sum of magnitudes, ±infinity the largest or smallest, 0 the number of
    /// elements that are not zero, any other p is `(Σ |x|^p)^(1/p)`.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([3.0f32, -4.0, 0.0]);
    /// assert_eq!(x.vector_norm_with((), 1.0).item::<f32>()?, 7.0);
    /// assert_eq!(x.vector_norm_with((), f64::INFINITY).item::<f32>()?, 4.0);
    /// assert_eq!(x.vector_norm_with((), 0.0).item::<f32>()?, 2.0);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn vector_norm_with(&self, axes: impl Into<Axes>, order: f64) -> Array {
        let Axes { axes, keepdims } = axes.into();
        Array::build([self], |b, [x]| compose::vector_norm(b, x, &axes, order, keepdims))
    }

    /// Norm of the matrices in the last two axes, which stay with length 1 where `keepdims` is set.
    ///
    /// ```
    /// # use crossover_array::{Array, MatrixNorm};
    /// let x = Array::from([[1.0f32, -2.0], [2.0, 4.0]]);
    /// assert_eq!(x.matrix_norm(MatrixNorm::Frobenius, false).item::<f32>()?, 5.0);
    /// assert_eq!(x.matrix_norm(MatrixNorm::One, false).item::<f32>()?, 6.0);
    /// assert_eq!(x.matrix_norm(MatrixNorm::Infinity, true).shape().dims(), [1, 1]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn matrix_norm(&self, order: MatrixNorm, keepdims: bool) -> Array {
        Array::build([self], |b, [x]| compose::matrix_norm(b, x, order, keepdims))
    }
}
