//! `crossover bench`: suites of workloads and grids of the user's, timed, held against the roofline, checked and kept.

pub mod calls;
mod error;
mod floors;
pub mod gauge;
mod list;
mod memory;
mod page;
mod peers;
pub mod suites;
mod table;
mod workloads;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use crossover::profile::bench::{Budget, Comparison, Fingerprint, Mismatch, Run, Settings, Verdict, files};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use self::{
    floors::{Answer, Floors},
    gauge::Gauge,
    peers::Peers,
    suites::Range,
};
use crate::{NoGpu, compare, report, tour::disturbance::Snapshot, units};

/// Time workloads on the CPU and on the GPU, keep the figures, hold them against others.
///
/// For each workload and size: the median on the CPU and on the GPU, operands lying there already; how many times faster the GPU is; the
/// share of the roofline that is reached (moving every byte at the measured bandwidth, products at the best rate of a product); the spread (distance of the
/// quartiles, as a share of the median); the first call, cold; and the largest error against float64, as a share of the largest value.
///
/// Suites: `core`, a spread of everything; `nn`, neural networks; `seeds`, the headline figures that others state, ours beside them; `grid`, any workload at any
/// sizes; `memory`, what arrays and expressions take.
///
/// The exit status is 1 when a floor of --require is missed or something is slower than --against, 3 when a floor could not be checked for want
/// of a GPU. docs/benchmarking.md tells more.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// What to measure
    #[arg(value_enum, default_value_t = Suite::Core)]
    suite: Suite,
    /// Of a grid: the workload; may be repeated
    #[arg(long, value_name = "NAME")]
    workload: Vec<String>,
    /// Of a grid: a number of the workload and the values it takes; may be repeated
    #[arg(long, value_name = "NAME=1,2,3")]
    param: Vec<Range>,
    /// Only workloads whose name contains this; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Measure for a tenth of the time, and leave out what takes seconds
    #[arg(long)]
    quick: bool,
    /// Show what can be measured, and measure nothing
    #[arg(long)]
    list: bool,
    /// Fail where a floor of this file is missed
    #[arg(long, value_name = "FLOORS.toml")]
    require: Option<PathBuf>,
    /// Keep the figures
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Compare with figures that were kept
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Compare with figures of another machine too
    #[arg(long)]
    force: bool,
    /// Time NumPy, numexpr, PyTorch, CuPy and JAX too, those that a Python has
    #[arg(long)]
    peers: bool,
    /// The Python that has them; python3 when not given
    #[arg(long, value_name = "PROGRAM", env = "CROSSOVER_PYTHON")]
    python: Option<PathBuf>,
    /// Only times: leave out errors and the roofline
    #[arg(long)]
    times: bool,
    /// Write a page of it
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  crossover bench --quick                       a first look, some seconds
  crossover bench --save before.json            keep the figures; later: --against before.json
  crossover bench seeds                         what others state, and ours beside it
  crossover bench grid --workload bind --param d=512,1024 --param batch=1,10,100
  crossover bench --only norm --peers           beside NumPy, PyTorch, …
  crossover bench --require floors.toml         status 1 where a floor is missed
  crossover bench memory                        live, cached, reserved; fused against unfused
  crossover bench --html bench.html             a page to look at
  crossover bench --json | jq '.results[] | {name, efficiency}'

A floor:                                        docs/benchmarking.md
  [[floor]]
  work = \"gelu\"
  speedup = 10.0                                # GPU over CPU, at least
  over = { numpy = 2.0 }                        # with --peers";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// A spread of everything
    Core,
    /// Neural networks: activations, norms, attention, a transformer layer
    Nn,
    /// Headline figures that others state
    Seeds,
    /// Any workload at any sizes
    Grid,
    /// What arrays and expressions take
    Memory,
}

