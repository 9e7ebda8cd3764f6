//! `cargo xtask bless`: the present output becomes the expected one.

use anyhow::Result;

use crate::{paint, test, workspace};

/// Accept the present output as the expected one, for all snapshots and goldens.
///
/// Runs the tests with INSTA_UPDATE=always (insta snapshots) and CROSSOVER_BLESS=1 (our own
/// golden files), then shows which files changed. Read that difference before you commit it:
/// blessing makes a wrong plan the expected plan.
///
/// Example:
///   cargo xtask bless -p crossover-plan
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    tests: test::Arguments,
}

/// Runs the tests in blessing mode.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let held = test::run_with(&arguments.tests, &[("INSTA_UPDATE", "always"), ("CROSSOVER_BLESS", "1")])?;
    let mut status = workspace::command("git");
    status.args(["status", "--short", "--", "*.snap", "*.cu", "*.txt", "*.golden", "*.plan"]);
    let output = status.output()?;
    let changed = String::from_utf8_lossy(&output.stdout);
    if changed.trim().is_empty() {
        println!("nothing changed");
    } else {
        println!("{}\n{}", paint::yellow("changed, look at them with `git diff`:"), changed.trim_end());
    }
    Ok(held)
}
