//! The functions of the namespace, one file per chapter of the standard.

mod creation;
pub mod elementwise;
mod fft;
mod linalg;
mod manipulation;
mod nan;
mod nn;
mod random;
pub mod reduction;
mod searching;
mod signal;

use pyo3::prelude::*;

/// Adds all functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    creation::register(module)?;
    elementwise::register(module)?;
    fft::register(module)?;
    linalg::register(module)?;
    manipulation::register(module)?;
    nan::register(module)?;
    nn::register(module)?;
    random::register(module)?;
    reduction::register(module)?;
    searching::register(module)?;
    signal::register(module)
}
