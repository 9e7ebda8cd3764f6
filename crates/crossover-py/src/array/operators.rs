//! `+ - * / // % ** @ & | ^ << >>`, comparisons, and their reflected and in-place forms.
// What `pymethods` makes of a method that a macro of ours wrote calls it without a block of its own.
#![allow(unsafe_op_in_unsafe_fn)]

use crossover::{Array, Number};
use pyo3::{
    basic::CompareOp,
    exceptions::PyTypeError,
    prelude::*,
    types::{PyBytes, PyNotImplemented, PyString},
};

use super::PyArray;
use crate::{
    device::{building, computing},
    dtype::name,
    errors::{raise, value_error},
    functions::elementwise::refuse_booleans,
    values::{Arg, check_range},
};

/// An operation of two arrays, or of an array and a number on its right.
pub type Binary = fn(&Array, &Arg) -> Array;

/// An array and something on its right.
fn forward(left: &Array, right: &Arg, op: Binary) -> PyResult<PyArray> {
    if let Arg::Number(number) = right {
        check_range(*number, left.dtype())?;
    }
    PyArray::done(building(|| op(left, right)))
}

/// An array and something on its left.
fn reflected(right: &Array, left: Arg, op: Binary) -> PyResult<PyArray> {
    let left = left.beside(right.dtype())?;
    PyArray::done(building(|| op(&left, &Arg::Array(right.clone()))))
}

/// Writes the result of an operation into its first operand.
fn in_place(py: Python<'_>, target: &Array, right: &Arg, op: Binary, what: &str) -> PyResult<()> {
    let result = forward(target, right, op)?.0;
    if result.shape() != target.shape() {
        return Err(value_error(format!(
            "{what}: the result has shape {}, which does not fit into the array of shape {}",
            result.shape(),
            target.shape()
        )));
    }
    let (from, to) = (result.dtype(), target.dtype());
    let keeps_sign = !(from.is_signed_int() && to.is_unsigned_int());
    if from.kind() > to.kind() || (from.kind() == to.kind() && !keeps_sign && matches!(right, Arg::Array(_)))
    {
        return Err(PyTypeError::new_err(format!(
            "{what}: the result is of dtype {}, which does not become {}; write x = x {what} y",
            name(from),
            name(to)
        )));
    }
    computing(py, || target.assign(&result)).map_err(|error| raise(&error))
}

/// NumPy refuses negative integer powers of integers.
fn power(left: &Array, right: &Arg) -> Array {
    left.pow(right.operand())
}

fn check_power(left: &Array, right: &Arg) -> PyResult<()> {
    match right {
        Arg::Number(Number::Int(power)) if *power < 0 && left.dtype().is_int() => Err(value_error(format!(
            "integers to the negative power {power} are no integers; convert to a float dtype first"
        ))),
        _ => Ok(()),
    }
}

fn matmul(left: &Array, right: &Arg) -> Array {
    match right {
        Arg::Array(right) => left.matmul(right),
        Arg::Number(_) => left.matmul(&right.clone().into_array()),
    }
}

macro_rules! operators {
    ($($symbol:literal $forward:ident $reflected:ident $in_place:ident |$x:ident, $y:ident| $body:expr;)*) => {
        #[pymethods]
        impl PyArray {
            $(
                fn $forward(&self, other: Arg) -> PyResult<PyArray> {
                    forward(&self.0, &other, |$x, $y| $body)
                }

                fn $reflected(&self, other: Arg) -> PyResult<PyArray> {
                    reflected(&self.0, other, |$x, $y| $body)
                }

                fn $in_place(&self, py: Python<'_>, other: Arg) -> PyResult<()> {
                    in_place(py, &self.0, &other, |$x, $y| $body, $symbol)
                }
            )*
        }
    };
}

operators! {
    "+" __add__ __radd__ __iadd__ |x, y| x.add(y.operand());
    "-" __sub__ __rsub__ __isub__ |x, y| x.subtract(y.operand());
    "*" __mul__ __rmul__ __imul__ |x, y| x.multiply(y.operand());
    "/" __truediv__ __rtruediv__ __itruediv__ |x, y| x.divide(y.operand());
    "//" __floordiv__ __rfloordiv__ __ifloordiv__ |x, y| x.floor_divide(y.operand());
    "%" __mod__ __rmod__ __imod__ |x, y| x.remainder(y.operand());
    "@" __matmul__ __rmatmul__ __imatmul__ |x, y| matmul(x, y);
    "&" __and__ __rand__ __iand__ |x, y| x.bitwise_and(y.operand());
    "|" __or__ __ror__ __ior__ |x, y| x.bitwise_or(y.operand());
    "^" __xor__ __rxor__ __ixor__ |x, y| x.bitwise_xor(y.operand());
    "<<" __lshift__ __rlshift__ __ilshift__ |x, y| x.bitwise_left_shift(y.operand());
    ">>" __rshift__ __rrshift__ __irshift__ |x, y| x.bitwise_right_shift(y.operand());
}

#[pymethods]
impl PyArray {
    fn __pow__(&self, other: Arg, _modulo: Option<&Bound<'_, PyAny>>) -> PyResult<PyArray> {
        check_power(&self.0, &other)?;
        forward(&self.0, &other, power)
    }

    fn __rpow__(&self, other: Arg, _modulo: Option<&Bound<'_, PyAny>>) -> PyResult<PyArray> {
        reflected(&self.0, other, power)
    }

    fn __ipow__(&self, py: Python<'_>, other: Arg, _modulo: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        check_power(&self.0, &other)?;
        in_place(py, &self.0, &other, power, "**")
    }

    fn __divmod__(&self, other: Arg) -> PyResult<(PyArray, PyArray)> {
        Ok((self.__floordiv__(other.clone())?, self.__mod__(other)?))
    }

    fn __neg__(&self) -> PyResult<PyArray> {
        refuse_booleans("negative", "~x", &[self.0.dtype()])?;
        PyArray::done(self.0.negative())
    }

    fn __pos__(&self) -> PyResult<PyArray> {
        PyArray::done(self.0.positive())
    }

    fn __abs__(&self) -> PyResult<PyArray> {
        PyArray::done(self.0.abs())
    }

    fn __invert__(&self) -> PyResult<PyArray> {
        PyArray::done(self.0.bitwise_invert())
    }

    fn __richcmp__<'py>(
        this: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        op: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        let left = &this.get().0;
        let result = match other.extract::<Arg>() {
            Ok(other) => {
                let right = other.operand();
                building(|| match op {
                    CompareOp::Lt => left.less(right),
                    CompareOp::Le => left.less_equal(right),
                    CompareOp::Eq => left.equal(right),
                    CompareOp::Ne => left.not_equal(right),
                    CompareOp::Gt => left.greater(right),
                    CompareOp::Ge => left.greater_equal(right),
                })
            }
            // No element is None or a text, as in NumPy; others may know what a comparison with an array is.
            Err(_) => match op {
                CompareOp::Eq if is_no_element(other) => Array::full(left.shape(), false),
                CompareOp::Ne if is_no_element(other) => Array::full(left.shape(), true),
                _ => return Ok(PyNotImplemented::get(py).to_owned().into_any()),
            },
        };
        Ok(Bound::new(py, PyArray::done(result)?)?.into_any())
    }
}

fn is_no_element(object: &Bound<'_, PyAny>) -> bool {
    object.is_none() || object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>()
}
