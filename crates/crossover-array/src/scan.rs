//! Along one axis: running sums and products, and differences of neighbours.

use crossover_core::{
    DType,
    compose::{self, Build},
    graph::Op,
};

use crate::{Array, reduce::compose_as};

/// Running sums and products. The order of floating-point operations is part of the semantics, as for
/// [`sum`](Array::sum); small integers add up in 64 bits, 16-bit floats in `f32`.
impl Array {
    /// Running sum along an axis.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([1, 2, 3]).cumulative_sum(0).to_vec::<i64>()?, [1, 3, 6]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn cumulative_sum(&self, axis: i64) -> Array {
        self.cumulative_sum_with(axis, false)
    }

    /// Running sum along an axis, after a zero where `include_initial` is set.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([1, 2, 3]).cumulative_sum_with(0, true).to_vec::<i64>()?, [0, 1, 3, 6]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn cumulative_sum_with(&self, axis: i64, include_initial: bool) -> Array {
        Array::build([self], |b, [x]| compose::cumulative_sum(b, x, axis, include_initial))
    }

    /// As [`cumulative_sum_with`](Array::cumulative_sum_with), of the elements as `dtype`, in `dtype`: integers wrap.
    ///
    /// ```
    /// # use crossover_array::{Array, DType};
    /// let x = Array::from([1i32, 2, 3]);
    /// assert_eq!(x.cumulative_sum_dtype(0, false, DType::F32).to_vec::<f32>()?, [1.0, 3.0, 6.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn cumulative_sum_dtype(&self, axis: i64, include_initial: bool, dtype: DType) -> Array {
        compose_as(self, dtype, |b, x| compose::cumulative_sum(b, x, axis, include_initial))
    }

    /// Running product along an axis.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([1, 2, 3]).cumulative_prod(0).to_vec::<i64>()?, [1, 2, 6]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn cumulative_prod(&self, axis: i64) -> Array {
        self.cumulative_prod_with(axis, false)
    }

    /// Running product along an axis, after a one where `include_initial` is set.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([2, 3]).cumulative_prod_with(0, true).to_vec::<i64>()?, [1, 2, 6]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn cumulative_prod_with(&self, axis: i64, include_initial: bool) -> Array {
        Array::build([self], |b, [x]| compose::cumulative_prod(b, x, axis, include_initial))
    }

    /// As [`cumulative_prod_with`](Array::cumulative_prod_with), of the elements as `dtype`, in `dtype`: integers wrap.
    ///
    /// ```
    /// # use crossover_array::{Array, DType};
    /// let x = Array::from([200u8, 2]);
    /// assert_eq!(x.cumulative_prod_dtype(0, false, DType::U8).to_vec::<u8>()?, [200, 144]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn cumulative_prod_dtype(&self, axis: i64, include_initial: bool, dtype: DType) -> Array {
        compose_as(self, dtype, |b, x| compose::cumulative_prod(b, x, axis, include_initial))
    }

    /// Differences of neighbours along an axis, `times` over. Each step makes the axis one shorter, down to nothing;
    /// booleans differ where they are not equal.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([1, 4, 9, 16]);
    /// assert_eq!(x.diff(0, 1).to_vec::<i32>()?, [3, 5, 7]);
    /// assert_eq!(x.diff(0, 2).to_vec::<i32>()?, [2, 2]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn diff(&self, axis: i64, times: usize) -> Array {
        Array::build([self], |b, [x]| compose::diff(b, x, axis, times))
    }

    /// As [`diff`](Array::diff), with elements put before and after along the axis first.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([1, 4, 9]);
    /// let zero = Array::from([0]);
    /// assert_eq!(x.diff_with(0, 1, Some(&zero), None).to_vec::<i32>()?, [1, 3, 5]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn diff_with(&self, axis: i64, times: usize, before: Option<&Array>, after: Option<&Array>) -> Array {
        let operands: Vec<&Array> = [before, Some(self), after].into_iter().flatten().collect();
        Array::build_many(&operands, |b, values| {
            let resolved = b.ty(&values[before.is_some() as usize]).shape.axis("diff", axis)?;
            let dtype = values.iter().map(|v| b.dtype(v)).reduce(|a, b| a.promote(b));
            let dtype = dtype.unwrap_or(self.dtype());
            let parts = values.iter().map(|v| compose::cast(b, v, dtype)).collect::<Result<Vec<_>, _>>()?;
            let joined = match parts.as_slice() {
                [only] => only.clone(),
                _ => b.push(Op::Concat { axis: resolved }, &parts.iter().collect::<Vec<_>>())?,
            };
            compose::diff(b, &joined, axis, times)
        })
    }
}
