//! Arrays of the `ndarray` crate, by copy: its memory is its own.

use std::panic::Location;

use crossover_core::{Element, Shape};
use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};

use crate::{Array, Error, Result};

impl<T: Element, S: Data<Elem = T>, D: Dimension> From<&ArrayBase<S, D>> for Array {
    #[track_caller]
    fn from(values: &ArrayBase<S, D>) -> Array {
        let location = Location::caller();
        let shape = Shape::from(values.shape());
        match values.as_slice() {
            Some(row_major) => Array::copied("from", row_major, shape, location),
            None => {
                let row_major: Vec<T> = values.iter().copied().collect();
                Array::copied("from", &row_major, shape, location)
            }
        }
    }
}

impl<T: Element, S: Data<Elem = T>, D: Dimension> From<ArrayBase<S, D>> for Array {
    #[track_caller]
    fn from(values: ArrayBase<S, D>) -> Array {
        Array::from(&values)
    }
}

impl Array {
    /// The elements as an array of the `ndarray` crate (feature `ndarray`). The dtype must be the array's.
    ///
    /// ```
    /// use crossover_array::Array;
    /// let x = ndarray::array![[1.0f32, 2.0], [3.0, 4.0]];
    /// let doubled = (Array::from(&x.t()) * 2.0).to_ndarray::<f32>()?;
    /// assert_eq!(doubled, ndarray::array![[2.0, 6.0], [4.0, 8.0]].into_dyn());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        let location = Location::caller();
        let values = self.to_vec::<T>()?;
        // As many values as the shape says; a shape beyond what ndarray can address is its own error.
        ArrayD::from_shape_vec(IxDyn(self.shape().dims()), values).map_err(|error| {
            let what = format!("ndarray cannot hold {}: {error}", self.shape());
            Error::new(crossover_core::Error::Value { op: "to_ndarray", what }, location)
        })
    }
}
