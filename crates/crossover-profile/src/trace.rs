//! A trace as a value: what a session saw, complete enough to be kept, sent and looked at elsewhere.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};

use crate::{Breakdown, Events, Kernels, Launches, Memory, Problem, Spans, Transfers, table::check_rows};

/// What `format` says in a trace file.
pub(crate) const FORMAT: &str = "crossover-trace";
/// The version of the file that this crate writes, and the last it reads.
pub(crate) const VERSION: u32 = 1;

/// What a session saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    pub(crate) format: String,
    pub(crate) version: u32,
    /// The name of the session.
    pub name: String,
    /// When it began, as `2026-11-15T20:00:00Z`.
    #[serde(default)]
    pub created: String,
    /// The version of crossover that recorded it.
    #[serde(default)]
    pub crossover: String,
    /// The program that was recorded, with its arguments.
    #[serde(default)]
    pub command: String,
    /// From its beginning to its end, in nanoseconds.
    pub wall_ns: u64,
    /// Spans that found no room, or whose device was lost.
    #[serde(default)]
    pub dropped: u64,
    /// Where it was recorded.
    pub machine: Machine,
    /// Where the time went.
    pub breakdown: Breakdown,
    /// Names, which tables refer to by number.
    pub strings: Vec<String>,
    /// Threads and queues.
    pub tracks: Vec<Track>,
    /// What took time.
    pub spans: Spans,
    /// Distinct kernels.
    pub kernels: Kernels,
    /// Launches of kernels.
    pub launches: Launches,
    /// Which way copies went.
    #[serde(default)]
    pub transfers: Transfers,
    /// How full devices were.
    #[serde(default)]
    pub memory: Memory,
    /// Fallbacks, spills, changes of pressure.
    #[serde(default)]
    pub events: Events,
    /// What to look at first.
    #[serde(default)]
    pub advice: Vec<Advice>,
}

/// The machine of a trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// Threads that kernels use.
    pub threads: usize,
    /// Bytes of host memory; 0 where nobody knows.
    #[serde(default)]
    pub memory: u64,
    /// In the order of their numbers; the host is the first.
    pub devices: Vec<MachineDevice>,
}

/// A device of a machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineDevice {
    /// Its name.
    pub name: String,
    /// `cpu`, `cuda` or `simulated`.
    pub kind: String,
    /// Bytes per second that it was measured to move, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<f64>,
    /// Operations per second that it was measured to do, by dtype.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flops: BTreeMap<String, f64>,
}

/// Where spans follow or enclose each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Track {
    /// Its name.
    pub name: String,
    /// Whether a thread or a queue.
    pub kind: TrackKind,
    /// Whose.
    pub device: u32,
}

/// A thread of the host, or a queue of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrackKind {
    /// Of the host.
    Thread,
    /// Of a device.
    Stream,
}

/// Something worth looking at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// The part of the wall time it is about.
    pub share: f64,
    /// In a few words.
    pub title: String,
    /// What was seen.
    pub evidence: String,
    /// What to do.
    pub suggestion: String,
    /// The kernel it is about, or −1.
    pub kernel: i64,
}

/// What a file says it is.
#[derive(Deserialize)]
pub(crate) struct Head {
    pub format: Option<serde_json::Value>,
    pub version: Option<u64>,
}

/// What a JSON text looks like that other readers of this crate did not expect.
pub(crate) fn described(text: &str) -> String {
    foreign(text)
}

/// Writes a file whole, or leaves what was there.
pub(crate) fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    std::fs::write(&part, text)?;
    std::fs::rename(&part, path).inspect_err(|_| _ = std::fs::remove_file(&part))
}

impl Trace {
    /// A string by its number.
    pub fn string(&self, number: u32) -> &str {
        self.strings.get(number as usize).map_or("", String::as_str)
    }

    /// The name of a span.
    pub fn name_of(&self, span: usize) -> &str {
        self.spans.name.get(span).map_or("", |&name| self.string(name))
    }

