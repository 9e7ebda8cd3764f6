//! NumPy's array interface, both ways: the structure where there is one, else the dictionary.
//!
//! What comes in is copied before control returns, since its owner may change it at any time, unless somebody promises that it will
//! not ([`borrowed`]). What goes out is a read-only window onto the array's own memory, which stays as it is for as long as somebody
//! looks at it, or memory that the array gives away ([`given`]).
#![allow(unsafe_code)]

use std::{
    ffi::{c_char, c_int, c_void},
    sync::Arc,
};

use crossover::{Array, DType, HostMemory, HostView, Kind};
use pyo3::{
    ffi,
    prelude::*,
    sync::PyOnceLock,
    types::{PyCapsule, PyDict, PyTuple},
};

use crate::{
    device::{building, computing},
    dtype,
    errors::{raise, type_error},
    values::checked,
};

/// What `__array_interface__` says.
struct Described {
    kind: String,
    /// `None` if the elements are of another byte order, or no numbers of ours.
    dtype: Option<DType>,
    shape: Vec<usize>,
    address: usize,
    /// In bytes; `None` is row-major order without gaps.
    strides: Option<Vec<isize>>,
}

/// What `__array_struct__` holds, which takes no dictionary to be read.
#[repr(C)]
struct Interface {
    two: c_int,
    rank: c_int,
    kind: c_char,
    size: c_int,
    flags: c_int,
    shape: *const isize,
    strides: *const isize,
    data: *const u8,
    _description: *const c_void,
}

impl Interface {
    /// Elements are in this machine's byte order.
    const NATIVE: c_int = 0x200;

    /// The dtype; `None` if it is none of ours.
    fn dtype(&self) -> Option<DType> {
        let of = |kind: u8, found: DType| {
            let letter = match found.kind() {
                _ if found == DType::BF16 => return false,
                Kind::Bool => b'b',
                Kind::Int if found.is_signed_int() => b'i',
                Kind::Int => b'u',
                Kind::Float => b'f',
                Kind::Complex => b'c',
            };
            letter == kind && found.size() as c_int == self.size
        };
        let native = self.flags & Interface::NATIVE != 0;
        DType::ALL.into_iter().find(|&found| native && of(self.kind as u8, found))
    }
}

impl Described {
    /// From `__array_struct__`; `None` where there is none, or the elements are none of ours.
    fn quickly(object: &Bound<'_, PyAny>) -> PyResult<Option<Described>> {
        let Some(found) = object.getattr_opt(pyo3::intern!(object.py(), "__array_struct__"))? else {
            return Ok(None);
        };
        let Ok(capsule) = found.cast_into::<PyCapsule>() else { return Ok(None) };
        // SAFETY: the protocol: an unnamed capsule around this structure, which lives as long as the capsule, with `rank` lengths and,
        // unless the pointer is null, as many strides.
        let described = unsafe {
            let pointer = ffi::PyCapsule_GetPointer(capsule.as_ptr(), std::ptr::null()).cast::<Interface>();
            let Some(interface) = pointer.as_ref().filter(|interface| interface.two == 2) else {
                ffi::PyErr_Clear();
                return Ok(None);
            };
            let Some(dtype) = interface.dtype() else { return Ok(None) };
            let rank = interface.rank.max(0) as usize;
            let list = |pointer: *const isize| match rank == 0 || pointer.is_null() {
                true => &[],
                false => std::slice::from_raw_parts(pointer, rank),
            };
            let strides = (!interface.strides.is_null()).then(|| list(interface.strides).to_vec());
            let shape = list(interface.shape).iter().map(|&n| n.max(0) as usize).collect();
            Described {
                kind: String::new(),
                dtype: Some(dtype),
                shape,
                address: interface.data as usize,
                strides,
            }
        };
        Ok(Some(described))
    }

    fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Described>> {
        if let Some(described) = Described::quickly(object)? {
            return Ok(Some(described));
        }
        let Some(interface) = object.getattr_opt(pyo3::intern!(object.py(), "__array_interface__"))? else {
            return Ok(None);
        };
        let interface = interface.cast_into::<PyDict>()?;
        let item = |key: &str| interface.get_item(key);
        let (Some(shape), Some(data), Some(kind)) = (item("shape")?, item("data")?, item("typestr")?) else {
            return Ok(None);
        };
        let kind: String = kind.extract()?;
        let dtype = dtype::parse(&kind).filter(|_| !kind.starts_with('>'));
        let (address, _): (usize, bool) = data.extract()?;
        let strides = item("strides")?.and_then(|strides| strides.extract().ok());
        Ok(Some(Described { kind, dtype, shape: shape.extract()?, address, strides }))
    }

    fn is_contiguous(&self, size: usize) -> bool {
        let Some(strides) = &self.strides else { return true };
        let mut step = size as isize;
        for (&stride, &n) in strides.iter().zip(&self.shape).rev() {
            if n != 1 && stride != step {
                return false;
            }
            step = step.saturating_mul(n as isize);
        }
        true
    }
}

