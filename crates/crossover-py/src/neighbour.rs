//! Arrays in the memory of a GPU, as CUDA's array interface and DLPack show them.

use crossover::{DeviceView, Kind};
use parking_lot::Mutex;
use pyo3::{
    exceptions::PyAttributeError,
    prelude::*,
    types::{PyDict, PyTuple},
};

use crate::{array::PyArray, device::computing, dtype, errors::raise};

/// Memory of a GPU that somebody looks at; it stays as it is until it is let go.
#[pyclass(frozen, module = "crossover._native")]
pub struct Lent(Mutex<Option<DeviceView>>);

#[pymethods]
impl Lent {
    /// Lets go of the memory, once everything on the GPU has been done.
    fn close(&self, py: Python<'_>) {
        let view = self.0.lock().take();
        py.detach(|| drop(view));
    }
}

/// `__cuda_array_interface__` of an array that is on a GPU.
///
/// The memory belongs to the array's object, whatever is assigned to it later, and goes with it.
pub fn interface<'py>(array: &Bound<'py, PyArray>) -> PyResult<Bound<'py, PyDict>> {
    let (py, inner) = (array.py(), &array.get().0);
    let crossover::Device::Cuda(ordinal) = inner.device() else {
        return Err(PyAttributeError::new_err(
            "the array is not on a GPU; x.to_device('cuda') brings it there",
        ));
    };
    let Some(kind) = dtype::typestr(inner.dtype()) else {
        return Err(PyAttributeError::new_err("CUDA's array interface has no bfloat16; use DLPack"));
    };
    let view = computing(py, || inner.device_view(ordinal)).map_err(|error| raise(&error))?;
    let size = view.dtype().size() as isize;
    let found = PyDict::new(py);
    found.set_item("version", 3)?;
    found.set_item("typestr", kind)?;
    found.set_item("shape", PyTuple::new(py, view.shape().dims())?)?;
    let strides: Vec<isize> = view.strides().iter().map(|stride| stride * size).collect();
    found.set_item("strides", if view.is_contiguous() { None } else { Some(PyTuple::new(py, strides)?) })?;
    let address = if view.shape().size() == 0 { 0 } else { view.address() };
    found.set_item("data", (address, true))?;
    // The view is complete: nobody has to wait.
    found.set_item("stream", None::<u64>)?;
    let lent = Bound::new(py, Lent(Mutex::new(Some(view))))?;
    py.import("weakref")?.call_method1("finalize", (array, lent.getattr("close")?))?;
    Ok(found)
}

/// DLPack's code for a kind of elements.
pub fn code(dtype: crossover::DType) -> u8 {
    match dtype.kind() {
        Kind::Bool => 6,
        Kind::Int if dtype.is_signed_int() => 0,
        Kind::Int => 1,
        Kind::Float if dtype == crossover::DType::BF16 => 4,
        Kind::Float => 2,
        Kind::Complex => 5,
    }
}

/// Adds the class to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Lent>()
}
