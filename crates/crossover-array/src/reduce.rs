//! Reductions and the normalisations made of them. Running sums are in `scan.rs`, norms in `norm.rs`.

use std::panic::Location;

use crossover_core::{DType, Element, Result, Shape, compose, graph::Type, ops::reduce::ReduceOp};
use crossover_runtime::trace;

use crate::{
    Array, Axes,
    compose::{Composer, Value},
    count, eval,
    node::{Node, State},
};

/// Reductions. Axes are `()` for all, a number, or a list; see [`Axes`].
///
/// The order of floating-point sums is part of the semantics: results do not depend on threads, SIMD or devices.
impl Array {
    /// Sum over axes. Small integers add up in 64 bits, 16-bit floats in `f32`; the empty sum is 0.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([[1, 2, 3], [4, 5, 6]]);
    /// assert_eq!(x.sum(()).item::<i64>()?, 21);
    /// assert_eq!(x.sum(0).to_vec::<i64>()?, [5, 7, 9]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn sum(&self, axes: impl Into<Axes>) -> Array {
        let Axes { axes, keepdims } = axes.into();
        Array::build([self], |b, [x]| compose::sum(b, x, &axes, keepdims))
    }

    /// Product over axes; the empty product is 1.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([1.0f32, 2.0, 4.0]).prod(()).item::<f32>()?, 8.0);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn prod(&self, axes: impl Into<Axes>) -> Array {
        let Axes { axes, keepdims } = axes.into();
        Array::build([self], |b, [x]| compose::prod(b, x, &axes, keepdims))
    }

    /// Sum over axes of the elements as `dtype`, in `dtype`: integers wrap, 16-bit floats add up in `f32`.
    ///
    /// ```
    /// # use crossover_array::{Array, DType};
    /// assert_eq!(Array::from([100i8, 100]).sum_dtype((), DType::I8).item::<i8>()?, -56);
    /// assert_eq!(Array::from([0.5f32, 0.5]).sum_dtype((), DType::F64).item::<f64>()?, 1.0);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn sum_dtype(&self, axes: impl Into<Axes>, dtype: DType) -> Array {
        let Axes { axes, keepdims } = axes.into();
        compose_as(self, dtype, |b, x| compose::sum(b, x, &axes, keepdims))
    }

    /// Product over axes of the elements as `dtype`, in `dtype`: integers wrap.
    ///
    /// ```
    /// # use crossover_array::{Array, DType};
    /// assert_eq!(Array::from([2u8, 3]).prod_dtype((), DType::F32).item::<f32>()?, 6.0);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn prod_dtype(&self, axes: impl Into<Axes>, dtype: DType) -> Array {
        let Axes { axes, keepdims } = axes.into();
        compose_as(self, dtype, |b, x| compose::prod(b, x, &axes, keepdims))
    }

    /// Smallest element over axes; NaN wins. Nothing has no smallest element: an error.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([[3, 1], [2, 4]]).min(1).to_vec::<i32>()?, [1, 2]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn min(&self, axes: impl Into<Axes>) -> Array {
        self.reduce(ReduceOp::Min, axes.into())
    }

    /// Largest element over axes; NaN wins. Nothing has no largest element: an error.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([[3, 1], [2, 4]]).max(()).item::<i32>()?, 4);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn max(&self, axes: impl Into<Axes>) -> Array {
        self.reduce(ReduceOp::Max, axes.into())
    }

    /// Index of the first smallest element along one axis, or of all elements in row-major order.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([3, 1, 1]).argmin(()).item::<i64>()?, 1);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn argmin(&self, axes: impl Into<Axes>) -> Array {
        self.reduce(ReduceOp::ArgMin, axes.into())
    }

    /// Index of the first largest element along one axis, or of all elements in row-major order.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([[1, 9], [8, 2]]).argmax(1).to_vec::<i64>()?, [1, 0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn argmax(&self, axes: impl Into<Axes>) -> Array {
        self.reduce(ReduceOp::ArgMax, axes.into())
    }

    #[track_caller]
    fn reduce(&self, op: ReduceOp, axes: Axes) -> Array {
        Array::build([self], |b, [x]| compose::reduce(b, op, x, &axes.axes, axes.keepdims))
    }

    /// Mean over axes, as a float. The mean of nothing is NaN.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([1, 2]).mean(()).item::<f64>()?, 1.5);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn mean(&self, axes: impl Into<Axes>) -> Array {
        let Axes { axes, keepdims } = axes.into();
        Array::build([self], |b, [x]| compose::mean(b, x, &axes, keepdims))
    }

    /// Variance over axes: the mean squared distance from the mean.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([1.0f32, 3.0]).var(()).item::<f32>()?, 1.0);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn var(&self, axes: impl Into<Axes>) -> Array {
        self.var_with(axes, 0.0)
    }

    /// Variance over axes, dividing by n - `correction`: 1 estimates the variance behind a sample.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([1.0f32, 3.0]).var_with((), 1.0).item::<f32>()?, 2.0);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn var_with(&self, axes: impl Into<Axes>, correction: f64) -> Array {
        let Axes { axes, keepdims } = axes.into();
        Array::build([self], |b, [x]| compose::var(b, x, &axes, correction, keepdims))
    }

    /// Standard deviation over axes: the square root of [`var`](Array::var).
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([1.0f32, 5.0]).std(()).item::<f32>()?, 2.0);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn std(&self, axes: impl Into<Axes>) -> Array {
        self.std_with(axes, 0.0)
    }

    /// Standard deviation over axes: the square root of [`var_with`](Array::var_with).
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([1.0f32, 3.0, 5.0]).std_with((), 1.0).item::<f32>()?, 2.0);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn std_with(&self, axes: impl Into<Axes>, correction: f64) -> Array {
        let Axes { axes, keepdims } = axes.into();
        Array::build([self], |b, [x]| compose::std(b, x, &axes, correction, keepdims))
    }

    /// Whether any element is true, or not zero. False for nothing.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([[0, 1], [0, 0]]).any(1).to_vec::<bool>()?, [true, false]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn any(&self, axes: impl Into<Axes>) -> Array {
        let Axes { axes, keepdims } = axes.into();
        Array::build([self], |b, [x]| compose::any(b, x, &axes, keepdims))
    }

    /// Whether every element is true, or not zero. True for nothing.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([[0, 1], [1, 1]]).all(1).to_vec::<bool>()?, [false, true]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn all(&self, axes: impl Into<Axes>) -> Array {
        let Axes { axes, keepdims } = axes.into();
        Array::build([self], |b, [x]| compose::all(b, x, &axes, keepdims))
    }

    /// How many elements are true, or not zero.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([[0, 1], [2, 3]]).count_nonzero(1).to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn count_nonzero(&self, axes: impl Into<Axes>) -> Array {
        let Axes { axes, keepdims } = axes.into();
        if axes.is_empty()
            && !keepdims
            && let Some(count) = self.counted_at_once()
        {
            let ty = Type { dtype: DType::I64, shape: Shape::scalar() };
            return Array::from_node(Node::new(ty, State::Scalar(count.to_scalar()), Location::caller()));
        }
        Array::build([self], |b, [x]| compose::count_nonzero(b, x, &axes, keepdims))
    }

    /// How many elements are not zero, where that is known sooner than a kernel is launched: few elements that lie in the memory of a machine
    /// which is nothing but a host. Counts are exact, so that it makes no difference who counts. Who watches is shown a kernel.
    fn counted_at_once(&self) -> Option<i64> {
        if self.view().is_some() || trace::is_watched() {
            return None;
        }
        let node = self.version();
        if !node.is_ready() {
            return None;
        }
        let buffer = match &*node.state() {
            State::Ready(buffer) => buffer.clone(),
            _ => return None,
        };
        if buffer.bytes() > eval::SMALL || !buffer.machine().is_host_only() {
            return None;
        }
        count::count_nonzero(buffer.host_bytes().ok()?, self.dtype()).map(|count| count as i64)
    }

    /// log(Σ exp(x)) over axes, shifted by the maximum so that nothing overflows. Of nothing it is minus infinity.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([1000.0f64, 1000.0]);
    /// assert_eq!(x.logsumexp(()).item::<f64>()?, 1000.0 + std::f64::consts::LN_2);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn logsumexp(&self, axes: impl Into<Axes>) -> Array {
        let Axes { axes, keepdims } = axes.into();
        Array::build([self], |b, [x]| compose::logsumexp(b, x, &axes, keepdims))
    }
}

