//! Shapes changed, arrays joined, repeated and moved.

use crossover::{Array, DType, Number, Padding};
use pyo3::{
    exceptions::PyNotImplementedError,
    prelude::*,
    types::{PyList, PyTuple},
};

use crate::{
    arguments::{Arrays, Axis, Lengths, list, tuple},
    array::PyArray,
    device::{building, computing},
    errors::{ours, raise, type_error, value_error},
    values::{Arg, Arr},
};

/// The same elements in another shape, in which one length may be -1; a view where possible.
///
/// >>> xo.reshape(xo.arange(6), (2, -1))
/// array([[0, 1, 2],
///        [3, 4, 5]])
#[pyfunction]
#[pyo3(signature = (x, /, shape, *, copy=None))]
pub fn reshape(x: Arr, shape: Lengths, copy: Option<bool>) -> PyResult<PyArray> {
    let array = building(|| x.0.reshape(shape.0));
    PyArray::done(if copy == Some(true) { array.copy() } else { array })
}

/// The array repeated to a shape; a view.
///
/// >>> xo.broadcast_to(xo.asarray([1, 2]), (2, 2))
/// array([[1, 2],
///        [1, 2]])
#[pyfunction]
#[pyo3(signature = (x, /, shape))]
fn broadcast_to(x: Arr, shape: Lengths) -> PyResult<PyArray> {
    let shape = shape.known()?;
    PyArray::done(building(|| x.0.broadcast_to(shape)))
}

/// The arrays repeated to their common shape.
///
/// >>> xo.broadcast_arrays(xo.asarray([1, 2]), xo.asarray([[0], [5]]))[1]
/// array([[0, 0],
///        [5, 5]])
#[pyfunction]
#[pyo3(signature = (*arrays))]
fn broadcast_arrays<'py>(py: Python<'py>, arrays: Arrays) -> PyResult<Bound<'py, PyList>> {
    let all = building(|| Array::broadcast_arrays(&arrays.all())).map_err(|error| raise(&error))?;
    list(py, all)
}

/// Arrays joined along an axis they have; without one (`axis=None`), flattened first.
///
/// >>> xo.concat([xo.asarray([1, 2]), xo.asarray([3])])
/// array([1, 2, 3])
#[pyfunction]
#[pyo3(signature = (arrays, /, axis=Some(0)), text_signature = "(arrays, /, axis=0)")]
fn concat(arrays: Arrays, axis: Option<i64>) -> PyResult<PyArray> {
    PyArray::done(building(|| match axis {
        Some(axis) => Array::concat(&arrays.all(), axis),
        None => {
            let flat: Vec<Array> = arrays.0.iter().map(Array::flatten).collect();
            Array::concat(&flat.iter().collect::<Vec<_>>(), 0)
        }
    }))
}

/// Arrays of one shape joined along a new axis.
///
/// >>> xo.stack([xo.asarray([1, 2]), xo.asarray([3, 4])])
/// array([[1, 2],
///        [3, 4]])
#[pyfunction]
#[pyo3(signature = (arrays, /, axis=0))]
fn stack(arrays: Arrays, axis: i64) -> PyResult<PyArray> {
    PyArray::done(building(|| Array::stack(&arrays.all(), axis)))
}

/// The entries of an axis, which goes away: views.
///
/// >>> xo.unstack(xo.asarray([[1, 2], [3, 4]]))
/// (array([1, 2]), array([3, 4]))
#[pyfunction]
#[pyo3(signature = (x, /, axis=0))]
fn unstack<'py>(py: Python<'py>, x: Arr, axis: i64) -> PyResult<Bound<'py, PyTuple>> {
    tuple(py, building(|| x.0.unstack(axis)).map_err(|error| raise(&error))?)
}

/// New axes of length 1; a view.
///
/// >>> xo.expand_dims(xo.asarray([1, 2]), axis=1).shape
/// (2, 1)
#[pyfunction]
#[pyo3(signature = (x, /, axis=Axis::Some(vec![0])), text_signature = "(x, /, axis=0)")]
fn expand_dims(x: Arr, axis: Axis) -> PyResult<PyArray> {
    let Axis::Some(axes) = axis else { return Err(type_error("expand_dims needs an axis")) };
    let rank = (x.0.ndim() + axes.len()) as i64;
    let outside = |axis: i64| {
        ours(
            "AxisError",
            format!("axis {axis} is out of bounds for the {rank} axes of the result of expand_dims"),
        )
    };
    let mut places = Vec::new();
    for axis in axes {
        if !(-rank..rank).contains(&axis) {
            return Err(outside(axis));
        }
        places.push(if axis < 0 { axis + rank } else { axis });
    }
    places.sort_unstable();
    if places.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(value_error(format!("an axis occurs twice in {places:?}")));
    }
    PyArray::done(building(|| places.iter().fold(x.0, |x, &axis| x.expand_dims(axis))))
}

