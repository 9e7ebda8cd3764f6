//! Items by name.
//!
//! A lock may be held by a thread that waits for Python, so whoever waits for the lock lets others run Python meanwhile.
#![allow(unsafe_code)]

use crossover::hrr::{ItemMemory, Named, Store};
use parking_lot::Mutex;
use pyo3::{prelude::*, sync::MutexExt, types::PyDict};

use super::{failed, space::PySpace};
use crate::{
    array::PyArray,
    device::{Dev, computing},
    dtype::{Dt, PyDType, object},
    values::Arr,
};

/// Items by name, one vector each, that grow. With a `dtype`, float16 or bfloat16, vectors are kept and compared in 16 bits: half the memory and half the bytes of
/// a query, and similarities that are off by less than 2⁻⁹ or 2⁻⁶.
///
/// >>> words = xo.hrr.ItemMemory(xo.hrr.Space("hrr", d=512), dtype=xo.float16)
/// >>> words.add(["dog", "man", "cat"])
/// >>> words.query(words["man"] + 0.5 * words["cat"])[0][0], int(words.nearest(words["cat"])[0]), words.kept == xo.float16
/// ('man', 2, True)
#[pyclass(frozen, name = "ItemMemory", module = "crossover.hrr")]
pub struct PyItemMemory(pub(super) Mutex<ItemMemory>);

fn pairs(found: Vec<Named>) -> Vec<(String, f64)> {
    found.into_iter().map(|n| (n.name, n.similarity)).collect()
}

#[pymethods]
impl PyItemMemory {
    #[new]
    #[pyo3(signature = (space, capacity=0, dtype=None))]
    fn new(space: &PySpace, capacity: usize, dtype: Option<Dt>) -> PyResult<PyItemMemory> {
        let space = space.0.clone();
        let memory = match dtype {
            None => ItemMemory::with_capacity(capacity, space),
            Some(dtype) => ItemMemory::compact(capacity, space, dtype.0).map_err(failed)?,
        };
        Ok(PyItemMemory(Mutex::new(memory)))
    }

    /// The type of 16 bits that vectors are kept and compared in; None where they are kept as they are.
    #[getter]
    fn kept(&self, py: Python<'_>) -> PyResult<Option<Py<PyDType>>> {
        let kept = self.0.lock_py_attached(py).kept();
        kept.map(|dtype| object(py, dtype)).transpose()
    }

    /// The memory of a store, if every byte is as it was written.
    #[staticmethod]
    fn open(py: Python<'_>, folder: std::path::PathBuf) -> PyResult<PyItemMemory> {
        let memory = computing(py, || ItemMemory::open(&folder)).map_err(failed)?;
        Ok(PyItemMemory(Mutex::new(memory)))
    }

    /// As `open`, but the vectors are used where they lie in the store's files, which are verified all the same: for memories larger than
    /// the machine's. Items that are added go to memory. Nobody may change the files meanwhile; this library never does.
    #[staticmethod]
    fn map(py: Python<'_>, folder: std::path::PathBuf) -> PyResult<PyItemMemory> {
        // SAFETY: the caller is told that nobody may change the segments, which are written once, under names of their own.
        let memory = computing(py, || unsafe { ItemMemory::map(&folder) }).map_err(failed)?;
        Ok(PyItemMemory(Mutex::new(memory)))
    }

    /// What can be saved of a damaged store: a memory of the items that are as they were written, and what is damaged, as text.
    #[staticmethod]
    fn salvage(py: Python<'_>, folder: std::path::PathBuf) -> PyResult<(PyItemMemory, Vec<String>)> {
        let (memory, report) = computing(py, || ItemMemory::salvage(&folder)).map_err(failed)?;
        Ok((PyItemMemory(Mutex::new(memory)), report.damage.iter().map(ToString::to_string).collect()))
    }

    /// The space of the vectors.
    #[getter]
    fn space(&self, py: Python<'_>) -> PySpace {
        PySpace(self.0.lock_py_attached(py).space().clone())
    }

    /// Items that fit without moving.
    #[getter]
    fn capacity(&self, py: Python<'_>) -> usize {
        self.0.lock_py_attached(py).capacity()
    }

    /// Keeps the vectors, as queries compare with them, on a device, so that queries there move nothing.
    fn to_device(&self, py: Python<'_>, device: Dev) -> PyResult<()> {
        computing(py, || self.0.lock().to_device(device.0)).map_err(failed)
    }

