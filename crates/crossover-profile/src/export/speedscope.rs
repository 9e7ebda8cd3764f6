//! The file format of speedscope.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::estimated;
use crate::Trace;

/// The trace as JSON for <https://www.speedscope.app>: one profile per track, with its spans as they opened and closed. Names of spans that nobody timed end
/// with `(estimated)`.
///
/// ```
/// use crossover_profile::{export::speedscope, profile, scope};
/// let (_, trace) = profile("nested", || drop(scope("inner")));
/// assert!(speedscope(&trace).contains("speedscope.app/file-format-schema.json"));
/// ```
pub fn speedscope(trace: &Trace) -> String {
    let mut frames: Vec<Value> = trace.strings.iter().map(|name| json!({"name": name})).collect();
    let mut names = trace.spans.name.clone();
    let mut marked: HashMap<u32, u32> = HashMap::new();
    for &row in &trace.estimated {
        let name = trace.spans.name[row as usize];
        names[row as usize] = *marked.entry(name).or_insert_with(|| {
            frames.push(json!({"name": estimated(trace.string(name))}));
            frames.len() as u32 - 1
        });
    }
    let profiles: Vec<Value> = (0..trace.tracks.len()).map(|track| evented(trace, track, &names)).collect();
    json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": format!("crossover {}", trace.crossover),
        "name": trace.name,
        "shared": {"frames": frames},
        "profiles": profiles,
    })
    .to_string()
}

/// The events of one track; they must nest, so a span that outlasts the one around it ends with it.
fn evented(trace: &Trace, track: usize, names: &[u32]) -> Value {
    let spans = &trace.spans;
    let mut events: Vec<Value> = Vec::new();
    let mut open: Vec<(u64, u32)> = Vec::new();
    let close = |open: &mut Vec<(u64, u32)>, events: &mut Vec<Value>, until: u64| {
        while let Some((end, frame)) = open.pop_if(|(end, _)| *end <= until) {
            events.push(json!({"type": "C", "frame": frame, "at": end}));
        }
    };
    for row in (0..spans.len()).filter(|&row| spans.track[row] as usize == track) {
        let start = spans.start[row];
        close(&mut open, &mut events, start);
        let mut end = start + spans.duration[row];
        if let Some(&(around, _)) = open.last() {
            end = end.min(around);
        }
        events.push(json!({"type": "O", "frame": names[row], "at": start}));
        open.push((end, names[row]));
    }
    close(&mut open, &mut events, u64::MAX);
    json!({
        "type": "evented",
        "name": trace.tracks[track].name,
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": trace.wall_ns.max(events.last().and_then(|event| event["at"].as_u64()).unwrap_or(0)),
        "events": events,
    })
}
