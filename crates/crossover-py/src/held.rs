//! Arrays that are on their way in or out of a call: `@xo.gpu` borrows NumPy's memory for as long as the function runs, and gives the memory
//! of its results away.

use crossover::Array;
use parking_lot::Mutex;
use pyo3::{exceptions::PyRuntimeError, prelude::*};

use crate::{array::PyArray, device::computing, errors::raise, numpy};

/// An array, held beside the objects that Python has of it.
#[pyclass(frozen, module = "crossover._native")]
pub struct Held(Mutex<Option<Array>>);

impl Held {
    fn take(&self) -> PyResult<Array> {
        let array = self.0.lock().take();
        array.ok_or_else(|| PyRuntimeError::new_err("the array has been given away already"))
    }
}

#[pymethods]
impl Held {
    #[new]
    fn new(array: &Bound<'_, PyArray>) -> Held {
        Held(Mutex::new(Some(array.get().0.clone())))
    }

    /// The array as a writable `numpy.ndarray`: in the array's own memory if no object of Python's has it any more, else a copy.
    fn give<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numpy::given(py, self.take()?)
    }

    /// Ends a loan: what still shows the borrowed memory, or is still to be computed from it, gets a copy.
    fn settle(&self, py: Python<'_>) -> PyResult<()> {
        let array = self.take()?;
        computing(py, || array.detach()).map_err(|error| raise(&error))
    }
}

/// What an array was at a moment, to see later whether anything has been assigned to it.
#[pyclass(frozen, module = "crossover._native")]
pub struct Snapshot(Array);

#[pymethods]
impl Snapshot {
    #[new]
    fn new(array: &Bound<'_, PyArray>) -> Snapshot {
        Snapshot(array.get().0.frozen())
    }

    /// Whether something has been assigned to the array since.
    fn is_changed(&self, array: &Bound<'_, PyArray>) -> bool {
        !array.get().0.is_still(&self.0)
    }
}

/// An array in the memory of a NumPy array, and what ends the loan; `None` where the memory does not suit. Until the loan ends, nobody may
/// write to the memory.
#[pyfunction]
fn borrow(object: &Bound<'_, PyAny>) -> PyResult<Option<(PyArray, Held)>> {
    let array = numpy::borrowed(object)?;
    Ok(array.map(|array| (PyArray(array.clone()), Held(Mutex::new(Some(array))))))
}

/// Adds class and function to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Held>()?;
    module.add_class::<Snapshot>()?;
    module.add_function(wrap_pyfunction!(borrow, module)?)
}
