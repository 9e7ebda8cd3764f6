//! Named arrays and values that are saved together.
#![allow(unsafe_code)]

use crossover::hrr::{State, Value};
use parking_lot::Mutex;
use pyo3::{
    exceptions::{PyKeyError, PyOverflowError},
    prelude::*,
    sync::MutexExt,
    types::{PyBool, PyFloat, PyInt, PyString},
};

use super::failed;
use crate::{
    array::PyArray,
    device::{Dev, computing},
    values::Arr,
};

/// A map of names to arrays and to plain values (bool, int, float, str) that moves, is saved and verified as one.
///
/// >>> import tempfile
/// >>> folder = tempfile.mkdtemp()
/// >>> state = xo.hrr.State()
/// >>> state["weights"] = xo.linspace(0, 1, 5)
/// >>> state["step"] = 12
/// >>> state.save(folder)
/// >>> again = xo.hrr.State.open(folder)
/// >>> again.names, again["step"], again["weights"].tolist()
/// (['step', 'weights'], 12, [0.0, 0.25, 0.5, 0.75, 1.0])
#[pyclass(frozen, name = "State", module = "crossover.hrr")]
pub struct PyState(Mutex<State>);

/// A plain value; `None` is an array.
fn plain(value: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Some(Value::Bool(truth.is_true())));
    }
    if value.is_instance_of::<PyInt>() {
        let number = value.extract::<i64>();
        let number = number.map_err(|_| PyOverflowError::new_err("an int of a state has 64 bits"))?;
        return Ok(Some(Value::Int(number)));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Some(Value::Float(value.extract()?)));
    }
    match value.cast::<PyString>() {
        Ok(text) => Ok(Some(Value::Text(text.to_cow()?.into_owned()))),
        Err(_) => Ok(None),
    }
}

#[pymethods]
impl PyState {
    #[new]
    fn new() -> PyState {
        PyState(Mutex::new(State::new()))
    }

    /// The newest version in a store, if every byte of it is as it was written.
    #[staticmethod]
    fn open(py: Python<'_>, folder: std::path::PathBuf) -> PyResult<PyState> {
        let state = computing(py, || State::open(&folder)).map_err(failed)?;
        Ok(PyState(Mutex::new(state)))
    }

    /// As `open`, but arrays are used where they lie in the store's file, which is verified all the same. Nobody may change the file meanwhile; this library never does.
    #[staticmethod]
    fn map(py: Python<'_>, folder: std::path::PathBuf) -> PyResult<PyState> {
        // SAFETY: the caller is told that nobody may change the segments, which are written once, under names of their own.
        let state = computing(py, || unsafe { State::map(&folder) }).map_err(failed)?;
        Ok(PyState(Mutex::new(state)))
    }

    /// Saves everything as one operation of a store: a new one, or the next version in one that is there.
    fn save(&self, py: Python<'_>, folder: std::path::PathBuf) -> PyResult<()> {
        computing(py, || self.0.lock().save(&folder)).map_err(failed)
    }

    /// The same with all arrays on a device.
    fn to_device(&self, py: Python<'_>, device: Dev) -> PyResult<PyState> {
        let moved = computing(py, || self.0.lock().to_device(device.0)).map_err(failed)?;
        Ok(PyState(Mutex::new(moved)))
    }

    /// The names of arrays and values.
    #[getter]
    fn names(&self, py: Python<'_>) -> Vec<String> {
        let state = self.0.lock_py_attached(py);
        let mut names: Vec<String> = state.arrays().keys().chain(state.values().keys()).cloned().collect();
        names.sort();
        names
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        let state = self.0.lock_py_attached(py);
        state.arrays().len() + state.values().len()
    }

    fn __contains__(&self, py: Python<'_>, name: &str) -> bool {
        let state = self.0.lock_py_attached(py);
        state.arrays().contains_key(name) || state.values().contains_key(name)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let state = self.0.lock_py_attached(py);
        Ok(match state.value(name) {
            Some(Value::Bool(truth)) => PyBool::new(py, *truth).to_owned().into_any(),
            Some(Value::Int(number)) => number.into_pyobject(py)?.into_any(),
            Some(Value::Float(number)) => PyFloat::new(py, *number).into_any(),
            Some(Value::Text(text)) => PyString::new(py, text).into_any(),
            _ => {
                let array = state.get(name).map_err(|_| PyKeyError::new_err(name.to_string()))?;
                Bound::new(py, PyArray::done(array.clone())?)?.into_any()
            }
        })
    }

    fn __setitem__(&self, py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        match plain(value)? {
            Some(value) => self.0.lock_py_attached(py).set_value(name, value),
            None => {
                let array = value.extract::<Arr>()?.0;
                self.0.lock_py_attached(py).set(name, array);
            }
        }
        Ok(())
    }

    fn __delitem__(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        match self.0.lock_py_attached(py).remove(name) {
            true => Ok(()),
            false => Err(PyKeyError::new_err(name.to_string())),
        }
    }
}
