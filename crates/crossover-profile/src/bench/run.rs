//! A run: what was measured where, as a value and as a file. `docs/bench-format.md` is the contract.

use std::{collections::BTreeMap, path::Path, time::SystemTime};

use serde::{Deserialize, Serialize};

use super::{Fingerprint, Timing};
use crate::{gather, trace};

/// What `format` says in a saved run.
const FORMAT: &str = "crossover-bench";
/// The version of the file that this crate writes, and the last it reads.
const VERSION: u32 = 1;

/// What was measured where.
///
/// ```
/// use crossover_profile::bench::{Entry, Fingerprint, Run, Timing};
/// let mut run = Run::new("nightly", Fingerprint::here(None));
/// let timings = [("cpu".to_string(), Timing::new([2e-3, 1e-3, 3e-3]))].into();
/// run.results.push(Entry { name: "sum".into(), timings, ..Entry::default() });
/// let text = run.to_json(); // to be kept, and read again some other day
/// let again = Run::from_json(&text)?;
/// assert_eq!(again.find("sum").and_then(|entry| entry.median("cpu")), Some(2e-3));
/// assert_eq!(again.find("product"), None);
/// # Ok::<(), crossover_profile::bench::RunProblem>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    format: String,
    version: u32,
    /// What it is called: the suite, or the user's project.
    pub name: String,
    /// When it began, as `2026-11-15T20:00:00Z`.
    #[serde(default)]
    pub created: String,
    /// The program, with its arguments.
    #[serde(default)]
    pub command: String,
    /// Where.
    pub machine: Fingerprint,
    /// Share of the processors that other programs used meanwhile; above 0.05 the times are too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
    /// What was measured.
    pub results: Vec<Entry>,
}

/// A workload, and how long it took.
///
/// ```
/// use crossover_profile::bench::{Entry, Timing};
/// let mut entry = Entry { name: "sum of 1000".into(), workload: "sum".into(), ..Entry::default() };
/// entry.params.insert("n".into(), 1000);
/// entry.timings.insert("cpu".into(), Timing::new([3e-6]));
/// assert_eq!(entry.speedup(), None); // no GPU yet
/// entry.timings.insert("cuda:0".into(), Timing::new([1e-6]));
/// assert_eq!(entry.speedup().map(f64::round), Some(3.0));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// What it is called; no two of a run have the same.
    pub name: String,
    /// The kind of work, where there are several sizes of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workload: String,
    /// Sizes and other numbers of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, u64>,
    /// Times by device: `cpu`, `cuda:0`, or whatever a program of the user's calls it.
    pub timings: BTreeMap<String, Timing>,
    /// Bytes read and written by the kernels of the plan, 0 where nobody knows.
    #[serde(default)]
    pub bytes: u64,
    /// Arithmetic operations of the plan, 0 where nobody knows.
    #[serde(default)]
    pub flops: u64,
    /// The time that the roofline allows over the time taken, by device.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub efficiency: BTreeMap<String, f64>,
    /// The largest difference from float64 or the reference, as a share of the largest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_error: Option<f64>,
    /// What somebody else states about this work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// Times of other libraries, by their name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub peers: BTreeMap<String, Timing>,
}

/// A figure that was stated elsewhere, not measured here.
///
/// ```
/// use crossover_profile::bench::{Claim, Entry};
/// let claim = Claim { by: "a talk".into(), before: Some(9.0), after: Some(3.0), ..Claim::default() };
/// let entry = Entry { name: "sort".into(), claim: Some(claim), ..Entry::default() };
/// let claim = entry.claim.as_ref().expect("it was just set");
/// // What follows from it, which was not stated.
/// assert_eq!((claim.speedup, claim.before.zip(claim.after).map(|(a, b)| a / b)), (None, Some(3.0)));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Who states it.
    pub by: String,
    /// Seconds before, where stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<f64>,
    /// Seconds after, where stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<f64>,
    /// How many times faster, where stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup: Option<f64>,
    /// What before and after are.
    #[serde(default)]
    pub about: String,
}

impl Entry {
    /// The median of a device, if it was measured.
    ///
    /// ```
    /// use crossover_profile::bench::{Entry, Timing};
    /// let mut entry = Entry { name: "sum".into(), ..Entry::default() };
    /// entry.timings.insert("cpu".into(), Timing::new([2.0, 4.0, 3.0]));
    /// entry.timings.insert("cuda:0".into(), Timing::new([0.5]));
    /// assert_eq!(entry.median("cpu"), Some(3.0));
    /// assert_eq!(entry.speedup(), Some(6.0));
    /// ```
    pub fn median(&self, device: &str) -> Option<f64> {
        self.timings.get(device).map(Timing::median)
    }

