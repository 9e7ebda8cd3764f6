//! Arguments that several functions take: axes, shapes, lists of arrays.

use std::borrow::Cow;

use crossover::{Array, Axes};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyList, PyTuple},
};

use crate::{array::PyArray, values::Arr};

/// Axes of a reduction: none given, one, or several.
#[derive(Clone)]
pub enum Axis {
    /// All of them.
    All,
    /// These.
    Some(Vec<i64>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Axis {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Axis> {
        if object.is_none() {
            return Ok(Axis::All);
        }
        if let Ok(axis) = object.extract::<i64>() {
            return Ok(Axis::Some(vec![axis]));
        }
        let axes = object.extract::<Vec<i64>>();
        axes.map(Axis::Some)
            .map_err(|_| PyTypeError::new_err("an axis is an integer, a tuple of integers or None"))
    }
}

impl Axis {
    /// The array and axes to reduce: over no axes at all is over one of length 1.
    pub fn reduce<'a>(&self, array: &'a Array, keepdims: bool) -> (Cow<'a, Array>, Axes) {
        match self {
            Axis::All => (Cow::Borrowed(array), keep(().into(), keepdims)),
            Axis::Some(axes) if axes.is_empty() => (Cow::Owned(array.expand_dims(0)), Axes::from(0)),
            Axis::Some(axes) => (Cow::Borrowed(array), keep(axes.as_slice().into(), keepdims)),
        }
    }

    /// All axes, or these.
    pub fn axes(&self) -> Axes {
        match self {
            Axis::All => ().into(),
            Axis::Some(axes) => axes.as_slice().into(),
        }
    }
}

fn keep(axes: Axes, keepdims: bool) -> Axes {
    if keepdims { axes.keepdims() } else { axes }
}

/// A shape: one length or several.
#[derive(Clone)]
pub struct Lengths(pub Vec<i64>);

impl<'a, 'py> FromPyObject<'a, 'py> for Lengths {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Lengths> {
        if let Ok(length) = object.extract::<i64>() {
            return Ok(Lengths(vec![length]));
        }
        let lengths = object.extract::<Vec<i64>>();
        lengths.map(Lengths).map_err(|_| PyTypeError::new_err("a shape is an integer or a tuple of integers"))
    }
}

impl Lengths {
    /// Lengths that are all known.
    pub fn known(&self) -> PyResult<Vec<usize>> {
        let length = |&n: &i64| {
            usize::try_from(n).map_err(|_| {
                PyValueError::new_err(format!("negative dimensions are not allowed: {:?}", self.0))
            })
        };
        self.0.iter().map(length).collect()
    }
}

/// A sequence of arrays, or an array whose entries they are.
pub struct Arrays(pub Vec<Array>);

impl<'a, 'py> FromPyObject<'a, 'py> for Arrays {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Arrays> {
        object.try_iter()?.map(|item| Ok(item?.extract::<Arr>()?.0)).collect::<PyResult<Vec<_>>>().map(Arrays)
    }
}

impl Arrays {
    /// References to them.
    pub fn all(&self) -> Vec<&Array> {
        self.0.iter().collect()
    }
}

/// Arrays as a tuple.
pub fn tuple<'py>(py: Python<'py>, arrays: Vec<Array>) -> PyResult<Bound<'py, PyTuple>> {
    let arrays = arrays.into_iter().map(|array| Ok(Bound::new(py, PyArray::done(array)?)?.into_any()));
    PyTuple::new(py, arrays.collect::<PyResult<Vec<_>>>()?)
}

/// Arrays as a list.
pub fn list<'py>(py: Python<'py>, arrays: Vec<Array>) -> PyResult<Bound<'py, PyList>> {
    let arrays = arrays.into_iter().map(|array| Ok(Bound::new(py, PyArray::done(array)?)?.into_any()));
    PyList::new(py, arrays.collect::<PyResult<Vec<_>>>()?)
}
