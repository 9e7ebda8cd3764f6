//! The methods of NumPy's arrays that are called most; the others are made of functions, in `crossover/_methods.py`.

use crossover::Array;
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyDict, PyTuple},
};

use super::PyArray;
use crate::{
    arguments::{Axis, Lengths},
    device::{building, computing},
    dtype::Dt,
    errors::raise,
    functions::reduction::{averaged, multiplied, reduced, spread, summed},
    values::{Arg, check_range},
};

/// An array in a dtype of ours.
fn converted(array: &Array, dtype: &Bound<'_, PyAny>, copy: bool) -> PyResult<PyArray> {
    let dtype = dtype.extract::<Dt>()?.0;
    if dtype == array.dtype() {
        return Ok(PyArray(if copy { array.copy() } else { array.clone() }));
    }
    PyArray::done(building(|| array.astype(dtype)))
}

#[pymethods]
impl PyArray {
    /// Sum of elements over axes.
    ///
    /// >>> xo.asarray([[1, 2], [3, 4]]).sum(axis=0)
    /// array([4, 6])
    #[pyo3(signature = (axis=Axis::All, dtype=None, *, keepdims=false), text_signature = "($self, axis=None, dtype=None, *, keepdims=False)")]
    fn sum(&self, axis: Axis, dtype: Option<Dt>, keepdims: bool) -> PyResult<PyArray> {
        summed(&self.0, &axis, dtype, keepdims)
    }

    /// Product of elements over axes.
    ///
    /// >>> xo.asarray([2, 3, 4]).prod()
    /// array(24)
    #[pyo3(signature = (axis=Axis::All, dtype=None, *, keepdims=false), text_signature = "($self, axis=None, dtype=None, *, keepdims=False)")]
    fn prod(&self, axis: Axis, dtype: Option<Dt>, keepdims: bool) -> PyResult<PyArray> {
        multiplied(&self.0, &axis, dtype, keepdims)
    }

    /// Mean of elements over axes.
    ///
    /// >>> xo.asarray([1.0, 4.0]).mean()
    /// array(2.5)
    #[pyo3(signature = (axis=Axis::All, dtype=None, *, keepdims=false), text_signature = "($self, axis=None, dtype=None, *, keepdims=False)")]
    fn mean(&self, axis: Axis, dtype: Option<Dt>, keepdims: bool) -> PyResult<PyArray> {
        averaged(&self.0, &axis, dtype, keepdims)
    }

    /// Smallest element over axes.
    ///
    /// >>> xo.asarray([3, 9, 1]).min()
    /// array(1)
    #[pyo3(signature = (axis=Axis::All, *, keepdims=false), text_signature = "($self, axis=None, *, keepdims=False)")]
    fn min(&self, axis: Axis, keepdims: bool) -> PyResult<PyArray> {
        reduced(&self.0, &axis, keepdims, |x, axes| x.min(axes))
    }

    /// Largest element over axes.
    ///
    /// >>> xo.asarray([[3, 9], [1, 2]]).max(axis=1)
    /// array([9, 2])
    #[pyo3(signature = (axis=Axis::All, *, keepdims=false), text_signature = "($self, axis=None, *, keepdims=False)")]
    fn max(&self, axis: Axis, keepdims: bool) -> PyResult<PyArray> {
        reduced(&self.0, &axis, keepdims, |x, axes| x.max(axes))
    }

    /// Variance over axes.
    ///
    /// >>> xo.asarray([1.0, 3.0]).var(ddof=1)
    /// array(2.)
    #[pyo3(signature = (axis=Axis::All, *, ddof=0.0, keepdims=false), text_signature = "($self, axis=None, *, ddof=0, keepdims=False)")]
    fn var(&self, axis: Axis, ddof: f64, keepdims: bool) -> PyResult<PyArray> {
        spread(&self.0, &axis, ddof, keepdims, false)
    }

