//! Benchmarks that can be trusted: measure, keep, compare.
//!
//! [`measure`] times a call, a [`Run`] keeps what many took together with the machine it was measured on, and two runs are
//! compared by [`files`] or, better, two programs by [`race`], which starts them in turns. A program of yours takes part with a
//! [`Suite`]:
//!
//! ```
//! use crossover_array::Array;
//! use crossover_profile::bench::{Budget, Settings, Suite, files};
//!
//! let x = Array::linspace(0.0, 1.0, 1000);
//! let mut suite = Suite::new("mine");
//! suite.add("sum of squares", || x.square().sum(()).eval().map(drop));
//! let run = suite.run(&Budget::quick(), |_| true)?;
//! let comparison = files(&run, &run, &Settings::default())?;
//! assert_eq!(comparison.results[0].ratio, 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What always holds: the same samples give the same verdicts, on every machine.

mod compare;
mod fingerprint;
mod measure;
mod numbers;
mod race;
mod run;
pub mod sheet;
mod suite;

pub use compare::{Comparison, Judged, Mismatch, Settings, Verdict, files, rounds};
pub use fingerprint::{Difference, Fingerprint};
pub use measure::{Budget, Timing, measure};
pub use race::{Contender, Race, RaceError, race};
pub use run::{Claim, Entry, Run, RunProblem};
pub use suite::Suite;