/// Normalisations: compositions that run as one kernel.
impl Array {
    /// exp(x) / Σ exp(x) along an axis, shifted by the maximum so that nothing overflows.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([1000.0f32, 1000.0]).softmax(-1).to_vec::<f32>()?, [0.5, 0.5]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn softmax(&self, axis: i64) -> Array {
        Array::build([self], |b, [x]| compose::softmax(b, x, axis))
    }

    /// The logarithm of [`softmax`](Array::softmax), without the rounding of its quotient.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([-1000.0f32, 1000.0]).log_softmax(-1).to_vec::<f32>()?, [-2000.0, 0.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn log_softmax(&self, axis: i64) -> Array {
        Array::build([self], |b, [x]| compose::log_softmax(b, x, axis))
    }

    /// (x - mean) / sqrt(var + epsilon) over the last axis, times `scale` and plus `shift` where given.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([[1.0f32, 3.0], [10.0, 30.0]]);
    /// let y = x.layer_norm(None, Some(&Array::from([0.5f32, 0.5])), 0.0);
    /// assert_eq!(y.to_vec::<f32>()?, [-0.5, 1.5, -0.5, 1.5]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn layer_norm(&self, scale: Option<&Array>, shift: Option<&Array>, epsilon: f64) -> Array {
        let operands: Vec<&Array> = [Some(self), scale, shift].into_iter().flatten().collect();
        Array::build_many(&operands, |b, values| {
            let scale_value = scale.map(|_| &values[1]);
            let shift_value = shift.and(values.last());
            compose::layer_norm(b, &values[0], scale_value, shift_value, epsilon)
        })
    }

    /// (x - mean) / std along an axis. A constant column gives NaN, as 0 / 0 does.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([[1.0f32, 10.0], [3.0, 30.0]]);
    /// assert_eq!(x.standardise(0).to_vec::<f32>()?, [-1.0, -1.0, 1.0, 1.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn standardise(&self, axis: i64) -> Array {
        Array::build([self], |b, [x]| compose::standardise(b, x, axis))
    }
}

/// A sum or product, running or not, of the elements as `dtype`; sums of small integers are wider than that.
#[track_caller]
pub(crate) fn compose_as(
    x: &Array,
    dtype: DType,
    total: impl FnOnce(&mut Composer, &Value) -> Result<Value>,
) -> Array {
    Array::build([x], |b, [x]| {
        let x = compose::cast(b, x, dtype)?;
        let total = total(b, &x)?;
        compose::cast(b, &total, dtype)
    })
}