/// An object with an `__array_interface__` as an array; `None` if it has none.
pub fn import(object: &Bound<'_, PyAny>) -> PyResult<Option<Array>> {
    let Some(described) = Described::of(object)? else { return Ok(None) };
    let Some(dtype) = described.dtype else { return converted(object, &described.kind).map(Some) };
    let (size, strides) = (dtype.size() as isize, described.strides.as_deref());
    if strides.is_some_and(|strides| strides.iter().any(|stride| stride % size != 0)) {
        return contiguous(object).map(Some);
    }
    // SAFETY: the interface promises that this memory is readable while the object lives, which the caller holds.
    unsafe { copied(described.address, dtype, &described.shape, strides) }.map(Some)
}

/// Memory of an object with an `__array_interface__`, kept alive by the object.
struct Borrowed {
    address: usize,
    bytes: usize,
    _object: Py<PyAny>,
}

impl AsRef<[u8]> for Borrowed {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the interface promises that this memory is readable while the object lives, and it is held here. Whoever asked for it
        // has promised that nobody writes it meanwhile.
        unsafe { std::slice::from_raw_parts(self.address as *const u8, self.bytes) }
    }
}

/// An array that shares the memory of an object with an `__array_interface__`. `None` where it cannot: the elements are not aligned, not
/// in row-major order without gaps, of another byte order, or booleans.
///
/// The caller sees to it that nobody writes to the memory while the array has it.
pub fn borrowed(object: &Bound<'_, PyAny>) -> PyResult<Option<Array>> {
    let Some(described) = Described::of(object)? else { return Ok(None) };
    let Some(dtype) = described.dtype.filter(|dtype| described.is_contiguous(dtype.size())) else {
        return Ok(None);
    };
    let bytes = described.shape.iter().product::<usize>() * dtype.size();
    if bytes == 0 || described.address == 0 {
        return Ok(None);
    }
    let owner = Borrowed { address: described.address, bytes, _object: object.clone().unbind() };
    Ok(building(|| Array::borrow_bytes(Arc::new(owner), dtype, described.shape)))
}

/// Address and length of the bytes of an array with an `__array_interface__`; `None` if it has none, or has gaps.
pub fn place(object: &Bound<'_, PyAny>) -> PyResult<Option<(usize, usize)>> {
    let Some(described) = Described::of(object)? else { return Ok(None) };
    let Some(dtype) = described.dtype.filter(|dtype| described.is_contiguous(dtype.size())) else {
        return Ok(None);
    };
    Ok(Some((described.address, described.shape.iter().product::<usize>() * dtype.size())))
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
    memory: Exported,
}

enum Exported {
    /// To be read.
    Shown(HostView),
    /// To be written, too: nobody else has it.
    Given(HostMemory),
}

#[pymethods]
impl Export {
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        let (view, read_only) = match &self.memory {
            Exported::Shown(view) => (view, true),
            Exported::Given(memory) => (memory.view(), false),
        };
        interface.set_item("version", 3)?;
        interface.set_item("typestr", dtype::typestr(view.dtype()))?;
        interface.set_item("shape", PyTuple::new(py, view.shape().dims())?)?;
        let strides = if view.is_contiguous() { None } else { Some(PyTuple::new(py, view.strides())?) };
        interface.set_item("strides", strides)?;
        let address = view.as_ptr().map_err(|error| raise(&error))? as usize;
        interface.set_item("data", (address, read_only))?;
        Ok(interface)
    }
}

/// NumPy has no bfloat16; every one is a float32.
fn known(array: &Array) -> Array {
    if array.dtype() == DType::BF16 { array.astype(DType::F32) } else { array.clone() }
}

fn ndarray<'py>(py: Python<'py>, memory: Exported) -> PyResult<Bound<'py, PyAny>> {
    static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let asarray =
        ASARRAY.get_or_try_init(py, || Ok::<_, PyErr>(py.import("numpy")?.getattr("asarray")?.unbind()))?;
    asarray.bind(py).call1((Export { memory },))
}

/// The array as a `numpy.ndarray` that shares its memory and cannot be written.
pub fn export<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyAny>> {
    let array = known(array);
    let view = computing(py, || array.host_view()).map_err(|error| raise(&error))?;
    ndarray(py, Exported::Shown(view))
}

/// The array as a `numpy.ndarray` with memory of its own: the array's, if nobody else has it, else a copy.
pub fn given<'py>(py: Python<'py>, array: Array) -> PyResult<Bound<'py, PyAny>> {
    let array = if array.dtype() == DType::BF16 { known(&array) } else { array };
    let memory = computing(py, move || array.into_host_memory()).map_err(|error| raise(&error))?;
    ndarray(py, Exported::Given(memory))
}
