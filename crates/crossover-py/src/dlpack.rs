//! DLPack, both ways, on the host.
//!
//! A consumer that knows about versions gets a read-only window onto the array's memory; an older one, which could not be told that it
//! must not write, gets a copy of its own unless it insists (`copy=False`),
//! and must not write then. What comes in is copied. Arrays whose memory is on a GPU are brought to the host first, on
//! either side.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};

use crossover::{Array, DType, HostView, Kind};
use pyo3::{
    exceptions::PyBufferError,
    ffi,
    prelude::*,
    types::{PyCapsule, PyDict},
};

use crate::{
    device::computing,
    errors::{raise, value_error},
    numpy,
};

/// `DLDeviceType` of memory that the host can read: its own, page-locked, and CUDA's managed memory.
const HOST: [i32; 3] = [1, 3, 13];
const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;

const PLAIN: &CStr = c"dltensor";
const USED_PLAIN: &CStr = c"used_dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Tensor,
}

/// What an exported tensor points to.
struct Held {
    shape: Vec<i64>,
    strides: Vec<i64>,
    memory: Memory,
}

enum Memory {
    Shared(HostView),
    /// Words, for their alignment.
    Copied(Vec<u128>),
}

fn code(dtype: DType) -> u8 {
    match dtype.kind() {
        Kind::Bool => 6,
        Kind::Int if dtype.is_signed_int() => 0,
        Kind::Int => 1,
        Kind::Float if dtype == DType::BF16 => 4,
        Kind::Float => 2,
        Kind::Complex => 5,
    }
}

/// `__dlpack__` of an array.
pub fn export<'py>(
    py: Python<'py>,
    array: &Array,
    max_version: Option<(u32, u32)>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let versioned = max_version.is_some_and(|(major, _)| major >= 1);
    // Who asks for no copy without being able to hear that the memory is read-only has been told by the documentation.
    let copied = copy == Some(true) || (!versioned && copy != Some(false));
    let array = if copied { array.copy() } else { array.clone() };
    let view = computing(py, || array.host_view()).map_err(|error| raise(&error))?;
    let dtype = view.dtype();
    let size = dtype.size() as i64;
    let shape: Vec<i64> = view.shape().iter().map(|&n| n as i64).collect();
    let mut strides: Vec<i64> = view.strides().iter().map(|&stride| stride as i64 / size).collect();
    let memory = if copied {
        let mut step = 1;
        for (stride, &n) in strides.iter_mut().zip(&shape).rev() {
            *stride = step;
            step *= n;
        }
        Memory::Copied(compact(py, &array)?)
    } else {
        Memory::Shared(view)
    };
    let mut held = Box::new(Held { shape, strides, memory });
    let data = match &mut held.memory {
        Memory::Shared(view) => view.as_ptr().map_err(|error| raise(&error))?.cast_mut().cast(),
        Memory::Copied(words) => words.as_mut_ptr().cast(),
    };
    let tensor = Tensor {
        data,
        device_type: HOST[0],
        device_id: 0,
        ndim: held.shape.len() as i32,
        code: code(dtype),
        bits: (dtype.size() * 8) as u8,
        lanes: 1,
        shape: held.shape.as_mut_ptr(),
        strides: held.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let context = Box::into_raw(held).cast();
    let (pointer, name): (*mut c_void, _) = if versioned {
        let flags = if copied { IS_COPIED } else { READ_ONLY };
        let managed =
            Versioned { major: 1, minor: 0, context, deleter: Some(delete_versioned), flags, tensor };
        (Box::into_raw(Box::new(managed)).cast(), VERSIONED)
    } else {
        let managed = Managed { tensor, context, deleter: Some(delete_plain) };
        (Box::into_raw(Box::new(managed)).cast(), PLAIN)
    };
    // SAFETY: the pointer is not null, the name lives for ever, and the destructor frees what was boxed above. A null result is an
    // exception, which `from_owned_ptr_or_err` takes.
    unsafe {
        let capsule = ffi::PyCapsule_New(pointer, name.as_ptr(), Some(unused));
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

/// The elements of an array in row-major order, in memory of their own.
fn compact(py: Python<'_>, array: &Array) -> PyResult<Vec<u128>> {
    // A copy of a view is computed in row-major order.
    let view = computing(py, || array.copy().host_view()).map_err(|error| raise(&error))?;
    let bytes = view.bytes().map_err(|error| raise(&error))?.unwrap_or(&[]);
    let mut words = vec![0u128; bytes.len().div_ceil(16).max(1)];
    // SAFETY: the words are at least as long as the bytes, and any bytes are words.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), words.as_mut_ptr().cast::<u8>(), bytes.len()) };
    Ok(words)
}

unsafe extern "C" fn delete_versioned(managed: *mut Versioned) {
    // SAFETY: a consumer calls this once with what `export` boxed.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Held>()));
    }
}

unsafe extern "C" fn delete_plain(managed: *mut Managed) {
    // SAFETY: a consumer calls this once with what `export` boxed.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Held>()));
    }
}

