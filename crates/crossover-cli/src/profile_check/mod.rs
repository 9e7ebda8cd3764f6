//! `crossover profile-check`: what profiling costs on this machine, and whether its traces show what happens at once.
//!
//! For those who work on the profiler: figures as JSON, measured with both states interleaved. Nothing here is a test; a test that fails when
//! the machine is busy proves nothing.

mod costs;
mod kernels;
mod overlap;
mod seeds;

use std::path::PathBuf;

use anyhow::Result;

use crate::report;

/// Measure what profiling costs, or record copies beside kernels.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Nanoseconds per span, and typical work with a session against without
    Costs {
        /// Which work
        #[arg(long, value_enum, default_value_t = costs::Suite::Seeds)]
        suite: costs::Suite,
        /// Of `kernels`: elements of the largest operand
        #[arg(long, default_value_t = 1_000_000)]
        elements: usize,
        /// Pairs of measurements per workload
        #[arg(long, default_value_t = 15)]
        rounds: usize,
        /// Only workloads whose name contains this
        #[arg(long, default_value = "")]
        only: String,
        /// Leave out what takes seconds
        #[arg(long)]
        quick: bool,
    },
    /// Compute while copies are under way, keep the trace, and say how much of the copying kernels hid
    Overlap {
        /// Where the trace goes
        #[arg(short, long, value_name = "TRACE.json")]
        output: PathBuf,
        /// MiB of each operand
        #[arg(long, default_value_t = 256)]
        megabytes: usize,
    },
    /// Say of a trace how much of its copying kernels hid
    OverlapOf {
        /// The trace
        #[arg(value_name = "TRACE.json")]
        trace: PathBuf,
    },
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<bool> {
    match &arguments.what {
        What::Costs { suite, elements, rounds, only, quick } => {
            let (suite, elements, rounds, quick) = (*suite, *elements, (*rounds).max(3), *quick);
            report::json(&costs::measure(&costs::Wanted { suite, elements, rounds, only, quick })?)?;
        }
        What::Overlap { output, megabytes } => report::json(&overlap::record(output, *megabytes)?)?,
        What::OverlapOf { trace } => report::json(&overlap::read(trace)?)?,
    }
    Ok(true)
}
