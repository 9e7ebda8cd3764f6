//! One step of a check: a line with a mark, a name and a time, and on failure the evidence and the remedy.

use std::io::{IsTerminal, Write};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::{paint, workspace};

/// What a step found.
pub enum Finding {
    /// Everything holds. The note is shown on the same line; warnings below it.
    Holds {
        /// A few words, such as counts.
        note: String,
        /// Things worth a look that do not fail the step.
        warnings: Vec<String>,
    },
    /// Something does not hold.
    Broken {
        /// What the tool said.
        evidence: String,
        /// The command or edit that fixes it.
        remedy: String,
    },
}

impl Finding {
    /// Holds, with a note and no warnings.
    pub fn holds(note: impl Into<String>) -> Self {
        Self::Holds { note: note.into(), warnings: Vec::new() }
    }

    /// Holds or not, by whether there are offences.
    pub fn judge(offences: &[String], note: impl Into<String>, remedy: &str) -> Self {
        if offences.is_empty() {
            Self::holds(note)
        } else {
            Self::Broken { evidence: offences.join("\n"), remedy: remedy.to_owned() }
        }
    }
}

/// Runs one step and prints its line. True when it holds.
pub fn report(name: &str, work: impl FnOnce() -> Result<Finding>) -> bool {
    let live = std::io::stdout().is_terminal();
    if live {
        print!("{} {name} …", paint::dim("·"));
        let _ = std::io::stdout().flush();
    }
    let start = Instant::now();
    // An error in the checker itself is a failure of the step: a check that could not look has not passed.
    let finding = work().unwrap_or_else(|error| Finding::Broken {
        evidence: format!("{error:#}"),
        remedy: "make the check runnable; see the message above".to_owned(),
    });
    let seconds = format!("{:.1} s", start.elapsed().as_secs_f64());
    let restart = if live { "\r\x1b[K" } else { "" };
    match finding {
        Finding::Holds { note, warnings } => {
            println!("{restart}{} {name:<10} {seconds:>8}  {}", paint::green("✓"), paint::dim(&note));
            for warning in warnings {
                println!("  {} {warning}", paint::yellow("warning:"));
            }
            true
        }
        Finding::Broken { evidence, remedy } => {
            println!("{restart}{} {name:<10} {seconds:>8}", paint::red("✗"));
            for line in evidence.trim_end().lines() {
                println!("    {line}");
            }
            println!("  {} {remedy}", paint::yellow("fix:"));
            false
        }
    }
}

/// A step that is one command: holds when the command succeeds.
pub fn tool(command: &mut Command, remedy: &str) -> Result<Finding> {
    let output = command
        .output()
        .with_context(|| format!("could not start `{}`; is it installed?", workspace::spell(command)))?;
    if output.status.success() {
        return Ok(Finding::holds(workspace::spell(command)));
    }
    let mut evidence = String::from_utf8_lossy(&output.stdout).into_owned();
    evidence.push_str(&String::from_utf8_lossy(&output.stderr));
    Ok(Finding::Broken { evidence, remedy: remedy.to_owned() })
}
