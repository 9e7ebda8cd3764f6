//! A trace as a value: what a session saw, complete enough to be kept, sent and looked at elsewhere.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};

use crate::{Breakdown, Events, Kernels, Launches, Memory, Overlap, Problem, Spans, Transfers, distinct};

/// What `format` says in a trace file.
pub(crate) const FORMAT: &str = "crossover-trace";
/// The version of the file that this crate writes, and the last it reads.
pub(crate) const VERSION: u32 = 1;

/// What a session saw.
///
/// ```
/// use crossover_array::Array;
/// let (_, trace) = crossover_profile::profile("exp", || Array::linspace(0.0, 1.0, 100_000).exp().eval().map(drop));
/// assert_eq!((trace.name.as_str(), trace.string(trace.spans.name[0])), ("exp", trace.name_of(0)));
/// let path = std::env::temp_dir().join(format!("crossover-trace-{}.json", std::process::id()));
/// trace.save(&path)?;
/// let again = crossover_profile::Trace::load(&path).expect("what was written is read");
/// assert_eq!(again.to_json(), trace.to_json());
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), std::io::Error>(())
/// ```
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
    /// Spans that found no room, or of which no device can tell when they were.
    #[serde(default)]
    pub dropped: u64,
    /// Rows of spans, in order, that a device did untimed: when is estimated from others of their kind that were timed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub estimated: Vec<u32>,
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
///
/// ```
/// use crossover_array::Array;
/// let (_, trace) = crossover_profile::profile("exp", || Array::linspace(0.0, 1.0, 100_000).exp().eval().map(drop));
/// assert!(trace.machine.threads >= 1);
/// ```
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
///
/// ```
/// use crossover_array::Array;
/// let (_, trace) = crossover_profile::profile("exp", || Array::linspace(0.0, 1.0, 100_000).exp().eval().map(drop));
/// assert_eq!(trace.machine.devices[0].kind, "cpu");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineDevice {
    /// Its name.
    pub name: String,
    /// `cpu`, `cuda` or `simulated`.
    pub kind: String,
    /// Bytes per second that it was measured to move, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<f64>,
    /// The same by working set: bytes, and bytes per second, by rising size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bandwidths: Vec<(f64, f64)>,
    /// Operations of matrix products per second that it was measured to do, by dtype.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flops: BTreeMap<String, f64>,
}

/// Where spans follow or enclose each other.
///
/// ```
/// use crossover_array::Array;
/// let (_, trace) = crossover_profile::profile("exp", || Array::linspace(0.0, 1.0, 100_000).exp().eval().map(drop));
/// let names: Vec<&str> = trace.tracks.iter().map(|track| track.name.as_str()).collect();
/// assert!(!names.is_empty());
/// ```
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
///
/// ```
/// use crossover_array::Array;
/// let (_, trace) = crossover_profile::profile("exp", || Array::linspace(0.0, 1.0, 100_000).exp().eval().map(drop));
/// use crossover_profile::TrackKind;
/// assert!(trace.tracks.iter().any(|track| track.kind == TrackKind::Thread && track.device == 0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrackKind {
    /// Of the host.
    Thread,
    /// Of a device.
    Stream,
}

