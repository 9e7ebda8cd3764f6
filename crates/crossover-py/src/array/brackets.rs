//! `x[key]`, `x[key] = value`, and walking over the first axis.

use crossover::{Array, DType, Index};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyInt, PyIterator},
};

use super::PyArray;
use crate::{
    device::computing,
    errors::{raise, raise_index},
    index::Key,
    values::{Arg, check_range},
};

/// The part of an array that a key names.
fn part(py: Python<'_>, array: &Array, key: Key) -> PyResult<Array> {
    let plain = !key.indices.iter().any(|index| matches!(index, Index::Array(_)));
    let is_view = key.indices.iter().any(|index| matches!(index, Index::Ellipsis));
    let (mut indices, truth) = (key.indices, key.truth);
    if let [Index::Array(mask)] = indices.as_mut_slice()
        && mask.dtype() == DType::Bool
    {
        // The standard lets a mask with an empty axis take nothing.
        let (given, shape) = (mask.shape().dims(), array.shape().dims());
        let fits = given.len() <= shape.len() && given.iter().zip(shape).all(|(&m, &n)| m == n || m == 0);
        if fits && given.contains(&0) && given != &shape[..given.len()] {
            let rest = array.shape().dims()[given.len()..].to_vec();
            let empty: Vec<usize> = std::iter::once(0).chain(rest).collect();
            return Ok(Array::zeros_dtype(empty, array.dtype()));
        }
    }
    let found = match truth {
        None if plain => array.slice(indices),
        None => computing(py, || array.get(indices)),
        Some(truth) => {
            // In front, whatever the other indices are.
            let front = array.expand_dims(0).slice(if truth { 0..1 } else { 0..0 });
            let mut all = vec![Index::from(..)];
            all.append(&mut indices);
            computing(py, || front.get(all).copy())
        }
    };
    match found.check() {
        Ok(()) if is_view => Ok(found),
        Ok(()) => Ok(entry(found)),
        Err(error) => Err(raise_index(&error)),
    }
}

/// A single element is a number, as in NumPy, and stays what it is; rows are views.
fn entry(found: Array) -> Array {
    if found.ndim() == 0 { found.frozen() } else { found }
}

#[pymethods]
impl PyArray {
    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        if key.is_exact_instance_of::<PyInt>()
            && let Ok(at) = key.extract::<i64>()
            && self.0.ndim() > 0
        {
            let found = self.0.slice(Index::At(at));
            return match found.check() {
                Ok(()) => Ok(PyArray(entry(found))),
                Err(error) => Err(raise_index(&error)),
            };
        }
        part(key.py(), &self.0, Key::read(key)?).map(PyArray)
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: Arg) -> PyResult<()> {
        let (py, array) = (key.py(), &self.0);
        if let Arg::Number(number) = value {
            check_range(number, array.dtype())?;
        }
        let key = Key::read(key)?;
        let value = match value {
            // NumPy's arrays take the real part of nothing: complex numbers do not become real ones.
            Arg::Array(value) if value.dtype().is_complex() && !array.dtype().is_complex() => {
                return Err(PyTypeError::new_err(
                    "complex values do not become real ones; take their real part",
                ));
            }
            other => other,
        };
        let written = match key.truth {
            Some(false) => return Ok(()),
            Some(true) => {
                let front = array.expand_dims(0);
                let mut all = vec![Index::from(..)];
                all.extend(key.indices);
                computing(py, || front.set(all, value.operand()))
            }
            None => computing(py, || array.set(key.indices, value.operand())),
        };
        written.map_err(|error| match error.kind() {
            // The value does not fit: a ValueError in NumPy. The key does not: an IndexError.
            crossover::runtime::Error::Invalid(crossover::core::Error::Shape {
                op: "assign" | "set",
                ..
            }) => raise(&error),
            _ => raise_index(&error),
        })
    }

    fn __iter__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyIterator>> {
        let length = this.get().0.shape().dims().first().copied();
        let Some(length) = length else {
            return Err(PyTypeError::new_err("iteration over an array without axes"));
        };
        let rows = Rows { array: this.get().0.clone(), length, next: std::sync::atomic::AtomicUsize::new(0) };
        Bound::new(this.py(), rows)?.into_any().try_iter()
    }

    fn __contains__(&self, py: Python<'_>, value: Arg) -> PyResult<bool> {
        let found = self.0.equal(value.operand()).any(());
        computing(py, || found.item::<bool>()).map_err(|error| raise(&error))
    }
}

/// The entries of the first axis, one after the other: rows are views, so that writing to one shows in the array.
#[pyclass(frozen, module = "crossover._native")]
struct Rows {
    array: Array,
    length: usize,
    next: std::sync::atomic::AtomicUsize,
}

#[pymethods]
impl Rows {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self) -> PyResult<Option<PyArray>> {
        let at = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if at >= self.length {
            return Ok(None);
        }
        let found = PyArray::done(self.array.slice(Index::At(at as i64)))?.0;
        Ok(Some(PyArray(entry(found))))
    }
}
