//! What stands between brackets: `x[2]`, `x[1:, None]`, `x[mask]`.

use crossover::{Array, DType, Index};
use pyo3::{
    exceptions::PyIndexError,
    prelude::*,
    types::{PyBool, PyEllipsis, PyInt, PyList, PySlice, PyTuple},
};

use crate::{
    array::PyArray,
    device::building,
    values::{Arr, array_from},
};

/// A list of indices, and whether a truth value without axes is among them.
pub struct Key {
    /// The indices; truth values are left out.
    pub indices: Vec<Index>,
    /// NumPy counts a truth value without axes as an axis of length 1 or 0 in front.
    pub truth: Option<bool>,
}

impl Key {
    /// Reads what stands between brackets.
    pub fn read(object: &Bound<'_, PyAny>) -> PyResult<Key> {
        let mut key = Key { indices: Vec::new(), truth: None };
        match object.cast::<PyTuple>() {
            Ok(tuple) => {
                for item in tuple.iter_borrowed() {
                    key.add(&item)?;
                }
            }
            Err(_) => key.add(object)?,
        }
        Ok(key)
    }

    fn add(&mut self, item: &Bound<'_, PyAny>) -> PyResult<()> {
        if item.is_exact_instance_of::<PyInt>() {
            let at = item
                .extract::<i64>()
                .map_err(|_| PyIndexError::new_err("an index beyond 64 bits is out of range"))?;
            self.indices.push(Index::At(at));
        } else if let Ok(slice) = item.cast::<PySlice>() {
            self.indices.push(range(slice)?);
        } else if item.is_none() {
            self.indices.push(Index::NewAxis);
        } else if item.is_instance_of::<PyEllipsis>() {
            self.indices.push(Index::Ellipsis);
        } else if let Ok(truth) = item.cast::<PyBool>() {
            self.truth = Some(self.truth.unwrap_or(true) && truth.is_true());
        } else {
            let array = array(item)?;
            match (array.ndim(), array.dtype()) {
                (0, DType::Bool) => {
                    let truth = building(|| array.item::<bool>()).map_err(|e| crate::errors::raise(&e))?;
                    self.truth = Some(self.truth.unwrap_or(true) && truth);
                }
                (0, dtype) if dtype.is_int() => {
                    let wide = array.astype(DType::I64);
                    let at = building(|| wide.item::<i64>()).map_err(|e| crate::errors::raise(&e))?;
                    self.indices.push(Index::At(at));
                }
                (_, dtype) if dtype.is_int() || dtype == DType::Bool => self.indices.push(array.into()),
                (_, dtype) => {
                    let what = format!(
                        "arrays used as indices must be of integer or boolean type, not {}",
                        crate::dtype::name(dtype)
                    );
                    return Err(PyIndexError::new_err(what));
                }
            }
        }
        Ok(())
    }
}

/// An index that is neither a number nor a slice.
fn array(item: &Bound<'_, PyAny>) -> PyResult<Array> {
    if let Ok(array) = item.cast::<PyArray>() {
        return Ok(array.get().0.clone());
    }
    let found = match item.cast::<PyList>() {
        // An empty list takes nothing, as an index.
        Ok(list) if list.is_empty() => array_from(item, Some(DType::I64)),
        Ok(_) => array_from(item, None),
        Err(_) => match item.extract::<Arr>() {
            Ok(found) => Ok(found.0),
            Err(error) => {
                // Anything else that says which index it is.
                item.call_method0("__index__").and_then(|at| array_from(&at, None)).map_err(|_| error)
            }
        },
    };
    found.map_err(|_| {
        let kind = item.get_type().name().map_or_else(|_| "this".to_string(), |name| name.to_string());
        PyIndexError::new_err(format!(
            "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or boolean arrays are valid indices, not {kind}"
        ))
    })
}

fn range(slice: &Bound<'_, PySlice>) -> PyResult<Index> {
    let py = slice.py();
    let bound = |name: &Bound<'_, pyo3::types::PyString>| -> PyResult<Option<i64>> {
        let value = slice.getattr(name)?;
        if value.is_none() {
            return Ok(None);
        }
        if let Ok(at) = value.extract::<i64>() {
            return Ok(Some(at));
        }
        let at = value.call_method0("__index__")?;
        // What is beyond 64 bits is beyond every axis.
        let low = at.lt(0)?;
        Ok(Some(at.extract::<i64>().unwrap_or(if low { i64::MIN } else { i64::MAX })))
    };
    let step = bound(pyo3::intern!(py, "step"))?.unwrap_or(1);
    if step == 0 {
        return Err(crate::errors::value_error("slice step cannot be zero"));
    }
    Ok(Index::Range {
        start: bound(pyo3::intern!(py, "start"))?,
        stop: bound(pyo3::intern!(py, "stop"))?,
        step,
    })
}
