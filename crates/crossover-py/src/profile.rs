//! Recordings of what a program did, for `crossover.profile`.

use crossover::{
    profile::{Scope, Session, Trace, export, page},
    runtime::trace::{Kind, span},
};
use parking_lot::Mutex;
use pyo3::{exceptions::PyRuntimeError, prelude::*};

use crate::device::{building, computing};

/// A recording in progress.
#[pyclass(frozen, module = "crossover._native")]
pub struct ProfileSession(Mutex<Option<Session>>);

#[pymethods]
impl ProfileSession {
    #[new]
    fn new(name: String, everything: bool) -> ProfileSession {
        let session = building(|| match everything {
            true => Session::begin_timing_everything(name),
            false => Session::begin(name),
        });
        ProfileSession(Mutex::new(Some(session)))
    }

    /// Ends it and gives what was seen.
    fn end(&self, py: Python<'_>) -> PyResult<PyTrace> {
        let session = self.0.lock().take();
        let session = session.ok_or_else(|| PyRuntimeError::new_err("the recording has ended already"))?;
        Ok(PyTrace(computing(py, || session.end())))
    }
}

/// A part of a program with a name, while it is entered. It belongs to the thread that entered it.
#[pyclass(unsendable, module = "crossover._native")]
pub struct ProfileScope {
    name: String,
    /// Those entered and not left, the innermost last.
    open: Vec<Scope>,
}

#[pymethods]
impl ProfileScope {
    #[new]
    fn new(name: String) -> ProfileScope {
        ProfileScope { name, open: Vec::new() }
    }

    fn __enter__(mut slf: PyRefMut<'_, Self>) -> PyRefMut<'_, Self> {
        // Without a line: the one of this call is in the library.
        let scope = span(Kind::Scope, slf.name.clone());
        slf.open.push(scope);
        slf
    }

    #[pyo3(signature = (*_why))]
    fn __exit__(&mut self, _why: &Bound<'_, pyo3::types::PyTuple>) -> bool {
        drop(self.open.pop());
        false
    }
}

/// What a kernel achieved: name, what it computes, device number (0 is the host), seconds, launches, bytes and operations per second, share of the roof.
type Figures = (String, String, u32, f64, u64, Option<f64>, Option<f64>, Option<f64>);

/// What a recording saw.
#[pyclass(frozen, name = "Trace", module = "crossover")]
pub struct PyTrace(Trace);

#[pymethods]
impl PyTrace {
    /// Where the time went, as text.
    fn summary(&self) -> String {
        self.0.summary()
    }

    /// Seconds from beginning to end.
    #[getter]
    fn seconds(&self) -> f64 {
        self.0.wall_ns as f64 / 1e9
    }

    /// The file that `crossover report` and others read, as text.
    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// A page that shows it, as text.
    fn to_html(&self) -> String {
        page::render(&[&self.0.to_json()])
    }

    /// Kernels by the time they took.
    fn kernels(&self) -> Vec<Figures> {
        let figures = self.0.kernel_figures().into_iter();
        figures
            .map(|one| {
                let seconds = one.time_ns as f64 / 1e9;
                let (bytes, flops) = (one.bytes_per_second, one.flops_per_second);
                (one.name, one.text, one.device, seconds, one.launches, bytes, flops, one.fraction)
            })
            .collect()
    }

    /// For Perfetto.
    fn to_chrome(&self) -> String {
        export::chrome(&self.0)
    }

    /// For speedscope.
    fn to_speedscope(&self) -> String {
        export::speedscope(&self.0)
    }

    /// For programs that draw flame graphs.
    fn to_folded(&self) -> String {
        export::folded(&self.0)
    }

    /// For Prometheus.
    fn to_prometheus(&self) -> String {
        export::prometheus(&self.0)
    }

    /// What could be better: title, what was seen, what to do.
    fn advice(&self) -> Vec<(String, String, String)> {
        let found = self.0.advice.iter();
        found.map(|one| (one.title.clone(), one.evidence.clone(), one.suggestion.clone())).collect()
    }
}

/// Adds the classes to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ProfileSession>()?;
    module.add_class::<ProfileScope>()?;
    module.add_class::<PyTrace>()
}
