//! Floors: what must be reached, in a file. `--require floors.toml`.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result, bail};
use crossover::profile::bench::{Entry, Run};
use serde::{Deserialize, Serialize};

use super::gauge::{CPU, GPU};

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    floor: Vec<Floor>,
}

/// What must be reached by every workload whose name begins so.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Floor {
    work: String,
    /// Times as fast on the GPU as on the CPU, at least.
    speedup: Option<f64>,
    /// Shares of the roofline, at least.
    cpu_efficiency: Option<f64>,
    gpu_efficiency: Option<f64>,
    /// Milliseconds, at most.
    cpu_ms: Option<f64>,
    gpu_ms: Option<f64>,
    /// At most.
    max_error: Option<f64>,
    /// Times as fast as other libraries, at least.
    #[serde(default)]
    over: BTreeMap<String, f64>,
}

/// How a floor was met.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    pub work: String,
    /// What is asked for, in words.
    pub asked: String,
    /// What was measured; `None` where it could not be.
    pub found: Option<f64>,
    pub required: f64,
    /// `met`, `missed` or `unknown`.
    pub outcome: &'static str,
    /// Why it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Holds a run against a file.
pub fn answers(path: &Path, run: &Run) -> Result<Vec<Answer>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
    judged(&text, run).with_context(|| format!("{} says no floors", path.display()))
}

fn judged(text: &str, run: &Run) -> Result<Vec<Answer>> {
    let file: File = toml::from_str(text)?;
    let mut answers = Vec::new();
    for floor in &file.floor {
        let named = |entry: &&Entry| {
            entry.name.strip_prefix(&floor.work).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        let entries: Vec<&Entry> = run.results.iter().filter(named).collect();
        if entries.is_empty() {
            let names: Vec<&str> = run.results.iter().map(|entry| entry.name.as_str()).collect();
            bail!("nothing that was measured is called {:?}; there are {}", floor.work, names.join(", "));
        }
        for entry in entries {
            floor.ask(entry, &mut answers);
        }
    }
    if answers.is_empty() {
        bail!(
            "no floor asks for anything: give speedup, cpu_ms, gpu_ms, cpu_efficiency, gpu_efficiency, max_error or over"
        );
    }
    Ok(answers)
}

impl Floor {
    fn ask(&self, entry: &Entry, answers: &mut Vec<Answer>) {
        let mut add = |asked: String, found: Option<f64>, required: Option<f64>, most: bool, why: &str| {
            let Some(required) = required else { return };
            let outcome = match found {
                Some(found) if (if most { found <= required } else { found >= required }) => "met",
                Some(_) => "missed",
                None => "unknown",
            };
            let why = found.is_none().then(|| why.to_owned());
            answers.push(Answer { work: entry.name.clone(), asked, found, required, outcome, why });
        };
        let ms = |device: &str| entry.median(device).map(|seconds| 1e3 * seconds);
        let roof = |device: &str| entry.efficiency.get(device).copied();
        let no_gpu = "there is no GPU";
        add("GPU over CPU, times".into(), entry.speedup(), self.speedup, false, no_gpu);
        add("CPU, ms at most".into(), ms(CPU), self.cpu_ms, true, "it was not measured on the CPU");
        add("GPU, ms at most".into(), ms(GPU), self.gpu_ms, true, no_gpu);
        add("share of the CPU's roof".into(), roof(CPU), self.cpu_efficiency, false, "the roof is not known");
        add("share of the GPU's roof".into(), roof(GPU), self.gpu_efficiency, false, no_gpu);
        add("error at most".into(), entry.max_error, self.max_error, true, "there is no reference");
        for (peer, required) in &self.over {
            let ours = entry.timings.values().map(|timing| timing.median()).fold(f64::INFINITY, f64::min);
            let found = entry.peers.get(peer).map(|theirs| theirs.median() / ours);
            let why = format!("{peer} was not measured: run with --peers");
            add(format!("over {peer}, times"), found, Some(*required), false, &why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossover::profile::bench::{Fingerprint, Timing};

    fn run() -> Run {
        let mut run = Run::new("core", Fingerprint::default());
        let times = |cpu: f64, gpu: Option<f64>| {
            let all = [(CPU, Some(cpu)), (GPU, gpu)];
            all.into_iter().filter_map(|(d, t)| Some((d.to_owned(), Timing::new([t?])))).collect()
        };
        let mut gelu =
            Entry { name: "gelu d=8".into(), timings: times(4e-3, Some(1e-3)), ..Entry::default() };
        gelu.peers.insert("numpy".into(), Timing::new([3e-3]));
        run.results.push(gelu);
        run.results.push(Entry {
            name: "gelu_exact d=8".into(),
            timings: times(1.0, None),
            ..Entry::default()
        });
        run
    }

    fn outcomes(text: &str) -> Vec<&'static str> {
        judged(text, &run()).unwrap().into_iter().map(|answer| answer.outcome).collect()
    }

    #[test]
    fn floors_are_met_missed_or_unknown() {
        assert_eq!(outcomes("[[floor]]\nwork = \"gelu\"\nspeedup = 3.5"), ["met"]);
        assert_eq!(
            outcomes("[[floor]]\nwork = \"gelu\"\nspeedup = 4.5\ncpu_ms = 5\ngpu_ms = 0.5"),
            ["missed", "met", "missed"]
        );
        assert_eq!(
            outcomes("[[floor]]\nwork = \"gelu_exact\"\nspeedup = 1.0\nmax_error = 1e-6"),
            ["unknown", "unknown"]
        );
        assert_eq!(
            outcomes("[[floor]]\nwork = \"gelu d=8\"\nover = { numpy = 2.9, jax = 1.0 }"),
            ["unknown", "met"]
        );
    }

    #[test]
    fn files_that_ask_for_nothing_are_refused() {
        let told = |text: &str| format!("{:#}", judged(text, &run()).unwrap_err());
        assert!(told("[[floor]]\nwork = \"gleu\"\nspeedup = 1.0").contains("gelu d=8"));
        assert!(told("[[floor]]\nwork = \"gelu\"").contains("asks for anything"));
        assert!(told("[[floor]]\nwork = \"gelu\"\nspeed = 1.0").contains("speed"));
        assert!(told("nonsense").contains("expected"), "{}", told("nonsense"));
    }
}
