//! `crossover explain`: a graph in text form, and the kernels it becomes.

use std::{
    fmt::Write as _,
    io::Read as _,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail};
use console::style;
use crossover::{Profile, Runtime, runtime::Made};
use crossover_core::{Error, Graph, printable};
use crossover_plan::{
    Options, Plan, Work, duration,
    kernel::{Kernel, Kind},
};
use serde::Serialize;

use crate::report;

/// Show which kernels a graph becomes.
///
/// Reads a graph in text form, checks it, and prints the plan: one paragraph per kernel with its kind, its index
/// space, what it reads and writes, how long every device should take, and its steps. Nothing is executed and no GPU is
/// needed. Times follow from the profile of this machine, or from what is assumed where nobody has measured it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The graph; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Give every operation a kernel of its own, to see what fusion saves
    #[arg(long)]
    no_fusion: bool,
    /// Also print the CUDA C++ that is generated for each fused kernel
    #[arg(long)]
    cuda: bool,
    /// Also print the graph as it was understood, with the type of every value
    #[arg(long)]
    types: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Kinds of kernels:
  Map     elementwise operations over one index space
  Row     a Map with reductions along the last axis (softmax, layer norm)
  Full    a Row over the whole array (the sum of everything)
  Column  reductions along other axes (standardised columns)
  Call    a kernel of its own (matrix product, scan, lookup)

A graph has one operation per line, operands before attributes; `#` starts a comment:
  graph {
    %x = input f32[4096, 1024]
    %top = max %x axes [1] keepdims
    %wide = expand %top to [4096, 1024]
    %out = subtract %x, %wide
    return %out
  }

Examples:
  crossover explain docs/graphs/layer_norm.graph
  crossover explain docs/graphs/layer_norm.graph --no-fusion
  crossover explain docs/graphs/standardise.graph --cuda
  printf '%s\\n' 'graph {' '%x = input f32[9]' '%y = gelu %x' 'return %y' '}' | crossover explain -";

/// The JSON shape; see docs/json.md.
#[derive(Serialize)]
struct Explanation {
    graph: String,
    fusion: bool,
    bytes_read: u64,
    bytes_written: u64,
    operations: u64,
    profile: &'static str,
    predicted_seconds: f64,
    kernels: Vec<Described>,
    text: String,
}

#[derive(Serialize)]
struct Described {
    kind: &'static str,
    name: String,
    /// Lengths of the axes of the index space; of the result for a call.
    shape: Vec<usize>,
    bytes_read: u64,
    bytes_written: u64,
    operations: u64,
    predicted_seconds: f64,
    predicted_on: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cuda: Option<String>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let text = read(&arguments.file)?;
    let graph = parse(&arguments.file, &text)?;
    let plan =
        Plan::new(&graph, Options { fusion: !arguments.no_fusion }).context("the graph cannot be planned")?;
    let profile = Runtime::current().known_profile();
    let predictions = Prediction::of(&plan, &profile);
    let text = explained(&plan, &profile, &predictions);
    let kernels: Vec<Described> = plan
        .launches
        .iter()
        .zip(&predictions)
        .map(|(launch, prediction)| Described {
            kind: kind(&launch.kernel),
            name: launch.name.clone(),
            shape: shape(&launch.kernel),
            bytes_read: launch.cost.read,
            bytes_written: launch.cost.written,
            operations: launch.cost.flops,
            predicted_seconds: 1e-9 * prediction.best().1,
            predicted_on: prediction.best().0.to_owned(),
            cuda: if arguments.cuda { cuda(&launch.kernel) } else { None },
        })
        .collect();
    if arguments.json {
        let cost = plan.cost();
        report::json(&Explanation {
            graph: format!("{graph:#}"),
            fusion: !arguments.no_fusion,
            bytes_read: cost.read,
            bytes_written: cost.written,
            operations: cost.flops,
            profile: match profile.made {
                Made::Assumed => "assumed",
                Made::Briefly => "briefly",
                Made::Calibrated => "calibrated",
            },
            predicted_seconds: kernels.iter().map(|kernel| kernel.predicted_seconds).sum(),
            text,
            kernels,
        })?;
        return Ok(true);
    }
    let mut out = String::new();
    if arguments.types {
        let _ = writeln!(out, "{graph:#}");
    }
    out.push_str(&highlighted(&text));
    if arguments.cuda {
        for (at, kernel) in kernels.iter().enumerate() {
            let title = format!("CUDA C++ of kernel {at}, {}", kernel.name);
            let _ = writeln!(out, "\n{}", style(title).bold());
            out.push_str(kernel.cuda.as_deref().unwrap_or("a call to a library; nothing is generated\n"));
        }
    }
    report::text(&out)?;
    Ok(true)
}