    /// As JSON, without blanks.
    pub fn to_json(&self) -> String {
        // Strings, numbers and lists of them always have a form in JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// From JSON. Whatever the text is, what comes back can be drawn: all numbers name things that exist.
    ///
    /// ```
    /// use crossover_profile::Trace;
    /// let error = Trace::from_json(r#"{"traceEvents": []}"#).unwrap_err();
    /// assert!(error.to_string().starts_with("this is no trace of crossover: a trace in Chrome's format"));
    /// ```
    pub fn from_json(text: &str) -> Result<Trace, Problem> {
        let head: Head = match serde_json::from_str(text) {
            Ok(head) => head,
            Err(error) if error.is_data() => return Err(Problem::Foreign { found: foreign(text) }),
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                let why = error.to_string();
                let why = why.split(" at line").next().unwrap_or_default().to_string();
                return Err(Problem::NotJson { why, line, column });
            }
        };
        if head.format.as_ref().and_then(|format| format.as_str()) != Some(FORMAT) {
            return Err(Problem::Foreign { found: foreign(text) });
        }
        match head.version {
            Some(version) if version <= u64::from(VERSION) => {}
            Some(found) => return Err(Problem::Newer { found, known: VERSION }),
            None => return Err(Problem::Damaged { what: "it has no version".to_string() }),
        }
        let trace: Trace =
            serde_json::from_str(text).map_err(|error| Problem::Damaged { what: error.to_string() })?;
        trace.check()?;
        Ok(trace)
    }

    /// Writes the trace to a file: a new one, or in place of a whole old one.
    pub fn save(&self, path: impl AsRef<Path>) -> std::io::Result<()> {
        replace(path.as_ref(), &self.to_json())
    }

    fn check(&self) -> Result<(), Problem> {
        self.spans.check_lengths()?;
        self.kernels.check_lengths()?;
        self.launches.check_lengths()?;
        self.transfers.check_lengths()?;
        self.memory.check_lengths()?;
        self.events.check_lengths()?;
        let (strings, devices, rows) = (self.strings.len(), self.machine.devices.len(), self.spans.len());
        let wide = |numbers: &[u32]| numbers.iter().map(|&n| i64::from(n)).collect::<Vec<_>>();
        check_rows("the track of a span", wide(&self.spans.track), 0, self.tracks.len())?;
        check_rows("the name of a span", wide(&self.spans.name), 0, strings)?;
        check_rows("the parent of a span", self.spans.parent.clone(), -1, rows)?;
        check_rows("the kernel of a span", self.spans.kernel.clone(), -1, self.kernels.len())?;
        check_rows("the launch of a span", self.spans.launch.clone(), -1, self.launches.len())?;
        for (what, names) in [
            ("the name of a kernel", &self.kernels.name),
            ("the form of a kernel", &self.kernels.form),
            ("the text of a kernel", &self.kernels.text),
            ("the dtype of a kernel", &self.kernels.dtype),
            ("the reason of a launch", &self.launches.reason),
            ("the kind of an event", &self.events.kind),
            ("the text of an event", &self.events.text),
        ] {
            check_rows(what, wide(names), 0, strings)?;
        }
        check_rows("the kernel of a launch", wide(&self.launches.kernel), 0, self.kernels.len())?;
        check_rows("the device of a launch", wide(&self.launches.device), 0, devices)?;
        check_rows("the device of a memory sample", wide(&self.memory.device), 0, devices)?;
        check_rows("the span of a copy", wide(&self.transfers.span), 0, rows)?;
        check_rows("the source of a copy", wide(&self.transfers.from), 0, devices)?;
        check_rows("the target of a copy", wide(&self.transfers.to), 0, devices)?;
        let tracks: Vec<u32> = self.tracks.iter().map(|track| track.device).collect();
        check_rows("the device of a track", wide(&tracks), 0, devices)?;
        self.check_parents()
    }

