//! `crossover kernels`: what a GPU compiled for a graph, and what it says about it.

use std::{fmt::Write as _, path::PathBuf};

use anyhow::{Context, Result};
use crossover::{
    Device, KernelRecord, Runtime,
    runtime::{Buffer, Placement},
};
use crossover_core::reference;
use serde::Serialize;

use crate::{explain, first_gpu, report, units};

/// Show what the GPU compiles for a graph: time, registers, memory, launches.
///
/// Runs the graphs on the first GPU with random operands and prints one line per compiled kernel. Compiled kernels are
/// kept on disk; those found there took no compiling. Exit status 3: there is no GPU.
#[derive(clap::Args)]
pub struct Arguments {
    /// Graphs in text form
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// How often each graph runs
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Also print the text that was compiled
    #[arg(long)]
    source: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// The JSON shape; see docs/json.md.
#[derive(Serialize)]
struct Listing {
    device: String,
    kernels: Vec<Kernel>,
}

#[derive(Serialize)]
struct Kernel {
    name: String,
    device: String,
    architecture: String,
    /// `null` where the code was found on disk.
    compile_ms: Option<f64>,
    launches: u64,
    reused: u64,
    entries: Vec<Entry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    registers: u32,
    shared_bytes: u32,
    local_bytes: u32,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let device = first_gpu()?;
    let runtime = Runtime::current();
    for file in &arguments.files {
        let graph = explain::parse(file, &explain::read(file)?)?;
        let mut inputs = Vec::new();
        for tensor in reference::random_inputs(&graph, 1) {
            inputs.push(Buffer::from_bytes(runtime.executor().machine(), &tensor.bytes)?);
        }
        for _ in 0..arguments.runs {
            let placement = Placement::On(crossover::runtime::Device(1));
            let done = runtime.executor().evaluate_at(placement, &graph, &inputs);
            done.with_context(|| format!("could not run {}", file.display()))?;
        }
    }
    let kernels = runtime.kernels().into_iter().map(|(at, record)| Kernel::new(at, record, arguments.source));
    let listing = Listing { device, kernels: kernels.collect() };
    if arguments.json {
        report::json(&listing)?
    } else {
        report::text(&listing.text())?
    }
    Ok(true)
}

impl Kernel {
    fn new(device: Device, record: KernelRecord, source: bool) -> Kernel {
        Kernel {
            name: record.name(),
            device: device.to_string(),
            architecture: record.architecture,
            compile_ms: record.compile_ms,
            launches: record.launches,
            reused: record.reused,
            entries: (record.entries.into_iter())
                .map(|e| Entry {
                    name: e.name,
                    registers: e.registers,
                    shared_bytes: e.shared,
                    local_bytes: e.local,
                })
                .collect(),
            source: source.then_some(record.source),
        }
    }
}

impl Listing {
    fn text(&self) -> String {
        let mut out = format!("{}\n\n", self.device);
        let _ = writeln!(
            out,
            "{:<44} {:>10} {:>9} {:>7}  entry points",
            "kernel", "compiled", "launches", "reused"
        );
        for kernel in &self.kernels {
            let compiled = kernel.compile_ms.map_or("from disk".to_owned(), |ms| units::seconds(ms * 1e-3));
            let entries: Vec<String> = (kernel.entries.iter())
                .map(|e| {
                    format!(
                        "{} ({} registers, {} shared)",
                        e.name,
                        e.registers,
                        units::bytes(e.shared_bytes.into())
                    )
                })
                .collect();
            let _ = writeln!(
                out,
                "{:<44} {compiled:>10} {:>9} {:>7}  {}",
                kernel.name,
                kernel.launches,
                kernel.reused,
                entries.join(", ")
            );
            if let Some(source) = &kernel.source {
                let _ = writeln!(out, "\n{source}");
            }
        }
        out
    }
}
