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

mod ahead;
mod alerts;
mod array;
mod assign;
mod axes;
mod blame;
mod compose;
mod config;
mod contract;
mod convert;
mod count;
mod creation;
mod custom;
mod cut;
mod debug;
mod device;
mod elementwise;
mod error;
mod eval;
mod explain;
mod few;
pub mod fft;
mod footprint;
mod host;
mod index;
mod interop;
mod interrupt;
pub mod io;
mod join;
pub mod linalg;
mod load;
mod logic;
mod lookup;
mod mask;
mod monitor;
mod neighbour;
mod node;
mod norm;
mod operand;
mod operators;
mod order;
pub mod par;
mod pinned;
mod pressure;
mod print;
mod profiles;
mod publish;
pub mod random;
mod rearrange;
mod reduce;
mod rotary;
mod rows;
mod runtime;
mod scan;
mod select;
mod sets;
pub mod signal;
mod status;
mod views;

pub use ahead::Evaluation;
pub use alerts::{Alert, AlertKind};
pub use array::{Array, eval_all};
pub use axes::{Axes, Dims, Shifts, keepdims};
pub use config::{Origin, Precision, Setting, config_files};
pub use contract::einsum;
pub use crossover_core::{
    DType, DTypeSet, Element, FloatInfo, Graph, IntInfo, Kind, Number, Scalar, Shape,
    compose::{MatrixNorm, Padding},
    custom::{CustomKernel, Grid, Inputs as KernelInputs, Launches, Output as KernelOutput},
};
pub use crossover_cpu::Simd;
pub use crossover_cuda::GpuLoad;
pub use crossover_runtime::{
    DeviceMemory, Hysteresis, KernelEntry, KernelRecord, Profile, Recording,
    calibrate::Effort,
    memory::{self, Growth, Limit},
};
pub use debug::NanOrigin;
pub use device::{Device, current_device, gpu_gaps, gpus, with_device};
pub use error::{Error, Result};
pub use half::{bf16, f16};
pub use host::{HostMemory, HostView};
pub use index::{Index, Indices};
pub use interrupt::{around_piled_up_work, interruptible};
pub use load::Utilization;
pub use lookup::Scatter;
pub use monitor::AlertWatch;
pub use neighbour::{DeviceView, gpu_queue};
pub use num_complex::Complex;
pub use operand::{Bound, Operand};
pub use order::Side;
pub use par::{Batch, par_iter};
pub use pinned::Pinned;
pub use publish::{ProcessAlert, ProcessDecision, ProcessKernel, ProcessMemory, ProcessStats, processes};
pub use random::Key;
pub use rotary::Rotary;
pub use rows::Rows;
pub use runtime::{Builder, Runtime};
pub use sets::Unique;
pub use status::RuntimeStats;
