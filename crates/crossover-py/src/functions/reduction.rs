//! Reductions, running sums, and the truth of all or any.

use std::borrow::Cow;

use crossover::Array;
use pyo3::prelude::*;

use crate::{arguments::Axis, array::PyArray, device::building, dtype::Dt, errors::value_error, values::Arr};

/// An array in a dtype, if one is given. Sums are converted once more after: narrow integers add up in 64 bits on the way.
fn cast(x: &Array, dtype: Option<Dt>) -> Cow<'_, Array> {
    match dtype {
        Some(Dt(dtype)) if dtype != x.dtype() => Cow::Owned(x.astype(dtype)),
        _ => Cow::Borrowed(x),
    }
}

/// As [`cast`], of what has just been computed.
fn recast(x: Array, dtype: Option<Dt>) -> Array {
    match dtype {
        Some(Dt(dtype)) if dtype != x.dtype() => x.astype(dtype),
        _ => x,
    }
}

/// Sum over axes.
pub fn summed(x: &Array, axis: &Axis, dtype: Option<Dt>, keepdims: bool) -> PyResult<PyArray> {
    PyArray::done(building(|| {
        let x = cast(x, dtype);
        let (x, axes) = axis.reduce(&x, keepdims);
        recast(x.sum(axes), dtype)
    }))
}

/// Product over axes.
pub fn multiplied(x: &Array, axis: &Axis, dtype: Option<Dt>, keepdims: bool) -> PyResult<PyArray> {
    PyArray::done(building(|| {
        let x = cast(x, dtype);
        let (x, axes) = axis.reduce(&x, keepdims);
        recast(x.prod(axes), dtype)
    }))
}

/// A reduction without options.
pub fn reduced(
    x: &Array,
    axis: &Axis,
    keepdims: bool,
    reduce: fn(&Array, crossover::Axes) -> Array,
) -> PyResult<PyArray> {
    PyArray::done(building(|| {
        let (x, axes) = axis.reduce(x, keepdims);
        reduce(&x, axes)
    }))
}

/// Mean over axes.
pub fn averaged(x: &Array, axis: &Axis, dtype: Option<Dt>, keepdims: bool) -> PyResult<PyArray> {
    reduced(&cast(x, dtype), axis, keepdims, |x, axes| x.mean(axes))
}

/// Variance, or its square root.
pub fn spread(x: &Array, axis: &Axis, correction: f64, keepdims: bool, root: bool) -> PyResult<PyArray> {
    PyArray::done(building(|| {
        let (x, axes) = axis.reduce(x, keepdims);
        if root { x.std_with(axes, correction) } else { x.var_with(axes, correction) }
    }))
}

/// Sum of elements over axes.
///
/// >>> xo.sum(xo.asarray([[1, 2], [3, 4]]), axis=0)
/// array([4, 6])
#[pyfunction]
#[pyo3(signature = (x, /, axis=Axis::All, dtype=None, *, keepdims=false), text_signature = "(x, /, axis=None, dtype=None, *, keepdims=False)")]
fn sum(x: Arr, axis: Axis, dtype: Option<Dt>, keepdims: bool) -> PyResult<PyArray> {
    summed(&x.0, &axis, dtype, keepdims)
}

/// Product of elements over axes.
///
/// >>> xo.prod(xo.asarray([[1, 2], [3, 4]]), axis=1)
/// array([ 2, 12])
#[pyfunction]
#[pyo3(signature = (x, /, axis=Axis::All, dtype=None, *, keepdims=false), text_signature = "(x, /, axis=None, dtype=None, *, keepdims=False)")]
fn prod(x: Arr, axis: Axis, dtype: Option<Dt>, keepdims: bool) -> PyResult<PyArray> {
    multiplied(&x.0, &axis, dtype, keepdims)
}

/// Mean of elements over axes.
///
/// >>> xo.mean(xo.asarray([[1, 2], [3, 4]]), axis=0)
/// array([2., 3.])
#[pyfunction]
#[pyo3(signature = (x, /, axis=Axis::All, dtype=None, *, keepdims=false), text_signature = "(x, /, axis=None, dtype=None, *, keepdims=False)")]
fn mean(x: Arr, axis: Axis, dtype: Option<Dt>, keepdims: bool) -> PyResult<PyArray> {
    averaged(&x.0, &axis, dtype, keepdims)
}

