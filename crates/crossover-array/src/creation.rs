//! Arrays from host values and from nothing.

use std::panic::Location;

use crossover_core::{
    DType, Element, Error, Number, Scalar, Shape,
    compose::{self, Build},
    graph::{Op, Type},
};
use crossover_runtime::Buffer;
use half::{bf16, f16};
use num_complex::Complex;
use smallvec::smallvec;

use crate::{
    Array, convert,
    node::{Arg, Node, State},
    runtime::Runtime,
};

impl Array {
    /// An array of these values in row-major order.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from_vec(vec![1.0f32, 2.0, 3.0, 4.0], [2, 2]);
    /// assert_eq!(x.to_string(), "[[1. 2.]\n [3. 4.]]");
    /// assert!(Array::from_vec(vec![1.0f32], [2, 2]).check().is_err());
    /// ```
    #[track_caller]
    pub fn from_vec<T: Element>(values: Vec<T>, shape: impl Into<Shape>) -> Array {
        Array::copied("from_vec", &values, shape.into(), Location::caller())
    }

    /// An array of a copy of these values in row-major order.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from_slice(&[1u8, 2, 3, 4, 5, 6], [3, 2]);
    /// assert_eq!(x.index(2).to_vec::<u8>()?, [5, 6]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn from_slice<T: Element>(values: &[T], shape: impl Into<Shape>) -> Array {
        Array::copied("from_slice", values, shape.into(), Location::caller())
    }

    /// An array without axes.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::scalar(2.5f64).to_string(), "2.5");
    /// ```
    #[track_caller]
    pub fn scalar<T: Element>(value: T) -> Array {
        Array::build([], |b, []| Ok(b.scalar(value.to_scalar())))
    }

    /// Zeros. Nothing is stored until the array is evaluated, and nothing at all where it is fused.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::zeros::<f32>([2, 2]).to_vec::<f32>()?, [0.0; 4]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn zeros<T: Element>(shape: impl Into<Shape>) -> Array {
        Array::full_dtype(shape, 0, T::DTYPE)
    }

    /// Zeros of a dtype that is known at run time.
    ///
    /// ```
    /// # use crossover_array::{Array, DType};
    /// assert_eq!(Array::zeros_dtype([3], DType::BF16).dtype(), DType::BF16);
    /// ```
    #[track_caller]
    pub fn zeros_dtype(shape: impl Into<Shape>, dtype: DType) -> Array {
        Array::full_dtype(shape, 0, dtype)
    }

    /// Zeros with the shape and dtype of this array.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([1i16, 2]).zeros_like().to_vec::<i16>()?, [0, 0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn zeros_like(&self) -> Array {
        if let Some(error) = self.failure() {
            return Array::failed(error);
        }
        let (dtype, shape) = (self.dtype(), self.shape().clone());
        let state = match shape.rank() {
            0 => State::Scalar(Scalar::zero(dtype)),
            _ => State::Pending {
                op: Op::Expand(shape.clone()),
                args: smallvec![Arg::Scalar(Scalar::zero(dtype))],
            },
        };
        Array::from_node(Node::new(Type { dtype, shape }, state, Location::caller()))
    }

    /// Ones.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::ones::<i64>([5]).sum(()).item::<i64>()?, 5);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn ones<T: Element>(shape: impl Into<Shape>) -> Array {
        Array::full_dtype(shape, 1, T::DTYPE)
    }

    /// Ones of a dtype that is known at run time.
    ///
    /// ```
    /// # use crossover_array::{Array, DType};
    /// assert_eq!(Array::ones_dtype((), DType::C64).to_string(), "(1+0j)");
    /// ```
    #[track_caller]
    pub fn ones_dtype(shape: impl Into<Shape>, dtype: DType) -> Array {
        Array::full_dtype(shape, 1, dtype)
    }

    /// Ones with the shape and dtype of this array.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([7.0f32, 8.0]).ones_like().to_vec::<f32>()?, [1.0, 1.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn ones_like(&self) -> Array {
        self.failure().map_or_else(|| Array::full_dtype(self.shape(), 1, self.dtype()), Array::failed)
    }

    /// One value everywhere.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::full([3], 7u8).to_vec::<u8>()?, [7, 7, 7]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn full<T: Element>(shape: impl Into<Shape>, value: T) -> Array {
        let shape = shape.into();
        Array::build([], |b, []| {
            let shape = Shape::checked("full", shape.iter().copied())?;
            let one = b.scalar(value.to_scalar());
            compose::expand(b, &one, &shape)
        })
    }

    /// One number everywhere, with the shape and dtype of this array.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([1i16, 2]).full_like(7).to_vec::<i16>()?, [7, 7]);
    /// assert!(Array::from([1u8]).full_like(300).check().is_err());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn full_like(&self, value: impl Into<Number>) -> Array {
        match self.failure() {
            Some(error) => Array::failed(error),
            None => Array::full_dtype(self.shape(), value, self.dtype()),
        }
    }

    /// One number everywhere, as a dtype that is known at run time.
    ///
    /// ```
    /// # use crossover_array::{Array, DType};
    /// assert_eq!(Array::full_dtype([2], 0.5, DType::F16).to_string(), "[0.5 0.5]");
    /// assert!(Array::full_dtype([2], 300, DType::U8).check().is_err());
    /// ```
    #[track_caller]
    pub fn full_dtype(shape: impl Into<Shape>, value: impl Into<Number>, dtype: DType) -> Array {
        let (shape, value) = (shape.into(), value.into());
        Array::build([], |b, []| {
            let shape = Shape::checked("full", shape.iter().copied())?;
            let one = b.scalar(fitting("full", value, dtype)?);
            compose::expand(b, &one, &shape)
        })
    }

    /// 0, 1, … below `stop`, as `i64`.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::arange(4).to_vec::<i64>()?, [0, 1, 2, 3]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn arange(stop: i64) -> Array {
        Array::arange_from(0, stop, 1, DType::I64)
    }

    /// `start`, `start + step`, … as long as it is before `stop`. Without fractions in the dtype, `start` and `step` are whole
    /// numbers and every element fits into it.
    ///
    /// ```
    /// # use crossover_array::{Array, DType};
    /// assert_eq!(Array::arange_from(1.0, 2.0, 0.25, DType::F32).to_string(), "[1.   1.25 1.5  1.75]");
    /// assert_eq!(Array::arange_from(5, 0, -2, DType::I32).to_vec::<i32>()?, [5, 3, 1]);
    /// assert!(Array::arange_from(0, 300, 1, DType::U8).check().is_err());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn arange_from(
        start: impl Into<Number>,
        stop: impl Into<Number>,
        step: impl Into<Number>,
        dtype: DType,
    ) -> Array {
        let (start, stop, step) = (start.into(), stop.into(), step.into());
        Array::build([], |b, []| compose::arange(b, start, stop, step, dtype))
    }

    /// `count` numbers from `start` to `stop`, both included, as `f64`.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::linspace(0.0, 1.0, 5).to_vec::<f64>()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn linspace(start: f64, stop: f64, count: usize) -> Array {
        Array::linspace_dtype(start, stop, count, DType::F64)
    }

    /// `count` numbers from `start` to `stop`, both included; computed in `f64` and rounded once, integers down. Both ends fit
    /// into the dtype.
    ///
    /// ```
    /// # use crossover_array::{Array, DType};
    /// assert_eq!(Array::linspace_dtype(0.0, 9.0, 4, DType::I32).to_vec::<i32>()?, [0, 3, 6, 9]);
    /// assert_eq!(Array::linspace_dtype(-5.0, 0.0, 4, DType::I32).to_vec::<i32>()?, [-5, -4, -2, 0]);
    /// assert!(Array::linspace_dtype(0.0, 256.0, 4, DType::U8).check().is_err());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn linspace_dtype(start: f64, stop: f64, count: usize, dtype: DType) -> Array {
        Array::build([], |b, []| compose::linspace(b, start, stop, count, true, dtype))
    }

    /// As [`linspace_dtype`](Array::linspace_dtype) without `stop` itself: `count` numbers from `start` on, of which the next
    /// would be `stop`.
    ///
    /// ```
    /// # use crossover_array::{Array, DType};
    /// assert_eq!(Array::linspace_before(0.0, 1.0, 4, DType::F32).to_vec::<f32>()?, [0.0, 0.25, 0.5, 0.75]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn linspace_before(start: f64, stop: f64, count: usize, dtype: DType) -> Array {
        Array::build([], |b, []| compose::linspace(b, start, stop, count, false, dtype))
    }

    /// The identity matrix.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::eye::<f32>(2).to_vec::<f32>()?, [1.0, 0.0, 0.0, 1.0]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn eye<T: Element>(n: usize) -> Array {
        Array::eye_dtype(n, n, 0, T::DTYPE)
    }

    /// Ones on one diagonal, zeros elsewhere; a positive `offset` moves the diagonal to the right.
    ///
    /// ```
    /// # use crossover_array::{Array, DType};
    /// let x = Array::eye_dtype(2, 3, 1, DType::I64);
    /// assert_eq!(x.to_vec::<i64>()?, [0, 1, 0, 0, 0, 1]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn eye_dtype(rows: usize, columns: usize, offset: i64, dtype: DType) -> Array {
        Array::build([], |b, []| compose::eye(b, rows, columns, offset, dtype))
    }

    /// An array of a copy of `values`.
    pub(crate) fn copied<T: Element>(
        op: &'static str,
        values: &[T],
        shape: Shape,
        location: &'static Location<'static>,
    ) -> Array {
        let shape = match Shape::checked(op, shape.iter().copied()) {
            Ok(shape) if shape.size() == values.len() => shape,
            Ok(right) => {
                let why = "the shape must have as many elements as there are values";
                return Array::wrong(
                    Error::Shape { op, left: Shape::from([values.len()]), right, why },
                    location,
                );
            }
            Err(error) => return Array::wrong(error, location),
        };
        match Buffer::from_bytes(Runtime::current().machine(), convert::bytes_of(values)) {
            Ok(buffer) => Array::from_buffer(buffer, Type { dtype: T::DTYPE, shape }, location),
            Err(error) => Array::wrong(error, location),
        }
    }
}

