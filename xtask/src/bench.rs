//! `cargo xtask bench`: sets up the Python environment, builds the worker and hands over to `bench/peers.py`.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::venv::Venv;
use crate::workspace::{self, Metadata};

/// The program that answers the worker protocol of bench/README.md.
const PROGRAM: &str = "crossover";

/// Time the workloads, alone or side by side with NumPy, PyTorch, JAX and numexpr.
///
/// Engines take turns within one run, on the same threads and the same random inputs; every
/// result is checked against a float64 reference before it is timed. Prints a table and writes
/// JSON under bench/results/.
///
/// The first run with --peers installs the peers into bench/.venv (about 6 GB, most of it CUDA
/// libraries that PyTorch brings along).
///
/// Examples:
///   cargo xtask bench                            our times and the memory bandwidth
///   cargo xtask bench --peers                    ratios to the best peer, about ten minutes
///   cargo xtask bench --peers --only gelu        one workload
///   cargo xtask bench --peers --quick            fewer rounds, for a first impression
///   cargo xtask bench --peers --group functions --only exp --quick
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Interleave with NumPy, PyTorch, JAX and numexpr
    #[arg(long)]
    peers: bool,
    /// Do not run ours: where the bar lies on this machine
    #[arg(long)]
    peers_only: bool,
    /// Another group of workloads: `functions` is every elementwise function and reduction by itself
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Only the workloads whose name contains this; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Where to write the results instead of bench/results/
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A sixth of the time per workload
    #[arg(long)]
    quick: bool,
    /// Threads for every engine; all cores when not given
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// Runs the benchmark. True when every bar that was measured is met.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let peers = arguments.peers || arguments.peers_only;
    let requirements = if peers { "bench/requirements-peers.txt" } else { "bench/requirements.txt" };
    let venv = Venv::with("bench/.venv", &["-r", requirements])?;
    let mut driver = workspace::command(venv.python());
    driver.arg("bench/peers.py");
    if !arguments.peers_only {
        driver.arg("--worker").arg(build_worker()?);
    }
    let engines = match (arguments.peers_only, arguments.peers) {
        (true, _) => Some("--peers-only"),
        (false, true) => None,
        (false, false) => Some("--ours-only"),
    };
    driver.args(engines);
    if let Some(group) = &arguments.group {
        driver.args(["--group", group]);
    }
    for name in &arguments.only {
        driver.args(["--only", name]);
    }
    if let Some(file) = &arguments.json {
        // The driver runs in the root; the path was meant from where the person stands.
        driver.arg("--json").arg(std::path::absolute(file)?);
    }
    if arguments.quick {
        driver.arg("--quick");
    }
    if let Some(threads) = arguments.threads {
        driver.args(["--threads", &threads.to_string()]);
    }
    driver
        .arg("--command")
        .arg(std::env::args().skip(1).fold("cargo xtask".to_owned(), |line, word| line + " " + &word));
    Ok(driver.status().context("could not start bench/peers.py")?.success())
}

fn build_worker() -> Result<PathBuf> {
    let metadata = Metadata::read()?;
    let owner = metadata
        .owner_of_binary(PROGRAM)
        .with_context(|| format!("no crate defines the program `{PROGRAM}`"))?;
    let mut build = workspace::cargo();
    build.args(["build", "--release", "--quiet", "--package", owner, "--bin", PROGRAM]);
    workspace::must_succeed(&mut build)?;
    Ok(metadata.release_binary(PROGRAM))
}