/// What is printed with `--json`: the run as `--save` keeps it, and what was made of it.
#[derive(Serialize)]
struct Output<'a> {
    #[serde(flatten)]
    run: &'a Run,
    #[serde(skip_serializing_if = "Option::is_none")]
    floors: Option<&'a [Answer]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<&'a Comparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    libraries: Option<&'a peers::Found>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.suite == Suite::Memory {
        let own = [&arguments.require, &arguments.save, &arguments.against];
        if own.iter().any(|option| option.is_some()) || arguments.peers {
            bail!("`bench memory` has no times: it takes --quick, --json and --html only");
        }
        return memory::run(arguments.quick, arguments.json, arguments.html.as_deref());
    }
    let mut cases = match arguments.suite {
        Suite::Grid if arguments.list => return list::everything(arguments.json),
        Suite::Grid => suites::grid(&arguments.workload, &arguments.param)?,
        _ if !arguments.workload.is_empty() || !arguments.param.is_empty() => {
            bail!(
                "--workload and --param belong to a grid: crossover bench grid --workload gelu --param d=512,1024"
            )
        }
        Suite::Nn => suites::nn()?,
        Suite::Seeds => suites::seeds()?,
        _ => suites::core(),
    };
    if arguments.list {
        return list::cases(&cases, arguments.json);
    }
    let wanted = |name: &str| {
        arguments.only.is_empty() || arguments.only.iter().any(|part| name.contains(part.as_str()))
    };
    if !cases.iter().any(|case| wanted(&case.name)) {
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        bail!("no workload is named like that; there are {}", names.join(", "));
    }
    cases.retain(|case| wanted(&case.name) && !(arguments.quick && case.heavy));
    // Everything that can be refused is refused first: nobody measures for a file that is not there.
    let read_files: Vec<&Path> =
        [&arguments.against, &arguments.require].into_iter().flatten().map(PathBuf::as_path).collect();
    for (target, others) in [(&arguments.html, &read_files[..]), (&arguments.save, &[])] {
        target.as_deref().map(|path| report::check_target(path, others)).transpose()?;
    }
    if arguments.html.is_some() && arguments.html == arguments.save {
        bail!("--html and --save name one file: give each its own");
    }
    let before = arguments.against.as_deref().map(read).transpose()?;
    let floors = arguments.require.as_deref().map(Floors::read).transpose()?;
    if let Some(floors) = &floors {
        floors.check(cases.iter().map(|case| case.name.as_str()))?;
    }
    let machine = Fingerprint::here(Some(env!("CROSSOVER_COMMIT")));
    let settings = Settings { force: arguments.force, ..Settings::default() };
    if let Some(before) = &before {
        comparable(before, &machine, &settings)?;
    }
    let budget = if arguments.quick { Budget::quick() } else { Budget::default() };
    let mut peers = match arguments.peers {
        true => Some(Peers::start(arguments.python.as_deref())?),
        false => None,
    };
    let snapshot = Snapshot::now();
    let mut gauge = Gauge::new(budget, arguments.times)?;
    let name =
        arguments.suite.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    let mut run = Run::new(name, machine);
    let bar = progress(cases.len());
    for case in &cases {
        bar.set_message(case.name.clone());
        let mut entry = gauge.measure(case).with_context(|| format!("could not measure {}", case.name))?;
        if let Some(peers) = &mut peers {
            entry.peers = peers.measure(&entry.name, &entry.workload, &entry.params, &budget)?;
        }
        run.results.push(entry);
        bar.inc(1);
    }
    bar.finish_and_clear();
    // Peers are others to the system, and not to us.
    run.others = if peers.is_some() { None } else { snapshot.and_then(Snapshot::others_since) };
    if let Some(path) = &arguments.save {
        run.save(path).with_context(|| format!("could not write {}", path.display()))?;
    }
    let answers = floors.map(|floors| floors.answers(&run));
    let against = before.map(|before| files(&before, &run, &settings)).transpose()?;
    let found = peers.as_ref().map(Peers::found);
    let whole = Whole {
        run: &run,
        answers: answers.as_deref(),
        against: against.as_ref(),
        found,
        gpu: gauge.has_gpu(),
    };
    if let Some(path) = &arguments.html {
        write(path, &page::page(&whole))?;
    }
    if arguments.json {
        let output = Output { run: &run, floors: whole.answers, against: whole.against, libraries: found };
        report::json(&output)?;
    } else {
        report::text(&table::write(&whole, arguments.suite == Suite::Seeds))?;
    }
    verdict(&whole)
}

/// Everything that a report shows.
struct Whole<'a> {
    run: &'a Run,
    answers: Option<&'a [Answer]>,
    against: Option<&'a Comparison>,
    found: Option<&'a peers::Found>,
    gpu: bool,
}

/// The exit status.
fn verdict(whole: &Whole) -> Result<bool> {
    let count = |outcome: &str| {
        whole.answers.unwrap_or_default().iter().filter(|answer| answer.outcome == outcome).count()
    };
    let slower = whole.against.map_or(0, |comparison| comparison.count(Verdict::Slower));
    if count("missed") > 0 || slower > 0 {
        return Ok(false);
    }
    match count("unknown") {
        0 => Ok(true),
        unknown if whole.gpu => bail!("{unknown} floors could not be checked"),
        unknown => Err(NoGpu(format!("{unknown} floors could not be checked")).into()),
    }
}

/// Refuses figures of another machine before there are others to hold against them.
fn comparable(before: &Run, machine: &Fingerprint, settings: &Settings) -> Result<()> {
    let differences = before.machine.differences(machine);
    if !settings.force && differences.iter().any(|difference| difference.serious) {
        return Err(Mismatch::Machine { differences }.into());
    }
    Ok(())
}

/// A saved run.
pub fn read(path: &Path) -> Result<Run> {
    let text = std::fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
    Run::from_json(&text).with_context(|| path.display().to_string())
}

/// Writes a page and says so.
pub fn write(path: &Path, page: &str) -> Result<()> {
    std::fs::write(path, page).with_context(|| format!("could not write {}", path.display()))?;
    eprintln!("wrote {}, {}", path.display(), units::bytes(page.len() as u64));
    Ok(())
}

/// Drawn where somebody watches only.
pub fn progress(length: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}");
    ProgressBar::new(length as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// The lines of a comparison, for tables here and in `crossover compare`.
fn compared(comparison: &Comparison) -> String {
    compare::table(comparison, "before", "now")
}
