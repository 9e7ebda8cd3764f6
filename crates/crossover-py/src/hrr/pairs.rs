//! Pairs of items in one vector.
//!
//! A lock may be held by a thread that waits for Python, so whoever waits for the lock lets others run Python meanwhile.
#![allow(unsafe_code)]

use crossover::hrr::{AssociativeMemory, Named};
use parking_lot::Mutex;
use pyo3::{exceptions::PyValueError, prelude::*, sync::MutexExt, types::PyDict};

use super::{failed, memory::PyItemMemory, space::PySpace};
use crate::{
    array::PyArray,
    device::{Dev, building, computing},
    values::Arr,
};

/// Pairs of items, superposed in one vector of fixed size, which answers less certainly with every pair. With a `sum` it has the pairs that were added up
/// there.
///
/// >>> space = xo.hrr.Space("hrr", d=1024)
/// >>> words = xo.hrr.ItemMemory(space)
/// >>> words.add(["France", "Paris", "Japan", "Tokyo"])
/// >>> capitals = xo.hrr.AssociativeMemory(space)
/// >>> capitals.store(words, ["France", "Japan"], ["Paris", "Tokyo"])
/// >>> capitals.recall(words, "Japan")[0]
/// 'Tokyo'
/// >>> [name for name, _ in capitals.recall(words, ["Japan", "France"])]
/// ['Tokyo', 'Paris']
/// >>> capitals.reliability(words)["reliable"]
/// True
#[pyclass(frozen, name = "AssociativeMemory", module = "crossover.hrr")]
pub struct PyAssociativeMemory(Mutex<AssociativeMemory>);

/// A name, or several.
#[derive(FromPyObject)]
pub enum Names {
    One(String),
    Many(Vec<String>),
}

impl Names {
    fn all(&self) -> &[String] {
        match self {
            Names::One(name) => std::slice::from_ref(name),
            Names::Many(names) => names,
        }
    }
}

fn pair(found: Option<Named>) -> Option<(String, f64)> {
    found.map(|named| (named.name, named.similarity))
}

#[pymethods]
impl PyAssociativeMemory {
    #[new]
    #[pyo3(signature = (space, sum=None, pairs=0))]
    fn new(py: Python<'_>, space: &PySpace, sum: Option<Arr>, pairs: usize) -> PyResult<PyAssociativeMemory> {
        let space = space.0.clone();
        let memory = match sum {
            None if pairs > 0 => {
                return Err(PyValueError::new_err(format!("{pairs} pairs without their sum; give it too")));
            }
            None => AssociativeMemory::new(space),
            Some(sum) => {
                computing(py, || AssociativeMemory::from_sum(space, &sum.0, pairs)).map_err(failed)?
            }
        };
        Ok(PyAssociativeMemory(Mutex::new(memory)))
    }

    /// The newest version in a store, if every byte of it is as it was written.
    #[staticmethod]
    fn open(py: Python<'_>, folder: std::path::PathBuf) -> PyResult<PyAssociativeMemory> {
        let memory = computing(py, || AssociativeMemory::open(&folder)).map_err(failed)?;
        Ok(PyAssociativeMemory(Mutex::new(memory)))
    }

    /// As `open`, but the sum is used where it lies in the store's file, which is verified all the same. Nobody may change the file meanwhile; this library never does.
    #[staticmethod]
    fn map(py: Python<'_>, folder: std::path::PathBuf) -> PyResult<PyAssociativeMemory> {
        // SAFETY: the caller is told that nobody may change the segments, which are written once, under names of their own.
        let memory = computing(py, || unsafe { AssociativeMemory::map(&folder) }).map_err(failed)?;
        Ok(PyAssociativeMemory(Mutex::new(memory)))
    }

    /// What can be saved of a damaged store: the newest version that is as it was written, and what is damaged, as text.
    #[staticmethod]
    fn salvage(py: Python<'_>, folder: std::path::PathBuf) -> PyResult<(PyAssociativeMemory, Vec<String>)> {
        let (memory, report) = computing(py, || AssociativeMemory::salvage(&folder)).map_err(failed)?;
        let damage = report.damage.iter().map(ToString::to_string).collect();
        Ok((PyAssociativeMemory(Mutex::new(memory)), damage))
    }