    /// How many times faster the GPU is than the CPU, where both were measured.
    pub fn speedup(&self) -> Option<f64> {
        Some(self.median("cpu")? / self.median("cuda:0")?)
    }
}

/// Why a text is no saved run.
///
/// ```
/// use crossover_profile::bench::{Run, RunProblem};
/// let newer = r#"{"format": "crossover-bench", "version": 99}"#;
/// assert_eq!(Run::from_json(newer), Err(RunProblem::Newer { found: 99, known: 1 }));
/// let error = Run::from_json("{\n  oops").unwrap_err();
/// assert_eq!(error.to_string(), "this is not JSON: key must be a string (line 2, column 3)");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunProblem {
    /// It is not JSON.
    #[error("this is not JSON: {why} (line {line}, column {column})")]
    NotJson {
        /// What the parser says.
        why: String,
        /// Where, from 1.
        line: usize,
        /// Where, from 1.
        column: usize,
    },
    /// It is JSON of something else.
    #[error("this is no saved run of `crossover bench`: {found}; `crossover bench --save FILE` writes one")]
    Foreign {
        /// What it is instead.
        found: String,
    },
    /// A later version wrote it.
    #[error("this run has version {found}, this program reads up to {known}: use a newer crossover")]
    Newer {
        /// Of the file.
        found: u64,
        /// The last one known here.
        known: u32,
    },
    /// It says it is a run and is not.
    #[error("this run is damaged: {what}")]
    Damaged {
        /// What does not hold.
        what: String,
    },
}

impl Run {
    /// Nothing measured yet, on this machine, now.
    ///
    /// ```
    /// use crossover_profile::bench::{Entry, Fingerprint, Run, Timing};
    /// let mut run = Run::new("mine", Fingerprint::default());
    /// let mut entry = Entry { name: "sum".into(), ..Entry::default() };
    /// entry.timings.insert("cpu".into(), Timing::new([1e-3, 2e-3]));
    /// run.results.push(entry);
    /// assert_eq!(Run::from_json(&run.to_json()), Ok(run));
    /// ```
    pub fn new(name: impl Into<String>, machine: Fingerprint) -> Run {
        Run {
            format: FORMAT.to_string(),
            version: VERSION,
            name: name.into(),
            created: gather::timestamp(SystemTime::now()),
            command: std::env::args().collect::<Vec<_>>().join(" "),
            machine,
            others: None,
            results: Vec::new(),
        }
    }

