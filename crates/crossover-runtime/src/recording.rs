//! Where plans ran, as a text that another process can follow.
//!
//! ```text
//! crossover plans 1
//! on cpu gpu0
//! graph {
//!   …
//! }
//! ```
//!
//! One line says where the kernels of the next graph run, in order. Graphs with kernels of a user's are left out: text cannot hold them.

use std::{fmt, path::Path, str::FromStr};

use crossover_core::Graph;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::{Error, Result, profile};

const HEADER: &str = "crossover plans 1";

/// Devices of the kernels of a plan, by number.
pub(crate) type Devices = SmallVec<[u8; 16]>;

/// Where plans ran.
///
/// ```
/// use crossover_runtime::Recording;
/// let text = "crossover plans 1\non cpu\ngraph {\n  %a = input f32[4]\n  %b = exp %a\n  return %b\n}\n";
/// let recording: Recording = text.parse()?;
/// assert_eq!(recording.len(), 1);
/// assert_eq!(recording.to_string().parse::<Recording>()?, recording);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recording {
    plans: FxHashMap<Graph, Devices>,
}

impl Recording {
    /// Number of plans.
    pub fn len(&self) -> usize {
        self.plans.len()
    }

    /// Whether there are none.
    ///
    /// ```
    /// use crossover_runtime::Recording;
    /// assert!(Recording::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.plans.is_empty()
    }

    /// Notes where the kernels of a graph's plan ran; graphs that text cannot hold are left out.
    pub(crate) fn note(&mut self, graph: &Graph, devices: Devices) {
        if Graph::parse(&graph.to_string()).is_ok_and(|again| again == *graph) {
            self.plans.insert(graph.clone(), devices);
        }
    }

    /// Where the kernels of a graph's plan ran.
    pub(crate) fn find(&self, graph: &Graph) -> Option<&Devices> {
        self.plans.get(graph)
    }

    /// The highest number of an accelerator, counted from 1; 0 if everything ran on the host.
    pub(crate) fn accelerators(&self) -> usize {
        self.plans.values().flatten().copied().max().map_or(0, usize::from)
    }

    /// Writes a file, whole or not at all, and makes its folder.
    ///
    /// ```
    /// use crossover_runtime::Recording;
    /// let path = std::env::temp_dir().join(format!("crossover-plans-{}.txt", std::process::id()));
    /// let text = "crossover plans 1\non gpu0\ngraph {\n  %a = input f32[4]\n  %b = exp %a\n  return %b\n}\n";
    /// let recording: Recording = text.parse().expect("plans as they are written");
    /// recording.save(&path)?;
    /// assert_eq!(Recording::load(&path)?, recording);
    /// # std::fs::remove_file(path).ok();
    /// # Ok::<(), crossover_runtime::Error>(())
    /// ```
    pub fn save(&self, path: &Path) -> Result<()> {
        profile::write(path, &self.to_string())
    }

    /// Reads a file.
    ///
    /// ```
    /// use crossover_runtime::Recording;
    /// let missing = Recording::load("/nowhere/plans.txt".as_ref()).unwrap_err();
    /// assert!(missing.to_string().contains("/nowhere/plans.txt"));
    /// ```
    pub fn load(path: &Path) -> Result<Recording> {
        let text = std::fs::read_to_string(path).map_err(|error| profile::refused(path, "read", &error))?;
        let file = path.display().to_string();
        text.parse().map_err(|what| Error::Corrupt { file, format: "plans", what })
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        // The same plans are the same text.
        let mut plans: Vec<(String, &Devices)> =
            self.plans.iter().map(|(graph, devices)| (graph.to_string(), devices)).collect();
        plans.sort();
        for (graph, devices) in plans {
            f.write_str("on")?;
            for &device in devices {
                match device.checked_sub(1) {
                    None => f.write_str(" cpu")?,
                    Some(number) => write!(f, " gpu{number}")?,
                }
            }
            writeln!(f, "\n{}", graph.trim_end())?;
        }
        Ok(())
    }
}

impl FromStr for Recording {
    type Err = String;

    fn from_str(text: &str) -> Result<Recording, String> {
        let mut lines = text.lines().enumerate();
        match lines.next() {
            Some((_, HEADER)) => {}
            first => {
                return Err(format!("the first line is {:?}, not {HEADER:?}", first.map_or("", |l| l.1)));
            }
        }
        let mut plans = FxHashMap::default();
        while let Some((at, line)) = lines.next() {
            if line.trim().is_empty() {
                continue;
            }
            let here = |what: String| format!("line {}: {what}", at + 1);
            let named =
                line.strip_prefix("on").ok_or_else(|| here(format!("{line:?} does not begin with on")))?;
            let device = |name: &str| match name.strip_prefix("gpu") {
                None => (name == "cpu").then_some(0),
                Some(number) => number.parse::<u8>().ok()?.checked_add(1),
            };
            let read = |name| device(name).ok_or_else(|| here(format!("{name:?} is no device")));
            let devices: Devices = named.split_whitespace().map(read).collect::<Result<_, _>>()?;
            let mut body = String::new();
            for (_, line) in lines.by_ref() {
                body.push_str(line);
                body.push('\n');
                if line == "}" {
                    break;
                }
            }
            let graph = Graph::parse(&body).map_err(|error| here(format!("the graph below: {error}")))?;
            plans.insert(graph, devices);
        }
        Ok(Recording { plans })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads;

    fn sample() -> Recording {
        let mut recording = Recording::default();
        recording.note(&workloads::find("gelu f32").unwrap().graph(100).unwrap(), Devices::from_slice(&[0]));
        let pair = workloads::find("linear and gelu f32").unwrap().graph(10_000).unwrap();
        recording.note(&pair, Devices::from_slice(&[2, 0]));
        recording
    }

    #[test]
    fn text_says_everything_and_equal_plans_are_equal_text() {
        let text = sample().to_string();
        assert!(text.contains("\non gpu1 cpu\ngraph {"), "{text}");
        let again: Recording = text.parse().unwrap();
        assert_eq!((again.len(), again.accelerators()), (2, 2));
        assert_eq!(again.to_string(), text);
    }

    #[test]
    fn damage_is_told_with_its_line() {
        let text = sample().to_string();
        for (from, to, want) in [
            ("plans 1", "plans 7", "first line"),
            ("on cpu", "at cpu", "line 2"),
            ("gpu1", "gpu999", "is no device"),
            ("graph {", "graph (", "the graph below"),
        ] {
            let error = text.replacen(from, to, 1).parse::<Recording>().unwrap_err();
            assert!(error.contains(want), "{from}: {error}");
        }
        assert!("".parse::<Recording>().is_err());
        let missing = Recording::load("/nowhere/plans.txt".as_ref()).unwrap_err();
        assert!(missing.to_string().contains("/nowhere/plans.txt"), "{missing}");
    }
}