/// Something worth looking at.
///
/// ```
/// use crossover_array::Array;
/// let (_, trace) = crossover_profile::profile("exp", || Array::linspace(0.0, 1.0, 100_000).exp().eval().map(drop));
/// for advice in &trace.advice {
///     println!("{:.0}%: {}. {}", 100.0 * advice.share, advice.title, advice.suggestion);
/// }
/// ```
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

    /// For each span, whether nobody timed it.
    pub(crate) fn estimated_rows(&self) -> Vec<bool> {
        let mut out = vec![false; self.spans.len()];
        self.estimated.iter().for_each(|&row| out[row as usize] = true);
        out
    }

    /// How much of the copying happened while kernels ran.
    ///
    /// ```
    /// use crossover_array::Array;
    /// let (_, trace) = crossover_profile::profile("exp", || Array::linspace(0.0, 1.0, 100_000).exp().eval().map(drop));
    /// let overlap = trace.overlap();
    /// assert!(overlap.kernels_ns > 0 && overlap.both_ns <= overlap.copies_ns);
    /// ```
    pub fn overlap(&self) -> Overlap {
        Overlap::of(&self.spans)
    }

    /// As JSON, without blanks.
    pub fn to_json(&self) -> String {
        // Strings, numbers and lists of them always have a form in JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a file that [`save`](Trace::save) wrote.
    ///
    /// ```
    /// use crossover_profile::Trace;
    /// let error = Trace::load("/nowhere/trace.json").unwrap_err();
    /// assert!(error.to_string().starts_with("/nowhere/trace.json cannot be read: "));
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<Trace, Problem> {
        let path = path.as_ref();
        let unreadable = |error: std::io::Error| Problem::Unreadable {
            file: path.display().to_string(),
            why: error.to_string(),
        };
        Trace::from_bytes(&std::fs::read(path).map_err(unreadable)?)
    }

    /// From the bytes of a file, whatever they are.
    ///
    /// ```
    /// use crossover_profile::Trace;
    /// let error = Trace::from_bytes(b"\x1f\x8b\x08\x00rest").unwrap_err();
    /// assert_eq!(error.to_string(), "this is no trace of crossover but a file packed by gzip: unpack it first");
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Trace, Problem> {
        // Editors of some systems put a mark in front.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match std::str::from_utf8(bytes) {
            Ok(text) => Trace::from_json(text),
            Err(error) => Err(Problem::Binary { found: binary(bytes, error.valid_up_to()) }),
        }
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
        let mut trace: Trace =
            serde_json::from_str(text).map_err(|error| Problem::Damaged { what: error.to_string() })?;
        trace.complete();
        trace.check()?;
        Ok(trace)
    }

    /// Fills columns that files of earlier programs lack, and tells devices apart that have one name.
    fn complete(&mut self) {
        distinct::name(&mut self.machine.devices, &mut self.tracks);
        let (spans, launches) = (self.spans.len(), self.launches.len());
        if self.spans.place.is_empty() {
            self.spans.place.resize(spans, -1);
        }
        for column in [&mut self.launches.live, &mut self.launches.peak] {
            if column.is_empty() {
                column.resize(launches, 0);
            }
        }
        let columns = &mut self.launches;
        if columns.plan.is_empty() {
            columns.plan.resize(launches, -1);
        }
        if columns.step.is_empty() {
            columns.step.resize(launches, 0);
        }
        if columns.moving.is_empty() {
            columns.moving.resize(launches, Vec::new());
        }
        // What bounds calls they did not say.
        if self.kernels.roof.is_empty() {
            let forms = self.kernels.form.iter().map(|&form| self.strings.get(form as usize));
            let fused = |form: Option<&String>| {
                form.is_some_and(|form| matches!(form.as_str(), "map" | "row" | "column"))
            };
            self.kernels.roof = forms.map(|form| u8::from(fused(form))).collect();
        }
        if self.kernels.products.is_empty() {
            self.kernels.products.resize(self.kernels.len(), 0);
        }
    }

    /// The line of the program that asked for a span, or for what asked for it, as `src/main.rs:12`.
    ///
    /// ```
    /// use crossover_array::Array;
    /// let (_, trace) = crossover_profile::profile("exp", || Array::linspace(0.0, 1.0, 100_000).exp().to_vec::<f64>());
    /// let kernel = trace.spans.kind.iter().position(|kind| kind == "k").expect("a kernel ran");
    /// assert!(trace.place_of(kernel).is_some_and(|place| place.contains(".rs:")));
    /// ```
    pub fn place_of(&self, span: usize) -> Option<&str> {
        self.place_number(span).map(|place| self.string(place))
    }

    /// The number of that line.
    pub(crate) fn place_number(&self, span: usize) -> Option<u32> {
        let mut at = i64::try_from(span).ok()?;
        while let Some(row) = usize::try_from(at).ok().filter(|&row| row < self.spans.len()) {
            if let Ok(place) = u32::try_from(self.spans.place[row]) {
                return Some(place);
            }
            at = self.spans.parent[row];
        }
        None
    }

    /// Writes the trace to a file: a new one, or in place of a whole old one.
    pub fn save(&self, path: impl AsRef<Path>) -> std::io::Result<()> {
        replace(path.as_ref(), &self.to_json())
    }
}

