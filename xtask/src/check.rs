//! `cargo xtask check`: everything that can be judged without running the library.

use anyhow::Result;
use clap::ValueEnum;

use crate::step::{self, Finding};
use crate::{
    banned, deps, doc_examples, hrr, package, paint, performance, reference, regret, sizes, vector, workspace,
};

/// Judge the code without running it: format, lints, layering, sizes, vectorisation.
///
/// Prints one line per step; on failure the tool's output and how to fix it.
///
/// Examples:
///   cargo xtask check                  all steps, as CI does
///   cargo xtask check fmt clippy       only these
///   cargo xtask check --skip vector    all but the one that needs a release build
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The steps to run; all of them when none is named
    #[arg(value_enum)]
    steps: Vec<Step>,
    /// Steps to leave out
    #[arg(long, value_enum, value_delimiter = ',')]
    skip: Vec<Step>,
}

/// One step, cheapest first, so that a typo is reported before a long build.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Step {
    /// `cargo fmt --check`
    Fmt,
    /// Crates depend only on crates below them
    Deps,
    /// No file over 1000 lines, no kernel over 400
    Sizes,
    /// No placeholder or debugging macros
    Banned,
    /// What crate `crossover` exports has examples in its documentation
    ExamplesInDocs,
    /// Pages of figures say what the result files say
    Performance,
    /// The chart of placement says what the result files say
    Placement,
    /// The tables of holographic memory say what the result files say
    Hrr,
    /// The pages of the reference say what the op table says
    Reference,
    /// Every published crate can be packaged
    Package,
    /// Clippy on everything, warnings are errors
    Clippy,
    /// The CPU tile loops use packed instructions
    Vector,
}

impl Step {
    fn name(self) -> String {
        self.to_possible_value().expect("no step is hidden").get_name().to_owned()
    }

    fn finding(self) -> Result<Finding> {
        match self {
            Self::Fmt => {
                let mut command = workspace::cargo();
                // Names are enough; the whole difference can be thousands of lines.
                command.args(["fmt", "--all", "--", "--check", "--files-with-diff"]);
                step::tool(&mut command, "cargo fmt --all")
            }
            Self::Deps => deps::check(),
            Self::Sizes => sizes::check(),
            Self::Banned => banned::check(),
            Self::ExamplesInDocs => doc_examples::check(),
            Self::Performance => performance::check(),
            Self::Placement => regret::check(),
            Self::Hrr => hrr::check(),
            Self::Reference => reference::check(),
            Self::Package => package::check(),
            Self::Clippy => {
                let mut command = workspace::cargo();
                command.args([
                    "clippy",
                    "--workspace",
                    "--all-targets",
                    "--all-features",
                    "--quiet",
                    "--",
                    "-D",
                    "warnings",
                ]);
                step::tool(&mut command, "cargo clippy --workspace --all-targets --fix, then by hand")
            }
            Self::Vector => vector::check(None),
        }
    }
}

/// Runs the chosen steps, all of them even when an early one fails. True when all hold.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let chosen = |step: &&Step| {
        (arguments.steps.is_empty() || arguments.steps.contains(step)) && !arguments.skip.contains(step)
    };
    let mut failed = Vec::new();
    for step in Step::value_variants().iter().filter(chosen) {
        if !step::report(&step.name(), || step.finding()) {
            failed.push(step.name());
        }
    }
    if !failed.is_empty() {
        println!("{} {}; again with: cargo xtask check {0}", failed.join(" "), paint::red("failed"));
    }
    Ok(failed.is_empty())
}

/// Runs one step under its own command.
pub fn run_one(step: Step) -> Result<bool> {
    run(&Arguments { steps: vec![step], skip: Vec::new() })
}
