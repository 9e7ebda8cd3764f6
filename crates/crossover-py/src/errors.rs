//! Errors as the exceptions that NumPy users expect.
//!
//! Messages show shapes, dtypes and values; the place in this crate that called the library is left out, since Python's
//! traceback shows the user's own line.

use crossover::{Error, core, runtime};
use pyo3::{
    exceptions::{
        PyFileNotFoundError, PyIndexError, PyMemoryError, PyNotImplementedError, PyOSError,
        PyPermissionError, PyRuntimeError, PyTypeError, PyValueError,
    },
    prelude::*,
    sync::PyOnceLock,
    types::PyType,
};

use crate::signals;

/// The exception for an error of the library.
pub fn raise(error: &Error) -> PyErr {
    let message = error.kind().to_string();
    match error.kind() {
        runtime::Error::Invalid(invalid) => invalid_request(invalid, message),
        runtime::Error::NoDevice { .. } | runtime::Error::Device { .. } => {
            ours("DeviceError", helped(&message, "gpu-not-available"))
        }
        runtime::Error::OutOfMemory { .. } => PyMemoryError::new_err(helped(&message, "out-of-memory")),
        runtime::Error::Source { .. } => PyRuntimeError::new_err(helped(&message, "compile-failure")),
        runtime::Error::Interrupted => signals::raised(),
        runtime::Error::Unsupported { .. } => PyNotImplementedError::new_err(message),
        runtime::Error::Io { kind, .. } => match kind {
            std::io::ErrorKind::NotFound => PyFileNotFoundError::new_err(message),
            std::io::ErrorKind::PermissionDenied => PyPermissionError::new_err(message),
            _ => PyOSError::new_err(message),
        },
        runtime::Error::Corrupt { .. } | runtime::Error::Format { .. } | runtime::Error::Setting { .. } => {
            PyValueError::new_err(message)
        }
        _ => PyRuntimeError::new_err(message),
    }
}

/// A message with the place where remedies are listed.
fn helped(message: &str, section: &str) -> String {
    const HELP: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/troubleshooting.md");
    format!("{message} (remedies: {HELP}#{section})")
}

/// The exception for a request that makes no sense.
pub fn raise_core(error: &core::Error) -> PyErr {
    invalid_request(error, error.to_string())
}

fn invalid_request(error: &core::Error, message: String) -> PyErr {
    match error {
        core::Error::Axis { .. } => ours("AxisError", message),
        core::Error::Index { .. } => PyIndexError::new_err(message),
        core::Error::DType { .. } | core::Error::Mixed { .. } => PyTypeError::new_err(message),
        core::Error::Matrix { .. } => ours("LinAlgError", message),
        core::Error::Kernel { .. } => PyRuntimeError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

/// As [`raise`], for indexing: there, NumPy calls whatever does not fit an IndexError.
pub fn raise_index(error: &Error) -> PyErr {
    match error.kind() {
        runtime::Error::Invalid(
            core::Error::Shape { .. } | core::Error::Value { .. } | core::Error::DType { .. },
        ) => PyIndexError::new_err(error.kind().to_string()),
        _ => raise(error),
    }
}

/// An exception of `crossover.exceptions`, whose classes derive from NumPy's of the same name.
pub fn ours(name: &'static str, message: String) -> PyErr {
    static AXIS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static MATRIX: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static DEVICE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let cell = match name {
        "AxisError" => &AXIS,
        "LinAlgError" => &MATRIX,
        _ => &DEVICE,
    };
    Python::attach(|py| match cell.import(py, "crossover.exceptions", name) {
        Ok(class) => PyErr::from_type(class.clone(), (message,)),
        Err(error) => error,
    })
}

/// A ValueError.
pub fn value_error(message: impl Into<String>) -> PyErr {
    PyValueError::new_err(message.into())
}

/// A TypeError.
pub fn type_error(message: impl Into<String>) -> PyErr {
    PyTypeError::new_err(message.into())
}
