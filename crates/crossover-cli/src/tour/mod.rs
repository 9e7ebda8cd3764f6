//! `crossover tour`: typical array code on this machine, timed, held against the roofline and checked.

mod check;
mod measure;
mod roof;
mod table;
mod workload;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use crossover::{Array, DType, random::Key};
use crossover_plan::{Options, Plan};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use self::{
    check::Verdict,
    roof::Roof,
    workload::{Operand, Unit, WORKLOADS, Workload},
};
use crate::{
    doctor::{self, host},
    explain, report,
};

/// Run typical array code on this machine, time it and check every result.
///
/// For each kind of work and size: the median time, the speed, the fraction of the roofline, what limits it, the kinds
/// of kernels it became, and what was checked. The roofline is measured in the same run: memory bandwidth of all
/// threads for a working set of the same size, and the best rate of a large matrix product.
///
/// "limit" says what most of the time goes to: memory (at least 60% of what the memory allows), call (the fixed cost
/// of one evaluation), arithmetic (neither of them explains the time), or matmul (rated against the matrix peak).
/// "checked" compares with the reference: bit for bit on all elements or on a sample, point by point for pi, and
/// within the stated error bound of float64 for matrix products.
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
    all_checked: bool,
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
    shape: Vec<usize>,
    seconds: f64,
    /// Bytes, arithmetic operations or points per second.
    rate: f64,
    unit: &'static str,
    /// Of the measured roof; absent where the work moves no memory to speak of.
    roof_fraction: Option<f64>,
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

/// Seconds that each measurement takes.
struct Budget {
    sample: Duration,
    roof: Duration,
    /// Rows of the matrix product that is taken as the peak.
    matrix: usize,
}