    /// Standard deviation over axes.
    ///
    /// >>> xo.asarray([1.0, 3.0]).std()
    /// array(1.)
    #[pyo3(signature = (axis=Axis::All, *, ddof=0.0, keepdims=false), text_signature = "($self, axis=None, *, ddof=0, keepdims=False)")]
    fn std(&self, axis: Axis, ddof: f64, keepdims: bool) -> PyResult<PyArray> {
        spread(&self.0, &axis, ddof, keepdims, true)
    }

    /// Whether any element over axes is true.
    ///
    /// >>> xo.asarray([False, True]).any()
    /// array(True)
    #[pyo3(signature = (axis=Axis::All, *, keepdims=false), text_signature = "($self, axis=None, *, keepdims=False)")]
    fn any(&self, axis: Axis, keepdims: bool) -> PyResult<PyArray> {
        reduced(&self.0, &axis, keepdims, |x, axes| x.any(axes))
    }

    /// Whether all elements over axes are true.
    ///
    /// >>> xo.asarray([False, True]).all()
    /// array(False)
    #[pyo3(signature = (axis=Axis::All, *, keepdims=false), text_signature = "($self, axis=None, *, keepdims=False)")]
    fn all(&self, axis: Axis, keepdims: bool) -> PyResult<PyArray> {
        reduced(&self.0, &axis, keepdims, |x, axes| x.all(axes))
    }

    /// The same elements in another shape, in which one length may be -1; a view where possible.
    ///
    /// >>> xo.arange(6).reshape(2, -1)
    /// array([[0, 1, 2],
    ///        [3, 4, 5]])
    #[pyo3(signature = (*shape))]
    fn reshape(&self, shape: &Bound<'_, PyTuple>) -> PyResult<PyArray> {
        let shape: Lengths =
            if shape.len() == 1 { shape.get_item(0)?.extract()? } else { shape.extract()? };
        PyArray::done(building(|| self.0.reshape(shape.0)))
    }

    /// The array in another dtype. What only NumPy does, it does: other orders and rules of casting, and dtypes that are none of ours.
    ///
    /// >>> xo.asarray([1.7, -2.0]).astype(xo.int32)
    /// array([ 1, -2], dtype=int32)
    #[pyo3(signature = (dtype, order=None, casting=None, subok=None, copy=true))]
    fn astype<'py>(
        this: &Bound<'py, Self>,
        dtype: &Bound<'py, PyAny>,
        order: Option<&Bound<'py, PyAny>>,
        casting: Option<&Bound<'py, PyAny>>,
        subok: Option<&Bound<'py, PyAny>>,
        copy: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        if order.is_none() && casting.is_none() && subok.is_none() {
            match converted(&this.get().0, dtype, copy) {
                Err(error) if error.is_instance_of::<PyTypeError>(py) => {}
                done => return Ok(Bound::new(py, done?)?.into_any()),
            }
        }
        let options = PyDict::new(py);
        for (name, given) in [("order", order), ("casting", casting), ("subok", subok)] {
            if let Some(given) = given {
                options.set_item(name, given)?;
            }
        }
        options.set_item("copy", copy)?;
        let numpys = py.import("crossover._methods")?.getattr("astype_by_numpy")?;
        numpys.call((this, dtype), Some(&options))
    }

    /// The same elements in an array of its own.
    ///
    /// >>> x = xo.zeros(2)
    /// >>> y = x.copy()
    /// >>> y[0] = 5
    /// >>> x
    /// array([0., 0.])
    fn copy(&self) -> PyResult<PyArray> {
        PyArray::done(self.0.copy())
    }

    /// Writes one value into every element.
    ///
    /// >>> x = xo.zeros(2)
    /// >>> x.fill(5)
    /// >>> x
    /// array([5., 5.])
    fn fill(&self, py: Python<'_>, value: Arg) -> PyResult<()> {
        if let Arg::Number(number) = value {
            check_range(number, self.0.dtype())?;
        }
        computing(py, || self.0.assign(value.operand())).map_err(|error| raise(&error))
    }
}
