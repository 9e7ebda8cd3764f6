//! Folded stacks, which flame graph programs read.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
};

use super::estimated;
use crate::Trace;

/// Frames of a line at most. A line names every frame around its own, so without a limit a recursion of thousands would fill gigabytes.
const DEEPEST: u32 = 500;
/// Stands for all frames below the deepest.
const BELOW: u32 = u32::MAX;
/// Marks the number of a name whose span nobody timed; strings are never so many.
const ESTIMATED: u32 = 1 << 31;

/// One line per distinct stack with the nanoseconds spent in its innermost span itself, for `inferno-flamegraph` or `flamegraph.pl`. What lies more
/// than 500 spans deep is one frame, `deeper`. Names of spans that nobody timed end with `(estimated)`.
///
/// ```
/// use crossover_profile::{export::folded, profile, scope};
/// let (_, trace) = profile("nested", || {
///     let _outer = scope("outer");
///     let _inner = scope("inner; with a semicolon");
/// });
/// assert!(folded(&trace).lines().any(|line| line.contains("outer;inner, with a semicolon ")));
/// ```
pub fn folded(trace: &Trace) -> String {
    let spans = &trace.spans;
    let mut own: Vec<u64> = spans.duration.clone();
    for row in 0..spans.len() {
        // Work of a device lies beside its parent, not inside it.
        if let Ok(parent) = usize::try_from(spans.parent[row])
            && spans.track[parent] == spans.track[row]
        {
            own[parent] = own[parent].saturating_sub(spans.duration[row]);
        }
    }
    let (paths, ends) = Paths::of(trace);
    let mut times: HashMap<(u32, u32), u64> = HashMap::new();
    for (row, time) in own.into_iter().enumerate().filter(|&(_, time)| time > 0) {
        let sum = times.entry((spans.track[row], ends[row])).or_default();
        *sum = sum.saturating_add(time);
    }
    // Tracks and spans that are not the same may be called the same.
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for ((track, end), time) in times {
        let mut line = clean(&trace.tracks[track as usize].name);
        paths.write(trace, end, &mut line);
        let sum = lines.entry(line).or_default();
        *sum = sum.saturating_add(time);
    }
    let mut out = String::new();
    for (line, time) in lines {
        let _ = writeln!(out, "{line} {time}");
    }
    out
}

/// Semicolons and line ends divide.
fn clean(name: &str) -> String {
    name.replace(';', ",").replace(['\n', '\r'], " ")
}

/// All distinct stacks as a tree: each is one more name after another.
struct Paths {
    /// The stack without its last name, that name's number, and how many there are.
    steps: Vec<(u32, u32, u32)>,
    known: HashMap<(u32, u32), u32>,
}

impl Paths {
    /// The stacks of a trace, and that of each span.
    fn of(trace: &Trace) -> (Paths, Vec<u32>) {
        const UNKNOWN: u32 = u32::MAX;
        let spans = &trace.spans;
        let mut paths = Paths { steps: vec![(0, BELOW, 0)], known: HashMap::new() };
        let mut ends = vec![UNKNOWN; spans.len()];
        let is_estimated = trace.estimated_rows();
        let mut open = Vec::new();
        for row in 0..spans.len() {
            let mut at = row as i64;
            while at >= 0 && ends[at as usize] == UNKNOWN {
                open.push(at as usize);
                at = spans.parent[at as usize];
            }
            while let Some(row) = open.pop() {
                let around = usize::try_from(spans.parent[row]).map_or(0, |parent| ends[parent]);
                let mark = if is_estimated[row] { ESTIMATED } else { 0 };
                ends[row] = paths.step(around, spans.name[row] | mark);
            }
        }
        (paths, ends)
    }

    fn step(&mut self, around: u32, name: u32) -> u32 {
        let (_, last, depth) = self.steps[around as usize];
        let name = match depth {
            DEEPEST => BELOW,
            _ if depth > DEEPEST && last == BELOW => return around,
            _ => name,
        };
        *self.known.entry((around, name)).or_insert_with(|| {
            self.steps.push((around, name, depth + 1));
            self.steps.len() as u32 - 1
        })
    }

    /// Adds the names of a stack to a line.
    fn write(&self, trace: &Trace, end: u32, line: &mut String) {
        let mut names = Vec::new();
        let mut at = end;
        while at != 0 {
            let (around, name, _) = self.steps[at as usize];
            names.push(match name {
                BELOW => "deeper".to_string(),
                _ if name & ESTIMATED != 0 => estimated(&clean(trace.string(name ^ ESTIMATED))),
                _ => clean(trace.string(name)),
            });
            at = around;
        }
        for name in names.into_iter().rev() {
            line.push(';');
            line.push_str(&name);
        }
    }
}
