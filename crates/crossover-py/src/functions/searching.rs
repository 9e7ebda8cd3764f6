//! Order, search, sets, choice by a mask, and lookups by index.

use crossover::{Array, DType, Side};
use pyo3::{prelude::*, types::PyTuple};

use crate::{
    arguments::tuple,
    array::PyArray,
    device::{building, computing},
    errors::{raise, value_error},
    values::{Arg, Arr},
};

/// An index of an extreme element: along an axis, or over all.
fn extreme(
    x: Array,
    axis: Option<i64>,
    keepdims: bool,
    find: fn(&Array, crossover::Axes) -> Array,
) -> PyResult<PyArray> {
    PyArray::done(building(|| {
        let axes: crossover::Axes = axis.map_or_else(|| ().into(), |axis| axis.into());
        find(&x, if keepdims { axes.keepdims() } else { axes })
    }))
}

/// Index of the first largest element along an axis, or of all elements.
///
/// >>> xo.argmax(xo.asarray([3, 9, 1]))
/// array(1)
#[pyfunction]
#[pyo3(signature = (x, /, axis=None, *, keepdims=false))]
fn argmax(x: Arr, axis: Option<i64>, keepdims: bool) -> PyResult<PyArray> {
    extreme(x.0, axis, keepdims, |x, axes| x.argmax(axes))
}

/// Index of the first smallest element along an axis, or of all elements.
///
/// >>> xo.argmin(xo.asarray([3, 9, 1]))
/// array(2)
#[pyfunction]
#[pyo3(signature = (x, /, axis=None, *, keepdims=false))]
fn argmin(x: Arr, axis: Option<i64>, keepdims: bool) -> PyResult<PyArray> {
    extreme(x.0, axis, keepdims, |x, axes| x.argmin(axes))
}

/// Elements in order along an axis; equal ones keep theirs.
///
/// >>> xo.sort(xo.asarray([3, 9, 1]))
/// array([1, 3, 9])
#[pyfunction]
#[pyo3(signature = (x, /, axis=-1, *, descending=false, stable=true))]
fn sort(x: Arr, axis: i64, descending: bool, stable: bool) -> PyResult<PyArray> {
    let _ = stable; // Every sort is.
    PyArray::done(building(|| if descending { x.0.sort_descending(axis) } else { x.0.sort(axis) }))
}

/// The indices that sort an axis; equal elements keep their order.
///
/// >>> xo.argsort(xo.asarray([3, 9, 1]))
/// array([2, 0, 1])
#[pyfunction]
#[pyo3(signature = (x, /, axis=-1, *, descending=false, stable=true))]
fn argsort(x: Arr, axis: i64, descending: bool, stable: bool) -> PyResult<PyArray> {
    let _ = stable; // Every sort is.
    PyArray::done(building(|| if descending { x.0.argsort_descending(axis) } else { x.0.argsort(axis) }))
}

/// Where values belong in an array with one axis that is sorted, or that `sorter` sorts.
///
/// >>> xo.searchsorted(xo.asarray([1.0, 3.0, 5.0]), xo.asarray([2.0, 5.0]))
/// array([1, 2])
#[pyfunction]
#[pyo3(signature = (x1, x2, /, side="left", sorter=None))]
fn searchsorted(py: Python<'_>, x1: Arr, x2: Arg, side: &str, sorter: Option<Arr>) -> PyResult<PyArray> {
    let side = match side {
        "left" => Side::Left,
        "right" => Side::Right,
        other => return Err(value_error(format!("side is 'left' or 'right', not {other:?}"))),
    };
    PyArray::done(computing(py, || match &sorter {
        Some(sorter) => x1.0.searchsorted_by(&sorter.0, x2.operand(), side),
        None => x1.0.searchsorted(x2.operand(), side),
    }))
}

/// Indices of the elements that are not zero: one array per axis.
///
/// >>> xo.nonzero(xo.asarray([0, 3, 5]))
/// (array([1, 2]),)
#[pyfunction]
#[pyo3(signature = (x, /))]
fn nonzero<'py>(py: Python<'py>, x: Arr) -> PyResult<Bound<'py, PyTuple>> {
    tuple(py, computing(py, || x.0.nonzero()).map_err(|error| raise(&error))?)
}

/// `x1` where the condition holds, `x2` elsewhere.
///
/// >>> x = xo.asarray([-1.0, 2.0])
/// >>> xo.where(x < 0, 0.0, x)
/// array([0., 2.])
#[pyfunction]
#[pyo3(name = "where", signature = (condition, x1, x2, /))]
fn where_(condition: Arr, x1: Arg, x2: Arg) -> PyResult<PyArray> {
    let (x1, x2) = match (x1.dtype(), x2.dtype()) {
        (Some(dtype), None) => (x1, Arg::Array(x2.beside(dtype)?)),
        (None, Some(dtype)) => (Arg::Array(x1.beside(dtype)?), x2),
        _ => (x1, x2),
    };
    PyArray::done(building(|| condition.0.where_(x1.operand(), x2.operand())))
}

/// Entries along an axis, by their indices.
///
/// >>> xo.take(xo.asarray([10, 20, 30]), xo.asarray([2, 0]))
/// array([30, 10])
#[pyfunction]
#[pyo3(signature = (x, indices, /, axis=None))]
fn take(py: Python<'_>, x: Arr, indices: Arr, axis: Option<i64>) -> PyResult<PyArray> {
    let (x, axis) = match axis {
        Some(axis) => (x.0, axis),
        None => (x.0.flatten(), 0),
    };
    PyArray::done(computing(py, || x.take(&indices.0, axis)))
}

