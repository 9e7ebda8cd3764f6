//! From Python's values to arrays and numbers.

use crossover::{Array, DType, Number, Operand};
use pyo3::{
    exceptions::{PyOverflowError, PyTypeError},
    prelude::*,
    types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyList, PySequence, PyString, PyTuple},
};

use crate::{
    array::PyArray,
    device::building,
    dlpack,
    dtype::name,
    errors::{raise, type_error, value_error},
    numpy,
};

/// An argument that is an array, something that can become one, or a number.
#[derive(Clone)]
pub enum Arg {
    /// An array.
    Array(Array),
    /// A Python number, which takes the dtype of the array beside it.
    Number(Number),
}

impl Arg {
    /// An array; a number becomes one of its own dtype.
    pub fn into_array(self) -> Array {
        match self {
            Arg::Array(array) => array,
            Arg::Number(number) => building(|| Array::full_dtype((), number, number.default_dtype())),
        }
    }

    /// An array; a number takes the dtype that it has beside `dtype`.
    pub fn beside(self, dtype: DType) -> PyResult<Array> {
        match self {
            Arg::Array(array) => Ok(array),
            Arg::Number(number) => {
                let dtype = dtype.with_scalar(number.kind());
                check_range(number, dtype)?;
                Ok(building(|| Array::full_dtype((), number, dtype)))
            }
        }
    }

    /// The second operand of an operation with an array of `dtype`.
    pub fn operand(&self) -> Operand<'_> {
        match self {
            Arg::Array(array) => array.into(),
            Arg::Number(number) => (*number).into(),
        }
    }

    /// The dtype of the array; a number takes that of what is beside it.
    pub fn dtype(&self) -> Option<DType> {
        match self {
            Arg::Array(array) => Some(array.dtype()),
            Arg::Number(_) => None,
        }
    }
}

/// Two operands, of which at least one becomes an array.
pub fn pair(first: Arg, second: Arg) -> PyResult<(Array, Arg)> {
    match (&first, &second) {
        (Arg::Number(_), Arg::Array(array)) => {
            let dtype = array.dtype();
            Ok((first.beside(dtype)?, second))
        }
        _ => {
            let first = first.into_array();
            if let Arg::Number(number) = second {
                check_range(number, first.dtype())?;
            }
            Ok((first, second))
        }
    }
}

/// NumPy's OverflowError for an integer that a dtype does not hold.
pub fn check_range(number: Number, dtype: DType) -> PyResult<()> {
    match number {
        Number::Int(value) if number.overflows(dtype) => {
            Err(PyOverflowError::new_err(format!("Python integer {value} out of bounds for {}", name(dtype))))
        }
        _ => Ok(()),
    }
}

/// A Python number; `None` if it is none, or has a dtype of its own.
pub fn number(object: &Bound<'_, PyAny>) -> PyResult<Option<Number>> {
    if object.is_exact_instance_of::<PyFloat>() {
        return Ok(Some(Number::Float(object.extract()?)));
    }
    if object.is_exact_instance_of::<PyInt>() {
        return integer(object).map(Some);
    }
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(Some(Number::Bool(truth.is_true())));
    }
    if object.is_exact_instance_of::<PyComplex>() {
        let value = object.cast::<PyComplex>()?;
        return Ok(Some(Number::Complex(value.real(), value.imag())));
    }
    Ok(None)
}

fn integer(object: &Bound<'_, PyAny>) -> PyResult<Number> {
    if let Ok(value) = object.extract::<i64>() {
        return Ok(Number::Int(value.into()));
    }
    let value = object.extract::<u64>();
    value
        .map(|value| Number::Int(value.into()))
        .map_err(|_| PyOverflowError::new_err("Python integer does not fit into 64 bits"))
}

/// Subclasses of Python's numbers that are no NumPy scalars.
fn derived(object: &Bound<'_, PyAny>) -> PyResult<Option<Number>> {
    if let Ok(value) = object.cast::<PyFloat>() {
        return Ok(Some(Number::Float(value.value())));
    }
    if object.is_instance_of::<PyInt>() {
        return integer(object).map(Some);
    }
    if let Ok(value) = object.cast::<PyComplex>() {
        return Ok(Some(Number::Complex(value.real(), value.imag())));
    }
    Ok(None)
}

impl<'a, 'py> FromPyObject<'a, 'py> for Arg {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Arg> {
        if let Ok(array) = object.cast::<PyArray>() {
            return Ok(Arg::Array(array.get().0.clone()));
        }
        if let Some(number) = number(&object)? {
            return Ok(Arg::Number(number));
        }
        if let Some(array) = numpy::import(&object)? {
            return Ok(Arg::Array(array));
        }
        if let Some(number) = derived(&object)? {
            return Ok(Arg::Number(number));
        }
        if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            return from_sequence(&object, None).map(Arg::Array);
        }
        if object.hasattr("__dlpack__")? {
            return dlpack::import(&object, None).map(Arg::Array);
        }
        // Ranges, deques, `array.array`.
        if object.cast::<PySequence>().is_ok()
            && let Some(array) = from_iterable(&object, None)?
        {
            return Ok(Arg::Array(array));
        }
        Err(PyTypeError::new_err(format!(
            "expected an array, a number or a sequence of numbers, not {}",
            object.get_type().name()?
        )))
    }
}

/// An argument that is an array, or becomes one.
pub struct Arr(pub Array);

impl<'a, 'py> FromPyObject<'a, 'py> for Arr {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Arr> {
        Ok(Arr(object.extract::<Arg>()?.into_array()))
    }
}