/// Runs the command. True when every result is right.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let begin = Instant::now();
    let chosen: Vec<&Workload> = WORKLOADS
        .iter()
        .filter(|w| arguments.only.is_empty() || arguments.only.iter().any(|name| w.name.contains(name.as_str())))
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = WORKLOADS.iter().map(|w| w.name).collect();
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
    let mut guide = Guide::new(budget)?;
    progress.inc(1);
    let mut results = Vec::new();
    for workload in chosen {
        for size in &workload.sizes[..sizes] {
            progress.set_message(format!("{} {}", workload.title, table::shape(size)));
            let measured = guide.measure(workload, size);
            results.push(measured.with_context(|| format!("{} {}", workload.title, table::shape(size)))?);
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    let tour = Tour {
        version: env!("CARGO_PKG_VERSION"),
        commit: env!("CROSSOVER_COMMIT"),
        quick: arguments.quick,
        cpu: host::cpu().model,
        threads: host::threads(),
        simd: doctor::simd().to_string(),
        gpu: doctor::gpu_line(),
        all_checked: results.iter().all(|r| r.checked.ok),
        roof: guide.peaks(),
        results,
        seconds: begin.elapsed().as_secs_f64(),
    };
    if arguments.json {
        report::json(&tour)?;
    } else {
        report::text(&table::write(&tour, arguments.bars))?;
    }
    Ok(tour.all_checked)
}

/// A bar on standard error; nothing where that is no terminal.
fn progress(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    let style = ProgressStyle::with_template("{bar:30.cyan/dim} {pos:>2}/{len} {msg}").expect("the template is valid");
    bar.set_style(style.progress_chars("━╸─"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Measures, and remembers what the machine can do.
struct Guide {
    budget: Budget,
    roof: Roof,
    call: f64,
    matmul_f32: f64,
    matmul_f64: f64,
}

impl Guide {
    fn new(budget: Budget) -> Result<Guide> {
        let five = Array::from([0.1f32, -1.0, 2.0, 0.5, -3.0]);
        let call = measure::median(budget.sample, || Ok(five.gelu().eval().map(|_| ())?))?;
        let matmul_f32 = matrix_peak(budget.matrix, DType::F32)?;
        let matmul_f64 = matrix_peak(budget.matrix, DType::F64)?;
        let mut roof = Roof::new(host::threads(), budget.roof);
        // One size that fits every second-level cache and one that fits no cache, for the head of the report.
        roof.at(1 << 18);
        roof.at(1 << 28);
        Ok(Guide { roof, call, matmul_f32, matmul_f64, budget })
    }

    fn measure(&mut self, workload: &Workload, size: &[usize]) -> Result<Measured> {
        let operands = workload.prepare(size)?;
        let arrays: Vec<Array> = operands.iter().map(|o| o.array.clone()).collect();
        let plan = Plan::new(&(workload.build)(size, &arrays).graph()?, Options::default())?;
        let seconds = measure::median(self.budget.sample, || {
            (workload.build)(size, &arrays).eval()?;
            Ok(())
        })?;
        let verdict = judged(workload, size, &operands, &arrays)?;
        let (read, written) = plan.launches.iter().fold((0, 0), |sum, l| (sum.0 + l.cost.read, sum.1 + l.cost.written));
        let (amount, unit) = match workload.unit {
            Unit::Bytes => ((read + written) as f64, "bytes/s"),
            Unit::Flops => (plan.launches.iter().map(|l| l.cost.flops as f64).sum(), "flops/s"),
            Unit::Points => (size[0] as f64, "points/s"),
        };
        let roof_fraction = match workload.unit {
            Unit::Bytes => Some(self.roof.at(read + written).floor(read, written) / seconds),
            Unit::Flops if arrays[0].dtype() == DType::F64 => Some(amount / seconds / self.matmul_f64),
            Unit::Flops => Some(amount / seconds / self.matmul_f32),
            Unit::Points => None,
        };
        Ok(Measured {
            workload: workload.name,
            title: workload.title,
            shape: size.to_vec(),
            seconds,
            rate: amount / seconds,
            unit,
            limit: limit(workload.unit, roof_fraction, self.call / seconds),
            roof_fraction,
            kernels: plan.launches.iter().map(|l| explain::kind(&l.kernel)).collect(),
            checked: verdict.into(),
        })
    }

    fn peaks(&self) -> Peaks {
        let bandwidth = self.roof.known().map(|(working_set_bytes, b)| Memory {
            working_set_bytes,
            read_bytes_per_second: b.read,
            copy_bytes_per_second: b.copy,
            write_bytes_per_second: b.write,
        });
        Peaks {
            call_seconds: self.call,
            matmul_f32_flops_per_second: self.matmul_f32,
            matmul_f64_flops_per_second: self.matmul_f64,
            bandwidth: bandwidth.collect(),
        }
    }
}

/// What most of the time goes to.
fn limit(unit: Unit, roof_fraction: Option<f64>, call_share: f64) -> &'static str {
    match (unit, roof_fraction) {
        (_, Some(fraction)) if call_share > 0.4 && call_share > fraction => "call",
        (Unit::Flops, _) => "matmul",
        (_, Some(fraction)) if fraction >= 0.6 => "memory",
        _ => "arithmetic",
    }
}

/// Arithmetic operations per second of the best of several large matrix products.
fn matrix_peak(rows: usize, dtype: DType) -> Result<f64> {
    let matrix = |seed| crossover::random::normal_dtype(&Key::new(seed), [rows, rows], dtype);
    let (a, b) = (matrix(1), matrix(2));
    a.eval()?;
    b.eval()?;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        a.matmul(&b).eval()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(2.0 * (rows as f64).powi(3) / best)
}

/// Computes once more and checks that result.
fn judged(workload: &Workload, size: &[usize], operands: &[Operand], arrays: &[Array]) -> Result<Verdict> {
    let result = (workload.build)(size, arrays);
    check::check(workload, size, operands, &result)
}

impl From<Verdict> for Checked {
    fn from(verdict: Verdict) -> Checked {
        let Verdict { ok, method, compared, elements, difference } = verdict;
        Checked { ok, method, compared, elements, difference }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_what_explains_the_time() {
        assert_eq!(limit(Unit::Bytes, Some(0.9), 0.0), "memory");
        assert_eq!(limit(Unit::Bytes, Some(0.2), 0.1), "arithmetic");
        assert_eq!(limit(Unit::Bytes, Some(0.2), 0.5), "call");
        assert_eq!(limit(Unit::Bytes, Some(0.7), 0.5), "memory");
        assert_eq!(limit(Unit::Flops, Some(0.9), 0.0), "matmul");
        assert_eq!(limit(Unit::Points, None, 0.0), "arithmetic");
    }
}
