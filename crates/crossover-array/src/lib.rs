//! Lazy NumPy-like arrays.
//!
//! An [`Array`] is made from host values, by [`creation`](Array::zeros), or by operations on other arrays. Nothing is
//! computed until somebody needs the bytes; then everything that is pending runs as few fused kernels.
//!
//! ```
//! use crossover_array::Array;
//! let x = Array::linspace(0.0, 1.0, 5);
//! assert_eq!((&x * &x).sum(()).item::<f64>()?, 1.875);
//! # Ok::<(), crossover_array::Error>(())
//! ```
//!
//! Errors do not interrupt an expression: they travel inside the array with the place in the code that caused them,
//! and surface when the array is evaluated or [checked](Array::check). See [`Error`].

mod array;
mod assign;
mod axes;
mod compose;
mod convert;
mod creation;
mod elementwise;
mod error;
mod eval;
mod explain;
mod index;
mod join;
mod logic;
mod node;
mod norm;
mod operand;
mod operators;
mod print;
pub mod random;
mod reduce;
mod runtime;
mod scan;
mod views;

pub use array::{Array, eval_all};
pub use axes::{Axes, Dims, keepdims};
pub use crossover_core::{DType, Element, Graph, Kind, Number, Scalar, Shape, compose::MatrixNorm};
pub use crossover_cpu::Simd;
pub use error::{Error, Result};
pub use half::{bf16, f16};
pub use index::{Index, Indices};
pub use num_complex::Complex;
pub use operand::Operand;
pub use random::Key;
pub use runtime::{Builder, Runtime};
