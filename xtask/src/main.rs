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
mod differential;
mod doc_examples;
mod examples;
mod exports;
mod fuzz;
mod hrr;
mod modules;
mod nn_tables;
mod nvrtc;
mod package;
mod page;
mod paint;
mod performance;
mod portability;
mod pytest;
mod python;
mod reference;
mod regret;
mod sizes;
mod sources;
mod step;
mod tally;
mod test;
mod vector;
mod venv;
mod wheel;
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
    // A command with arguments is documented where those are defined; the first line there is its summary here.
    Check(check::Arguments),
    Test(test::Arguments),
    Bless(bless::Arguments),
    Bench(bench::Arguments),
    Modules(modules::Arguments),
    Fuzz(fuzz::Arguments),
    Differential(differential::Arguments),
    /// Check that crates only depend on crates below them
    Deps,
    /// Rewrite docs/performance.md and the README's table from bench/results
    Performance,
    /// Rewrite the chart and figures of docs/placement.md from bench/results
    Placement,
    /// Rewrite the tables of docs/hrr.md from bench/results
    Hrr,
    /// Rewrite docs/reference/ from the op table
    Reference,
    Page(page::Arguments),
    /// Read our exports back with the programs they are for: speedscope, Prometheus' parser, promtool
    Exports,
    Python(python::Arguments),
    ArrayApi(python::SuiteArguments),
    Wheel(wheel::Arguments),
    Vector(vector::Arguments),
    Portability(portability::Arguments),
    Gpu(bundle::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Check(arguments) => check::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Bless(arguments) => bless::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Modules(arguments) => modules::run(&arguments),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Deps => check::run_one(check::Step::Deps),
        Command::Performance => performance::run(),
        Command::Placement => regret::run(),
        Command::Hrr => hrr::run(),
        Command::Reference => reference::run(),
        Command::Differential(arguments) => differential::run(&arguments),
        Command::Page(arguments) => page::run(&arguments),
        Command::Exports => exports::run(),
        Command::Python(arguments) => python::run(&arguments),
        Command::ArrayApi(arguments) => python::suite(&arguments),
        Command::Wheel(arguments) => wheel::run(&arguments),
        Command::Vector(arguments) => vector::run(&arguments),
        Command::Portability(arguments) => portability::run(&arguments),
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }
}
