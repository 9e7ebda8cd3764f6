//! Lazy NumPy-like arrays.
//!
//! ```
//! use crossover_array::Array;
//! let x = Array::linspace(0.0, 1.0, 5);
//! println!("{}", (&x * &x).sum(()));
//! ```

mod array;
mod convert;
mod error;
mod eval;
mod node;
mod runtime;

pub use array::Array;
pub use crossover_core::{DType, Element, Number, Scalar, Shape};
pub use crossover_cpu::Simd;
pub use error::{Error, Result};
pub use runtime::{Builder, Runtime};
