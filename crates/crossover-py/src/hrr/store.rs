//! Stores: arrays on disk with their history.
#![allow(unsafe_code)]

use std::{
    collections::BTreeMap,
    path::PathBuf,
    time::{Duration, UNIX_EPOCH},
};

use crossover::{Array, hrr::Store};
use parking_lot::Mutex;
use pyo3::{prelude::*, sync::MutexExt, types::PyDict};

use super::failed;
use crate::{array::PyArray, device::computing, values::Arr};

/// Arrays on disk that come back bit for bit, or are refused, with the history of what was done.
///
/// >>> import tempfile
/// >>> store = xo.hrr.Store.create(tempfile.mkdtemp(), "example", {"made by": "hand"})
/// >>> store.append("first", {"x": xo.arange(3)})
/// >>> notes, arrays = store.read(1)
/// >>> arrays["x"].tolist(), store.notes["made by"], len(store), store.verify()
/// ([0, 1, 2], 'hand', 2, [])
/// >>> [entry["operation"] for entry in store.history]
/// ['create', 'first']
#[pyclass(frozen, name = "Store", module = "crossover.hrr")]
pub struct PyStore(Mutex<Store>);

type Notes = BTreeMap<String, String>;

/// An operation, its notes and its arrays.
type Salvaged<'py> = (String, Notes, Bound<'py, PyDict>);

fn by_name(py: Python<'_>, arrays: BTreeMap<String, Array>) -> PyResult<Bound<'_, PyDict>> {
    let found = PyDict::new(py);
    for (name, array) in arrays {
        found.set_item(name, Bound::new(py, PyArray::done(array)?)?)?;
    }
    Ok(found)
}

#[pymethods]
impl PyStore {
    /// A new store for something of a kind; the folder must not exist, or be empty.
    #[staticmethod]
    #[pyo3(signature = (folder, kind, notes=None))]
    fn create(py: Python<'_>, folder: PathBuf, kind: &str, notes: Option<Notes>) -> PyResult<PyStore> {
        let store = computing(py, || Store::create(&folder, kind, notes.unwrap_or_default()));
        Ok(PyStore(Mutex::new(store.map_err(failed)?)))
    }

    /// Opens a store and verifies its head and its history; arrays are verified when they are read.
    #[staticmethod]
    fn open(py: Python<'_>, folder: PathBuf) -> PyResult<PyStore> {
        Ok(PyStore(Mutex::new(computing(py, || Store::open(&folder)).map_err(failed)?)))
    }

    /// Adds an operation with its arrays, by name. When this returns it is on disk; if it fails, the store is as it was.
    #[pyo3(signature = (operation, arrays=None, notes=None))]
    fn append(
        &self,
        py: Python<'_>,
        operation: &str,
        arrays: Option<BTreeMap<String, Arr>>,
        notes: Option<Notes>,
    ) -> PyResult<()> {
        let arrays = arrays.unwrap_or_default();
        let arrays: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (&**name, &array.0)).collect();
        computing(py, || self.0.lock().append(operation, &arrays, notes.unwrap_or_default())).map_err(failed)
    }

    /// What can still be read of a damaged store: for each operation whose line can be trusted its name, its notes, and those of its arrays that are as they
    /// were written; and what is damaged, as text.
    ///
    /// >>> import pathlib, tempfile
    /// >>> folder = pathlib.Path(tempfile.mkdtemp())
    /// >>> xo.hrr.Store.create(folder, "example").append("first", {"x": xo.arange(3)})
    /// >>> (folder / "head").unlink()
    /// >>> operations, damage = xo.hrr.Store.salvage(folder)
    /// >>> operations[1][0], operations[1][2]["x"].tolist(), len(damage)
    /// ('first', [0, 1, 2], 1)
    #[staticmethod]
    fn salvage(py: Python<'_>, folder: PathBuf) -> PyResult<(Vec<Salvaged<'_>>, Vec<String>)> {
        let found = computing(py, || Store::salvage(&folder)).map_err(failed)?;
        let damage = found.report.damage.iter().map(ToString::to_string).collect();
        let told = |(operation, notes, arrays)| Ok((operation, notes, by_name(py, arrays)?));
        Ok((found.operations.into_iter().map(told).collect::<PyResult<_>>()?, damage))
    }

    /// As `read`, but the arrays' memory is the store's file, which is verified all the same. Nobody may change the file meanwhile; this library never does.
    fn map<'py>(&self, py: Python<'py>, number: usize) -> PyResult<(Notes, Bound<'py, PyDict>)> {
        let map = || {
            let store = self.0.lock();
            // SAFETY: the caller is told that nobody may change the segments, which are written once, under names of their own.
            let found = unsafe { store.map(number) };
            found.map(|(notes, arrays)| (notes.clone(), arrays))
        };
        let (notes, arrays) = computing(py, map).map_err(failed)?;
        Ok((notes, by_name(py, arrays)?))
    }

    /// What an operation kept: its notes, and its arrays by name if they are as they were written.
    fn read<'py>(&self, py: Python<'py>, number: usize) -> PyResult<(Notes, Bound<'py, PyDict>)> {
        let read = || self.0.lock().read(number).map(|(notes, arrays)| (notes.clone(), arrays));
        let (notes, arrays) = computing(py, read).map_err(failed)?;
        Ok((notes, by_name(py, arrays)?))
    }

    /// What was done, in order: `operation`, `notes`, names of `arrays`, and `time` in seconds since 1970, which old stores do not know.
    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let store = self.0.lock_py_attached(py);
        let told = store.history().map(|entry| {
            let told = PyDict::new(py);
            told.set_item("operation", entry.operation)?;
            told.set_item("notes", entry.notes)?;
            told.set_item("arrays", entry.arrays)?;
            let since = entry.time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            told.set_item("time", since.as_ref().map(Duration::as_secs))?;
            Ok(told)
        });
        told.collect()
    }

    /// What the store is of, as `create` was told.
    #[getter]
    fn kind(&self, py: Python<'_>) -> String {
        self.0.lock_py_attached(py).kind().to_string()
    }

    /// What was kept at the store's creation.
    #[getter]
    fn notes(&self, py: Python<'_>) -> Notes {
        self.0.lock_py_attached(py).notes().clone()
    }

    /// The hash of the last operation, which fixes all before it.
    #[getter]
    fn hash(&self, py: Python<'_>) -> String {
        self.0.lock_py_attached(py).hash()
    }

    /// The version of the format that was last written.
    #[getter]
    fn version(&self, py: Python<'_>) -> u32 {
        self.0.lock_py_attached(py).version()
    }

    /// Looks at every byte; what is damaged, as text.
    fn verify(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let report = computing(py, || self.0.lock().verify()).map_err(failed)?;
        Ok(report.damage.iter().map(ToString::to_string).collect())
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.0.lock_py_attached(py).len()
    }
}