/// Frees a tensor that nobody consumed: a consumer renames the capsule.
unsafe extern "C" fn unused(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this with a capsule that `export` made; its name says which kind of tensor it holds, and that nobody has
    // taken it.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        } else if ffi::PyCapsule_IsValid(capsule, PLAIN.as_ptr()) == 1 {
            delete_plain(ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()).cast());
        }
    }
}

/// An array from an object with `__dlpack__`.
pub fn import(object: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Array> {
    let py = object.py();
    if copy == Some(false) {
        return Err(value_error(
            "what another library owns is copied, since it may change it; copy=False is not possible",
        ));
    }
    let (kind, _): (i32, i32) = object.call_method0("__dlpack_device__")?.extract()?;
    let arguments = PyDict::new(py);
    arguments.set_item("max_version", (1, 0))?;
    if !HOST.contains(&kind) {
        arguments.set_item("dl_device", (HOST[0], 0))?;
        arguments.set_item("copy", true)?;
    }
    let capsule = match object.call_method("__dlpack__", (), Some(&arguments)) {
        // Producers from before versions know no arguments.
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyTypeError>(py) && HOST.contains(&kind) => {
            object.call_method0("__dlpack__")?
        }
        other => other?,
    };
    consume(&capsule.cast_into::<PyCapsule>()?)
}

fn consume(capsule: &Bound<'_, PyCapsule>) -> PyResult<Array> {
    let raw = capsule.as_ptr();
    // SAFETY: the names say what the capsule holds, by DLPack's protocol; the tensor stays valid until its deleter is called, which
    // happens once, after the capsule has been renamed so that its own destructor leaves it alone.
    unsafe {
        if ffi::PyCapsule_IsValid(raw, VERSIONED.as_ptr()) == 1 {
            let managed: *mut Versioned = ffi::PyCapsule_GetPointer(raw, VERSIONED.as_ptr()).cast();
            if (*managed).major != 1 {
                let what = format!(
                    "DLPack {}.{} is not supported; there is 1.x",
                    (*managed).major,
                    (*managed).minor
                );
                return Err(PyBufferError::new_err(what));
            }
            ffi::PyCapsule_SetName(raw, USED_VERSIONED.as_ptr());
            let array = read(&(*managed).tensor);
            if let Some(delete) = (*managed).deleter {
                delete(managed);
            }
            return array;
        }
        if ffi::PyCapsule_IsValid(raw, PLAIN.as_ptr()) == 1 {
            let managed: *mut Managed = ffi::PyCapsule_GetPointer(raw, PLAIN.as_ptr()).cast();
            ffi::PyCapsule_SetName(raw, USED_PLAIN.as_ptr());
            let array = read(&(*managed).tensor);
            if let Some(delete) = (*managed).deleter {
                delete(managed);
            }
            return array;
        }
    }
    Err(PyBufferError::new_err("the capsule holds no DLPack tensor, or it was used before"))
}

/// A copy of a tensor.
///
/// # Safety
///
/// The tensor is one of DLPack's, and its memory is readable.
unsafe fn read(tensor: &Tensor) -> PyResult<Array> {
    if !HOST.contains(&tensor.device_type) {
        let what = format!(
            "the tensor's memory is on a device of type {}; bring it to the host first",
            tensor.device_type
        );
        return Err(PyBufferError::new_err(what));
    }
    let found = DType::ALL.into_iter().find(|&dtype| {
        code(dtype) == tensor.code && dtype.size() * 8 == usize::from(tensor.bits) && tensor.lanes == 1
    });
    let Some(dtype) = found else {
        let what =
            format!("elements of DLPack type {} with {} bits are not supported", tensor.code, tensor.bits);
        return Err(PyBufferError::new_err(what));
    };
    let rank = tensor.ndim.max(0) as usize;
    // SAFETY: DLPack: `shape` and, unless it is null, `strides` have `ndim` elements.
    let (shape, strides) = unsafe {
        let list = |pointer: *const i64| match pointer.is_null() || rank == 0 {
            true => None,
            false => Some(std::slice::from_raw_parts(pointer, rank)),
        };
        (list(tensor.shape).unwrap_or(&[]), list(tensor.strides))
    };
    let shape: Vec<usize> = shape.iter().map(|&n| n.max(0) as usize).collect();
    let size = dtype.size() as isize;
    let strides: Option<Vec<isize>> =
        strides.map(|strides| strides.iter().map(|&stride| stride as isize * size).collect());
    let address = (tensor.data as usize).wrapping_add(tensor.byte_offset as usize);
    // SAFETY: the caller's promise.
    unsafe { numpy::copied(address, dtype, &shape, strides.as_deref()) }
}
