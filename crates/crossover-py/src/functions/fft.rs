//! Fourier transforms, for `crossover.fft`, which documents them.

use crossover::{
    Array,
    fft::{self, Norm, Options},
};
use pyo3::prelude::*;

use crate::{arguments::Axis, array::PyArray, device::building, errors::value_error, values::Arr};

fn norm(name: &str) -> PyResult<Norm> {
    match name {
        "backward" => Ok(Norm::Backward),
        "ortho" => Ok(Norm::Ortho),
        "forward" => Ok(Norm::Forward),
        other => Err(value_error(format!("norm is 'backward', 'ortho' or 'forward', not {other:?}"))),
    }
}

/// A length, which must be positive.
fn length(n: i64) -> PyResult<usize> {
    usize::try_from(n)
        .ok()
        .filter(|&n| n > 0)
        .ok_or_else(|| value_error(format!("invalid number of data points: {n}")))
}

/// A transform along one axis, by name.
#[pyfunction]
fn fft_along(name: &str, x: Arr, n: Option<i64>, axis: i64, norm_name: &str) -> PyResult<PyArray> {
    let mut options = Options::new().axis(axis).norm(norm(norm_name)?);
    if let Some(n) = n {
        options = options.length(length(n)?);
    }
    let transform: fn(&Array, Options) -> Array = match name {
        "fft" => fft::fft_with,
        "ifft" => fft::ifft_with,
        "rfft" => fft::rfft_with,
        "irfft" => fft::irfft_with,
        "hfft" => fft::hfft_with,
        "ihfft" => fft::ihfft_with,
        other => return Err(value_error(format!("there is no transform {other:?}"))),
    };
    PyArray::done(building(|| transform(&x.0, options)))
}

/// A transform over several axes, by name.
#[pyfunction]
fn fft_over(name: &str, x: Arr, s: Option<Vec<i64>>, axes: Axis, norm_name: &str) -> PyResult<PyArray> {
    let x = x.0;
    let mut options = Options::new().norm(norm(norm_name)?);
    match (&axes, &s) {
        (Axis::Some(axes), _) => options = options.axes(axes.as_slice()),
        // The last axes, as many as there are lengths.
        (Axis::All, Some(s)) => options = options.axes((-(s.len() as i64)..0).collect::<Vec<_>>()),
        (Axis::All, None) => {}
    }
    if let Some(s) = s {
        options = options.lengths(s.into_iter().map(length).collect::<PyResult<Vec<_>>>()?);
    }
    let transform: fn(&Array, Options) -> Array = match name {
        "fftn" => fft::fftn_with,
        "ifftn" => fft::ifftn_with,
        "rfftn" => fft::rfftn_with,
        "irfftn" => fft::irfftn_with,
        other => return Err(value_error(format!("there is no transform {other:?}"))),
    };
    PyArray::done(building(|| transform(&x, options)))
}

#[pyfunction]
fn fftfreq(n: usize, d: f64) -> PyResult<PyArray> {
    PyArray::done(building(|| fft::fftfreq(n, d)))
}

#[pyfunction]
fn rfftfreq(n: usize, d: f64) -> PyResult<PyArray> {
    PyArray::done(building(|| fft::rfftfreq(n, d)))
}

#[pyfunction]
fn fftshift(x: Arr, axes: Axis) -> PyResult<PyArray> {
    PyArray::done(building(|| fft::fftshift(&x.0, axes.axes())))
}

#[pyfunction]
fn ifftshift(x: Arr, axes: Axis) -> PyResult<PyArray> {
    PyArray::done(building(|| fft::ifftshift(&x.0, axes.axes())))
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(fft_along, module)?)?;
    module.add_function(wrap_pyfunction!(fft_over, module)?)?;
    module.add_function(wrap_pyfunction!(fftfreq, module)?)?;
    module.add_function(wrap_pyfunction!(rfftfreq, module)?)?;
    module.add_function(wrap_pyfunction!(fftshift, module)?)?;
    module.add_function(wrap_pyfunction!(ifftshift, module)?)
}
