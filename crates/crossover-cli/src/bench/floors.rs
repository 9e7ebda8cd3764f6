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

/// Floors that make sense.
#[derive(Debug)]
pub struct Floors {
    all: Vec<Floor>,
    /// Where they are from, for messages.
    file: String,
}

impl Floors {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Floors> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
        let file = path.display().to_string();
        Floors::parse(&text, &file).with_context(|| format!("{file} says no floors"))
    }

    fn parse(text: &str, file: &str) -> Result<Floors> {
        let File { floor: all } = toml::from_str(text)?;
        if all.iter().all(|floor| floor.numbers().next().is_none()) {
            bail!(
                "no floor asks for anything: give speedup, cpu_ms, gpu_ms, cpu_efficiency, gpu_efficiency, max_error or over"
            );
        }
        for floor in &all {
            // No measurement is below 0, and none is more or less than NaN.
            if let Some((name, number)) =
                floor.numbers().find(|(_, number)| !(number.is_finite() && *number >= 0.0))
            {
                bail!(
                    "the floor of {:?} asks for {name} = {number}: a number that is not negative is needed",
                    floor.work
                );
            }
        }
        Ok(Floors { all, file: file.to_owned() })
    }

    /// Whether every floor is about something that has a name here.
    pub fn check<'a>(&self, names: impl Iterator<Item = &'a str>) -> Result<()> {
        let names: Vec<&str> = names.collect();
        match self.all.iter().find(|floor| !names.iter().any(|name| floor.is_about(name))) {
            None => Ok(()),
            Some(floor) => bail!(
                "{}: nothing that is measured is called {:?}; there are {}",
                self.file,
                floor.work,
                names.join(", ")
            ),
        }
    }

    /// Holds a run against them.
    pub fn answers(&self, run: &Run) -> Vec<Answer> {
        let mut answers = Vec::new();
        for floor in &self.all {
            run.results
                .iter()
                .filter(|entry| floor.is_about(&entry.name))
                .for_each(|entry| floor.ask(entry, &mut answers));
        }
        answers
    }
}

impl Floor {
    /// Of a workload at all sizes, or at one.
    fn is_about(&self, name: &str) -> bool {
        name.strip_prefix(&self.work).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }

    /// What it asks for.
    fn numbers(&self) -> impl Iterator<Item = (&str, f64)> {
        let own = [
            ("speedup", self.speedup),
            ("cpu_efficiency", self.cpu_efficiency),
            ("gpu_efficiency", self.gpu_efficiency),
            ("cpu_ms", self.cpu_ms),
            ("gpu_ms", self.gpu_ms),
            ("max_error", self.max_error),
        ];
        let over = self.over.iter().map(|(peer, times)| (peer.as_str(), *times));
        own.into_iter().filter_map(|(name, number)| Some((name, number?))).chain(over)
    }

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

    fn judged(text: &str) -> Result<Vec<Answer>> {
        let (floors, run) = (Floors::parse(text, "floors.toml")?, run());
        floors.check(run.results.iter().map(|entry| entry.name.as_str()))?;
        Ok(floors.answers(&run))
    }

    fn outcomes(text: &str) -> Vec<&'static str> {
        judged(text).unwrap().into_iter().map(|answer| answer.outcome).collect()
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
        let told = |text: &str| format!("{:#}", judged(text).unwrap_err());
        assert!(told("[[floor]]\nwork = \"gleu\"\nspeedup = 1.0").contains("gelu d=8"));
        assert!(told("[[floor]]\nwork = \"gelu\"").contains("asks for anything"));
        assert!(told("[[floor]]\nwork = \"gelu\"\nspeed = 1.0").contains("speed"));
        assert!(told("nonsense").contains("expected"), "{}", told("nonsense"));
        for number in ["-1.0", "nan", "inf", "-inf"] {
            let text = format!("[[floor]]\nwork = \"gelu\"\nspeedup = {number}");
            assert!(told(&text).contains("not negative"), "{number}: {}", told(&text));
            let text = format!("[[floor]]\nwork = \"gelu\"\nover = {{ numpy = {number} }}");
            assert!(told(&text).contains("asks for numpy"), "{number}: {}", told(&text));
        }
        assert!(told("").contains("floor") && told("floor = []").contains("asks for anything"));
        assert!(told("[[floor]]\nwork = \"\"\nspeedup = 1.0").contains("called \"\""));
        assert!(told("[[floor]]\nwork = 7\nspeedup = 1.0").contains("string"));
    }
}
