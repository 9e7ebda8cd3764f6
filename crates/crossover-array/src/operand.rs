//! The second operand of an operation: an array or a host number.

use std::borrow::Cow;

use crossover_core::Number;
use half::{bf16, f16};
use num_complex::Complex;

use crate::Array;

/// An array or a host number.
///
/// Host numbers are weak: they take the dtype of the array beside them unless their kind is higher, as Python
/// numbers do in NumPy 2. Methods take `impl Into<Operand>`, so that arrays, references and numbers all work.
///
/// ```
/// use crossover_array::{Array, DType};
/// let x = Array::from([1i8, 2, 3]);
/// assert_eq!(x.add(1).dtype(), DType::I8);
/// assert_eq!(x.add(0.5).dtype(), DType::F64);
/// assert_eq!(x.add(&Array::from([1i32])).dtype(), DType::I32);
/// assert!(x.add(1000).check().is_err()); // does not fit into i8
/// ```
#[derive(Debug, Clone)]
pub enum Operand<'a> {
    /// An array.
    Array(Cow<'a, Array>),
    /// A number of the host.
    Number(Number),
}

impl<'a> From<&'a Array> for Operand<'a> {
    fn from(array: &'a Array) -> Operand<'a> {
        Operand::Array(Cow::Borrowed(array))
    }
}

impl From<Array> for Operand<'_> {
    fn from(array: Array) -> Self {
        Operand::Array(Cow::Owned(array))
    }
}

impl From<Number> for Operand<'_> {
    fn from(number: Number) -> Self {
        Operand::Number(number)
    }
}

/// A bound of [`Array::clip`]: an array, a host number, or `()` for none.
///
/// ```
/// use crossover_array::Array;
/// let x = Array::from([-2.0f32, 0.5, 7.0]);
/// assert_eq!(x.clip(0.0, ()).to_vec::<f32>()?, [0.0, 0.5, 7.0]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Bound<'a>(pub(crate) Option<Operand<'a>>);

impl From<()> for Bound<'_> {
    fn from((): ()) -> Self {
        Bound(None)
    }
}

impl<'a> From<Option<Operand<'a>>> for Bound<'a> {
    fn from(bound: Option<Operand<'a>>) -> Bound<'a> {
        Bound(bound)
    }
}

impl<'a> From<Operand<'a>> for Bound<'a> {
    fn from(bound: Operand<'a>) -> Bound<'a> {
        Bound(Some(bound))
    }
}

impl<'a> From<&'a Array> for Bound<'a> {
    fn from(array: &'a Array) -> Bound<'a> {
        Bound(Some(array.into()))
    }
}

impl From<Array> for Bound<'_> {
    fn from(array: Array) -> Self {
        Bound(Some(array.into()))
    }
}

impl From<Number> for Bound<'_> {
    fn from(number: Number) -> Self {
        Bound(Some(number.into()))
    }
}

macro_rules! from_numbers {
    ($($number:ty)*) => {$(
        impl From<$number> for Operand<'_> {
            fn from(number: $number) -> Self {
                Operand::Number(number.into())
            }
        }

        impl From<$number> for Bound<'_> {
            fn from(number: $number) -> Self {
                Bound(Some(number.into()))
            }
        }
    )*};
}

from_numbers!(bool i8 i16 i32 i64 u8 u16 u32 u64 usize f16 bf16 f32 f64 Complex<f32> Complex<f64>);
