//! `crossover tour`: typical array code on this machine, timed, held against the roofline and checked.

mod check;
pub mod disturbance;
mod guide;
mod headlines;
mod measure;
mod precision;
pub mod roof;
mod table;
mod workload;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use self::{
    check::Verdict,
    disturbance::Snapshot,
    guide::{Budget, Guide},
    workload::{WORKLOADS, Workload},
};
use crate::{
    doctor::{self, host},
    report,
};

/// Run typical array code on this machine, time it and check every result.
///
/// For each kind of work and size: the median time, the speed, the fraction of the roofline, what limits it, the kinds
/// of kernels it became, and what was checked.
///
/// The roofline is measured in the same run. Nothing is faster than moving its bytes (bandwidth of all threads for a
/// working set of that size), nor than its arithmetic (what one thread reaches on the smallest size, in cache, times the
/// threads); a matrix product is held against the best rate of any. A roof that work of the run goes through is raised to
/// what that work reaches. "limit" is the one of these that is higher, or call:
/// most of the time is the fixed cost of one evaluation.
///
/// "checked" compares with the reference: bit for bit on all elements or on a sample, point by point for pi, and
/// within the stated error bound of float64 for matrix products.
///
/// At the end, embeddings in f32, mixed_f16 and mixed_bf16: time, bytes of the table and of the result, and the largest
/// difference from float64; then what the projects in docs/seeds put first, each checked, beside the times that they state.
///
/// The exit status is 1 if any result is wrong.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Leave out the largest sizes and measure for a shorter time: a few seconds in all
    #[arg(long)]
    quick: bool,
    /// Only work whose name contains this; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
    /// How bars are drawn; auto draws blocks on a terminal and ASCII elsewhere
    #[arg(long, value_enum, default_value_t = table::Bars::Auto)]
    bars: table::Bars,
}

const EXAMPLES: &str = "\
Examples:
  crossover tour                       everything, under a minute
  crossover tour --quick               small sizes, a few seconds
  crossover tour --only norm           layer norm
  crossover tour --json > tour.json    for programs; docs/json.md describes the shape";

/// The JSON shape; see docs/json.md.
#[derive(Serialize)]
struct Tour {
    version: &'static str,
    commit: &'static str,
    quick: bool,
    cpu: String,
    threads: usize,
    simd: String,
    gpu: String,
    roof: Peaks,
    results: Vec<Measured>,
    /// Embeddings in three precisions.
    precisions: Vec<precision::Row>,
    /// What the seeds put first.
    headlines: Vec<headlines::Row>,
    all_checked: bool,
    /// Share of the processors that other programs used meanwhile.
    others: Option<f64>,
    seconds: f64,
}

/// What the machine can do, as measured in this run.
#[derive(Serialize)]
struct Peaks {
    /// Evaluating GELU of five elements whose plan is known.
    call_seconds: f64,
    matmul_f32_flops_per_second: f64,
    matmul_f64_flops_per_second: f64,
    bandwidth: Vec<Memory>,
}

#[derive(Serialize)]
struct Memory {
    working_set_bytes: u64,
    read_bytes_per_second: f64,
    copy_bytes_per_second: f64,
    write_bytes_per_second: f64,
}

/// One row of the table.
#[derive(Serialize)]
struct Measured {
    workload: &'static str,
    #[serde(skip)]
    title: &'static str,
    /// Bytes that are moved.
    #[serde(skip)]
    moved: u64,
    shape: Vec<usize>,
    seconds: f64,
    /// Bytes, arithmetic operations or points per second.
    rate: f64,
    unit: &'static str,
    /// Seconds the roof allows over seconds taken: the largest of those that follow, at most 1.
    roof_fraction: f64,
    /// Of moving the bytes, of the arithmetic, and of the best matrix product; those that apply.
    memory_fraction: Option<f64>,
    arithmetic_fraction: Option<f64>,
    matmul_fraction: Option<f64>,
    limit: &'static str,
    /// Kinds of the kernels of the plan, in order.
    kernels: Vec<&'static str>,
    checked: Checked,
}

