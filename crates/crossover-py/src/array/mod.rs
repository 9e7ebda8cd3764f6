//! The array as Python sees it: a shell around [`crossover::Array`].
//!
//! Attributes and conversions are here, operators in `operators`, brackets in `brackets`, and the methods that NumPy's arrays have in
//! `methods`.

mod brackets;
mod methods;
mod operators;

use crossover::{Array, DType, Device, Kind, core::Scalar};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyComplex, PyDict, PyList, PyTuple},
};

use crate::{
    device::{Dev, PyDevice, building, computing, placed, runtime},
    dlpack,
    dtype::{self, Dt, PyDType},
    errors::raise,
    neighbour, numpy,
    values::checked,
};

/// A lazy n-dimensional array.
///
/// Operations build a graph, which runs as few fused kernels when values are needed: by printing, `float(x)`, `numpy.asarray(x)`,
/// `x.tolist()`, or `x.eval()`. Slices are views: writing through one shows in the array it was taken from.
///
/// >>> x = xo.asarray([1.0, 2.0, 3.0])
/// >>> x * 2 + 1
/// array([3., 5., 7.])
#[pyclass(frozen, weakref, name = "Array", module = "crossover")]
pub struct PyArray(pub Array);

impl PyArray {
    /// The result of an operation, or its error as an exception.
    pub fn done(array: Array) -> PyResult<PyArray> {
        checked(array).map(PyArray)
    }
}

/// A Python number for an element.
pub fn to_python<'py>(py: Python<'py>, value: Scalar) -> PyResult<Bound<'py, PyAny>> {
    let wide = |dtype| value.cast(dtype).bits()[0];
    Ok(match value.dtype().kind() {
        Kind::Bool => (value.bits()[0] != 0).into_pyobject(py)?.to_owned().into_any(),
        Kind::Int if value.dtype() == DType::U64 => value.bits()[0].into_pyobject(py)?.into_any(),
        Kind::Int => (wide(DType::I64) as i64).into_pyobject(py)?.into_any(),
        Kind::Float => f64::from_bits(wide(DType::F64)).into_pyobject(py)?.into_any(),
        Kind::Complex => {
            let [re, im] = value.cast(DType::C128).bits().map(f64::from_bits);
            PyComplex::from_doubles(py, re, im).into_any()
        }
    })
}

/// Nested lists of the elements from `at` on, along the axes from `axis` on.
fn nested<'py>(
    py: Python<'py>,
    values: &mut impl Iterator<Item = Scalar>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let Some((&length, rest)) = shape.split_first() else {
        let value =
            values.next().ok_or_else(|| PyValueError::new_err("fewer elements than the shape has"))?;
        return to_python(py, value);
    };
    let items = (0..length).map(|_| nested(py, values, rest)).collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(py, items)?.into_any())
}

impl PyArray {
    /// The only element.
    fn only(&self, py: Python<'_>) -> PyResult<Scalar> {
        let array = &self.0;
        if array.size() != 1 {
            let what = format!("an array of shape {} has {} elements, not one", array.shape(), array.size());
            return Err(PyTypeError::new_err(what));
        }
        computing(py, || array.to_scalar()).map_err(|error| raise(&error))
    }

    /// The only element, which must be real.
    fn real(&self, py: Python<'_>) -> PyResult<Scalar> {
        let value = self.only(py)?;
        if value.dtype().is_complex() {
            return Err(PyTypeError::new_err(
                "a complex array does not become a real number; take its real part",
            ));
        }
        Ok(value)
    }

    /// The array as text. What cannot be computed raises, as it does everywhere else.
    fn written(&self, py: Python<'_>, write: fn(&Array) -> String) -> PyResult<String> {
        computing(py, || self.0.eval().map(write)).map_err(|error| raise(&error))
    }

    /// All elements in row-major order.
    fn elements(&self, py: Python<'_>) -> PyResult<impl Iterator<Item = Scalar> + use<>> {
        // A copy in row-major order where the array is a strided view.
        let view = computing(py, || {
            let view = self.0.host_view()?;
            if view.is_contiguous() { Ok(view) } else { self.0.copy().host_view() }
        });
        let view = view.map_err(|error| raise(&error))?;
        let size = view.dtype().size();
        let bytes = view.bytes().map_err(|error| raise(&error))?.unwrap_or(&[]).to_vec();
        let dtype = view.dtype();
        Ok((0..bytes.len() / size).map(move |at| Scalar::read_from(dtype, &bytes[at * size..])))
    }
}

