//! Dtypes as Python sees them, with the names of the standard.

use crossover::{DType, Kind};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyBool, PyComplex, PyFloat, PyInt, PyString, PyType},
};

use crate::{array::PyArray, values::array_from};

/// A data type. There is one object per type, such as `crossover.float32`; functions also take NumPy's dtypes, Python's types
/// and names.
///
/// >>> xo.dtype("float32") == xo.float32, xo.float32.itemsize
/// (True, 4)
/// >>> xo.float32(1.5)
/// array(1.5, dtype=float32)
#[pyclass(frozen, name = "dtype", module = "crossover")]
pub struct PyDType(pub DType);

/// Name in the standard.
pub const fn name(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "bool",
        DType::I8 => "int8",
        DType::I16 => "int16",
        DType::I32 => "int32",
        DType::I64 => "int64",
        DType::U8 => "uint8",
        DType::U16 => "uint16",
        DType::U32 => "uint32",
        DType::U64 => "uint64",
        DType::F16 => "float16",
        DType::BF16 => "bfloat16",
        DType::F32 => "float32",
        DType::F64 => "float64",
        DType::C64 => "complex64",
        DType::C128 => "complex128",
    }
}

/// The element type in NumPy's array interface; bfloat16 has none.
pub fn typestr(dtype: DType) -> Option<String> {
    let letter = match dtype.kind() {
        _ if dtype == DType::BF16 => return None,
        Kind::Bool => 'b',
        Kind::Int if dtype.is_signed_int() => 'i',
        Kind::Int => 'u',
        Kind::Float => 'f',
        Kind::Complex => 'c',
    };
    let order = if dtype.size() == 1 { '|' } else { '<' };
    Some(format!("{order}{letter}{}", dtype.size()))
}

/// The dtype of a name: the standard's, NumPy's short ones, and those with a byte order.
pub fn parse(text: &str) -> Option<DType> {
    let plain = text.trim_start_matches(['<', '=', '|']);
    DType::ALL.into_iter().find(|&dtype| name(dtype) == plain).or_else(|| {
        Some(match plain {
            "?" | "b1" | "bool_" => DType::Bool,
            "i1" | "b" | "byte" => DType::I8,
            "i2" | "h" | "short" => DType::I16,
            "i4" | "i" | "intc" => DType::I32,
            "i8" | "l" | "q" | "int" | "int_" | "long" | "intp" | "longlong" => DType::I64,
            "u1" | "B" | "ubyte" => DType::U8,
            "u2" | "H" | "ushort" => DType::U16,
            "u4" | "I" | "uintc" => DType::U32,
            "u8" | "L" | "Q" | "uint" | "ulong" | "uintp" | "ulonglong" => DType::U64,
            "f2" | "e" | "half" => DType::F16,
            "f4" | "f" | "single" => DType::F32,
            "f8" | "d" | "double" | "float" => DType::F64,
            "c8" | "F" | "csingle" => DType::C64,
            "c16" | "D" | "cdouble" | "complex" => DType::C128,
            _ => return None,
        })
    })
}

/// What a Python object means as a dtype.
pub fn from_object(object: &Bound<'_, PyAny>) -> Option<DType> {
    if let Ok(dtype) = object.cast::<PyDType>() {
        return Some(dtype.get().0);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return parse(text.to_cow().ok()?.as_ref());
    }
    if let Ok(class) = object.cast::<PyType>() {
        let py = object.py();
        let builtin = [
            (py.get_type::<PyBool>(), DType::Bool),
            (py.get_type::<PyInt>(), DType::I64),
            (py.get_type::<PyFloat>(), DType::F64),
            (py.get_type::<PyComplex>(), DType::C128),
        ];
        if let Some(found) = builtin.iter().find(|(known, _)| known.is(class)) {
            return Some(found.1);
        }
        return parse(class.name().ok()?.to_cow().ok()?.as_ref());
    }
    parse(object.getattr("name").ok()?.cast::<PyString>().ok()?.to_cow().ok()?.as_ref())
}

/// A dtype as an argument.
#[derive(Clone, Copy)]
pub struct Dt(pub DType);

impl<'a, 'py> FromPyObject<'a, 'py> for Dt {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Dt> {
        from_object(&object).map(Dt).ok_or_else(|| {
            let shown = object.repr().map_or_else(|_| "this".to_string(), |text| text.to_string());
            PyTypeError::new_err(format!(
                "{shown} is not a dtype; there are bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64, \
                 complex64 and complex128"
            ))
        })
    }
}

#[pymethods]
impl PyDType {
    #[new]
    fn new(dtype: Dt) -> PyDType {
        PyDType(dtype.0)
    }

    /// Name in the standard, such as 'float32'.
    #[getter]
    fn name(&self) -> &'static str {
        name(self.0)
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.size()
    }

    /// NumPy's letter for the kind: 'b', 'i', 'u', 'f' or 'c'.
    #[getter]
    fn kind(&self) -> char {
        typestr(self.0).and_then(|text| text.chars().nth(1)).unwrap_or('f')
    }

    /// NumPy's name with the byte order, such as '<f4'.
    #[getter]
    fn str(&self) -> String {
        typestr(self.0).unwrap_or_else(|| "bfloat16".to_string())
    }

    /// The dtype of an operation between this one and another.
    ///
    /// >>> xo.uint8.promote(xo.int8)
    /// crossover.int16
    fn promote(&self, other: Dt) -> PyDType {
        PyDType(self.0.promote(other.0))
    }

    /// A value of this dtype, as an array without axes: NumPy's `float32(1.5)`.
    #[pyo3(signature = (value, /))]
    fn __call__(&self, value: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        array_from(value, Some(self.0)).map(PyArray)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        from_object(other) == Some(self.0)
    }

    fn __hash__(&self) -> u64 {
        self.0 as u64
    }

    fn __repr__(&self) -> String {
        format!("crossover.{}", name(self.0))
    }

    fn __str__(&self) -> &'static str {
        name(self.0)
    }

    fn __reduce__(&self, py: Python<'_>) -> (Py<PyAny>, (&'static str,)) {
        (py.get_type::<PyDType>().into_any().unbind(), (name(self.0),))
    }
}

/// The object of a dtype; comparing and hashing do not depend on there being one only.
pub fn object(py: Python<'_>, dtype: DType) -> PyResult<Py<PyDType>> {
    use pyo3::sync::PyOnceLock;
    static ALL: PyOnceLock<Vec<Py<PyDType>>> = PyOnceLock::new();
    let all = ALL.get_or_try_init(py, || {
        DType::ALL.into_iter().map(|dtype| Py::new(py, PyDType(dtype))).collect::<PyResult<Vec<_>>>()
    })?;
    Ok(all[dtype as usize].clone_ref(py))
}
