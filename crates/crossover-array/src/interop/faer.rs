//! Matrices of the `faer` crate, by copy: its memory is its own.

use std::panic::Location;

use crossover_core::{Element, Error as CoreError, Shape};
use faer::{Mat, MatRef};

use crate::{Array, Error, Result};

impl<T: Element> From<MatRef<'_, T>> for Array {
    #[track_caller]
    fn from(matrix: MatRef<'_, T>) -> Array {
        let (rows, columns) = (matrix.nrows(), matrix.ncols());
        let mut values = Vec::with_capacity(rows * columns);
        // Column by column, as faer stores them: the array is the transposed view of what is copied.
        for j in 0..columns {
            for i in 0..rows {
                values.push(matrix[(i, j)]);
            }
        }
        Array::copied("from", &values, Shape::from([columns, rows]), Location::caller()).t()
    }
}

impl<T: Element> From<&Mat<T>> for Array {
    #[track_caller]
    fn from(matrix: &Mat<T>) -> Array {
        Array::from(matrix.as_ref())
    }
}

impl Array {
    /// The elements of an array with two axes as a matrix of the `faer` crate (feature `faer`). The dtype must be the
    /// array's.
    ///
    /// ```
    /// use crossover_array::Array;
    /// let a = faer::mat![[1.0, 2.0], [3.0, 4.0]];
    /// let sum = (Array::from(&a) + 10.0).to_faer::<f64>()?;
    /// assert_eq!(sum, faer::mat![[11.0, 12.0], [13.0, 14.0]]);
    /// assert!(Array::from([1.0]).to_faer::<f64>().is_err());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn to_faer<T: Element>(&self) -> Result<Mat<T>> {
        let location = Location::caller();
        self.check()?;
        let [rows, columns] = *self.shape().dims() else {
            let what = format!("a matrix has two axes, {} given; reshape it first", self.shape());
            return Err(Error::new(CoreError::Value { op: "to_faer", what }, location));
        };
        let values = self.to_vec::<T>()?;
        Ok(Mat::from_fn(rows, columns, |i, j| values[i * columns + j]))
    }
}
