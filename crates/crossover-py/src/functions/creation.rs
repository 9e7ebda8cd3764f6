//! Making arrays.

use crossover::{Array, DType, Device, Number};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyList};

use crate::{
    arguments::{Arrays, Lengths, list},
    array::PyArray,
    device::{Dev, building, computing, runtime},
    dlpack,
    dtype::Dt,
    errors::{raise, type_error, value_error},
    numpy,
    values::{Arg, Arr, array_from, check_range, checked},
};

/// The array on the device that was asked for.
fn placed(py: Python<'_>, array: Array, device: Option<Dev>) -> PyResult<PyArray> {
    let array = checked(array)?;
    match device {
        None => Ok(PyArray(array)),
        // There is nowhere else.
        Some(Dev(Device::Cpu)) if runtime().device_count() == 0 => Ok(PyArray(array)),
        Some(Dev(device)) => {
            computing(py, || array.to_device(device)).map(PyArray).map_err(|error| raise(&error))
        }
    }
}

fn dtype_of(dtype: Option<Dt>) -> DType {
    dtype.map_or(DType::F64, |dtype| dtype.0)
}

/// Anything as an array: numbers, nested sequences, NumPy arrays, objects with `__dlpack__`. What is an array already is returned as
/// it is, unless `copy` is true; what another library owns is copied. With `copy=False` the array shares the memory of a NumPy array, which
/// must not be written any more then; assigning to the array goes to a copy.
///
/// >>> xo.asarray([[1, 2], [3, 4]])
/// array([[1, 2],
///        [3, 4]])
#[pyfunction]
#[pyo3(signature = (obj, /, *, dtype=None, device=None, copy=None))]
fn asarray(
    obj: &Bound<'_, PyAny>,
    dtype: Option<Dt>,
    device: Option<Dev>,
    copy: Option<bool>,
) -> PyResult<Py<PyArray>> {
    let py = obj.py();
    let Ok(known) = obj.cast::<PyArray>() else {
        if copy == Some(false) {
            let array = numpy::borrowed(obj)?
                .filter(|array| dtype.as_ref().is_none_or(|dtype| dtype.0 == array.dtype()))
                .ok_or_else(|| {
                    value_error(
                        "copy=False: only arrays of this library, and NumPy arrays of the same dtype in row-major order, \
                         aligned and no booleans, become arrays without a copy",
                    )
                })?;
            return Py::new(py, placed(py, array, device)?);
        }
        let array = building(|| array_from(obj, dtype.map(|dtype| dtype.0)))?;
        return Py::new(py, placed(py, array, device)?);
    };
    let array = &known.get().0;
    let wanted = dtype.map_or(array.dtype(), |dtype| dtype.0);
    if wanted != array.dtype() {
        if copy == Some(false) {
            return Err(value_error(format!(
                "copy=False: a conversion from {} is a copy",
                crate::dtype::name(array.dtype())
            )));
        }
        return Py::new(py, placed(py, converted(array, wanted)?, device)?);
    }
    if copy == Some(true) {
        return Py::new(py, placed(py, array.copy(), device)?);
    }
    match device {
        None => Ok(known.clone().unbind()),
        Some(_) => Py::new(py, placed(py, array.clone(), device)?),
    }
}

/// A conversion, with complex to real refused by name.
pub fn converted(array: &Array, dtype: DType) -> PyResult<Array> {
    if array.dtype().is_complex() && !dtype.is_complex() && dtype != DType::Bool {
        return Err(type_error(format!(
            "{} does not become {}; take the real part first",
            crate::dtype::name(array.dtype()),
            crate::dtype::name(dtype)
        )));
    }
    checked(array.astype(dtype))
}

/// The array in another dtype.
///
/// >>> xo.astype(xo.asarray([1.7, -2.0]), xo.int32)
/// array([ 1, -2], dtype=int32)
#[pyfunction]
#[pyo3(signature = (x, dtype, /, *, copy=true, device=None))]
fn astype(
    py: Python<'_>,
    x: Bound<'_, PyAny>,
    dtype: Dt,
    copy: bool,
    device: Option<Dev>,
) -> PyResult<Py<PyArray>> {
    let array = x.extract::<Arr>()?.0;
    if array.dtype() == dtype.0 && device.is_none() {
        return match x.cast::<PyArray>() {
            Ok(same) if !copy => Ok(same.clone().unbind()),
            _ => Py::new(py, PyArray(array.copy())),
        };
    }
    Py::new(py, placed(py, converted(&array, dtype.0)?, device)?)
}

