//! Recordings of what a program did, for `crossover.profile`.

use std::collections::HashMap;

use crossover::profile::{Session, Trace, page};
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

    /// Kernels by the time they took: name, device number (0 is the host), seconds, launches.
    fn kernels(&self) -> Vec<(String, u32, f64, u64)> {
        let trace = &self.0;
        let mut totals: HashMap<(&str, u32), (u64, u64)> = HashMap::new();
        for row in (0..trace.spans.len()).filter(|&row| trace.spans.kind[row] == "k") {
            let launch = usize::try_from(trace.spans.launch[row]).ok();
            let device = launch.and_then(|at| trace.launches.device.get(at)).copied().unwrap_or(0);
            let total = totals.entry((trace.name_of(row), device)).or_default();
            *total = (total.0 + trace.spans.duration[row], total.1 + 1);
        }
        let mut rows: Vec<_> = totals
            .into_iter()
            .map(|((name, device), (time, launches))| (name.to_string(), device, time as f64 / 1e9, launches))
            .collect();
        rows.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
        rows
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
    module.add_class::<PyTrace>()
}
