//! `cargo xtask test`: every test that CI runs, and one line of totals at the end.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::examples;
use crate::nvrtc::Nvrtc;
use crate::paint;
use crate::tally::Tally;
use crate::workspace::{self, Metadata};

/// Run every test that CI runs, and end with one line of totals.
///
/// Runs unit tests, integration tests and doctests of the workspace, the examples of the facade, and a
/// few cases of every operation against NumPy (`cargo xtask differential` runs many), and the report page in a
/// headless Chromium where there is one (`cargo xtask page`), and exports by their consumers (`cargo xtask
/// exports`). The kernel compile tests need NVRTC, which is installed from PyPI into .venv-nvrtc the first time; without a network they are counted as skipped, and the
/// reason is printed. Set
/// CROSSOVER_NVRTC=/path/to/libnvrtc.so to use another one.
///
/// A test that finds that the machine lacks what it needs appends the line `name: reason` to the
/// file named by CROSSOVER_NOT_RUN and returns; it is then counted as skipped and listed, never
/// as passed.
///
/// Examples:
///   cargo xtask test                       everything
///   cargo xtask test --quick               no doctests, no kernel compilation
///   cargo xtask test -p crossover-plan     one crate
///   cargo xtask test -- fuse               tests whose name contains `fuse`
#[derive(clap::Args, Clone, Default)]
#[command(verbatim_doc_comment)]
// `bless` embeds these arguments; a group of the same name in both would clash.
#[group(skip)]
pub struct Arguments {
    /// Leave out doctests and kernel compilation
    #[arg(long)]
    quick: bool,
    /// Only these crates; all when none is named
    #[arg(short, long, value_name = "CRATE")]
    package: Vec<String>,
    /// Passed on to the test programs
    #[arg(last = true, value_name = "FILTER")]
    rest: Vec<String>,
}

/// Where tests say that they did not run.
const NOT_RUN: &str = "CROSSOVER_NOT_RUN";

/// Runs the tests. True when none failed.
pub fn run(arguments: &Arguments) -> Result<bool> {
    run_with(arguments, &[])
}

/// Runs the tests with more variables in their environment.
pub fn run_with(arguments: &Arguments, extra: &[(&str, &str)]) -> Result<bool> {
    let log = not_run_log()?;
    let mut variables: Vec<(String, OsString)> =
        extra.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    variables.push((NOT_RUN.to_owned(), log.clone().into_os_string()));
    let mut notices = Vec::new();
    if arguments.quick {
        notices.push("doctests were NOT RUN: --quick".to_owned());
        notices.push("kernel compilation was NOT RUN: --quick".to_owned());
    } else {
        match Nvrtc::find() {
            Ok(nvrtc) => {
                let found = nvrtc.environment().into_iter();
                variables.extend(found.map(|(name, value)| (name.to_owned(), value)));
            }
            Err(error) => notices.push(format!("kernel compilation was NOT RUN: {error:#}")),
        }
    }

    let mut command = command(arguments);
    command.envs(variables);
    let (mut tally, mut succeeded) = count(&mut command)?;
    if !arguments.quick && succeeded && arguments.package.is_empty() && arguments.rest.is_empty() {
        let more = examples::run(&mut notices)?;
        succeeded = more.failed == 0;
        tally += more;
    }
    let not_run = std::fs::read_to_string(&log).unwrap_or_default();
    let _ = std::fs::remove_file(&log);
    let not_run: Vec<&str> = not_run.lines().filter(|line| !line.trim().is_empty()).collect();
    tally.not_run(not_run.len() as u64);
    tally.skipped += notices.len() as u64;
    println!();
    for line in &not_run {
        println!("{} {line}", paint::yellow("NOT RUN:"));
    }
    for notice in &notices {
        println!("{} {notice}", paint::yellow("notice:"));
    }
    if !succeeded && tally.failed == 0 {
        // A test program that did not build or crashed prints no result line; the totals must still show it.
        println!("{} cargo failed before all tests could report; see above", paint::red("error:"));
        tally.failed = 1;
    }
    println!("{tally}");
    Ok(succeeded && tally.failed == 0)
}

fn command(arguments: &Arguments) -> Command {
    let mut command = workspace::cargo();
    command.args(["test", "--no-fail-fast", "--all-features"]);
    if arguments.quick {
        // Everything that `cargo test` runs by default, less the doctests; `--tests` covers unit tests too.
        command.args(["--tests", "--examples"]);
    }
    if arguments.package.is_empty() {
        command.arg("--workspace");
    }
    for package in &arguments.package {
        command.args(["--package", package]);
    }
    command.arg("--").args(&arguments.rest);
    command
}

/// Runs a test command, shows its output as it comes, and counts its result lines.
pub fn count(command: &mut Command) -> Result<(Tally, bool)> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start `{}`", workspace::spell(command)))?;
    let output = child.stdout.take().expect("stdout was asked for");
    let mut tally = Tally::default();
    for line in BufReader::new(output).split(b'\n') {
        // Test output may be any bytes; the result lines are ASCII.
        let line = line.context("could not read the tests' output")?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        if let Some(one) = Tally::from_line(&line) {
            tally += one;
        }
    }
    Ok((tally, child.wait()?.success()))
}

/// An empty file of our own, inside the build folder so that it is ignored and cleaned with it.
fn not_run_log() -> Result<PathBuf> {
    let folder = Metadata::read()?.target_directory;
    std::fs::create_dir_all(&folder)?;
    let log = folder.join(format!("not-run-{}.txt", std::process::id()));
    std::fs::write(&log, "").with_context(|| format!("could not write {}", log.display()))?;
    Ok(log)
}