/// A number as a value of a dtype it fits into.
pub(crate) fn fitting(
    op: &'static str,
    value: Number,
    dtype: DType,
) -> crossover_core::Result<crossover_core::Scalar> {
    if value.overflows(dtype) {
        return Err(Error::Value { op, what: format!("{value:?} does not fit into {dtype}") });
    }
    compose::check_cast(value.default_dtype(), dtype)?;
    Ok(value.to_scalar(dtype))
}

// One set of impls per element type: a generic one over `T: Element` would overlap with itself for nested arrays.
macro_rules! from_values {
    ($($element:ty)*) => {$(
        impl From<$element> for Array {
            #[track_caller]
            fn from(value: $element) -> Array {
                Array::scalar(value)
            }
        }

        impl From<Vec<$element>> for Array {
            #[track_caller]
            fn from(values: Vec<$element>) -> Array {
                Array::copied("from", &values, Shape::from([values.len()]), Location::caller())
            }
        }

        impl From<&[$element]> for Array {
            #[track_caller]
            fn from(values: &[$element]) -> Array {
                Array::copied("from", values, Shape::from([values.len()]), Location::caller())
            }
        }

        impl<const N: usize> From<[$element; N]> for Array {
            #[track_caller]
            fn from(values: [$element; N]) -> Array {
                Array::copied("from", &values, Shape::from([N]), Location::caller())
            }
        }

        impl<const N: usize, const M: usize> From<[[$element; M]; N]> for Array {
            #[track_caller]
            fn from(values: [[$element; M]; N]) -> Array {
                Array::copied("from", values.as_flattened(), Shape::from([N, M]), Location::caller())
            }
        }

        impl<const N: usize, const M: usize, const K: usize> From<[[[$element; K]; M]; N]> for Array {
            #[track_caller]
            fn from(values: [[[$element; K]; M]; N]) -> Array {
                let flat = values.as_flattened().as_flattened();
                Array::copied("from", flat, Shape::from([N, M, K]), Location::caller())
            }
        }
    )*};
}

from_values!(bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 Complex<f32> Complex<f64>);