/// An array from an object with `__dlpack__`, copied.
///
/// >>> import numpy as np
/// >>> xo.from_dlpack(np.arange(3))
/// array([0, 1, 2])
#[pyfunction]
#[pyo3(signature = (x, /, *, device=None, copy=None))]
fn from_dlpack(x: &Bound<'_, PyAny>, device: Option<Dev>, copy: Option<bool>) -> PyResult<PyArray> {
    if let Ok(known) = x.cast::<PyArray>() {
        let array = &known.get().0;
        let array = if copy == Some(true) { array.copy() } else { array.clone() };
        return placed(x.py(), array, device);
    }
    placed(x.py(), dlpack::import(x, copy)?, device)
}

/// Zeros.
///
/// >>> xo.zeros(3)
/// array([0., 0., 0.])
#[pyfunction]
#[pyo3(signature = (shape, *, dtype=None, device=None))]
fn zeros(py: Python<'_>, shape: Lengths, dtype: Option<Dt>, device: Option<Dev>) -> PyResult<PyArray> {
    let shape = shape.known()?;
    placed(py, building(|| Array::zeros_dtype(shape, dtype_of(dtype))), device)
}

/// Ones.
///
/// >>> xo.ones((2, 2), dtype=xo.int32)
/// array([[1, 1],
///        [1, 1]], dtype=int32)
#[pyfunction]
#[pyo3(signature = (shape, *, dtype=None, device=None))]
fn ones(py: Python<'_>, shape: Lengths, dtype: Option<Dt>, device: Option<Dev>) -> PyResult<PyArray> {
    let shape = shape.known()?;
    placed(py, building(|| Array::ones_dtype(shape, dtype_of(dtype))), device)
}

/// An array to be written: zeros.
///
/// >>> xo.empty((2, 3)).shape
/// (2, 3)
#[pyfunction]
#[pyo3(signature = (shape, *, dtype=None, device=None))]
fn empty(py: Python<'_>, shape: Lengths, dtype: Option<Dt>, device: Option<Dev>) -> PyResult<PyArray> {
    zeros(py, shape, dtype, device)
}

/// One number, or the elements of an array, everywhere.
fn filled(shape: Vec<usize>, value: Arg, dtype: Option<DType>) -> PyResult<Array> {
    match value {
        Arg::Number(number) => {
            let dtype = dtype.unwrap_or_else(|| number.default_dtype());
            check_range(number, dtype)?;
            checked(building(|| Array::full_dtype(shape, number, dtype)))
        }
        Arg::Array(array) => {
            let array = converted(&array, dtype.unwrap_or(array.dtype()))?;
            checked(building(|| array.broadcast_to(shape).copy()))
        }
    }
}

/// One number everywhere.
///
/// >>> xo.full(2, 7)
/// array([7, 7])
#[pyfunction]
#[pyo3(signature = (shape, fill_value, *, dtype=None, device=None))]
fn full(
    py: Python<'_>,
    shape: Lengths,
    fill_value: Arg,
    dtype: Option<Dt>,
    device: Option<Dev>,
) -> PyResult<PyArray> {
    placed(py, filled(shape.known()?, fill_value, dtype.map(|dtype| dtype.0))?, device)
}

/// Zeros with the shape and, unless another is given, the dtype of an array.
///
/// >>> xo.zeros_like(xo.asarray([1, 2]))
/// array([0, 0])
#[pyfunction]
#[pyo3(signature = (x, /, *, dtype=None, device=None))]
fn zeros_like(py: Python<'_>, x: Arr, dtype: Option<Dt>, device: Option<Dev>) -> PyResult<PyArray> {
    let dtype = dtype.map_or(x.0.dtype(), |dtype| dtype.0);
    placed(py, building(|| Array::zeros_dtype(x.0.shape(), dtype)), device)
}