/// Smallest element over axes; NaN wins.
///
/// >>> xo.min(xo.asarray([[1, 2], [3, 4]]), axis=1)
/// array([1, 3])
#[pyfunction]
#[pyo3(signature = (x, /, axis=Axis::All, *, keepdims=false), text_signature = "(x, /, axis=None, *, keepdims=False)")]
fn min(x: Arr, axis: Axis, keepdims: bool) -> PyResult<PyArray> {
    reduced(&x.0, &axis, keepdims, |x, axes| x.min(axes))
}

/// Largest element over axes; NaN wins.
///
/// >>> xo.max(xo.asarray([[1, 2], [3, 4]]), axis=1)
/// array([2, 4])
#[pyfunction]
#[pyo3(signature = (x, /, axis=Axis::All, *, keepdims=false), text_signature = "(x, /, axis=None, *, keepdims=False)")]
fn max(x: Arr, axis: Axis, keepdims: bool) -> PyResult<PyArray> {
    reduced(&x.0, &axis, keepdims, |x, axes| x.max(axes))
}

/// Variance over axes; `correction` (NumPy's `ddof`) is taken off the number of elements.
///
/// >>> xo.var(xo.asarray([1.0, 3.0]), correction=1)
/// array(2.)
#[pyfunction]
#[pyo3(signature = (x, /, axis=Axis::All, *, correction=0.0, keepdims=false, ddof=None), text_signature = "(x, /, axis=None, *, correction=0.0, keepdims=False, ddof=None)")]
fn var(x: Arr, axis: Axis, correction: f64, keepdims: bool, ddof: Option<f64>) -> PyResult<PyArray> {
    spread(&x.0, &axis, ddof.unwrap_or(correction), keepdims, false)
}

/// Standard deviation over axes; `correction` (NumPy's `ddof`) is taken off the number of elements.
///
/// >>> xo.std(xo.asarray([1.0, 3.0]))
/// array(1.)
#[pyfunction]
#[pyo3(name = "std", signature = (x, /, axis=Axis::All, *, correction=0.0, keepdims=false, ddof=None), text_signature = "(x, /, axis=None, *, correction=0.0, keepdims=False, ddof=None)")]
fn std_(x: Arr, axis: Axis, correction: f64, keepdims: bool, ddof: Option<f64>) -> PyResult<PyArray> {
    spread(&x.0, &axis, ddof.unwrap_or(correction), keepdims, true)
}

/// Whether any element over axes is true, or not zero.
///
/// >>> xo.any(xo.asarray([[False, True], [False, False]]), axis=1)
/// array([ True, False])
#[pyfunction]
#[pyo3(signature = (x, /, axis=Axis::All, *, keepdims=false), text_signature = "(x, /, axis=None, *, keepdims=False)")]
fn any(x: Arr, axis: Axis, keepdims: bool) -> PyResult<PyArray> {
    reduced(&x.0, &axis, keepdims, |x, axes| x.any(axes))
}

/// Whether all elements over axes are true, or not zero.
///
/// >>> xo.all(xo.asarray([[True, True], [True, False]]), axis=1)
/// array([ True, False])
#[pyfunction]
#[pyo3(signature = (x, /, axis=Axis::All, *, keepdims=false), text_signature = "(x, /, axis=None, *, keepdims=False)")]
fn all(x: Arr, axis: Axis, keepdims: bool) -> PyResult<PyArray> {
    reduced(&x.0, &axis, keepdims, |x, axes| x.all(axes))
}

/// Number of elements over axes that are not zero.
///
/// >>> xo.count_nonzero(xo.asarray([0, 3, 5]))
/// array(2)
#[pyfunction]
#[pyo3(signature = (x, /, axis=Axis::All, *, keepdims=false), text_signature = "(x, /, axis=None, *, keepdims=False)")]
fn count_nonzero(x: Arr, axis: Axis, keepdims: bool) -> PyResult<PyArray> {
    reduced(&x.0, &axis, keepdims, |x, axes| x.count_nonzero(axes))
}

/// Logarithm of the sum of exponentials over axes.
///
/// >>> xo.logsumexp(xo.asarray([1000.0, 1000.0]))
/// array(1000.69314718)
#[pyfunction]
#[pyo3(signature = (x, /, axis=Axis::All, *, keepdims=false), text_signature = "(x, /, axis=None, *, keepdims=False)")]
fn logsumexp(x: Arr, axis: Axis, keepdims: bool) -> PyResult<PyArray> {
    reduced(&x.0, &axis, keepdims, |x, axes| x.logsumexp(axes))
}

