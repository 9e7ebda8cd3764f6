//! The text format of Prometheus.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::{SpanKind, Trace};

/// Totals of a trace as metrics, for a push gateway or the textfile collector.
///
/// ```
/// use crossover_array::Array;
/// let (_, trace) = crossover_profile::profile("exp", || Array::linspace(0.0, 1.0, 100_000).exp().to_vec::<f64>());
/// let text = crossover_profile::export::prometheus(&trace);
/// assert!(text.contains("crossover_trace_seconds{session=\"exp\",part=\"CPU kernels\"}"));
/// ```
pub fn prometheus(trace: &Trace) -> String {
    let mut out = String::new();
    let session = label(&trace.name);
    head(&mut out, "crossover_trace_seconds", "Wall time of a session by what it was spent on");
    for (part, time) in trace.breakdown.parts() {
        let seconds = time as f64 / 1e9;
        let _ = writeln!(out, "crossover_trace_seconds{{session={session},part={}}} {seconds}", label(part));
    }
    let mut kernels: BTreeMap<(&str, u32), (u64, u64, u64)> = BTreeMap::new();
    for row in (0..trace.spans.len()).filter(|&row| trace.spans.kind[row] == SpanKind::Kernel) {
        let Ok(launch) = usize::try_from(trace.spans.launch[row]) else { continue };
        let entry = kernels.entry((trace.name_of(row), trace.launches.device[launch])).or_default();
        entry.0 = entry.0.saturating_add(trace.spans.duration[row]);
        entry.1 += 1;
        entry.2 = entry.2.saturating_add(trace.spans.bytes[row]);
    }
    for (name, help, value) in [
        ("crossover_kernel_seconds", "Time in kernels", 0),
        ("crossover_kernel_launches", "Launches of kernels", 1),
        ("crossover_kernel_bytes", "Bytes that kernels read and wrote", 2),
    ] {
        head(&mut out, name, help);
        for (&(kernel, device), &(time, count, bytes)) in &kernels {
            let device = trace.machine.devices.get(device as usize).map_or("", |device| device.name.as_str());
            let labels = format!("session={session},kernel={},device={}", label(kernel), label(device));
            let _ = match value {
                0 => writeln!(out, "{name}{{{labels}}} {}", time as f64 / 1e9),
                1 => writeln!(out, "{name}{{{labels}}} {count}"),
                _ => writeln!(out, "{name}{{{labels}}} {bytes}"),
            };
        }
    }
    out
}

fn head(out: &mut String, name: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}.\n# TYPE {name} gauge");
}

/// A value of a label, in quotes.
pub(crate) fn label(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