    /// Nothing encloses itself.
    fn check_parents(&self) -> Result<(), Problem> {
        const UNSEEN: u8 = 0;
        const OPEN: u8 = 1;
        const DONE: u8 = 2;
        let mut state = vec![UNSEEN; self.spans.len()];
        for first in 0..self.spans.len() {
            let mut path = Vec::new();
            let mut at = first as i64;
            while at >= 0 && state[at as usize] == UNSEEN {
                state[at as usize] = OPEN;
                path.push(at as usize);
                at = self.spans.parent[at as usize];
            }
            if at >= 0 && state[at as usize] == OPEN {
                return Err(Problem::Damaged { what: format!("span {at} lies inside itself") });
            }
            path.into_iter().for_each(|row| state[row] = DONE);
        }
        Ok(())
    }
}

/// What a JSON text looks like that is no trace.
fn foreign(text: &str) -> String {
    let Ok(value) = serde_json::from_str::<serde_json::Value>(text) else {
        return "something else".to_string();
    };
    match &value {
        serde_json::Value::Object(members) if members.contains_key("traceEvents") => {
            "a trace in Chrome's format, which Perfetto opens".to_string()
        }
        serde_json::Value::Object(members)
            if members.contains_key("$schema") && members.contains_key("profiles") =>
        {
            "a file of speedscope".to_string()
        }
        serde_json::Value::Object(members) => match members.get("format") {
            Some(format) => format!("its format is {format}"),
            None => {
                let names: Vec<_> = members.keys().take(4).map(String::as_str).collect();
                format!("an object with the members {}", names.join(", "))
            }
        },
        serde_json::Value::Array(items) => format!("a list of {}", items.len()),
        other => format!("the value {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Trace {
        let (_, trace) = crate::profile("sample", || {
            let _span = crate::scope("outer");
            crossover_array::Array::linspace(0.0, 1.0, 50_000).exp().eval().map(drop)
        });
        trace
    }

    #[test]
    fn a_trace_survives_its_file() {
        let trace = sample();
        assert!(trace.spans.kind.iter().any(|kind| kind == "k"), "a kernel was seen");
        assert_eq!(Trace::from_json(&trace.to_json()), Ok(trace));
    }

    #[test]
    fn files_are_replaced_whole() -> std::io::Result<()> {
        let folder = std::env::temp_dir().join(format!("crossover-trace-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let path = folder.join("trace.json");
        let trace = sample();
        trace.save(&path)?;
        trace.save(&path)?;
        assert_eq!(std::fs::read_dir(&folder)?.count(), 1);
        assert_eq!(Trace::from_json(&std::fs::read_to_string(&path)?), Ok(trace));
        std::fs::remove_dir_all(&folder)
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said() {
        let told =
            |text: &str| Trace::from_json(text).map_or_else(|problem| problem.to_string(), |_| String::new());
        assert!(told("{\"format\": ").starts_with("this is not JSON: EOF while parsing"));
        assert!(told("[1, 2]").contains("a list of 2"), "{}", told("[1, 2]"));
        assert!(told(r#"{"$schema": "x", "profiles": []}"#).contains("speedscope"));
        assert!(told(r#"{"format": "other"}"#).contains(r#"its format is "other""#));
        assert!(told(r#"{"format": "crossover-trace", "version": 99}"#).contains("version 99"));
        assert!(told(r#"{"format": "crossover-trace"}"#).contains("no version"));
        assert!(told(r#"{"format": "crossover-trace", "version": 1}"#).contains("missing field"));
    }

    #[test]
    fn numbers_that_name_nothing_are_found() {
        let broken: [fn(&mut Trace); 9] = [
            |t| t.spans.track[0] = 99,
            |t| t.spans.name[0] = 1_000_000,
            |t| t.spans.parent[0] = t.spans.len() as i64,
            |t| t.spans.parent[0] = 0,
            |t| t.spans.launch[0] = -2,
            |t| _ = t.spans.start.pop(),
            |t| t.launches.device[0] = 77,
            |t| t.kernels.name[0] = 1_000_000,
            |t| t.tracks[0].device = 5,
        ];
        for (number, spoil) in broken.into_iter().enumerate() {
            let mut trace = sample();
            spoil(&mut trace);
            let result = Trace::from_json(&trace.to_json());
            assert!(matches!(result, Err(Problem::Damaged { .. })), "{number}: {result:?}");
        }
    }
}
