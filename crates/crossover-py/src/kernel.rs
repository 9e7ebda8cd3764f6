//! Kernels that users write, for `crossover.gpu_kernel`: CUDA source for a GPU, a Python function for the host.
#![allow(unsafe_code)]

use crossover::{
    Array, CustomKernel, DType, Grid, KernelInputs, KernelOutput, Shape,
    core::{Element, Error as CoreError},
};
use half::f16;
use num_complex::Complex;
use pyo3::{
    prelude::*,
    types::{PyBytes, PyTuple},
};

use crate::{
    arguments::Arrays,
    array::PyArray,
    device::building,
    dtype::{Dt, typestr},
    errors::{raise_core, type_error},
};

/// Elements as bytes.
fn as_bytes<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: elements are plain numbers without gaps, and any bytes may be looked at.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Calls a function with the Rust type of a dtype; bfloat16, which NumPy lacks, is refused before.
macro_rules! by_dtype {
    ($dtype:expr, $call:ident($($argument:expr),*)) => {
        match $dtype {
            DType::Bool => $call::<bool>($($argument),*),
            DType::I8 => $call::<i8>($($argument),*),
            DType::I16 => $call::<i16>($($argument),*),
            DType::I32 => $call::<i32>($($argument),*),
            DType::I64 => $call::<i64>($($argument),*),
            DType::U8 => $call::<u8>($($argument),*),
            DType::U16 => $call::<u16>($($argument),*),
            DType::U32 => $call::<u32>($($argument),*),
            DType::U64 => $call::<u64>($($argument),*),
            DType::F16 => $call::<f16>($($argument),*),
            DType::BF16 => $call::<half::bf16>($($argument),*),
            DType::F32 => $call::<f32>($($argument),*),
            DType::F64 => $call::<f64>($($argument),*),
            DType::C64 => $call::<Complex<f32>>($($argument),*),
            DType::C128 => $call::<Complex<f64>>($($argument),*),
        }
    };
}

fn operand<T: Element>(inputs: &KernelInputs<'_>, at: usize) -> crossover::core::Result<Vec<u8>> {
    Ok(as_bytes(inputs.slice::<T>(at)?).to_vec())
}

fn store<T: Element>(output: &mut KernelOutput<'_>, bytes: &[u8]) -> crossover::core::Result<()> {
    let values = output.slice::<T>()?;
    // SAFETY: the length was compared; the bytes are elements of this dtype as NumPy wrote them, of which any are values but those of
    // booleans, and NumPy's booleans are 0 and 1.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), values.as_mut_ptr().cast::<u8>(), bytes.len()) };
    Ok(())
}

/// The Python function of a kernel.
struct Host {
    function: Py<PyAny>,
    inputs: Vec<DType>,
    output: DType,
}

impl Host {
    /// Calls the function on NumPy arrays and writes down what it returns.
    fn run(&self, inputs: &KernelInputs<'_>, output: &mut KernelOutput<'_>) -> crossover::core::Result<()> {
        let wrong = |what: String| CoreError::Value { op: "gpu_kernel", what };
        let computed = Python::attach(|py| -> PyResult<crossover::core::Result<Vec<u8>>> {
            let numpy = py.import("numpy")?;
            let mut operands = Vec::new();
            for (at, &dtype) in self.inputs.iter().enumerate() {
                let bytes = match by_dtype!(dtype, operand(inputs, at)) {
                    Ok(bytes) => PyBytes::new(py, &bytes),
                    Err(error) => return Ok(Err(error)),
                };
                let flat = numpy.call_method1("frombuffer", (bytes, typestr(dtype)))?;
                operands.push(flat.call_method1("reshape", (PyTuple::new(py, inputs.shape(at).dims())?,))?);
            }
            let result = self.function.bind(py).call1(PyTuple::new(py, operands)?)?;
            let shape = PyTuple::new(py, output.shape().dims())?;
            let result = numpy.call_method1("asarray", (result, typestr(self.output)))?;
            let result = numpy.call_method1("broadcast_to", (result, shape))?;
            Ok(Ok(result.call_method0("tobytes")?.extract()?))
        });
        let bytes = computed.map_err(|error| wrong(error.to_string()))??;
        if bytes.len() != output.shape().size() * self.output.size() {
            return Err(wrong(format!("the function made {} bytes", bytes.len())));
        }
        by_dtype!(self.output, store(output, &bytes))
    }
}

fn tuples<'py>(py: Python<'py>, shapes: &[&Shape]) -> PyResult<Bound<'py, PyTuple>> {
    let shapes = shapes.iter().map(|shape| PyTuple::new(py, shape.dims()));
    PyTuple::new(py, shapes.collect::<PyResult<Vec<_>>>()?)
}

/// What a launch rule of Python's says: blocks, threads, bytes of shared memory, numbers.
type Launch = ([usize; 3], [usize; 3], usize, Vec<i64>);

/// A kernel of the user's: CUDA source for a GPU and a Python function for the host. `crossover.gpu_kernel` makes these.
#[pyclass(frozen, name = "CustomKernel", module = "crossover._native")]
pub struct PyKernel(CustomKernel);

#[pymethods]
impl PyKernel {
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        name: &str,
        inputs: Vec<(String, Dt)>,
        output: (String, Dt),
        source: &str,
        host: Py<PyAny>,
        shape: Py<PyAny>,
        grid: Py<PyAny>,
        zeroed: bool,
    ) -> PyResult<PyKernel> {
        let dtypes: Vec<DType> = inputs.iter().map(|(_, dtype)| dtype.0).collect();
        if dtypes.iter().chain([&output.1.0]).any(|&dtype| dtype == DType::BF16) {
            return Err(type_error("NumPy has no bfloat16, which the function for the host would get"));
        }
        let mut builder = CustomKernel::builder(name).output(&output.0, output.1.0);
        for (name, dtype) in &inputs {
            builder = builder.input(name, dtype.0);
        }
        let host = Host { function: host, inputs: dtypes, output: output.1.0 };
        let mut builder = builder
            .shape(move |shapes| {
                Python::attach(|py| {
                    let made = tuples(py, shapes).and_then(|shapes| shape.call1(py, shapes));
                    let made = made.and_then(|made| made.extract::<Vec<usize>>(py));
                    made.map(|made| Shape::from(made.as_slice())).map_err(|error| error.value(py).to_string())
                })
            })
            .cpu(move |inputs, output| host.run(inputs, output))
            .cuda(source, move |inputs, output| {
                Python::attach(|py| {
                    let asked = (|| {
                        let out = PyTuple::new(py, output.dims())?;
                        grid.call1(py, (tuples(py, inputs)?, out))?.extract::<Launch>(py)
                    })();
                    match asked {
                        Ok((blocks, threads, shared, numbers)) => numbers
                            .into_iter()
                            .fold(Grid::new(blocks, threads).shared(shared), Grid::argument),
                        Err(error) => {
                            error.write_unraisable(py, Some(grid.bind(py)));
                            // No device launches that, and says so.
                            Grid::new([0; 3], [0; 3])
                        }
                    }
                })
            });
        if zeroed {
            builder = builder.zeroed();
        }
        builder.build().map(PyKernel).map_err(|error| raise_core(&error))
    }

    /// The result of a call, still to be computed.
    fn call(&self, operands: Arrays) -> PyResult<PyArray> {
        PyArray::done(building(|| self.0.call::<Array>(&operands.all())))
    }

    fn __repr__(&self) -> String {
        format!("<crossover kernel {}>", self.0)
    }
}

/// Adds the class to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyKernel>()
}
