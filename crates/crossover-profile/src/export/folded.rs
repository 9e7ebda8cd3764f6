//! Folded stacks, which flame graph programs read.

use std::{collections::BTreeMap, fmt::Write as _};

use super::stack;
use crate::Trace;

/// One line per distinct stack with the nanoseconds spent in its innermost span itself, for `inferno-flamegraph` or `flamegraph.pl`.
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
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for (row, time) in own.into_iter().enumerate() {
        // Semicolons and line ends divide.
        let clean = |name: &str| name.replace(';', ",").replace(['\n', '\r'], " ");
        let names: Vec<_> = stack(trace, row).into_iter().map(clean).collect();
        let track = clean(&trace.tracks[spans.track[row] as usize].name);
        let line = lines.entry(format!("{track};{}", names.join(";"))).or_default();
        *line = line.saturating_add(time);
    }
    let mut out = String::new();
    for (line, time) in lines.into_iter().filter(|&(_, time)| time > 0) {
        let _ = writeln!(out, "{line} {time}");
    }
    out
}