    /// Saves the memory as one operation of a store: a new one, or the next version in the one that it was opened from or saved as.
    fn save(&self, py: Python<'_>, folder: std::path::PathBuf) -> PyResult<()> {
        computing(py, || self.0.lock().save(&folder)).map_err(failed)
    }

    /// Moves the vector to a device.
    fn to_device(&self, py: Python<'_>, device: Dev) -> PyResult<()> {
        computing(py, || self.0.lock().to_device(device.0)).map_err(failed)
    }

    /// The space of the vector.
    #[getter]
    fn space(&self, py: Python<'_>) -> PySpace {
        PySpace(self.0.lock_py_attached(py).space().clone())
    }

    /// The superposition as a vector of the space: the sum, rounded once where vectors have 16 bits; of bits the majority.
    #[getter]
    fn trace(&self, py: Python<'_>) -> PyResult<PyArray> {
        PyArray::done(building(|| self.0.lock_py_attached(py).trace()).map_err(failed)?)
    }

    /// The sum of the bound pairs: float32 where vectors are bfloat16 or bits, whose ones count 1 and zeros -1.
    #[getter]
    fn sum(&self, py: Python<'_>) -> PyResult<PyArray> {
        PyArray::done(self.0.lock_py_attached(py).sum())
    }

    /// Stores a pair of items by name, or several: as many keys as values.
    fn store(&self, py: Python<'_>, items: &PyItemMemory, key: Names, value: Names) -> PyResult<()> {
        let (keys, values) = (key.all(), value.all());
        if keys.len() != values.len() {
            let what = format!("{} keys and {} values; give as many of both", keys.len(), values.len());
            return Err(PyValueError::new_err(what));
        }
        let pairs: Vec<(&String, &String)> = keys.iter().zip(values).collect();
        computing(py, || self.0.lock().store_all(&items.0.lock(), &pairs)).map_err(failed)
    }

    /// Stores pairs of vectors, one for each leading axis.
    fn store_vectors(&self, py: Python<'_>, key: Arr, value: Arr) -> PyResult<()> {
        computing(py, || self.0.lock().store_vectors(&key.0, &value.0)).map_err(failed)
    }

    /// Takes pairs of vectors out again that were stored; one that certainly was not is an error.
    fn forget(&self, py: Python<'_>, key: Arr, value: Arr) -> PyResult<()> {
        computing(py, || self.0.lock().forget(&key.0, &value.0)).map_err(failed)
    }

    /// The item that was stored with a key as (name, similarity), or None if no item is as alike as the threshold; of several keys a list of these.
    #[pyo3(signature = (items, key, threshold=0.0))]
    fn recall<'py>(
        &self,
        py: Python<'py>,
        items: &PyItemMemory,
        key: Names,
        threshold: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let recall = || self.0.lock().recall_all(&items.0.lock(), key.all(), threshold);
        let mut found = computing(py, recall).map_err(failed)?.into_iter().map(pair);
        match key {
            Names::One(_) => Ok(found.next().flatten().into_pyobject(py)?.into_any()),
            Names::Many(_) => Ok(found.collect::<Vec<_>>().into_pyobject(py)?.into_any()),
        }
    }

    /// What was stored with vectors, with the noise of the other pairs.
    fn recall_vector(&self, py: Python<'_>, key: Arr) -> PyResult<PyArray> {
        PyArray::done(building(|| self.0.lock_py_attached(py).recall_vector(&key.0)).map_err(failed)?)
    }

    /// How much answers can be relied upon: the pairs, the items, the probability that an answer is right, the pairs that could be stored
    /// until it is below 0.99, and whether it is not.
    fn reliability<'py>(&self, py: Python<'py>, items: &PyItemMemory) -> PyResult<Bound<'py, PyDict>> {
        let found = self.0.lock_py_attached(py).reliability(&items.0.lock_py_attached(py));
        let entries = PyDict::new(py);
        entries.set_item("pairs", found.pairs)?;
        entries.set_item("items", found.items)?;
        entries.set_item("probability", found.probability)?;
        entries.set_item("capacity", found.capacity)?;
        entries.set_item("reliable", found.is_reliable())?;
        Ok(entries)
    }

    /// Pairs that were stored and not forgotten.
    fn __len__(&self, py: Python<'_>) -> usize {
        self.0.lock_py_attached(py).pairs()
    }
}