/// What bytes look like that are no text from some place on.
fn binary(bytes: &[u8], good: usize) -> String {
    let known: [(&[u8], &str); 5] = [
        (b"\x1f\x8b", "a file packed by gzip: unpack it first"),
        (b"\x28\xb5\x2f\xfd", "a file packed by zstd: unpack it first"),
        (b"PK\x03\x04", "a zip archive: unpack it first"),
        (b"\x7fELF", "a program"),
        (b"\x93NUMPY", "an array of NumPy"),
    ];
    match known.iter().find(|(start, _)| bytes.starts_with(start)) {
        Some((_, name)) => (*name).to_string(),
        None => format!("something else: byte {good} of {} is no UTF-8", bytes.len()),
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
    fn a_file_cut_anywhere_is_told_so() {
        let text = sample().to_json();
        for end in 0..text.len() {
            let cut = text.as_bytes()[..end].to_vec();
            let problem = Trace::from_bytes(&cut).expect_err("a part is no trace");
            // Inside a letter of several bytes it is no text; anywhere else it is no JSON, at its end.
            match &problem {
                Problem::Binary { .. } => {}
                Problem::NotJson { line: 1, column, .. } => assert!(*column + 1 >= end, "{end}: {problem}"),
                other => panic!("{end} of {} bytes: {other:?}", text.len()),
            }
            assert!(!problem.to_string().is_empty());
        }
    }

    #[test]
    fn a_file_with_any_byte_changed_is_refused_or_can_be_drawn() {
        use crate::export::{chrome, folded, prometheus, speedscope};
        let text = sample().to_json().into_bytes();
        let (mut refused, mut drawn) = (0, 0);
        for at in 0..text.len() {
            for byte in [0, 0xff, b'"', b'9', b'-', b'}', b',', b'e', b' '] {
                let mut changed = text.clone();
                changed[at] = byte;
                match Trace::from_bytes(&changed) {
                    Err(problem) => {
                        assert!(problem.to_string().starts_with("this "), "{problem}");
                        refused += 1;
                    }
                    Ok(trace) => {
                        // Every reader of ours takes what passed.
                        let made = [
                            chrome(&trace),
                            folded(&trace),
                            prometheus(&trace),
                            speedscope(&trace),
                            trace.summary(),
                        ];
                        assert!(made[0].starts_with('{'));
                        trace.overlap();
                        drawn += 1;
                    }
                }
            }
        }
        assert!(refused > text.len() && drawn > text.len() / 4, "{refused} refused, {drawn} drawn");
    }

    #[test]
    fn what_is_no_text_is_told_apart() {
        let told = |bytes: &[u8]| {
            Trace::from_bytes(bytes).map_or_else(|problem| problem.to_string(), |_| String::new())
        };
        assert!(told(b"\x7fELF\x02\x01\xff").ends_with("a program"));
        assert!(
            told(b"{\"format\": \"\xff\"}").contains("byte 12 of 15 is no UTF-8"),
            "{}",
            told(b"{\"format\": \"\xff\"}")
        );
        assert!(told(b"").starts_with("this is not JSON: EOF"));
        let marked = [b"\xef\xbb\xbf", sample().to_json().as_bytes()].concat();
        assert!(Trace::from_bytes(&marked).is_ok(), "a mark of the encoding is no damage");
        let late = sample().to_json().replacen("\"wall_ns\":", "\"wall_ns\":99999999999", 1);
        assert!(told(late.as_bytes()).contains("it lasts 99999999999"), "{}", told(late.as_bytes()));
    }

    #[test]
    fn files_of_earlier_programs_are_read() {
        let trace = sample();
        let mut old: serde_json::Value = serde_json::from_str(&trace.to_json()).expect("it is JSON");
        let columns = [
            ("spans", "place"),
            ("launches", "live"),
            ("launches", "peak"),
            ("launches", "plan"),
            ("launches", "step"),
            ("launches", "moving"),
            ("kernels", "products"),
            ("kernels", "roof"),
        ];
        for (table, column) in columns {
            old[table].as_object_mut().expect("a table").remove(column);
        }
        let read = Trace::from_json(&old.to_string()).expect("columns may be missing");
        assert!(read.spans.place.iter().all(|&place| place == -1));
        assert_eq!((read.launches.live.len(), read.launches.peak[0]), (trace.launches.len(), 0));
        assert_eq!((read.launches.plan[0], read.kernels.roof[0]), (-1, 1), "a fused kernel has a roof");
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