/// Exponentials divided by their sum along an axis.
///
/// >>> xo.softmax(xo.asarray([0.0, 0.0, 1000.0]))
/// array([0., 0., 1.])
#[pyfunction]
#[pyo3(signature = (x, /, axis=-1))]
fn softmax(x: Arr, axis: i64) -> PyResult<PyArray> {
    PyArray::done(building(|| x.0.softmax(axis)))
}

/// The array and axis of a running sum: without an axis, that of an array with one.
fn line(x: &Array, axis: Option<i64>) -> PyResult<i64> {
    match axis {
        Some(axis) => Ok(axis),
        None if x.ndim() == 1 => Ok(0),
        None => {
            Err(value_error(format!("an array of shape {} has not one axis; say which with axis", x.shape())))
        }
    }
}

/// Running sum along an axis.
///
/// >>> xo.cumulative_sum(xo.asarray([1, 2, 3]))
/// array([1, 3, 6])
#[pyfunction]
#[pyo3(signature = (x, /, *, axis=None, dtype=None, include_initial=false))]
fn cumulative_sum(x: Arr, axis: Option<i64>, dtype: Option<Dt>, include_initial: bool) -> PyResult<PyArray> {
    let axis = line(&x.0, axis)?;
    PyArray::done(building(|| recast(cast(&x.0, dtype).cumulative_sum_with(axis, include_initial), dtype)))
}

/// Running product along an axis.
///
/// >>> xo.cumulative_prod(xo.asarray([1, 2, 3]))
/// array([1, 2, 6])
#[pyfunction]
#[pyo3(signature = (x, /, *, axis=None, dtype=None, include_initial=false))]
fn cumulative_prod(x: Arr, axis: Option<i64>, dtype: Option<Dt>, include_initial: bool) -> PyResult<PyArray> {
    let axis = line(&x.0, axis)?;
    PyArray::done(building(|| recast(cast(&x.0, dtype).cumulative_prod_with(axis, include_initial), dtype)))
}

/// Differences of neighbours along an axis, `n` times over.
///
/// >>> xo.diff(xo.asarray([1, 4, 9]))
/// array([3, 5])
#[pyfunction]
#[pyo3(signature = (x, /, n=1, axis=-1, prepend=None, append=None))]
fn diff(x: Arr, n: usize, axis: i64, prepend: Option<Arr>, append: Option<Arr>) -> PyResult<PyArray> {
    let x = x.0;
    if x.ndim() == 0 {
        return Err(value_error("an array without axes has no neighbours"));
    }
    // A number put before or after is one entry along the axis, as in NumPy.
    let widened = |part: Option<Arr>| -> Option<Array> {
        let part = part?.0;
        if part.ndim() > 0 {
            return Some(part);
        }
        let mut shape = x.shape().dims().to_vec();
        let at = if axis < 0 { axis + shape.len() as i64 } else { axis };
        if let Some(length) = usize::try_from(at).ok().and_then(|at| shape.get_mut(at)) {
            *length = 1;
        }
        Some(part.broadcast_to(shape))
    };
    let (before, after) = (widened(prepend), widened(append));
    PyArray::done(building(|| x.diff_with(axis, n, before.as_ref(), after.as_ref())))
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(sum, module)?)?;
    module.add_function(wrap_pyfunction!(prod, module)?)?;
    module.add_function(wrap_pyfunction!(mean, module)?)?;
    module.add_function(wrap_pyfunction!(min, module)?)?;
    module.add_function(wrap_pyfunction!(max, module)?)?;
    module.add_function(wrap_pyfunction!(var, module)?)?;
    module.add_function(wrap_pyfunction!(std_, module)?)?;
    module.add_function(wrap_pyfunction!(any, module)?)?;
    module.add_function(wrap_pyfunction!(all, module)?)?;
    module.add_function(wrap_pyfunction!(count_nonzero, module)?)?;
    module.add_function(wrap_pyfunction!(logsumexp, module)?)?;
    module.add_function(wrap_pyfunction!(softmax, module)?)?;
    module.add_function(wrap_pyfunction!(cumulative_sum, module)?)?;
    module.add_function(wrap_pyfunction!(cumulative_prod, module)?)?;
    module.add_function(wrap_pyfunction!(diff, module)?)
}