    /// The result of a name.
    pub fn find(&self, name: &str) -> Option<&Entry> {
        self.results.iter().find(|entry| entry.name == name)
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        // Strings, finite numbers and lists of them always have a form in JSON.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// From JSON. Whatever the text is, what comes back can be compared: every time is a positive number, every name is there once.
    ///
    /// ```
    /// use crossover_profile::bench::Run;
    /// let error = Run::from_json(r#"{"benchmarks": []}"#).unwrap_err();
    /// assert!(error.to_string().starts_with("this is no saved run of `crossover bench`: an object"));
    /// ```
    pub fn from_json(text: &str) -> Result<Run, RunProblem> {
        let head: trace::Head = match serde_json::from_str(text) {
            Ok(head) => head,
            Err(error) if error.is_data() => {
                return Err(RunProblem::Foreign { found: trace::described(text) });
            }
            Err(error) => {
                let why = error.to_string();
                let why = why.split(" at line").next().unwrap_or_default().to_string();
                return Err(RunProblem::NotJson { why, line: error.line(), column: error.column() });
            }
        };
        if head.format.as_ref().and_then(|format| format.as_str()) != Some(FORMAT) {
            return Err(RunProblem::Foreign { found: trace::described(text) });
        }
        match head.version {
            Some(version) if version <= u64::from(VERSION) => {}
            Some(found) => return Err(RunProblem::Newer { found, known: VERSION }),
            None => return Err(RunProblem::Damaged { what: "it has no version".to_string() }),
        }
        let run: Run =
            serde_json::from_str(text).map_err(|error| RunProblem::Damaged { what: error.to_string() })?;
        run.check().map_err(|what| RunProblem::Damaged { what })?;
        Ok(run)
    }

    /// Writes the run to a file: a new one, or in place of a whole old one.
    ///
    /// ```
    /// use crossover_profile::bench::{Fingerprint, Run};
    /// let path = std::env::temp_dir().join(format!("crossover-run-{}.json", std::process::id()));
    /// Run::new("mine", Fingerprint::here(None)).save(&path)?;
    /// assert_eq!(Run::from_json(&std::fs::read_to_string(&path)?).map(|run| run.name), Ok("mine".into()));
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> std::io::Result<()> {
        trace::replace(path.as_ref(), &self.to_json())
    }

    fn check(&self) -> Result<(), String> {
        let mut names = std::collections::BTreeSet::new();
        for entry in &self.results {
            if !names.insert(entry.name.as_str()) {
                return Err(format!("{:?} is there twice", entry.name));
            }
            for (who, timing) in entry.timings.iter().chain(&entry.peers) {
                if timing.samples.is_empty() {
                    return Err(format!("{:?} on {who} has no samples", entry.name));
                }
                let wrong = |time: &&f64| !(time.is_finite() && **time > 0.0);
                if let Some(time) = timing.samples.iter().chain(&timing.cold).find(wrong) {
                    return Err(format!("{:?} on {who} has the time {time}", entry.name));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Run {
        let mut run = Run::new("sample", Fingerprint::here(Some("abc")));
        let timings = [("cpu".to_string(), Timing::new([1e-3, 1.1e-3]))].into();
        run.results.push(Entry { name: "one".into(), timings, ..Entry::default() });
        run
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said() {
        let told = |text: &str| Run::from_json(text).map_or_else(|p| p.to_string(), |_| String::new());
        assert!(told("{\"format\": ").starts_with("this is not JSON: EOF while parsing"));
        assert!(told("[1, 2]").contains("a list of 2"));
        assert!(told("17").contains("the value 17"));
        assert!(told(r#"{"format": "crossover-trace", "version": 1}"#).contains("crossover-trace"));
        assert!(told(r#"{"format": "crossover-bench", "version": 2}"#).contains("version 2"));
        assert!(told(r#"{"format": "crossover-bench"}"#).contains("no version"));
        assert!(told(r#"{"format": "crossover-bench", "version": 1}"#).contains("missing field"));
    }

    #[test]
    fn times_that_are_none_are_found() {
        let broken: [fn(&mut Run); 4] = [
            |run| run.results[0].timings.values_mut().for_each(|t| t.samples.clear()),
            |run| run.results[0].timings.values_mut().for_each(|t| t.samples[0] = 0.0),
            |run| run.results[0].timings.values_mut().for_each(|t| t.cold = Some(-1.0)),
            |run| run.results.push(run.results[0].clone()),
        ];
        for (number, spoil) in broken.into_iter().enumerate() {
            let mut run = sample();
            assert_eq!(Run::from_json(&run.to_json()), Ok(run.clone()));
            spoil(&mut run);
            let result = Run::from_json(&run.to_json());
            assert!(matches!(result, Err(RunProblem::Damaged { .. })), "{number}: {result:?}");
        }
    }

    #[test]
    fn damage_anywhere_is_an_error_or_leaves_a_run_that_can_be_compared() {
        let whole = sample().to_json();
        let mut read = 0;
        for at in (0..whole.len()).filter(|&at| whole.is_char_boundary(at)) {
            let mut texts = vec![whole[..at].to_string()];
            let rest: String = whole[at..].chars().skip(1).collect();
            for letter in ["", "0", "-", "9e999", "\"", "[", "}", "null", "\u{fffd}"] {
                texts.push(format!("{}{letter}{rest}", &whole[..at]));
            }
            for text in texts {
                if let Ok(run) = Run::from_json(&text) {
                    assert_eq!(run.check(), Ok(()), "{text}");
                    assert_eq!(Run::from_json(&run.to_json()), Ok(run));
                    read += 1;
                }
            }
        }
        assert!(read > 100, "names may hold anything: {read}");
    }

    #[test]
    fn members_of_later_versions_are_ignored() {
        let text = sample().to_json().replacen("\"name\"", "\"colour\": 7, \"name\"", 1);
        assert_eq!(Run::from_json(&text).map(|run| run.results.len()), Ok(1));
    }
}
