//! Results of a space that are more than an array.

use crossover::hrr::{Exact, Factors};
use pyo3::prelude::*;

use crate::array::PyArray;

/// An exact result, and where it is not: `array`; `zeros`, a list of (row, bin) where there is no inverse; and `gain`, by which noise can grow at most.
#[pyclass(frozen, name = "Exact", module = "crossover.hrr")]
pub struct PyExact(pub Exact);

#[pymethods]
impl PyExact {
    /// The inverse, or what was unbound; zero where there is no inverse.
    #[getter]
    fn array(&self) -> PyResult<PyArray> {
        PyArray::done(self.0.array.clone())
    }

    /// Where there is no inverse, as (row, bin): the frequency for "hrr", else the element. Empty: the result is exact up to rounding.
    #[getter]
    fn zeros(&self) -> Vec<(usize, usize)> {
        self.0.zeros.iter().map(|zero| (zero.row, zero.bin)).collect()
    }

    /// The largest magnitude by which noise can grow.
    #[getter]
    fn gain(&self) -> f64 {
        self.0.gain
    }

    fn __repr__(&self) -> String {
        format!("Exact(zeros={:?}, gain={})", self.zeros(), self.0.gain)
    }
}

/// What a resonator found: `indices`, `similarity`, `rounds` and `is_found`.
#[pyclass(frozen, name = "Factors", module = "crossover.hrr")]
pub struct PyFactors(pub Factors);

#[pymethods]
impl PyFactors {
    /// For each codebook, the row that was found.
    #[getter]
    fn indices(&self) -> Vec<usize> {
        self.0.indices.clone()
    }

    /// How alike the vector and the product of these items are.
    #[getter]
    fn similarity(&self) -> f64 {
        self.0.similarity
    }

    /// Rounds that were made.
    #[getter]
    fn rounds(&self) -> usize {
        self.0.rounds
    }

    /// Whether the product of the items is the vector, or the rounds ran out.
    #[getter]
    fn is_found(&self) -> bool {
        self.0.is_found
    }

    fn __repr__(&self) -> String {
        let Factors { indices, similarity, rounds, is_found } = &self.0;
        let is_found = if *is_found { "True" } else { "False" };
        format!(
            "Factors(indices={indices:?}, similarity={similarity:.3}, rounds={rounds}, is_found={is_found})"
        )
    }
}
