//! Proof that generated kernels give the same bits on a GPU as the op bodies give on the host.
//!
//! Uses `crossover-core` alone for what is right: the same bodies, instantiated with machine scalars, and a scalar
//! interpreter of fused kernels.

pub mod apply;
pub mod calls;
pub mod cases;
pub mod custom;
mod dense;
pub mod generate;
mod host;
pub mod interpreter;
pub mod planned;
pub mod random;
mod report;
mod session;
mod timing;

use std::time::Instant;

pub use report::{Host, Report, Section};
use session::Session;

use crate::Result;

/// What to run, and for how long.
#[derive(Debug, Clone)]
pub struct Options {
    /// Fewer points everywhere.
    pub quick: bool,
    /// Only sections whose name contains this.
    pub only: Option<String>,
    /// Seconds after which no new piece of work is started.
    pub seconds: u64,
    /// Random kernels.
    pub cases: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { quick: false, only: None, seconds: 420, cases: 600 }
    }
}

/// Runs every section asked for on device 0, printing progress. `keep` gets what is known after every part, with the seconds
/// so far, so that a later part that hangs or dies loses nothing.
pub fn run(options: &Options, keep: impl Fn(&Report, f64)) -> Result<Report> {
    let start = Instant::now();
    let session = Session::open(start, options.seconds)?;
    session.introduce();
    let mut report = Report::new(session.describe());
    type Part = fn(&Session, &Options) -> Result<Vec<Section>>;
    let parts: [(&str, Part); 6] = [
        ("timing", timing::run),
        ("cases", cases::random_kernels),
        ("ops", cases::ops),
        ("casts", cases::casts),
        ("exhaustive", dense::exhaustive),
        ("pairs", dense::random_points),
    ];
    for (name, part) in parts {
        if options.only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        println!("== {name}");
        match part(&session, options) {
            Ok(sections) => report.sections.extend(sections),
            Err(error) => report.failures.push(format!("{name}: {error}")),
        }
        keep(&report, start.elapsed().as_secs_f64());
    }
    Ok(report)
}
