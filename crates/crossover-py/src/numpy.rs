//! NumPy's array interface, both ways.
//!
//! What comes in is copied before control returns, since its owner may change it at any time. What goes out is a read-only window
//! onto the array's own memory, which stays as it is for as long as somebody looks at it.
#![allow(unsafe_code)]

use crossover::{Array, DType, HostView};
use pyo3::{
    prelude::*,
    types::{PyDict, PyTuple},
};

use crate::{
    device::{building, computing},
    dtype,
    errors::{raise, type_error},
    values::checked,
};

/// An object with an `__array_interface__` as an array; `None` if it has none.
pub fn import(object: &Bound<'_, PyAny>) -> PyResult<Option<Array>> {
    let Some(interface) = object.getattr_opt(pyo3::intern!(object.py(), "__array_interface__"))? else {
        return Ok(None);
    };
    let interface = interface.cast_into::<PyDict>()?;
    let item = |key: &str| interface.get_item(key);
    let (Some(shape), Some(data), Some(kind)) = (item("shape")?, item("data")?, item("typestr")?) else {
        return Ok(None);
    };
    let kind: String = kind.extract()?;
    let Some(dtype) = dtype::parse(&kind).filter(|_| !kind.starts_with('>')) else {
        return converted(object, &kind).map(Some);
    };
    let shape: Vec<usize> = shape.extract()?;
    let (address, _): (usize, bool) = data.extract()?;
    let strides: Option<Vec<isize>> = item("strides")?.and_then(|strides| strides.extract().ok());
    let size = dtype.size() as isize;
    if strides.as_ref().is_some_and(|strides| strides.iter().any(|stride| stride % size != 0)) {
        return contiguous(object).map(Some);
    }
    // SAFETY: the interface promises that this memory is readable while the object lives, which the caller holds.
    unsafe { copied(address, dtype, &shape, strides.as_deref()) }.map(Some)
}

/// A copy of strided elements in memory.
///
/// # Safety
///
/// The elements that the shape and the strides (in bytes; row-major order without them) lead to from `address` on are readable, and
/// nobody writes them meanwhile.
pub unsafe fn copied(
    address: usize,
    dtype: DType,
    shape: &[usize],
    strides: Option<&[isize]>,
) -> PyResult<Array> {
    let size = dtype.size();
    let row_major: Vec<isize>;
    let strides = match strides {
        Some(strides) => strides,
        None => {
            let mut step = size as isize;
            let mut found = vec![0; shape.len()];
            for (stride, &n) in found.iter_mut().zip(shape).rev() {
                *stride = step;
                step = step.saturating_mul(n as isize);
            }
            row_major = found;
            &row_major
        }
    };
    if shape.contains(&0) || address == 0 {
        return checked(building(|| Array::from_bytes(&[], dtype, shape, None, 0)));
    }
    let steps = || shape.iter().zip(strides).map(|(&n, &stride)| stride * (n as isize - 1));
    let before: isize = steps().filter(|&step| step < 0).sum();
    let after: isize = steps().filter(|&step| step > 0).sum::<isize>() + size as isize;
    let start = address.wrapping_add_signed(before) as *const u8;
    // SAFETY: the caller promises that everything from the lowest element to the end of the highest is readable.
    let bytes = unsafe { std::slice::from_raw_parts(start, (after - before) as usize) };
    checked(building(|| Array::from_bytes(bytes, dtype, shape, Some(strides), before.unsigned_abs())))
}

/// Other byte orders, by NumPy's own conversion; what is no number is refused.
fn converted(object: &Bound<'_, PyAny>, kind: &str) -> PyResult<Array> {
    let native = kind.strip_prefix('>').filter(|plain| dtype::parse(plain).is_some());
    let Some(plain) = native else {
        return Err(type_error(format!(
            "elements of NumPy type {kind:?} are not supported; convert with astype to a boolean, integer, float or complex type"
        )));
    };
    let numpy = object.py().import("numpy")?;
    import_again(&numpy.call_method1("asarray", (object, format!("<{plain}")))?)
}

fn contiguous(object: &Bound<'_, PyAny>) -> PyResult<Array> {
    import_again(&object.py().import("numpy")?.call_method1("ascontiguousarray", (object,))?)
}

fn import_again(object: &Bound<'_, PyAny>) -> PyResult<Array> {
    import(object)?.ok_or_else(|| type_error("the object has no array interface"))
}

/// Memory of an array that NumPy looks at; it holds this object for as long as it does.
#[pyclass(frozen, module = "crossover._native")]
pub struct Export {
    view: HostView,
}

#[pymethods]
impl Export {
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        let view = &self.view;
        interface.set_item("version", 3)?;
        interface.set_item("typestr", dtype::typestr(view.dtype()))?;
        interface.set_item("shape", PyTuple::new(py, view.shape().dims())?)?;
        let strides = if view.is_contiguous() { None } else { Some(PyTuple::new(py, view.strides())?) };
        interface.set_item("strides", strides)?;
        let address = view.as_ptr().map_err(|error| raise(&error))? as usize;
        interface.set_item("data", (address, true))?;
        Ok(interface)
    }
}

/// The array as a `numpy.ndarray` that shares its memory and cannot be written.
pub fn export<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyAny>> {
    let array = match array.dtype() {
        // NumPy has no bfloat16; every one is a float32.
        DType::BF16 => array.astype(DType::F32),
        _ => array.clone(),
    };
    let view = computing(py, || array.host_view()).map_err(|error| raise(&error))?;
    py.import("numpy")?.call_method1("asarray", (Export { view },))
}
