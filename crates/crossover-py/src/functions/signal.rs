//! Convolution and correlation, for `crossover.signal`, which documents them.

use crossover::signal::{self, Boundary, Method, Mode, Options};
use pyo3::prelude::*;

use crate::{
    array::PyArray,
    device::building,
    errors::{type_error, value_error},
    values::{Arg, Arr},
};

fn mode(name: &str) -> PyResult<Mode> {
    let found = Mode::ALL.into_iter().find(|mode| mode.name() == name);
    found.ok_or_else(|| value_error(format!("mode is 'full', 'same' or 'valid', not {name:?}")))
}

fn boundary(name: &str) -> PyResult<Boundary> {
    let found = Boundary::ALL.into_iter().find(|boundary| boundary.name() == name);
    found.ok_or_else(|| {
        value_error(format!("boundary is 'fill', 'nearest', 'wrap', 'symm' or 'mirror', not {name:?}"))
    })
}

fn method(name: &str) -> PyResult<Method> {
    match name {
        "auto" => Ok(Method::Auto),
        "direct" => Ok(Method::Direct),
        "fft" => Ok(Method::Fft),
        other => Err(value_error(format!("method is 'auto', 'direct' or 'fft', not {other:?}"))),
    }
}

/// A convolution, or with `flipped` a correlation.
#[pyfunction]
fn convolved(
    x: Arr,
    kernel: Arr,
    flipped: bool,
    mode_name: &str,
    boundary_name: &str,
    fillvalue: Arg,
    method_name: &str,
) -> PyResult<PyArray> {
    let Arg::Number(fill) = fillvalue else {
        return Err(type_error("fillvalue is one number"));
    };
    let options = Options::new()
        .mode(mode(mode_name)?)
        .boundary(boundary(boundary_name)?)
        .fill(fill)
        .method(method(method_name)?);
    let function = if flipped { signal::correlate_with } else { signal::convolve_with };
    PyArray::done(building(|| function(&x.0, &kernel.0, options)))
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(convolved, module)?)
}
