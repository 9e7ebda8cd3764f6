//! Arrays that run where they run fastest.
//!
//! Write array code once. Operations are lazy: they build a graph, and when you need values the graph runs as few
//! fused kernels, with results that do not depend on threads, SIMD width or device.
//!
//! ```
//! use crossover::prelude::*;
//!
//! let x = Array::from([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
//! let centred = &x - x.mean(keepdims(1));
//! assert_eq!(centred.to_vec::<f32>()?, [-1.0, 0.0, 1.0, -1.0, 0.0, 1.0]);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Making arrays
//!
//! From host values, or from nothing. The element type decides the dtype.
//!
//! ```
//! # use crossover::prelude::*;
//! let a = Array::from([1i32, 2, 3]); // [3]
//! let b = Array::from_vec(vec![0.5f64; 6], [2, 3]);
//! let c = Array::zeros::<f32>([2, 3]);
//! let d = Array::linspace(0.0, 1.0, 5);
//! let e = Array::arange(10).reshape([2, -1]);
//! assert_eq!((a.dtype(), e.shape().dims()), (DType::I32, &[2, 5][..]));
//! assert_eq!((b + c).dtype(), DType::F64);
//! assert_eq!(d.to_string(), "[0.   0.25 0.5  0.75 1.  ]");
//! ```
//!
//! # Computing
//!
//! Shapes broadcast and dtypes promote as in NumPy 2; host numbers take the dtype of the array beside them.
//!
//! ```
//! # use crossover::prelude::*;
//! let x = Array::linspace(-1.0, 1.0, 3);
//! let y: Array = 1.0 / (1.0 + (-&x).exp()); // one kernel, once somebody asks
//! assert_eq!(y.to_vec::<f64>()?[1], 0.5);
//! let mask = x.greater(0.0);
//! assert_eq!(mask.where_(&x, 0.0).sum(()).item::<f64>()?, 1.0);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Slices, views and assignment
//!
//! Views share storage with their base, and assigning through one shows in all of them.
//!
//! ```
//! # use crossover::prelude::*;
//! let x = Array::arange(12).reshape([3, 4]);
//! assert_eq!(x.slice(s![.., ..; -2]).index(0).to_vec::<i64>()?, [3, 1]);
//! x.slice(s![1.., 0]).fill(-1)?;
//! assert_eq!(x.t().index(0).to_vec::<i64>()?, [0, -1, -1]);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Errors
//!
//! An expression is never interrupted. An error stays in the array, with the place in your code that caused it, and
//! surfaces when you ask for values or call [`check`](Array::check).
//!
//! ```
//! # use crossover::prelude::*;
//! let wrong = Array::from([1.0f32, 2.0]) + Array::from([1.0f32, 2.0, 3.0]);
//! let error = wrong.exp().to_vec::<f32>().unwrap_err();
//! assert!(error.to_string().starts_with("add: shapes [2] and [3] do not fit"));
//! assert_eq!(error.location().file(), file!());
//! ```
//!
//! # Finding mistakes
//!
//! [`find_nan`](Array::find_nan) names the operation and the line that made the first NaN. With `CROSSOVER_EAGER=1` in the
//! environment, or on a runtime made [`eager`](Builder::eager), every operation is computed where it is written; with
//! `CROSSOVER_NAN=1` ([`refuse_nan`](Builder::refuse_nan)) a NaN made of operands without one is an error there.
//!
//! ```
//! # use crossover::prelude::*;
//! let x = Array::from([2.0f32, 0.0]);
//! let y = (&x / &x).log() * 2.0; // 0/0
//! let origin = y.find_nan()?.expect("the second element is NaN");
//! assert_eq!((origin.op(), origin.index()), ("divide", &[1][..]));
//! assert_eq!(origin.location().file(), file!());
//! # Ok::<(), Error>(())
//! ```
//!
//! Plans, launches, transfers and fallbacks are [`tracing`](https://docs.rs/tracing) events with targets `crossover::plan`,
//! `crossover::launch`, `crossover::transfer`, `crossover::memory` and `crossover::fallback`; any subscriber shows them. A program without
//! one has `crossover::log::init()` (feature `log`), which writes to standard error what `CROSSOVER_LOG` asks for. Nothing is ever sent anywhere.
//!
//! # Random numbers
//!
//! Keys are explicit: the same key and shape give the same numbers everywhere.
//!
//! ```
//! # use crossover::prelude::*;
//! let (key, other) = Key::new(42).split();
//! let points = random::uniform::<f32>(&key, [1000, 2]);
//! let inside = points.square().sum(1).less(1.0);
//! let pi = inside.mean(()).item::<f64>()? * 4.0;
//! assert!((pi - 3.14).abs() < 0.3);
//! assert_ne!(key, other);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Files
//!
//! NumPy's `.npy` and `.npz`, safetensors, and arrays whose memory is a mapped file: see [`io`].
//!
//! ```
//! # use crossover::prelude::*;
//! let path = std::env::temp_dir().join(format!("crossover-{}.npy", std::process::id()));
//! Array::linspace(0.0, 1.0, 5).save(&path)?;
//! assert_eq!(Array::load(&path)?.to_vec::<f64>()?[1], 0.25);
//! # std::fs::remove_file(path).ok();
//! # Ok::<(), Error>(())
//! ```
//!
//! Features `ndarray` and `faer` add conversions from and into the types of these crates.
//!
//! # Devices
//!
//! Arrays run on an NVIDIA GPU where there is one and it pays, with the same bits. [`Device`] says where, for a scope
//! ([`with_device`]), for one array ([`to_device`](Array::to_device)) or for the process (`CROSSOVER_DEVICE`).
//!
//! ```
//! # use crossover::prelude::*;
//! let x = Array::linspace(0.0, 1.0, 1000);
//! let y = match x.to_device(Device::Cuda(0)) {
//!     Ok(there) => there.exp(),
//!     Err(reason) => {
//!         println!("computing on the CPU: {reason}");
//!         x.exp()
//!     }
//! };
//! assert_eq!(y.to_vec::<f64>()?[0], 1.0);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Kernels of your own
//!
//! What the library lacks can be written by hand: a closure for the CPU and CUDA source for the GPU, with a checked signature.
//! It is an operation like any other. See [`CustomKernel`] and its [`Builder`](custom::Builder).
//!
//! ```
//! # use crossover::prelude::*;
//! let leaky = CustomKernel::builder("leaky_relu")
//!     .input("x", DType::F32)
//!     .input("slope", DType::F32)
//!     .output("out", DType::F32)
//!     .elementwise("out = x > 0 ? x : slope * x", |x: f32, slope: f32| if x > 0.0 { x } else { slope * x })
//!     .build()?;
//! let y = leaky.call(&[&Array::from([-2.0f32, 3.0]), &Array::scalar(0.5f32)]) + 1.0;
//! assert_eq!(y.to_vec::<f32>()?, [0.0, 4.0]);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Seeing what happens
//!
//! ```
//! # use crossover::prelude::*;
//! let x = Array::from_vec(vec![1.0f32; 4096], [64, 64]);
//! let text = x.softmax(-1).explain()?;
//! assert!(text.starts_with("plan: 1 kernel"));
//! # Ok::<(), Error>(())
//! ```