#[pymethods]
impl PyArray {
    /// Data type of the elements.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyDType>> {
        dtype::object(py, self.0.dtype())
    }

    /// Lengths of the axes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.shape().dims())
    }

    /// Number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.0.ndim()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.0.size()
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.dtype().size()
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.dtype().size() * self.0.size()
    }

    /// Where the elements are. What is not computed yet is computed first if the machine has a GPU.
    #[getter]
    pub fn device(&self, py: Python<'_>) -> PyResult<PyDevice> {
        let found = match self.0.device() {
            Device::Auto if runtime().device_count() == 0 => Device::Cpu,
            Device::Auto => {
                computing(py, || self.0.eval().map(drop)).map_err(|error| raise(&error))?;
                self.0.device()
            }
            known => known,
        };
        Ok(PyDevice(found))
    }

    /// The array with its axes in reverse order; a view.
    #[getter(T)]
    fn transposed(&self) -> PyResult<PyArray> {
        PyArray::done(self.0.permute((0..self.0.ndim() as i64).rev().collect::<Vec<_>>()))
    }

    /// The last two axes exchanged; a view.
    #[getter(mT)]
    fn matrix_transposed(&self) -> PyResult<PyArray> {
        if self.0.ndim() < 2 {
            let what = format!("a matrix has at least two axes; the shape is {}", self.0.shape());
            return Err(PyValueError::new_err(what));
        }
        PyArray::done(self.0.swap_axes(-2, -1))
    }

    /// The real part.
    #[getter]
    fn get_real(&self) -> PyResult<PyArray> {
        // That of real numbers shows the same elements, so that what is assigned to it shows here.
        if self.0.dtype().is_complex() { PyArray::done(self.0.real()) } else { Ok(PyArray(self.0.clone())) }
    }

    /// The imaginary part.
    #[getter]
    fn get_imag(&self) -> PyResult<PyArray> {
        PyArray::done(self.0.imag())
    }

    /// The array whose elements this one shows, or None if they are its own. Another object for the same elements than the one it was taken from.
    #[getter]
    fn base(&self) -> Option<PyArray> {
        self.0.base().map(PyArray)
    }

    /// The array on a device.
    ///
    /// >>> xo.ones(2).to_device("cpu").device
    /// device('cpu')
    #[pyo3(signature = (device, /, *, stream=None))]
    fn to_device(&self, py: Python<'_>, device: Dev, stream: Option<&Bound<'_, PyAny>>) -> PyResult<PyArray> {
        if stream.is_some() {
            return Err(PyValueError::new_err("streams are the library's own; leave stream out"));
        }
        computing(py, || self.0.to_device(device.0)).map(PyArray).map_err(|error| raise(&error))
    }

    /// Computes the array now and returns it.
    ///
    /// >>> (xo.ones(2) + 1).eval()
    /// array([2., 2.])
    fn eval(this: Py<Self>, py: Python<'_>) -> PyResult<Py<Self>> {
        if let Some(done) = placed(|| this.get().0.eval_if_small()) {
            return done.map(|()| this).map_err(|error| raise(&error));
        }
        computing(py, || this.get().0.eval().map(drop)).map_err(|error| raise(&error))?;
        Ok(this)
    }

    /// The plan that computing the array would run, as text.
    ///
    /// >>> (xo.ones(2) + 1).explain().startswith("plan: ")
    /// True
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        computing(py, || self.0.explain()).map_err(|error| raise(&error))
    }

    /// The elements as Python numbers in nested lists; a number for an array without axes.
    ///
    /// >>> xo.asarray([[1, 2], [3, 4]]).tolist()
    /// [[1, 2], [3, 4]]
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        nested(py, &mut self.elements(py)?, self.0.shape().dims())
    }

    /// The elements in row-major order as bytes.
    ///
    /// >>> xo.asarray([1, 2], dtype=xo.uint8).tobytes()
    /// b'\x01\x02'
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let size = self.0.dtype().size();
        let mut bytes = vec![0; size * self.0.size()];
        for (value, to) in self.elements(py)?.zip(bytes.chunks_exact_mut(size)) {
            value.write_to(to);
        }
        Ok(PyBytes::new(py, &bytes))
    }

    /// The only element, or the one at a position, as a Python number.
    ///
    /// >>> xo.asarray([3.5, 4.5]).item(1)
    /// 4.5
    #[pyo3(signature = (*at))]
    fn item<'py>(this: &Bound<'py, Self>, at: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        match at.len() {
            0 => to_python(py, this.get().only(py)?),
            1 if this.get().0.ndim() != 1 && !at.get_item(0)?.is_instance_of::<PyTuple>() => {
                this.call_method1("reshape", (-1,))?.get_item(at.get_item(0)?)?.call_method0("item")
            }
            1 => this.get_item(at.get_item(0)?)?.call_method0("item"),
            _ => this.get_item(at)?.call_method0("item"),
        }
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        if self.0.size() != 1 {
            let what = format!(
                "the truth value of an array of shape {} is ambiguous; use xo.any(x) or xo.all(x)",
                self.0.shape()
            );
            return Err(PyValueError::new_err(what));
        }
        self.only(py).map(nonzero)
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.real(py)?)?.call_method0("__int__")
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        let value = self.real(py)?;
        Ok(f64::from_bits(value.cast(DType::F64).bits()[0]))
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyComplex>> {
        let [re, im] = self.only(py)?.cast(DType::C128).bits().map(f64::from_bits);
        Ok(PyComplex::from_doubles(py, re, im))
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.0.ndim() != 0 || !self.0.dtype().is_int() {
            let what = format!(
                "only integer arrays without axes can be an index, not {} of shape {}",
                dtype::name(self.0.dtype()),
                self.0.shape()
            );
            return Err(PyTypeError::new_err(what));
        }
        to_python(py, self.only(py)?)
    }

    /// Arrays without axes are numbers, also among the keys of a dictionary.
    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        if self.0.ndim() != 0 {
            let what = format!("unhashable: an array of shape {}; use x.tobytes()", self.0.shape());
            return Err(PyTypeError::new_err(what));
        }
        to_python(py, self.only(py)?)?.hash()
    }

    fn __len__(&self) -> PyResult<usize> {
        let first = self.0.shape().dims().first().copied();
        first.ok_or_else(|| PyTypeError::new_err("len() of an array without axes"))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let text = self.written(py, |array| format!("{array:?}"))?;
        let short = format!("dtype={})", self.0.dtype());
        let long = format!("dtype={})", dtype::name(self.0.dtype()));
        Ok(text.strip_suffix(&short).map(|body| format!("{body}{long}")).unwrap_or(text))
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.written(py, Array::to_string)
    }

    /// The namespace of functions for this array: the package itself.
    #[pyo3(signature = (*, api_version=None))]
    fn __array_namespace__<'py>(
        &self,
        py: Python<'py>,
        api_version: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        const KNOWN: [&str; 4] = ["2021.12", "2022.12", "2023.12", "2024.12"];
        match api_version {
            Some(other) if !KNOWN.contains(&other) => Err(PyValueError::new_err(format!(
                "version {other:?} of the standard is not supported; there is 2024.12"
            ))),
            _ => Ok(py.import("crossover")?.into_any()),
        }
    }

    /// The array as a NumPy array: a read-only view of the same memory, or with `copy=True` one of its own.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(true) && dtype.is_none() {
            return numpy::given(py, self.0.copy());
        }
        let shared = numpy::export(py, &self.0)?;
        let arguments = PyDict::new(py);
        if let Some(dtype) = dtype {
            arguments.set_item("dtype", dtype)?;
        }
        match copy {
            Some(true) => shared.py().import("numpy")?.call_method("array", (shared,), Some(&arguments)),
            Some(false) if self.0.dtype() == DType::BF16 => {
                Err(PyValueError::new_err("NumPy has no bfloat16, so a copy is needed"))
            }
            _ if dtype.is_none() => Ok(shared),
            Some(false) => {
                let numpy = shared.py().import("numpy")?;
                let wanted = numpy.getattr("dtype")?.call1((dtype,))?;
                let own = shared.getattr("dtype")?;
                if !own.eq(&wanted)? {
                    let what = format!(
                        "an array of {own} becomes one of {wanted} by a copy, which copy=False refuses"
                    );
                    return Err(PyValueError::new_err(what));
                }
                Ok(shared)
            }
            _ => shared.py().import("numpy")?.call_method("asarray", (shared,), Some(&arguments)),
        }
    }

    /// The array as a DLPack capsule.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let away = dl_device.unwrap_or_else(|| dlpack::device(&self.0)).0 != 1;
        if stream.is_some() && !away {
            return Err(PyValueError::new_err(
                "the array is in the host's memory, where there are no streams",
            ));
        }
        dlpack::export(py, &self.0, &dlpack::Wanted { max_version, device: dl_device, copy })
    }

    /// Where `__dlpack__` hands the array over: where it is. What is not computed yet is computed first if the machine has a GPU.
    fn __dlpack_device__(&self, py: Python<'_>) -> PyResult<(i32, i32)> {
        self.device(py)?;
        Ok(dlpack::device(&self.0))
    }

    /// The array in the memory of a GPU, to be read by CuPy, Numba and others; only of an array that is there.
    #[getter]
    fn __cuda_array_interface__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        neighbour::interface(this)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let rebuild = py.import("crossover._native")?.getattr("_rebuild")?;
        let name = dtype::name(self.0.dtype());
        Ok((rebuild, (name, self.shape(py)?, self.tobytes(py)?).into_pyobject(py)?))
    }

    fn __copy__(&self) -> PyResult<PyArray> {
        PyArray::done(self.0.copy())
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        PyArray::done(self.0.copy())
    }
}

/// Whether a value is not zero; -0 is, and NaN is not.
fn nonzero(value: Scalar) -> bool {
    value.cast(DType::C128).bits().into_iter().any(|part| f64::from_bits(part) != 0.0)
}

/// An array from its bytes, for `pickle`.
#[pyfunction]
pub fn _rebuild(dtype: Dt, shape: Vec<usize>, bytes: &[u8]) -> PyResult<PyArray> {
    PyArray::done(building(|| Array::from_bytes(bytes, dtype.0, shape, None, 0)))
}
