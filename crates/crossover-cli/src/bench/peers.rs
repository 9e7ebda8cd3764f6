//! Other libraries, timed by a small script in a Python of the user's.
//!
//! One process lives as long as the benchmark and answers a line of JSON for a line of JSON. Ours and theirs are timed one after the other,
//! workload by workload; `cargo xtask bench --peers` takes turns and is what claims are made with.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, anyhow, bail};
use crossover::profile::bench::{Budget, Timing};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::workloads::Params;

const SCRIPT: &str = include_str!("peers.py");

/// Which libraries there are.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub struct Found {
    /// Names and versions.
    pub found: BTreeMap<String, String>,
    /// Names, and why they cannot be used.
    pub missing: BTreeMap<String, String>,
}

impl Found {
    /// Both, in words.
    pub fn sentence(&self) -> String {
        let list = |of: &BTreeMap<String, String>, between: &str| {
            of.iter().map(|(name, what)| format!("{name}{between}{what}")).collect::<Vec<_>>().join(", ")
        };
        let found = if self.found.is_empty() { "none".to_owned() } else { list(&self.found, " ") };
        if self.missing.is_empty() {
            return format!("Found: {found}.");
        }
        let missing: Vec<&str> = self.missing.keys().map(String::as_str).collect();
        format!("Found: {found}. Not found: {}.", missing.join(", "))
    }
}

/// A Python that measures.
pub struct Peers {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    found: Found,
}

impl Peers {
    /// Starts a Python and asks what it has.
    pub fn start(python: Option<&Path>) -> Result<Peers> {
        let program = python.map_or_else(|| PathBuf::from("python3"), Path::to_path_buf);
        let mut child = Command::new(&program)
            .args(["-u", "-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| {
                format!(
                    "could not start {}: --peers needs a Python, name one with --python",
                    program.display()
                )
            })?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = BufReader::new(output.ok_or_else(|| anyhow!("{} has no output", program.display()))?);
        let mut peers = Peers { child, input, output, found: Found::default() };
        let line = peers.line().with_context(|| format!("{} did not answer", program.display()))?;
        peers.found = serde_json::from_str(&line).context("the script answered something else")?;
        Ok(peers)
    }

    /// What it has.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// Times of a workload, of every library that has a form of it.
    pub fn measure(
        &mut self,
        workload: &str,
        params: &Params,
        budget: &Budget,
    ) -> Result<BTreeMap<String, Timing>> {
        let request = json!({
            "workload": workload,
            "params": params,
            "seconds": budget.time.as_secs_f64(),
            "fewest": budget.fewest,
            "most": budget.most,
        });
        let input = self.input.as_mut().ok_or_else(|| anyhow!("the script has ended"))?;
        writeln!(input, "{request}").and_then(|()| input.flush()).context("the script has ended")?;
        let line = self.line()?;
        let timings: BTreeMap<String, Timing> = serde_json::from_str(&line)
            .with_context(|| format!("the script answered {line:?} about {workload}"))?;
        Ok(timings.into_iter().filter(|(_, timing)| !timing.samples.is_empty()).collect())
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.output.read_line(&mut line).context("could not read from the script")? == 0 {
            bail!("the script ended without an answer");
        }
        Ok(line)
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        // The script ends where its input does.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