pub use crossover_array::{
    Alert, AlertKind, AlertWatch, Array, Axes, Batch, Bound, Builder, Complex, CustomKernel, DType, DTypeSet,
    Device, DeviceMemory, DeviceView, Dims, Effort, Element, Error, Evaluation, FloatInfo, GpuLoad, Graph,
    Grid, Growth, HostMemory, HostView, Hysteresis, Index, Indices, IntInfo, KernelEntry, KernelInputs,
    KernelOutput, KernelRecord, Key, Kind, Launches, Limit, MatrixNorm, NanOrigin, Number, Operand, Origin,
    Padding, Pinned, Precision, ProcessAlert, ProcessDecision, ProcessKernel, ProcessMemory, ProcessStats,
    Profile, Recording, Result, Rotary, Rows, Runtime, RuntimeStats, Scalar, Scatter, Setting, Shape, Shifts,
    Side, Simd, Unique, Utilization, around_piled_up_work, bf16, config_files, einsum, eval_all, f16, fft,
    gpu_gaps, gpu_queue, gpus, interruptible, io, keepdims, linalg, memory, par, par_iter, processes, random,
    s, signal, with_device,
};
/// What can be wrong: [`Error::kind`] is a [`Kind`](error::Kind), which names shapes, dtypes, devices and sizes.
///
/// ```
/// use crossover::{error, prelude::*};
/// let wrong = (Array::arange(2) + Array::arange(3)).check().unwrap_err();
/// match wrong.kind() {
///     error::Kind::Invalid(error::Invalid::Shape { op, left, right, .. }) => {
///         assert_eq!((*op, left.dims(), right.dims()), ("add", &[2][..], &[3][..]));
///     }
///     error::Kind::OutOfMemory { requested, .. } => println!("{requested} bytes are too many"),
///     other => panic!("{other}"),
/// }
/// ```
pub mod error {
    /// A request that cannot be met: shapes, dtypes, axes, indices, values.
    pub use crossover_core::Error as Invalid;
    /// Any error, of a request or of a device.
    pub use crossover_runtime::Error as Kind;
}

