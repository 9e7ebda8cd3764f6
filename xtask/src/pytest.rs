//! Tests written in Python, counted like the others.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::tally::Tally;

/// Runs a pytest command, shows what it says under a title, and counts. An error says what the machine lacks.
pub fn counted(command: &mut Command, title: &str) -> Result<Tally> {
    let output =
        command.stderr(Stdio::inherit()).output().context("could not start the environment's python")?;
    let said = String::from_utf8_lossy(&output.stdout);
    println!("\n{title}\n{}", said.trim_end());
    let Some(mut tally) = said.lines().rev().find_map(totals) else {
        bail!("pytest ended with {} and without a line of totals", output.status);
    };
    if !output.status.success() && tally.failed == 0 {
        // A crash of the runner itself must show in the totals.
        tally.failed = 1;
    }
    Ok(tally)
}

/// Reads `2 failed, 86 passed, 1 error in 87.65s (0:01:27)`.
fn totals(line: &str) -> Option<Tally> {
    let (counts, _) = line.trim_matches(['=', ' ']).split_once(" in ")?;
    let mut tally = Tally::default();
    for part in counts.split(", ") {
        let (number, noun) = part.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match noun {
            "passed" => tally.passed += number,
            "failed" | "error" | "errors" => tally.failed += number,
            "skipped" | "deselected" => tally.skipped += number,
            _ => {}
        }
    }
    Some(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_of_pytest_are_read() {
        assert_eq!(totals("90 passed in 44.94s"), Some(Tally { passed: 90, failed: 0, skipped: 0 }));
        assert_eq!(
            totals("== 2 failed, 86 passed, 1 error, 3 skipped in 87.65s (0:01:27) =="),
            Some(Tally { passed: 86, failed: 3, skipped: 3 })
        );
        assert_eq!(totals("a line that says how it went in words"), None);
        assert_eq!(totals("100,000 spans: 6.73 MB, interactive in 618 ms"), None);
    }
}