/// The array without axes of length 1: those named, or all; a view.
///
/// >>> xo.squeeze(xo.asarray([[1, 2]]))
/// array([1, 2])
#[pyfunction]
#[pyo3(signature = (x, /, axis=Axis::All), text_signature = "(x, /, axis=None)")]
fn squeeze(x: Arr, axis: Axis) -> PyResult<PyArray> {
    let none = matches!(&axis, Axis::Some(axes) if axes.is_empty());
    PyArray::done(building(|| if none { x.0 } else { x.0.squeeze(axis.axes()) }))
}

/// Axes reversed in direction; a view.
///
/// >>> xo.flip(xo.asarray([1, 2, 3]))
/// array([3, 2, 1])
#[pyfunction]
#[pyo3(signature = (x, /, axis=Axis::All), text_signature = "(x, /, axis=None)")]
fn flip(x: Arr, axis: Axis) -> PyResult<PyArray> {
    let none = matches!(&axis, Axis::Some(axes) if axes.is_empty()) || x.0.ndim() == 0;
    PyArray::done(building(|| if none { x.0 } else { x.0.flip(axis.axes()) }))
}

/// Axes in another order; a view.
///
/// >>> xo.permute_dims(xo.ones((2, 3, 4)), (2, 0, 1)).shape
/// (4, 2, 3)
#[pyfunction]
#[pyo3(signature = (x, /, axes))]
fn permute_dims(x: Arr, axes: Lengths) -> PyResult<PyArray> {
    if axes.0.len() != x.0.ndim() {
        return Err(value_error(format!(
            "axes {:?} do not name the {} axes of {}",
            axes.0,
            x.0.ndim(),
            x.0.shape()
        )));
    }
    PyArray::done(building(|| if axes.0.is_empty() { x.0 } else { x.0.permute(axes.0) }))
}

/// Axes moved to other places, the others in their order; a view.
///
/// >>> xo.moveaxis(xo.ones((2, 3, 4)), 0, -1).shape
/// (3, 4, 2)
#[pyfunction]
#[pyo3(signature = (x, source, destination, /))]
fn moveaxis(x: Arr, source: Lengths, destination: Lengths) -> PyResult<PyArray> {
    let x = x.0;
    let rank = x.ndim() as i64;
    let places = |given: &Lengths| -> PyResult<Vec<i64>> {
        let mut found = Vec::new();
        for &axis in &given.0 {
            if !(-rank..rank).contains(&axis) {
                let what = format!("axis {axis} is out of bounds for shape {}", x.shape());
                return Err(ours("AxisError", what));
            }
            let axis = if axis < 0 { axis + rank } else { axis };
            if found.contains(&axis) {
                return Err(value_error(format!("an axis occurs twice in {:?}", given.0)));
            }
            found.push(axis);
        }
        Ok(found)
    };
    let (from, to) = (places(&source)?, places(&destination)?);
    if from.len() != to.len() {
        return Err(value_error("source and destination name as many axes as each other"));
    }
    let mut order: Vec<i64> = (0..rank).filter(|axis| !from.contains(axis)).collect();
    let mut moves: Vec<(i64, i64)> = to.into_iter().zip(from).collect();
    moves.sort_unstable();
    for (to, from) in moves {
        order.insert(to as usize, from);
    }
    PyArray::done(building(|| if order.is_empty() { x } else { x.permute(order) }))
}

/// Elements moved along axes, those pushed out coming in at the other end.
///
/// >>> xo.roll(xo.asarray([1, 2, 3]), 1)
/// array([3, 1, 2])
#[pyfunction]
#[pyo3(signature = (x, /, shift, axis=Axis::All), text_signature = "(x, /, shift, axis=None)")]
fn roll(x: Arr, shift: Lengths, axis: Axis) -> PyResult<PyArray> {
    let x = x.0;
    let axes = match axis {
        Axis::All => {
            let shift = shift.0.iter().sum::<i64>();
            return PyArray::done(building(|| x.roll(shift, ())));
        }
        Axis::Some(axes) => axes,
    };
    let shifts = match shift.0.as_slice() {
        [one] => vec![*one; axes.len()],
        several if several.len() == axes.len() => several.to_vec(),
        _ => return Err(value_error("there is one shift per axis, or one for all")),
    };
    PyArray::done(building(|| axes.iter().zip(shifts).fold(x, |x, (&axis, shift)| x.roll(shift, axis))))
}