/// Graphs, ops and the reference interpreter, for tools: arrays need nothing of it.
#[doc(hidden)]
pub use crossover_core as core;
/// Kernels of your own: what [`CustomKernel`] is made of.
pub use crossover_core::custom;
/// Holographic memory: vectors that are bound, superposed, compared and remembered.
#[cfg(feature = "hrr")]
pub use crossover_hrr as hrr;
/// Attention and layers of neural networks, for inference.
///
/// ```
/// use crossover::{nn, prelude::*};
/// let [q, k, v] = [1, 2, 3].map(|seed| random::normal::<f32>(&Key::new(seed), [1, 2, 16, 8]));
/// let out = nn::Attention::new().causal().call(&q, &k, &v);
/// assert_eq!(out.shape().dims(), [1, 2, 16, 8]);
/// ```
#[cfg(feature = "nn")]
pub use crossover_nn as nn;
/// The examples of the document, as tests.
#[cfg(all(doctest, feature = "hrr"))]
#[doc = include_str!("../../../docs/hrr.md")]
struct HrrDocument;
/// Embeddings of tokens and positions.
#[cfg(feature = "embed")]
pub use crossover_embed as embed;
/// Lattices: paths, distance fields, XOR and Walsh–Hadamard transforms.
#[cfg(feature = "lattice")]
pub use crossover_lattice as lattice;
/// Plans: what evaluating a graph will run, for tools.
#[doc(hidden)]
pub use crossover_plan as plan;
/// Buffers and the executor, for tools and backends.
#[doc(hidden)]
pub use crossover_runtime as runtime;

#[cfg(feature = "log")]
pub mod log;

/// Where the time went: sessions, traces, exports and the report page.
///
/// ```
/// use crossover::{prelude::*, profile};
///
/// #[profile::profiled]
/// fn energy(x: &Array) -> Result<f64, Error> {
///     x.square().sum(()).item()
/// }
///
/// let (result, trace) = profile::profile("demo", || energy(&Array::linspace(0.0, 1.0, 10_000)));
/// assert!((result? - 3333.5).abs() < 0.1);
/// assert!((0..trace.spans.len()).any(|span| trace.name_of(span) == "energy"));
/// # Ok::<(), Error>(())
/// ```
pub mod profile {
    pub use crossover_macros::profiled;
    pub use crossover_profile::*;
}

/// What most programs need: `use crossover::prelude::*`.
///
/// ```
/// use crossover::prelude::*;
/// assert_eq!(Array::arange(4).sum(()).item::<i64>()?, 6);
/// # Ok::<(), Error>(())
/// ```
pub mod prelude {
    pub use crate::{
        Array, Complex, CustomKernel, DType, Device, Error, Index, Key, Padding, Runtime, Scatter, Side,
        eval_all, keepdims, random, s,
    };
}
