//! Many things at once: parallel iterators, arrays in batches, tasks.
//!
//! [`par_iter`] shares items among threads; results come in the order of the items. Its [`gpu_map`](ParIter::gpu_map) takes a function
//! of one array, traces it once per shape, and runs one plan over all arrays of that shape. [`Batch`] does so for the usual
//! operations on a list of arrays. [`scope`] and [`spawn`] start tasks whose panics stay with them.
//!
//! ```
//! use crossover_array::{Array, par_iter};
//! let squares: Vec<u64> = par_iter(0..1000u64).map(|n| n * n).filter(|n| n % 2 == 0).collect();
//! assert_eq!((squares.len(), squares[1]), (500, 4));
//!
//! let arrays: Vec<Array> = (0..100).map(|i| Array::full([1000], i as f32)).collect();
//! let means = par_iter(arrays).gpu_map(|x| (x * 2.0 + 1.0).mean(())).collect()?;
//! assert_eq!(means[7].item::<f32>()?, 15.0);
//! # Ok::<(), crossover_array::Error>(())
//! ```
//!
//! What always holds: threads work on the runtime and the device of whoever asked. Results, also of [`sum`](ParIter::sum) and
//! [`reduce`](ParIter::reduce), do not depend on the number of threads.

mod batch;
mod carry;
mod gpu;
mod group;
mod iter;
mod jobs;
mod leading;
mod pieces;
mod tasks;
mod telemetry;
mod traced;
mod work;

pub use batch::{Batch, BatchStats};
pub use gpu::{GpuMap, GpuReport};
pub use iter::{ParIter, par_iter};
pub use jobs::{Failure, Jobs, Policy, Progress, Report};
pub use pieces::Pieces;
pub use tasks::{Panicked, Scope, Task, scope, spawn};
pub use telemetry::Telemetry;
