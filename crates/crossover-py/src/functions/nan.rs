//! NumPy's reductions that pass over NaN. Whole numbers have none.

use crossover::{Array, Axes};
use pyo3::prelude::*;

use crate::{arguments::Axis, array::PyArray, device::building, values::Arr};

/// The array with `value` in the place of NaN, and where that is.
fn without_nan(x: &Array, value: f64) -> Option<(Array, Array)> {
    if !x.dtype().is_float() && !x.dtype().is_complex() {
        return None;
    }
    let lost = x.isnan();
    Some((lost.where_(value, x), lost))
}

/// Sum of the elements that are not NaN.
///
/// >>> xo.nansum(xo.asarray([1.0, xo.nan, 2.0]))
/// array(3.)
#[pyfunction]
#[pyo3(signature = (a, axis=Axis::All), text_signature = "(a, axis=None)")]
fn nansum(a: Arr, axis: Axis) -> PyResult<PyArray> {
    PyArray::done(building(|| {
        let (x, axes) = axis.reduce(&a.0, false);
        without_nan(&x, 0.0).map_or_else(|| x.sum(axes.clone()), |(found, _)| found.sum(axes.clone()))
    }))
}

/// Mean of the elements that are not NaN; NaN where there are none.
///
/// >>> xo.nanmean(xo.asarray([1.0, xo.nan, 2.0]))
/// array(1.5)
#[pyfunction]
#[pyo3(signature = (a, axis=Axis::All), text_signature = "(a, axis=None)")]
fn nanmean(a: Arr, axis: Axis) -> PyResult<PyArray> {
    PyArray::done(building(|| {
        let (x, axes) = axis.reduce(&a.0, false);
        let Some((found, lost)) = without_nan(&x, 0.0) else { return x.mean(axes) };
        let count = lost.logical_not().sum(axes.clone()).astype(x.dtype());
        found.sum(axes).divide(&count)
    }))
}

/// An extreme of the elements that are not NaN, of which none is beyond `end`.
fn extreme(a: &Array, axis: &Axis, end: f64, find: fn(&Array, Axes) -> Array) -> PyResult<PyArray> {
    PyArray::done(building(|| {
        let (x, axes) = axis.reduce(a, false);
        let Some((found, lost)) = without_nan(&x, end) else { return find(&x, axes) };
        lost.all(axes.clone()).where_(f64::NAN, find(&found, axes))
    }))
}

/// Largest of the elements that are not NaN; NaN where there are none.
///
/// >>> xo.nanmax(xo.asarray([1.0, xo.nan, 2.0]))
/// array(2.)
#[pyfunction]
#[pyo3(signature = (a, axis=Axis::All), text_signature = "(a, axis=None)")]
fn nanmax(a: Arr, axis: Axis) -> PyResult<PyArray> {
    extreme(&a.0, &axis, f64::NEG_INFINITY, |x, axes| x.max(axes))
}

/// Smallest of the elements that are not NaN; NaN where there are none.
///
/// >>> xo.nanmin(xo.asarray([1.0, xo.nan, 2.0]))
/// array(1.)
#[pyfunction]
#[pyo3(signature = (a, axis=Axis::All), text_signature = "(a, axis=None)")]
fn nanmin(a: Arr, axis: Axis) -> PyResult<PyArray> {
    extreme(&a.0, &axis, f64::INFINITY, |x, axes| x.min(axes))
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(nansum, module)?)?;
    module.add_function(wrap_pyfunction!(nanmean, module)?)?;
    module.add_function(wrap_pyfunction!(nanmax, module)?)?;
    module.add_function(wrap_pyfunction!(nanmin, module)?)
}
