//! The trace format of Chrome, which Perfetto opens.

use serde_json::{Value, json};

use crate::{SpanKind, Trace, TrackKind};

/// The trace as JSON for <https://ui.perfetto.dev> or `chrome://tracing`: threads of the host are one process, every device another with its queues
/// as threads. Arguments of an event tell the line that asked for it, its bytes, what a kernel computes and in which plan; `estimated` marks what nobody timed.
///
/// ```
/// use crossover_array::Array;
/// let (_, trace) = crossover_profile::profile("exp", || Array::linspace(0.0, 1.0, 100_000).exp().to_vec::<f64>());
/// let text = crossover_profile::export::chrome(&trace);
/// assert!(text.starts_with(r#"{"displayTimeUnit":"ns""#));
/// ```
pub fn chrome(trace: &Trace) -> String {
    let mut events: Vec<Value> = Vec::with_capacity(trace.spans.len() + 2 * trace.tracks.len());
    for (number, device) in trace.machine.devices.iter().enumerate() {
        let name = if number == 0 { trace.name.as_str() } else { &device.name };
        events.push(json!({"ph": "M", "name": "process_name", "pid": number, "args": {"name": name}}));
    }
    for (number, track) in trace.tracks.iter().enumerate() {
        let pid = process(trace, number);
        events.push(
            json!({"ph": "M", "name": "thread_name", "pid": pid, "tid": number, "args": {"name": track.name}}),
        );
    }
    let spans = &trace.spans;
    for (row, is_estimated) in trace.estimated_rows().into_iter().enumerate() {
        let track = spans.track[row] as usize;
        let micros = |time: u64| time as f64 / 1e3;
        let mut event = json!({
            "ph": "X",
            "name": trace.name_of(row),
            "cat": category(spans.kind[row]),
            "pid": process(trace, track),
            "tid": track,
            "ts": micros(spans.start[row]),
            "dur": micros(spans.duration[row]),
        });
        let mut more = serde_json::Map::new();
        if spans.bytes[row] > 0 {
            more.insert("bytes".to_string(), spans.bytes[row].into());
        }
        if let Ok(place) = u32::try_from(spans.place[row]) {
            more.insert("place".to_string(), trace.string(place).into());
        }
        if is_estimated {
            more.insert("estimated".to_string(), true.into());
        }
        if let Ok(kernel) = usize::try_from(spans.kernel[row]) {
            more.insert("computes".to_string(), trace.string(trace.kernels.text[kernel]).into());
        }
        if let Ok(launch) = usize::try_from(spans.launch[row]) {
            let launches = &trace.launches;
            more.insert(
                "queued for µs".to_string(),
                micros(spans.start[row].saturating_sub(launches.queued[launch])).into(),
            );
            more.insert("reason".to_string(), trace.string(launches.reason[launch]).into());
            if launches.plan[launch] >= 0 {
                let plan = format!("{}.{}", launches.plan[launch], launches.step[launch]);
                more.insert("plan".to_string(), plan.into());
            }
        }
        if !more.is_empty() {
            event["args"] = Value::Object(more);
        }
        events.push(event);
    }
    for row in 0..trace.memory.len() {
        let memory = &trace.memory;
        let device = memory.device[row] as usize;
        events.push(json!({
            "ph": "C", "name": "memory", "pid": device, "ts": memory.time[row] as f64 / 1e3,
            "args": {"live": memory.live[row], "cached": memory.cached[row]},
        }));
    }
    json!({"displayTimeUnit": "ns", "traceEvents": events}).to_string()
}

fn process(trace: &Trace, track: usize) -> u32 {
    match trace.tracks[track].kind {
        TrackKind::Thread => 0,
        TrackKind::Stream => trace.tracks[track].device,
    }
}

fn category(kind: SpanKind) -> &'static str {
    match kind {
        SpanKind::Scope => "scope",
        SpanKind::Evaluation => "evaluation",
        SpanKind::Kernel => "kernel",
        SpanKind::Transfer => "copy",
        SpanKind::Compile => "compile",
        SpanKind::Plan => "plan",
        SpanKind::Wait => "wait",
    }
}