    /// Saves what is new.
    fn save(&self, py: Python<'_>, folder: std::path::PathBuf) -> PyResult<()> {
        computing(py, || self.0.lock().save(&folder)).map_err(failed)
    }

    /// Adds names with their own vectors, or one name with the vector given.
    #[pyo3(signature = (names, vector=None))]
    fn add(&self, py: Python<'_>, names: &Bound<'_, PyAny>, vector: Option<Arr>) -> PyResult<()> {
        let names: Vec<String> = match names.extract::<String>() {
            Ok(name) => vec![name],
            Err(_) => names.extract()?,
        };
        let added = computing(py, || {
            let mut memory = self.0.lock();
            match (&vector, names.as_slice()) {
                (None, names) => memory.add_all(names),
                (Some(vector), [name]) => memory.add_vector(name, &vector.0),
                (Some(vectors), names) => memory.add_vectors(names, &vectors.0),
            }
        });
        added.map_err(failed)
    }

    /// Removes an item.
    fn remove(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.0.lock_py_attached(py).remove(name).map_err(failed)
    }

    /// The names, in the order of the rows.
    #[getter]
    fn names(&self, py: Python<'_>) -> Vec<String> {
        self.0.lock_py_attached(py).names().to_vec()
    }

    /// The vectors as they are now, one per row; what becomes of the memory later does not show in them.
    #[getter]
    fn vectors(&self, py: Python<'_>) -> PyResult<PyArray> {
        PyArray::done(self.0.lock_py_attached(py).vectors())
    }

    /// The nearest item of each query as (name, similarity), or None below the threshold.
    #[pyo3(signature = (queries, threshold=0.0))]
    fn query(&self, py: Python<'_>, queries: Arr, threshold: f64) -> PyResult<Vec<Option<(String, f64)>>> {
        let found = computing(py, || self.0.lock().query(&queries.0, threshold)).map_err(failed)?;
        Ok(found.into_iter().map(|n| n.map(|n| (n.name, n.similarity))).collect())
    }

    /// The rows of the nearest items of queries, one for each, as an array; -1 where a query is NaN, or there are no items. Lazy, and computed where the vectors are.
    fn nearest(&self, py: Python<'_>, queries: Arr) -> PyResult<PyArray> {
        PyArray::done(computing(py, || self.0.lock().nearest(&queries.0)).map_err(failed)?)
    }

    /// The k nearest items of each query, nearest first.
    fn top_k(&self, py: Python<'_>, queries: Arr, k: usize) -> PyResult<Vec<Vec<(String, f64)>>> {
        let found = computing(py, || self.0.lock().top_k(&queries.0, k)).map_err(failed)?;
        Ok(found.into_iter().map(pairs).collect())
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.0.lock_py_attached(py).len()
    }

    fn __contains__(&self, py: Python<'_>, name: &str) -> bool {
        self.0.lock_py_attached(py).contains(name)
    }

    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<PyArray> {
        PyArray::done(self.0.lock_py_attached(py).get(name).map_err(failed)?)
    }
}

/// What is damaged in a store, as text; empty if it is intact.
///
/// >>> import tempfile
/// >>> folder = tempfile.mkdtemp()
/// >>> xo.hrr.ItemMemory(xo.hrr.Space()).save(folder)
/// >>> xo.hrr.verify(folder)
/// []
#[pyfunction]
pub fn hrr_verify(py: Python<'_>, folder: std::path::PathBuf) -> PyResult<Vec<String>> {
    let report = computing(py, || Store::verify_folder(&folder)).map_err(failed)?;
    Ok(report.damage.iter().map(ToString::to_string).collect())
}

/// What a look at every byte of a store has found: `intact`, `operations` that are as they were written, `bytes` looked at, `damage` as text, and `strays`,
/// files and ends of files that belong to no operation and are harmless.
///
/// >>> import tempfile
/// >>> folder = tempfile.mkdtemp()
/// >>> xo.hrr.ItemMemory(xo.hrr.Space()).save(folder)
/// >>> found = xo.hrr.report(folder)
/// >>> found["intact"], found["operations"], found["strays"]
/// (True, 1, [])
#[pyfunction]
pub fn hrr_report(py: Python<'_>, folder: std::path::PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let report = computing(py, || Store::verify_folder(&folder)).map_err(failed)?;
    let entries = PyDict::new(py);
    entries.set_item("intact", report.is_intact())?;
    entries.set_item("operations", report.operations)?;
    entries.set_item("bytes", report.bytes)?;
    entries.set_item("damage", report.damage.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    entries.set_item("strays", report.strays)?;
    Ok(entries)
}
