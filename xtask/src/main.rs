//! Developer commands of Crossover: `cargo xtask <command>`.
//!
//! Each command is one module. They only start tools (cargo, objdump, python) and judge their
//! output; nothing that ships to users lives here.

mod banned;
mod bench;
mod bless;
mod bundle;
mod check;
mod deps;
mod nvrtc;
mod paint;
mod sizes;
mod sources;
mod step;
mod tally;
mod test;
mod vector;
mod venv;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Developer commands of Crossover.
///
/// A usual day: edit, `cargo xtask check fmt clippy deps`, `cargo xtask test --quick`; before handing
/// work in, `.ci/run`, which runs `check` and `test` in full.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Judge the code without running it: format, lints, layering, sizes, vectorisation
    Check(check::Arguments),
    /// Run every test that CI runs, and end with one line of totals
    Test(test::Arguments),
    /// Accept the present output as the expected one, for all snapshots and goldens
    Bless(bless::Arguments),
    /// Time the workloads, alone or side by side with NumPy, PyTorch, JAX and numexpr
    Bench(bench::Arguments),
    /// Check that crates only depend on crates below them
    Deps,
    /// Disassemble the CPU tile loops and fail those that are not vectorised
    Vector(vector::Arguments),
    /// Build a self-contained folder that runs the GPU proof on a machine without Rust
    Gpu(bundle::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Check(arguments) => check::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Bless(arguments) => bless::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Deps => check::run_one(check::Step::Deps),
        Command::Vector(arguments) => vector::run(&arguments),
        Command::Gpu(arguments) => bundle::run(&arguments),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{} {error:#}", paint::red("error:"));
            ExitCode::FAILURE
        }
    }
}