/// What the devices of a profile should take for a kernel, in nanoseconds.
struct Prediction<'a>(Vec<(&'a str, f64)>);

impl Prediction<'_> {
    /// For every kernel of a plan.
    fn of<'a>(plan: &Plan, profile: &'a Profile) -> Vec<Prediction<'a>> {
        let on = |work: &Work| profile.devices.iter().map(|d| (d.name.as_str(), d.time(work))).collect();
        plan.work().iter().map(|work| Prediction(on(work))).collect()
    }

    /// The fastest device.
    fn best(&self) -> (&str, f64) {
        self.0.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(("CPU", 0.0))
    }
}

/// The plan with a line on the time of each kernel.
fn explained(plan: &Plan, profile: &Profile, predictions: &[Prediction<'_>]) -> String {
    let mut out = plan.explain_with(None, |at| {
        let times =
            predictions[at].0.iter().map(|(name, time)| format!("on {name}: about {}", duration(*time)));
        format!("   {}\n", times.collect::<Vec<_>>().join(", "))
    });
    let all: f64 = predictions.iter().map(|prediction| prediction.best().1).sum();
    let where_from = match profile.made {
        Made::Assumed => "; nobody has measured this machine: `crossover calibrate` does",
        _ => "",
    };
    let _ = writeln!(out, "about {} in all{where_from}", duration(all));
    out
}

/// Lengths of the axes of the index space; of the result for a call.
fn shape(kernel: &Kernel) -> Vec<usize> {
    match kernel {
        Kernel::Fused(fused) => fused.space.dims().to_vec(),
        Kernel::Call(call) => call.layout.shape.dims().to_vec(),
    }
}

/// What `Plan::explain` calls a kernel.
pub fn kind(kernel: &Kernel) -> &'static str {
    match kernel {
        Kernel::Call(_) => "Call",
        Kernel::Fused(fused) => match fused.kind {
            Kind::Map => "Map",
            Kind::Row if fused.space.outer_size() == 1 => "Full",
            Kind::Row => "Row",
            Kind::Column => "Column",
        },
    }
}

fn cuda(kernel: &Kernel) -> Option<String> {
    match kernel {
        Kernel::Fused(fused) => Some(crossover_codegen::fused(fused).text),
        Kernel::Call(_) => None,
    }
}

/// The heading of each kernel in bold.
fn highlighted(plan: &str) -> String {
    let mut out = String::new();
    for line in plan.lines() {
        let is_heading = line.starts_with(|c: char| c.is_ascii_digit()) || line.starts_with("plan:");
        let _ = if is_heading { writeln!(out, "{}", style(line).bold()) } else { writeln!(out, "{line}") };
    }
    out
}

/// Graphs people write are kilobytes; more than this is a wrong file.
const MOST_BYTES: u64 = 64 << 20;

pub fn read(file: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    let name = display(file);
    if file == Path::new("-") {
        std::io::stdin()
            .take(MOST_BYTES + 1)
            .read_to_end(&mut bytes)
            .context("could not read standard input")?;
    } else {
        let opened = std::fs::File::open(file)
            .map_err(|error| anyhow!("could not open {name}: {error}; graphs to try are in docs/graphs/"))?;
        opened
            .take(MOST_BYTES + 1)
            .read_to_end(&mut bytes)
            .with_context(|| format!("could not read {name}"))?;
    }
    if bytes.len() as u64 > MOST_BYTES {
        bail!("{name} is larger than 64 MiB; a graph is text with one operation per line");
    }
    String::from_utf8(bytes).map_err(|_| anyhow!("{name} is not text; a graph starts with `graph {{`"))
}

fn display(file: &Path) -> String {
    if file == Path::new("-") { "standard input".to_owned() } else { printable(&file.display().to_string()) }
}

/// Reads the graph; an error shows the line it is about.
pub fn parse(file: &Path, text: &str) -> Result<Graph> {
    let graph = Graph::parse(text).and_then(|graph| graph.verify().map(|()| graph));
    graph.map_err(|error| match error {
        Error::Text { line, what } => {
            let shown: String = text.lines().nth(line.saturating_sub(1)).unwrap_or("").chars().take(200).collect();
            let shown = printable(&shown);
            let bar = style("|").blue().for_stderr();
            anyhow!(
                "{}:{line}: {what}\n {line:>4} {bar} {shown}\n{} the syntax, with an example: crossover explain --help",
                display(file),
                style("help:").cyan().for_stderr(),
            )
        }
        other => anyhow!("{}: {other}", display(file)),
    })
}