/// Each entry several times in a row: as often as a number, or an array with one count per entry, says.
///
/// >>> xo.repeat(xo.asarray([1, 2]), 2)
/// array([1, 1, 2, 2])
#[pyfunction]
#[pyo3(signature = (x, repeats, /, axis=None))]
fn repeat(py: Python<'_>, x: Arr, repeats: Arg, axis: Option<i64>) -> PyResult<PyArray> {
    let x = x.0;
    let counts = match repeats {
        Arg::Number(Number::Int(count)) => {
            let count = usize::try_from(count)
                .map_err(|_| value_error("entries cannot be repeated a negative number of times"))?;
            return PyArray::done(building(|| x.repeat(count, axis)));
        }
        Arg::Number(_) => return Err(type_error("repeats is an integer or an array of integers")),
        Arg::Array(counts) => counts,
    };
    let (x, axis) = match axis {
        Some(axis) => (x, axis),
        None => (x.flatten(), 0),
    };
    let at = if axis < 0 { axis + x.ndim() as i64 } else { axis };
    let length = usize::try_from(at).ok().and_then(|at| x.shape().dims().get(at).copied());
    // One count is for all.
    let counts = match length {
        Some(length) if counts.size() == 1 => counts.reshape([1]).broadcast_to([length]),
        _ => counts,
    };
    PyArray::done(computing(py, || x.repeat_each(&counts, axis)))
}

/// The whole array several times along each axis.
///
/// >>> xo.tile(xo.asarray([1, 2]), (2,))
/// array([1, 2, 1, 2])
#[pyfunction]
#[pyo3(signature = (x, repetitions, /))]
fn tile(x: Arr, repetitions: Lengths) -> PyResult<PyArray> {
    let counts = repetitions.known()?;
    PyArray::done(building(|| x.0.tile(&counts)))
}

/// Elements put before and after each axis; `mode` is 'constant', 'edge', 'reflect', 'symmetric' or 'wrap'.
///
/// >>> xo.pad(xo.asarray([1, 2]), (1, 2))
/// array([0, 1, 2, 0, 0])
#[pyfunction]
#[pyo3(signature = (x, pad_width, mode="constant", *, constant_values=Arg::Number(Number::Int(0))), text_signature = "(x, pad_width, mode='constant', *, constant_values=0)")]
fn pad(x: Arr, pad_width: &Bound<'_, PyAny>, mode: &str, constant_values: Arg) -> PyResult<PyArray> {
    let widths: Vec<(usize, usize)> = if let Ok(one) = pad_width.extract::<usize>() {
        vec![(one, one)]
    } else if let Ok(pair) = pad_width.extract::<(usize, usize)>() {
        vec![pair]
    } else {
        pad_width.extract()?
    };
    let padding = match (mode, constant_values) {
        ("constant", Arg::Number(number)) => Padding::Constant(number),
        ("constant", Arg::Array(_)) => return Err(type_error("constant_values is one number")),
        ("edge", _) => Padding::Edge,
        ("reflect", _) => Padding::Reflect,
        ("symmetric", _) => Padding::Symmetric,
        ("wrap", _) => Padding::Wrap,
        // NumPy's, which it computes where its code is redirected.
        ("empty" | "linear_ramp" | "maximum" | "mean" | "median" | "minimum", _) => {
            return Err(PyNotImplementedError::new_err(format!(
                "mode {mode:?} of numpy.pad is not one of those here: constant, edge, reflect, symmetric, wrap"
            )));
        }
        (other, _) => {
            return Err(value_error(format!(
                "mode {other:?} is not one of constant, edge, reflect, symmetric, wrap"
            )));
        }
    };
    PyArray::done(building(|| x.0.pad(&widths, padding)))
}

/// How often each of 0, 1, … occurs among integers, or the sum of the weights there.
///
/// >>> xo.bincount(xo.asarray([1, 3, 1]))
/// array([0, 2, 0, 1])
#[pyfunction]
#[pyo3(signature = (x, /, weights=None, minlength=0))]
fn bincount(py: Python<'_>, x: Arr, weights: Option<Arr>, minlength: usize) -> PyResult<PyArray> {
    let x = if x.0.size() == 0 { x.0.astype(DType::I64) } else { x.0 };
    PyArray::done(computing(py, || match weights {
        Some(weights) => x.bincount_weighted(&weights.0, minlength),
        None => x.bincount(minlength),
    }))
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(reshape, module)?)?;
    module.add_function(wrap_pyfunction!(broadcast_to, module)?)?;
    module.add_function(wrap_pyfunction!(broadcast_arrays, module)?)?;
    module.add_function(wrap_pyfunction!(concat, module)?)?;
    module.add_function(wrap_pyfunction!(stack, module)?)?;
    module.add_function(wrap_pyfunction!(unstack, module)?)?;
    module.add_function(wrap_pyfunction!(expand_dims, module)?)?;
    module.add_function(wrap_pyfunction!(squeeze, module)?)?;
    module.add_function(wrap_pyfunction!(flip, module)?)?;
    module.add_function(wrap_pyfunction!(permute_dims, module)?)?;
    module.add_function(wrap_pyfunction!(moveaxis, module)?)?;
    module.add_function(wrap_pyfunction!(roll, module)?)?;
    module.add_function(wrap_pyfunction!(repeat, module)?)?;
    module.add_function(wrap_pyfunction!(tile, module)?)?;
    module.add_function(wrap_pyfunction!(pad, module)?)?;
    module.add_function(wrap_pyfunction!(bincount, module)?)
}
