//! DLPack, both ways, on the host and on GPUs.
//!
//! A consumer that knows about versions gets a read-only window onto the array's memory; an older one, which could not be told that it
//! must not write, gets a copy of its own unless it insists (`copy=False`),
//! and must not write then. What comes in is copied, on the device where it is.
//!
//! Streams: what goes out of a GPU is complete before the consumer gets it, and is given back to the pool once everything on the GPU has been
//! done, so that no stream has to be named. What comes in is put in order with our own stream by its producer, as the protocol has it.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};

use crossover::{Array, DType, Device, DeviceView, HostView};
use pyo3::{
    exceptions::PyBufferError,
    ffi,
    prelude::*,
    types::{PyCapsule, PyDict},
};

use crate::{
    device::{building, computing, runtime},
    errors::{raise, value_error},
    neighbour::code,
    numpy,
};

/// `DLDeviceType` of memory that the host can read: its own, page-locked, and CUDA's managed memory.
const HOST: [i32; 3] = [1, 3, 13];
/// `DLDeviceType` of a GPU's own memory.
const CUDA: i32 = 2;
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
    /// Memory of a GPU: the array's, or a copy.
    Device(DeviceView),
}

/// Where `__dlpack__` hands an array over: where it is.
pub fn device(array: &Array) -> (i32, i32) {
    match array.device() {
        Device::Cuda(ordinal) => (CUDA, ordinal as i32),
        _ => (HOST[0], 0),
    }
}

/// What a consumer asks for.
pub struct Wanted {
    /// The newest version that it understands.
    pub max_version: Option<(u32, u32)>,
    /// Where it wants the memory; where it is, if it does not say.
    pub device: Option<(i32, i32)>,
    /// Whether it wants a copy.
    pub copy: Option<bool>,
}

/// `__dlpack__` of an array.
pub fn export<'py>(py: Python<'py>, array: &Array, wanted: &Wanted) -> PyResult<Bound<'py, PyAny>> {
    let versioned = wanted.max_version.is_some_and(|(major, _)| major >= 1);
    let there = device(array);
    let target = wanted.device.unwrap_or(there);
    if target != there && wanted.copy == Some(false) {
        let what =
            format!("the array is on the device {there:?}; without a copy it does not get to {target:?}");
        return Err(value_error(what));
    }
    // Who asks for no copy without being able to hear that the memory is read-only has been told by the documentation.
    let copied = wanted.copy == Some(true) || (!versioned && wanted.copy != Some(false));
    let held = match target {
        (kind, 0) if kind == HOST[0] => on_host(py, array, copied)?,
        (CUDA, ordinal) if !runtime().is_available(Device::Cuda(ordinal.max(0) as usize)) => {
            let what =
                format!("there is no GPU {ordinal} to hand the array over on; dl_device=(1, 0) is the host");
            return Err(PyBufferError::new_err(what));
        }
        (CUDA, ordinal) => on_device(py, array, copied, ordinal.max(0) as usize)?,
        other => {
            let what =
                format!("arrays are handed over on the host, (1, 0), or on a GPU, (2, n), not on {other:?}");
            return Err(PyBufferError::new_err(what));
        }
    };
    capsule(py, array.dtype(), target, Box::new(held), versioned, copied)
}

/// The elements in the host's memory.
fn on_host(py: Python<'_>, array: &Array, copied: bool) -> PyResult<Held> {
    let array = if copied { array.copy() } else { array.clone() };
    let view = computing(py, || array.host_view()).map_err(|error| raise(&error))?;
    let size = view.dtype().size() as i64;
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
    Ok(Held { shape, strides, memory })
}

/// The elements in the memory of a GPU.
fn on_device(py: Python<'_>, array: &Array, copied: bool, ordinal: usize) -> PyResult<Held> {
    let view = computing(py, || {
        let view = array.device_view(ordinal)?;
        if !copied {
            return Ok(view);
        }
        // SAFETY: the view is of this GPU, complete, and held until the copy is.
        let copy = unsafe {
            Array::from_device(
                ordinal,
                view.address(),
                view.dtype(),
                view.shape().clone(),
                Some(view.strides()),
            )
        };
        copy?.device_view(ordinal)
    });
    let view = view.map_err(|error| raise(&error))?;
    let shape = view.shape().iter().map(|&n| n as i64).collect();
    let strides = view.strides().iter().map(|&stride| stride as i64).collect();
    Ok(Held { shape, strides, memory: Memory::Device(view) })
}

/// A capsule around what is handed over.
fn capsule<'py>(
    py: Python<'py>,
    dtype: DType,
    (device_type, device_id): (i32, i32),
    mut held: Box<Held>,
    versioned: bool,
    copied: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let data = match &mut held.memory {
        Memory::Shared(view) => view.as_ptr().map_err(|error| raise(&error))?.cast_mut().cast(),
        Memory::Copied(words) => words.as_mut_ptr().cast(),
        Memory::Device(view) => view.address() as *mut c_void,
    };
    let tensor = Tensor {
        data,
        device_type,
        device_id,
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
    // SAFETY: a consumer calls this once with what `capsule` boxed.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Held>()));
    }
}

unsafe extern "C" fn delete_plain(managed: *mut Managed) {
    // SAFETY: a consumer calls this once with what `capsule` boxed.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Held>()));
    }
}

/// Frees a tensor that nobody consumed: a consumer renames the capsule.
unsafe extern "C" fn unused(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this with a capsule that `capsule` made; its name says which kind of tensor it holds, and that nobody has
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
    let (kind, number): (i32, i32) = object.call_method0("__dlpack_device__")?.extract()?;
    let (arguments, plain) = (PyDict::new(py), PyDict::new(py));
    arguments.set_item("max_version", (1, 0))?;
    if kind == CUDA && number >= 0 && runtime().is_available(Device::Cuda(number as usize)) {
        // The producer puts what it has queued in order before our stream.
        let stream =
            computing(py, || crossover::gpu_queue(number as usize)).map_err(|error| raise(&error))?;
        arguments.set_item("stream", stream)?;
        plain.set_item("stream", stream)?;
    } else if !HOST.contains(&kind) {
        arguments.set_item("dl_device", (HOST[0], 0))?;
        arguments.set_item("copy", true)?;
        plain.set_item("dl_device", (HOST[0], 0))?;
    }
    let capsule = match object.call_method("__dlpack__", (), Some(&arguments)) {
        // Producers from before versions do not know them.
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyTypeError>(py) => {
            object.call_method("__dlpack__", (), Some(&plain))?
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
    if tensor.device_type != CUDA && !HOST.contains(&tensor.device_type) {
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
    let address = (tensor.data as usize).wrapping_add(tensor.byte_offset as usize);
    if tensor.device_type == CUDA {
        let strides: Option<Vec<isize>> =
            strides.map(|strides| strides.iter().map(|&stride| stride as isize).collect());
        let ordinal = tensor.device_id.max(0) as usize;
        // SAFETY: the caller's promise; its producer has put what it queued in order before our stream.
        let copied = building(|| unsafe {
            Array::from_device(ordinal, address as u64, dtype, shape.as_slice(), strides.as_deref())
        });
        return copied.map_err(|error| raise(&error));
    }
    let size = dtype.size() as isize;
    let strides: Option<Vec<isize>> =
        strides.map(|strides| strides.iter().map(|&stride| stride as isize * size).collect());
    // SAFETY: the caller's promise.
    unsafe { numpy::copied(address, dtype, &shape, strides.as_deref()) }
}