#[derive(Serialize)]
struct Checked {
    ok: bool,
    method: &'static str,
    compared: usize,
    elements: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<String>,
}

/// Runs the command. True when every result is right.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let (begin, before) = (Instant::now(), Snapshot::now());
    let wanted = |name: &str| {
        arguments.only.is_empty() || arguments.only.iter().any(|only| name.contains(only.as_str()))
    };
    let chosen: Vec<&Workload> = WORKLOADS.iter().filter(|w| wanted(w.name)).collect();
    let (embeds, heads) = (wanted(precision::NAME), wanted(headlines::NAME));
    if chosen.is_empty() && !embeds && !heads {
        let more = [precision::NAME, headlines::NAME];
        let names: Vec<&str> = WORKLOADS.iter().map(|w| w.name).chain(more).collect();
        anyhow::bail!("no work is named like that; there are {}", names.join(", "));
    }
    let budget = if arguments.quick {
        Budget { sample: Duration::from_millis(40), roof: Duration::from_millis(2), matrix: 768 }
    } else {
        Budget { sample: Duration::from_millis(400), roof: Duration::from_millis(8), matrix: 1536 }
    };
    let sizes = if arguments.quick { 2 } else { 3 };
    let progress = progress(chosen.len() * sizes + 1);
    progress.set_message("what the machine can do");
    let sample = budget.sample;
    let mut guide = Guide::new(budget)?;
    progress.inc(1);
    let mut results = Vec::new();
    for workload in chosen {
        progress.set_message(format!("{} on one thread", workload.title));
        let pace = guide.pace(workload).with_context(|| format!("{} on one thread", workload.title))?;
        for size in &workload.sizes[..sizes] {
            progress.set_message(format!("{} {}", workload.title, table::shape(size)));
            let measured = guide.measure(workload, size, pace);
            results.push(measured.with_context(|| format!("{} {}", workload.title, table::shape(size)))?);
            progress.inc(1);
        }
    }
    progress.set_message("embeddings in three precisions");
    let precisions = if embeds { precision::rows(arguments.quick, sample)? } else { Vec::new() };
    progress.set_message("what others put first");
    let headlines = if heads { headlines::rows(sample / 2)? } else { Vec::new() };
    progress.finish_and_clear();
    let others = before.and_then(Snapshot::others_since);
    guide.rate(&mut results);
    let tour = Tour {
        version: env!("CARGO_PKG_VERSION"),
        commit: env!("CROSSOVER_COMMIT"),
        quick: arguments.quick,
        cpu: host::cpu().model,
        threads: host::threads(),
        simd: doctor::simd().to_string(),
        gpu: doctor::gpu_line(),
        all_checked: results.iter().all(|r| r.checked.ok)
            && precisions.iter().all(precision::Row::is_right)
            && headlines.iter().all(headlines::Row::is_right),
        roof: guide.peaks(),
        results,
        precisions,
        headlines,
        others,
        seconds: begin.elapsed().as_secs_f64(),
    };
    if arguments.json {
        report::json(&tour)?;
    } else {
        let more = precision::text(&tour.precisions) + &headlines::text(&tour.headlines);
        report::text(&(table::write(&tour, arguments.bars) + &more + &table::next(&tour)))?;
    }
    Ok(tour.all_checked)
}

/// A bar on standard error; nothing where that is no terminal.
fn progress(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    let style = ProgressStyle::with_template("{bar:30.cyan/dim} {pos:>2}/{len} {msg}")
        .expect("the template is valid");
    bar.set_style(style.progress_chars("━╸─"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

impl From<Verdict> for Checked {
    fn from(verdict: Verdict) -> Checked {
        let Verdict { ok, method, compared, elements, difference } = verdict;
        Checked { ok, method, compared, elements, difference }
    }
}
