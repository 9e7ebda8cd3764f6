//! `cargo xtask differential`: every public operation against NumPy or SciPy, on random cases.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::venv::Venv;
use crate::workspace::{self, Metadata};

/// The worker that makes cases and computes them: an example of the facade.
const PROGRAM: &str = "differential";
/// Where NumPy and SciPy are installed; git ignores it.
const FOLDER: &str = ".venv-differential";

/// Compare every public operation with NumPy or SciPy on random cases.
///
/// Dtypes, shapes, values and views are random: strided, flipped, broadcast, empty, without axes; NaN, infinities,
/// both zeros, the extremes of integers. Exact operations must agree in every bit, others within the error that
/// they promise. Where results differ on purpose, differential/differences.py says why, and the report counts it.
///
/// The first run installs NumPy, SciPy and ml_dtypes into .venv-differential (about 200 MB).
///
/// Examples:
///   cargo xtask differential                       every operation, 20,000 cases each: ten to twenty minutes
///   cargo xtask differential --op sort --op exp    these
///   cargo xtask differential --cases 500           a first impression
///   cargo xtask differential --op add --seed 1 --first 17 --cases 1    one case again
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Cases per operation
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    cases: u64,
    /// Only these operations; may be repeated
    #[arg(long, value_name = "NAME")]
    op: Vec<String>,
    /// Another seed makes other cases
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The case to begin with
    #[arg(long, value_name = "N", default_value_t = 0)]
    first: u64,
    /// Write a summary here
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Compares. True when nothing differs without a reason.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let mut build = workspace::cargo();
    build.args(["build", "--release", "--quiet", "--package", "crossover", "--example", PROGRAM]);
    workspace::must_succeed(&mut build)?;
    let worker = Metadata::read()?.target_directory.join("release/examples").join(PROGRAM);
    let mut driver = driver(&worker)?;
    driver.args(["--cases", &arguments.cases.to_string(), "--seed", &arguments.seed.to_string()]);
    driver.args(["--first", &arguments.first.to_string()]);
    for name in &arguments.op {
        driver.args(["--op", name]);
    }
    if let Some(file) = &arguments.json {
        // The driver runs in the root; the path was meant from where the person stands.
        driver.arg("--json").arg(std::path::absolute(file)?);
    }
    driver
        .arg("--command")
        .arg(std::env::args().skip(1).fold("cargo xtask".to_owned(), |line, word| line + " " + &word));
    Ok(driver.status().context("could not start differential/compare.py")?.success())
}

/// A few cases of everything, with the worker of the test profile. True when nothing differs without a reason.
pub fn smoke(cases: u64) -> Result<bool> {
    let mut build = workspace::cargo();
    build.args(["build", "--quiet", "--workspace", "--all-features", "--example", PROGRAM]);
    workspace::must_succeed(&mut build)?;
    let worker = Metadata::read()?.target_directory.join("debug/examples").join(PROGRAM);
    let mut driver = driver(&worker)?;
    driver.args(["--quiet", "--cases", &cases.to_string()]);
    Ok(driver.status().context("could not start differential/compare.py")?.success())
}

fn driver(worker: &Path) -> Result<std::process::Command> {
    let venv = Venv::with(FOLDER, &["-r", "differential/requirements.txt"])?;
    let mut driver = workspace::command(venv.python());
    driver.arg("differential/compare.py").arg("--worker").arg(worker);
    // One operation per core is compared at a time; libraries with threads of their own would only get in the way.
    driver.envs([("OPENBLAS_NUM_THREADS", "1"), ("OMP_NUM_THREADS", "1")]);
    Ok(driver)
}
