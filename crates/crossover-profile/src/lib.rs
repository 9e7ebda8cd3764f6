//! Where the time went.
//!
//! ```
//! use crossover_array::Array;
//! use crossover_profile::{profile, scope};
//!
//! let (total, trace) = profile("first look", || {
//!     let x = Array::linspace(0.0, 1.0, 100_000);
//!     let _span = scope("sum of squares");
//!     x.square().sum(()).item::<f64>()
//! });
//! assert!((total? - 33_333.8).abs() < 1.0);
//! assert!(trace.spans.len() > 1);
//! println!("{}", trace.summary());
//! # Ok::<(), crossover_array::Error>(())
//! ```
//!
//! A [`Trace`] is a value: [`to_json`](Trace::to_json) keeps it, [`export`] turns it into what other programs read, and
//! [`page::render`] makes it a page that explains itself. [`bench`] measures, keeps and compares times of whole workloads.

mod advice;
pub mod bench;
mod breakdown;
mod check;
mod distinct;
pub mod export;
mod figures;
mod gather;
mod kind;
pub mod metrics;
pub mod page;
mod problem;
mod session;
mod summary;
mod table;
mod trace;

pub use breakdown::{Breakdown, Overlap};
pub use crossover_runtime::trace::{Scope, scope};
pub use figures::{Bound, KernelFigures};
pub use kind::SpanKind;
pub use problem::Problem;
pub use session::{Session, profile};
pub use table::{Events, Kernels, Launches, Memory, Spans, Transfers};
pub use trace::{Advice, Machine, MachineDevice, Trace, Track, TrackKind};