/// Anything as an array of a dtype, or of its own.
pub fn array_from(object: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Array> {
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return from_sequence(object, dtype);
    }
    match object.extract::<Arg>() {
        Ok(Arg::Number(number)) => {
            let dtype = dtype.unwrap_or_else(|| number.default_dtype());
            check_range(number, dtype)?;
            checked(building(|| Array::full_dtype((), number, dtype)))
        }
        Ok(Arg::Array(array)) => match dtype {
            Some(dtype) if dtype != array.dtype() => checked(array.astype(dtype)),
            _ => Ok(array),
        },
        // What has said what it is, and was refused, is not asked once more.
        Err(error) if object.hasattr("__array_interface__")? => Err(error),
        Err(error) => match from_iterable(object, dtype)? {
            Some(array) => Ok(array),
            None => Err(error),
        },
    }
}

/// Other sequences, such as `range` and objects of the buffer protocol.
fn from_iterable(object: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Option<Array>> {
    let py = object.py();
    // Text, of which NumPy makes one element.
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
        return Ok(None);
    }
    if let Ok(view) = py.import("builtins")?.getattr("memoryview")?.call1((object,)) {
        let format: String = view.getattr("format")?.extract()?;
        let shape: Vec<usize> = view.getattr("shape")?.extract()?;
        let Some(found) = crate::dtype::parse(&format) else {
            return Err(type_error(format!("elements of format {format:?} are no numbers")));
        };
        let bytes: Vec<u8> = view.call_method0("tobytes")?.extract()?;
        let array = checked(building(|| Array::from_bytes(&bytes, found, shape, None, 0)))?;
        return match dtype {
            Some(dtype) if dtype != found => checked(array.astype(dtype)).map(Some),
            _ => Ok(Some(array)),
        };
    }
    if object.hasattr("__len__")?
        && object.hasattr("__getitem__")?
        // A mapping has keys, and no order that means something.
        && !object.hasattr("keys")?
    {
        let list = py.import("builtins")?.getattr("list")?.call1((object,))?;
        return from_sequence(&list, dtype).map(Some);
    }
    Ok(None)
}

/// The array, or the error it carries as an exception.
pub fn checked(array: Array) -> PyResult<Array> {
    match array.check_made() {
        Ok(()) => Ok(array),
        Err(error) => Err(raise(&error)),
    }
}

/// Nested sequences, read leaf by leaf.
struct Leaves {
    shape: Vec<usize>,
    numbers: Vec<Number>,
}

/// What walking through nested sequences came upon.
enum Walk {
    /// Numbers only.
    Done,
    /// Something with a dtype of its own.
    Strong,
}

impl Leaves {
    fn walk(&mut self, object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Walk> {
        let list = object.cast::<PyList>().map(|list| list.len());
        let length = list.or_else(|_| object.cast::<PyTuple>().map(|tuple| tuple.len()));
        let Ok(length) = length else {
            return match number(object)? {
                Some(number) if depth == self.shape.len() => {
                    self.numbers.push(number);
                    Ok(Walk::Done)
                }
                Some(_) => Err(ragged(&self.shape)),
                None => Ok(Walk::Strong),
            };
        };
        match self.shape.get(depth) {
            Some(&known) if known != length => return Err(ragged(&self.shape)),
            Some(_) => {}
            // A sequence where a number was before.
            None if !self.numbers.is_empty() => return Err(ragged(&self.shape)),
            None => self.shape.push(length),
        }
        for item in object.try_iter()? {
            if let Walk::Strong = self.walk(&item?, depth + 1)? {
                return Ok(Walk::Strong);
            }
        }
        Ok(Walk::Done)
    }
}

fn ragged(shape: &[usize]) -> PyErr {
    value_error(format!(
        "sequences of different lengths or depths are no array; shape {shape:?} up to the difference"
    ))
}

/// Nested lists and tuples.
fn from_sequence(object: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Array> {
    let mut leaves = Leaves { shape: Vec::new(), numbers: Vec::new() };
    if let Walk::Strong = leaves.walk(object, 0)? {
        let parts = object.try_iter()?.map(|item| array_from(&item?, dtype)).collect::<PyResult<Vec<_>>>()?;
        let parts: Vec<&Array> = parts.iter().collect();
        return checked(building(|| Array::stack(&parts, 0)));
    }
    let Leaves { shape, numbers } = leaves;
    let default = numbers.iter().map(|number| number.default_dtype()).reduce(DType::promote);
    let mixed = numbers.iter().any(|n| n.default_dtype() == DType::U64) && default == Some(DType::F64);
    if mixed && dtype.is_none() && numbers.iter().all(|n| matches!(n, Number::Int(v) if *v >= 0)) {
        return of_numbers(&numbers, shape, DType::U64);
    }
    of_numbers(&numbers, shape, dtype.or(default).unwrap_or(DType::F64))
}

fn of_numbers(numbers: &[Number], shape: Vec<usize>, dtype: DType) -> PyResult<Array> {
    let mut bytes = vec![0; numbers.len() * dtype.size()];
    for (number, to) in numbers.iter().zip(bytes.chunks_exact_mut(dtype.size())) {
        check_range(*number, dtype)?;
        if matches!(number, Number::Complex(..)) && !dtype.is_complex() && dtype != DType::Bool {
            return Err(type_error(format!("complex numbers do not become {}", name(dtype))));
        }
        number.to_scalar(dtype).write_to(to);
    }
    checked(building(|| Array::from_bytes(&bytes, dtype, shape, None, 0)))
}
