//! Other libraries, timed by a small script in a Python of the user's.
//!
//! One process lives as long as the benchmark and answers a line of JSON for a line of JSON. Ours and theirs are timed one after the other,
//! workload by workload; `cargo xtask bench --peers` takes turns and is what claims are made with.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex},
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
    /// What some could not do, in the order in which it was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Failed>,
}

/// Work that a library has a form of and could not do.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Failed {
    /// The library.
    pub library: String,
    /// The workload with its numbers.
    pub work: String,
    /// The last line of what it said.
    pub why: String,
}

/// Times of one workload by library, and why others have none.
#[derive(Debug, Deserialize)]
struct Answer {
    timings: BTreeMap<String, Timing>,
    failed: BTreeMap<String, String>,
}

impl Found {
    /// Both, in words.
    pub fn sentence(&self) -> String {
        let list = |of: &BTreeMap<String, String>, between: &str| {
            of.iter().map(|(name, what)| format!("{name}{between}{what}")).collect::<Vec<_>>().join(", ")
        };
        let found = if self.found.is_empty() { "none".to_owned() } else { list(&self.found, " ") };
        let mut out = format!("Found: {found}.");
        if !self.missing.is_empty() {
            let missing: Vec<&str> = self.missing.keys().map(String::as_str).collect();
            out.push_str(&format!(" Not found: {}.", missing.join(", ")));
        }
        for Failed { library, work, why } in &self.failed {
            out.push_str(&format!("\n{library} could not do {work}: {why}"));
        }
        out
    }
}

/// A Python that measures.
pub struct Peers {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// The last line of what it writes beside its answers.
    last: Arc<Mutex<String>>,
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
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| {
                format!(
                    "could not start {}: --peers needs a Python, name one with --python",
                    program.display()
                )
            })?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = BufReader::new(output.ok_or_else(|| anyhow!("{} has no output", program.display()))?);
        let last = Arc::new(Mutex::new(String::new()));
        if let Some(errors) = child.stderr.take() {
            let last = last.clone();
            // Read to its end, or the script would wait for room.
            std::thread::spawn(move || keep_last(errors, &last));
        }
        let mut peers = Peers { child, input, output, last, found: Found::default() };
        let line = peers.line().with_context(|| format!("{} did not answer", program.display()))?;
        peers.found = serde_json::from_str(&line).context("the script answered something else")?;
        Ok(peers)
    }

    /// What it has.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// Times of a workload, of every library that has a form of it. What one cannot do is noted in [`found`](Peers::found).
    pub fn measure(
        &mut self,
        name: &str,
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
        let answer: Answer = serde_json::from_str(&line)
            .with_context(|| format!("the script answered {line:?} about {workload}"))?;
        let failed = answer.failed.into_iter();
        let failed = failed.map(|(library, why)| Failed { library, work: name.to_owned(), why });
        self.found.failed.extend(failed);
        Ok(answer.timings.into_iter().filter(|(_, timing)| !timing.samples.is_empty()).collect())
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.output.read_line(&mut line).context("could not read from the script")? == 0 {
            // It has written everything by now; whoever reads that may need a moment.
            drop(self.input.take());
            let _ = self.child.wait();
            std::thread::sleep(std::time::Duration::from_millis(50));
            let last = self.last.lock().map(|last| last.clone()).unwrap_or_default();
            let why = if last.is_empty() { String::new() } else { format!(": {last}") };
            bail!("the script ended without an answer{why}");
        }
        Ok(line)
    }
}

/// Reads to the end, and keeps the last line that says something.
fn keep_last(from: impl Read, last: &Mutex<String>) {
    for line in BufReader::new(from).lines().map_while(std::result::Result::ok) {
        if let (false, Ok(mut last)) = (line.trim().is_empty(), last.lock()) {
            line.trim().clone_into(&mut last);
        }
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        // The script ends where its input does.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
