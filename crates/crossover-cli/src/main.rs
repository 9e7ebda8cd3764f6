//! The `crossover` command: a tour of the library on this machine, what the machine has, and plans of graphs.
//!
//! A shell: everything it shows is computed by the library crates. Reports go to standard output, progress and
//! errors to standard error. Exit status: 0 when all went well, 1 when something failed (an unreadable graph, a wrong
//! result), 2 when the command line was wrong, 3 when a command needs a GPU and there is none.

mod bench;
mod bench_worker;
mod cache;
mod calibrate;
mod compare;
mod config;
mod decide;
mod doctor;
mod explain;
mod expressions;
mod functions;
mod hrr;
mod kernels;
mod maze;
mod metrics;
mod profile_check;
mod report;
mod report_page;
mod selftest;
mod top;
mod tour;
mod units;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Arrays that run where they run fastest.
///
/// Start with the tour: it runs typical array code on this machine, compares every result with the reference,
/// and shows how close each comes to what the memory and the processor can do.
#[derive(Parser)]
#[command(name = "crossover", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  crossover tour --quick                         ten kinds of work in a few seconds
  crossover doctor                               processor, memory, GPU or why there is none
  crossover explain docs/graphs/softmax.graph    which kernels a computation becomes
  crossover selftest                             a GPU against the CPU, bit for bit
  crossover kernels docs/graphs/softmax.graph    what was compiled for it: registers, time, launches
  crossover calibrate                            what the CPU and the GPU can do, and from which sizes on the GPU wins
  crossover report trace.json                    a page of where the time went
  crossover bench --quick                        workloads on the CPU and the GPU; --save, --against, --peers
  crossover compare ./old ./new                  which workloads became slower
  crossover config                               every setting, its value and who set it
  crossover top                                  memory, load, kernels and decisions, live
  crossover metrics --listen                     the same for Prometheus, with alert rules
  crossover cache ls                             compiled kernels on disk
  crossover hrr --help                           memories of named vectors: create, add, query, verify, export
  crossover tour --json | jq '.results[] | select(.roof_fraction < 0.5)'

Every command takes --json; docs/json.md describes the shapes. NO_COLOR=1 turns colours off.
CROSSOVER_LOG=debug (or crossover::launch=trace) shows plans, transfers and launches as they happen.";

#[derive(Subcommand)]
enum Command {
    // Documented where their arguments are defined; the first line there is the summary here.
    Tour(tour::Arguments),
    Doctor(doctor::Arguments),
    Explain(explain::Arguments),
    Kernels(kernels::Arguments),
    Cache(cache::Arguments),
    Calibrate(calibrate::Arguments),
    Config(config::Arguments),
    Top(top::Arguments),
    Metrics(metrics::Arguments),
    Selftest(selftest::Arguments),
    Report(report_page::Arguments),
    Bench(bench::Arguments),
    Compare(compare::Arguments),
    Hrr(hrr::Arguments),
    #[command(hide = true)]
    ProfileCheck(profile_check::Arguments),
    #[command(hide = true)]
    BenchWorker(bench_worker::Arguments),
}

fn main() -> ExitCode {
    // Whoever says NO_COLOR means it, even where CLICOLOR_FORCE is set too.
    if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        console::set_colors_enabled(false);
        console::set_colors_enabled_stderr(false);
    }
    let arguments = Arguments::parse();
    let log = crossover::log::init_with(console::colors_enabled_stderr());
    // The place in this file says nothing to whoever misspelt a variable.
    let log = log.map_err(|error| anyhow::anyhow!("{}", error.kind()));
    let outcome = log.and_then(|()| match arguments.command {
        Command::Tour(arguments) => tour::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Kernels(arguments) => kernels::run(&arguments),
        Command::Cache(arguments) => cache::run(&arguments),
        Command::Calibrate(arguments) => calibrate::run(&arguments),
        Command::Config(arguments) => config::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Metrics(arguments) => metrics::run(&arguments),
        Command::ProfileCheck(arguments) => profile_check::run(&arguments),
        Command::Selftest(arguments) => selftest::run(&arguments),
        Command::Report(arguments) => report_page::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Hrr(arguments) => hrr::run(&arguments),
        Command::BenchWorker(arguments) => bench_worker::run(&arguments),
    });
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) if error.is::<NoGpu>() => {
            eprintln!("{} {error:#}", console::style("no GPU:").yellow().bold().for_stderr());
            ExitCode::from(3)
        }
        Err(error) => {
            eprintln!("{} {error:#}", console::style("error:").red().bold().for_stderr());
            ExitCode::FAILURE
        }
    }
}

/// A command needs a GPU, and why none can be used.
#[derive(Debug)]
struct NoGpu(String);

impl std::fmt::Display for NoGpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoGpu {}

/// What the first GPU is, or why there is none.
fn first_gpu() -> anyhow::Result<String> {
    match crossover::gpus().into_iter().next() {
        Some((_, Ok(name))) => Ok(name),
        Some((device, Err(reason))) => Err(NoGpu(format!("{device}: {reason}")).into()),
        None => Err(NoGpu(doctor::gpu::probe().reason).into()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }
}
