//! Holographic memory, for `crossover.hrr`, which documents it.

mod found;
mod memory;
mod pairs;
mod space;
mod state;
mod store;

use std::io::ErrorKind;

use crossover::hrr;
use pyo3::{
    exceptions::{
        PyFileNotFoundError, PyKeyError, PyOSError, PyPermissionError, PyRuntimeError, PyValueError,
    },
    prelude::*,
};

use crate::errors::raise;

fn failed(error: hrr::Error) -> PyErr {
    match &error {
        hrr::Error::Array(inner) => raise(inner),
        hrr::Error::Unknown { .. } => PyKeyError::new_err(error.to_string()),
        hrr::Error::Io(_) => match error.io_kind() {
            Some(ErrorKind::NotFound) => PyFileNotFoundError::new_err(error.to_string()),
            Some(ErrorKind::PermissionDenied) => PyPermissionError::new_err(error.to_string()),
            _ => PyOSError::new_err(error.to_string()),
        },
        hrr::Error::Busy { .. } => PyRuntimeError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// Adds classes and functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("HrrSpace", module.py().get_type::<space::PySpace>())?;
    module.add("HrrItemMemory", module.py().get_type::<memory::PyItemMemory>())?;
    module.add("HrrAssociativeMemory", module.py().get_type::<pairs::PyAssociativeMemory>())?;
    module.add("HrrExact", module.py().get_type::<found::PyExact>())?;
    module.add("HrrFactors", module.py().get_type::<found::PyFactors>())?;
    module.add("HrrState", module.py().get_type::<state::PyState>())?;
    module.add("HrrStore", module.py().get_type::<store::PyStore>())?;
    module.add_function(wrap_pyfunction!(memory::hrr_verify, module)?)?;
    module.add_function(wrap_pyfunction!(memory::hrr_report, module)?)
}