/// Elements along an axis, each at an index of its own.
///
/// >>> xo.take_along_axis(xo.asarray([[3, 1], [5, 7]]), xo.asarray([[1], [0]]), axis=1)
/// array([[1],
///        [5]])
#[pyfunction]
#[pyo3(signature = (x, indices, /, axis=-1))]
fn take_along_axis(py: Python<'_>, x: Arr, indices: Arr, axis: i64) -> PyResult<PyArray> {
    PyArray::done(computing(py, || x.0.take_along_axis(&indices.0, axis)))
}

/// Whether each element of `x1` equals one of `x2`.
///
/// >>> xo.isin(xo.asarray([1, 2, 3]), xo.asarray([3, 1]))
/// array([ True, False,  True])
#[pyfunction]
#[pyo3(signature = (x1, x2, /))]
fn isin(x1: Arr, x2: Arr) -> PyResult<PyArray> {
    let others = x2.0.flatten();
    PyArray::done(building(|| x1.0.isin(&others)))
}

/// Distinct elements, where each first occurs, which of them each element is, and how often each occurs.
#[pyfunction]
#[pyo3(signature = (x, /))]
fn unique_all<'py>(py: Python<'py>, x: Arr) -> PyResult<Bound<'py, PyTuple>> {
    let found = computing(py, || x.0.unique_all()).map_err(|error| raise(&error))?;
    tuple(py, vec![found.values, found.indices, found.inverse, found.counts])
}

/// Distinct elements and how often each occurs.
#[pyfunction]
#[pyo3(signature = (x, /))]
fn unique_counts<'py>(py: Python<'py>, x: Arr) -> PyResult<Bound<'py, PyTuple>> {
    let (values, counts) = computing(py, || x.0.unique_counts()).map_err(|error| raise(&error))?;
    tuple(py, vec![values, counts])
}

/// Distinct elements and which of them each element is.
#[pyfunction]
#[pyo3(signature = (x, /))]
fn unique_inverse<'py>(py: Python<'py>, x: Arr) -> PyResult<Bound<'py, PyTuple>> {
    let (values, inverse) = computing(py, || x.0.unique_inverse()).map_err(|error| raise(&error))?;
    tuple(py, vec![values, inverse])
}

/// Distinct elements in ascending order.
///
/// >>> xo.unique_values(xo.asarray([3, 1, 3]))
/// array([1, 3])
#[pyfunction]
#[pyo3(signature = (x, /))]
fn unique_values(py: Python<'_>, x: Arr) -> PyResult<PyArray> {
    computing(py, || x.0.unique_values()).map(PyArray).map_err(|error| raise(&error))
}

/// Counts of elements between edges, and the edges: `bins` is how many, `range` from where to where.
///
/// >>> xo.histogram(xo.asarray([0.0, 1.0, 1.5, 4.0]), bins=2)
/// (array([3, 1]), array([0., 2., 4.]))
#[pyfunction]
#[pyo3(signature = (x, /, bins=None, range=None, density=false, weights=None))]
fn histogram<'py>(
    py: Python<'py>,
    x: Arr,
    bins: Option<Arg>,
    range: Option<(f64, f64)>,
    density: bool,
    weights: Option<Arr>,
) -> PyResult<Bound<'py, PyTuple>> {
    let x = x.0.flatten();
    let edges = match bins {
        Some(Arg::Array(edges)) if edges.ndim() > 0 => edges,
        other => {
            let count = match other {
                Some(count) => {
                    let array = count.into_array().astype(DType::I64);
                    computing(py, || array.item::<i64>()).map_err(|error| raise(&error))?
                }
                None => 10,
            };
            let count = usize::try_from(count).ok().filter(|&count| count > 0);
            let Some(count) = count else { return Err(value_error("bins is a positive number")) };
            let found = computing(py, || match range {
                Some((low, high)) => x.histogram_between(count, low, high),
                None => x.histogram(count),
            });
            let (counts, edges) = found.map_err(|error| raise(&error))?;
            if weights.is_none() && !density {
                return tuple(py, vec![counts, edges]);
            }
            edges
        }
    };
    let weights = weights.map(|weights| weights.0.flatten());
    let counts = computing(py, || x.histogram_edges_with(&edges, weights.as_ref(), density));
    tuple(py, vec![counts, edges])
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(argmax, module)?)?;
    module.add_function(wrap_pyfunction!(argmin, module)?)?;
    module.add_function(wrap_pyfunction!(sort, module)?)?;
    module.add_function(wrap_pyfunction!(argsort, module)?)?;
    module.add_function(wrap_pyfunction!(searchsorted, module)?)?;
    module.add_function(wrap_pyfunction!(nonzero, module)?)?;
    module.add_function(wrap_pyfunction!(where_, module)?)?;
    module.add_function(wrap_pyfunction!(take, module)?)?;
    module.add_function(wrap_pyfunction!(take_along_axis, module)?)?;
    module.add_function(wrap_pyfunction!(isin, module)?)?;
    module.add_function(wrap_pyfunction!(unique_all, module)?)?;
    module.add_function(wrap_pyfunction!(unique_counts, module)?)?;
    module.add_function(wrap_pyfunction!(unique_inverse, module)?)?;
    module.add_function(wrap_pyfunction!(unique_values, module)?)?;
    module.add_function(wrap_pyfunction!(histogram, module)?)
}