/// Ones with the shape and, unless another is given, the dtype of an array.
///
/// >>> xo.ones_like(xo.asarray([1, 2]))
/// array([1, 1])
#[pyfunction]
#[pyo3(signature = (x, /, *, dtype=None, device=None))]
fn ones_like(py: Python<'_>, x: Arr, dtype: Option<Dt>, device: Option<Dev>) -> PyResult<PyArray> {
    let dtype = dtype.map_or(x.0.dtype(), |dtype| dtype.0);
    placed(py, building(|| Array::ones_dtype(x.0.shape(), dtype)), device)
}

/// An array to be written, with the shape and, unless another is given, the dtype of an array.
///
/// >>> xo.empty_like(xo.asarray([1, 2])).dtype
/// crossover.int64
#[pyfunction]
#[pyo3(signature = (x, /, *, dtype=None, device=None))]
fn empty_like(py: Python<'_>, x: Arr, dtype: Option<Dt>, device: Option<Dev>) -> PyResult<PyArray> {
    zeros_like(py, x, dtype, device)
}

/// One number everywhere, with the shape and, unless another is given, the dtype of an array.
///
/// >>> xo.full_like(xo.asarray([1, 2]), 7)
/// array([7, 7])
#[pyfunction]
#[pyo3(signature = (x, /, fill_value, *, dtype=None, device=None))]
fn full_like(
    py: Python<'_>,
    x: Arr,
    fill_value: Arg,
    dtype: Option<Dt>,
    device: Option<Dev>,
) -> PyResult<PyArray> {
    let dtype = dtype.map_or(x.0.dtype(), |dtype| dtype.0);
    placed(py, filled(x.0.shape().dims().to_vec(), fill_value, Some(dtype))?, device)
}

/// A number argument: a Python number, or an array with one element.
fn one(py: Python<'_>, value: Arg) -> PyResult<Number> {
    match value {
        Arg::Number(number) => Ok(number),
        Arg::Array(array) => {
            let value = computing(py, || array.to_scalar()).map_err(|error| raise(&error))?;
            let number = crate::array::to_python(py, value)?;
            crate::values::number(&number)?.ok_or_else(|| type_error("not a number"))
        }
    }
}

/// `start`, `start + step`, … before `stop`; with one number, from 0 to before it.
///
/// >>> xo.arange(1, 10, 3)
/// array([1, 4, 7])
#[pyfunction]
#[pyo3(signature = (start, /, stop=None, step=Arg::Number(Number::Int(1)), *, dtype=None, device=None), text_signature = "(start, /, stop=None, step=1, *, dtype=None, device=None)")]
fn arange(
    py: Python<'_>,
    start: Arg,
    stop: Option<Arg>,
    step: Arg,
    dtype: Option<Dt>,
    device: Option<Dev>,
) -> PyResult<PyArray> {
    let (start, stop) = match stop {
        Some(stop) => (one(py, start)?, one(py, stop)?),
        None => (Number::Int(0), one(py, start)?),
    };
    let step = one(py, step)?;
    let kind = [start, stop, step].map(|number| number.kind()).into_iter().max();
    let default = if kind > Some(crossover::Kind::Int) { DType::F64 } else { DType::I64 };
    let dtype = dtype.map_or(default, |dtype| dtype.0);
    placed(py, building(|| Array::arange_from(start, stop, step, dtype)), device)
}

/// `num` numbers from `start` to `stop`.
///
/// >>> xo.linspace(0, 1, 5)
/// array([0.  , 0.25, 0.5 , 0.75, 1.  ])
#[pyfunction]
#[pyo3(signature = (start, stop, /, num=50, *, dtype=None, device=None, endpoint=true))]
fn linspace(
    py: Python<'_>,
    start: Arg,
    stop: Arg,
    num: usize,
    dtype: Option<Dt>,
    device: Option<Dev>,
    endpoint: bool,
) -> PyResult<PyArray> {
    let (start, stop) = (one(py, start)?, one(py, stop)?);
    let parts = |number: Number| match number {
        Number::Bool(value) => (value as u8 as f64, 0.0),
        Number::Int(value) => (value as f64, 0.0),
        Number::Float(value) => (value, 0.0),
        Number::Complex(re, im) => (re, im),
    };
    let ((start, start_im), (stop, stop_im)) = (parts(start), parts(stop));
    let complex = dtype.is_some_and(|dtype| dtype.0.is_complex()) || start_im != 0.0 || stop_im != 0.0;
    let line = |start, stop, dtype| match endpoint {
        true => Array::linspace_dtype(start, stop, num, dtype),
        false => Array::linspace_before(start, stop, num, dtype),
    };
    let array = building(|| {
        if !complex {
            return line(start, stop, dtype_of(dtype));
        }
        let imaginary = line(start_im, stop_im, DType::F64) * crossover::Complex::new(0.0, 1.0);
        (line(start, stop, DType::F64) + imaginary).astype(dtype.map_or(DType::C128, |dtype| dtype.0))
    });
    placed(py, array, device)
}

