//! `crossover selftest`: a user's own GPU against the CPU.

use std::{path::PathBuf, time::Instant};

use anyhow::{Context, Result};
use crossover::{
    Runtime,
    runtime::{Buffer, Device, Placement},
};
use crossover_core::{
    Graph,
    reference::{self, GraphOptions, Tensor},
};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::{first_gpu, report, units};

/// Check that the GPU of this machine gives the bits of the CPU.
///
/// Runs random computations of every kind and dtype on both and compares every bit. The report names the device, the
/// driver and, for a result that differs, the graph that shows it: it can be sent along with a bug report. Exit
/// status 1: something differs; 3: there is no GPU.
#[derive(clap::Args)]
pub struct Arguments {
    /// Random graphs
    #[arg(long, default_value_t = 200)]
    graphs: u64,
    /// The first of them
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Also write the report as JSON to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// The JSON shape; see docs/json.md.
#[derive(Serialize)]
struct Outcome {
    version: &'static str,
    device: String,
    graphs: u64,
    seed: u64,
    bytes_compared: u64,
    launches: u64,
    launches_on_host: u64,
    seconds: f64,
    passed: bool,
    differences: Vec<Difference>,
}

#[derive(Serialize)]
struct Difference {
    seed: u64,
    what: String,
    graph: String,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let device = first_gpu()?;
    let runtime = Runtime::current();
    let before = runtime.executor().counts();
    let start = Instant::now();
    let (mut compared, mut bytes, mut differences) = (0, 0, Vec::new());
    let bar = ProgressBar::new(arguments.graphs);
    bar.set_style(
        ProgressStyle::with_template("{bar:40} {pos}/{len} graphs, {eta} left").context("a progress bar")?,
    );
    for seed in arguments.seed..arguments.seed + arguments.graphs {
        bar.inc(1);
        let graph = reference::random_graph(seed, &GraphOptions { matmul: false, ..GraphOptions::default() });
        if !graph.nodes().iter().all(|node| node.op.is_exact()) {
            continue;
        }
        let inputs = reference::random_inputs(&graph, seed);
        let want = outputs(&runtime, Placement::Host, &graph, &inputs)
            .with_context(|| format!("the CPU could not run graph {seed}"))?;
        compared += 1;
        bytes += want.iter().map(|output| output.len() as u64).sum::<u64>();
        let what = match outputs(&runtime, Placement::On(Device(1)), &graph, &inputs) {
            Ok(got) => match got.iter().zip(&want).position(|(got, want)| got != want) {
                None => continue,
                Some(output) => format!("output {output} has other bits"),
            },
            Err(error) => format!("{error:#}"),
        };
        differences.push(Difference { seed, what, graph: format!("{graph:#}") });
    }
    bar.finish_and_clear();
    let counts = runtime.executor().counts();
    let outcome = Outcome {
        version: env!("CARGO_PKG_VERSION"),
        device,
        graphs: compared,
        seed: arguments.seed,
        bytes_compared: bytes,
        launches: counts.launches - before.launches,
        launches_on_host: counts.fallbacks - before.fallbacks,
        seconds: start.elapsed().as_secs_f64(),
        passed: differences.is_empty() && compared > 0,
        differences,
    };
    if let Some(file) = &arguments.out {
        std::fs::write(file, serde_json::to_string_pretty(&outcome)? + "\n")
            .with_context(|| format!("could not write {}", file.display()))?;
    }
    if arguments.json {
        report::json(&outcome)?
    } else {
        report::text(&outcome.text())?
    }
    Ok(outcome.passed)
}

/// The outputs of a graph, on the host.
fn outputs(
    runtime: &Runtime,
    placement: Placement,
    graph: &Graph,
    inputs: &[Tensor],
) -> Result<Vec<Vec<u8>>> {
    let mut buffers = Vec::new();
    for tensor in inputs {
        buffers.push(Buffer::from_bytes(runtime.executor().machine(), &tensor.bytes)?);
    }
    let mut out = Vec::new();
    for buffer in runtime.executor().evaluate_at(placement, graph, &buffers)? {
        out.push(buffer.host_bytes()?.to_vec());
    }
    Ok(out)
}

impl Outcome {
    fn text(&self) -> String {
        let verdict = match self.differences.first() {
            None => "no bit differs from the CPU".to_owned(),
            Some(first) => format!(
                "{} graphs differ; the first, seed {}: {}\n{}",
                self.differences.len(),
                first.seed,
                first.what,
                first.graph
            ),
        };
        format!(
            "{}\n{} random graphs, {} of results, {} kernels in {}: {verdict}\n",
            self.device,
            self.graphs,
            units::bytes(self.bytes_compared),
            self.launches,
            units::seconds(self.seconds)
        )
    }
}