/// Ones on one diagonal, zeros elsewhere.
///
/// >>> xo.eye(2)
/// array([[1., 0.],
///        [0., 1.]])
#[pyfunction]
#[pyo3(signature = (n_rows, n_cols=None, /, *, k=0, dtype=None, device=None))]
fn eye(
    py: Python<'_>,
    n_rows: usize,
    n_cols: Option<usize>,
    k: i64,
    dtype: Option<Dt>,
    device: Option<Dev>,
) -> PyResult<PyArray> {
    let columns = n_cols.unwrap_or(n_rows);
    placed(py, building(|| Array::eye_dtype(n_rows, columns, k, dtype_of(dtype))), device)
}

/// The lower triangle of matrices, zeros above.
///
/// >>> xo.tril(xo.ones((2, 2)))
/// array([[1., 0.],
///        [1., 1.]])
#[pyfunction]
#[pyo3(signature = (x, /, k=0))]
fn tril(x: Arr, k: i64) -> PyResult<PyArray> {
    PyArray::done(building(|| x.0.tril(k)))
}

/// The upper triangle of matrices, zeros below.
///
/// >>> xo.triu(xo.ones((2, 2)))
/// array([[1., 1.],
///        [0., 1.]])
#[pyfunction]
#[pyo3(signature = (x, /, k=0))]
fn triu(x: Arr, k: i64) -> PyResult<PyArray> {
    PyArray::done(building(|| x.0.triu(k)))
}

/// Coordinates of a grid: one array per axis, `indexing` 'xy' or 'ij'.
///
/// >>> xo.meshgrid(xo.asarray([1, 2]), xo.asarray([5, 6]))[1]
/// array([[5, 5],
///        [6, 6]])
#[pyfunction]
#[pyo3(signature = (*arrays, indexing="xy"))]
fn meshgrid<'py>(py: Python<'py>, arrays: Arrays, indexing: &str) -> PyResult<Bound<'py, PyList>> {
    let all = arrays.all();
    let grids = building(|| match indexing {
        "xy" => Ok(Array::meshgrid_xy(&all)),
        "ij" => Ok(Array::meshgrid(&all)),
        other => Err(PyValueError::new_err(format!("indexing is 'xy' or 'ij', not {other:?}"))),
    })?;
    let grids = grids.map_err(|error| raise(&error))?;
    list(py, grids.iter().map(Array::copy).collect())
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(asarray, module)?)?;
    module.add_function(wrap_pyfunction!(astype, module)?)?;
    module.add_function(wrap_pyfunction!(from_dlpack, module)?)?;
    module.add_function(wrap_pyfunction!(zeros, module)?)?;
    module.add_function(wrap_pyfunction!(ones, module)?)?;
    module.add_function(wrap_pyfunction!(empty, module)?)?;
    module.add_function(wrap_pyfunction!(full, module)?)?;
    module.add_function(wrap_pyfunction!(zeros_like, module)?)?;
    module.add_function(wrap_pyfunction!(ones_like, module)?)?;
    module.add_function(wrap_pyfunction!(empty_like, module)?)?;
    module.add_function(wrap_pyfunction!(full_like, module)?)?;
    module.add_function(wrap_pyfunction!(arange, module)?)?;
    module.add_function(wrap_pyfunction!(linspace, module)?)?;
    module.add_function(wrap_pyfunction!(eye, module)?)?;
    module.add_function(wrap_pyfunction!(tril, module)?)?;
    module.add_function(wrap_pyfunction!(triu, module)?)?;
    module.add_function(wrap_pyfunction!(meshgrid, module)?)
}
