//! Metrics in Prometheus' text format.

use std::fmt::Write as _;

use crossover_array::{AlertKind, ProcessStats};

use super::MachineLoad;
use crate::export::label;

/// A metric of processes: its name, what it counts, whether it only grows, and its samples of one process, each with more labels.
struct Metric {
    name: &'static str,
    help: &'static str,
    is_counter: bool,
    samples: fn(&ProcessStats) -> Vec<(String, f64)>,
}

const fn counter(
    name: &'static str,
    help: &'static str,
    samples: fn(&ProcessStats) -> Vec<(String, f64)>,
) -> Metric {
    Metric { name, help, is_counter: true, samples }
}

const fn gauge(
    name: &'static str,
    help: &'static str,
    samples: fn(&ProcessStats) -> Vec<(String, f64)>,
) -> Metric {
    Metric { name, help, is_counter: false, samples }
}

/// One sample without more labels.
fn one(value: f64) -> Vec<(String, f64)> {
    vec![(String::new(), value)]
}

/// One sample per device.
fn devices(stats: &ProcessStats, value: fn(&crossover_array::ProcessMemory) -> f64) -> Vec<(String, f64)> {
    let sample = |memory: &crossover_array::ProcessMemory| {
        (format!("device={}", label(&memory.device)), value(memory))
    };
    stats.memory.iter().map(sample).collect()
}

const METRICS: [Metric; 15] = [
    gauge("crossover_up", "Runtimes that are watched", |_| one(1.0)),
    gauge("crossover_cores", "Cores that work for the process", |p| p.cores.map_or_else(Vec::new, one)),
    counter("crossover_kernels_total", "Kernels launched", |p| one(p.launches as f64)),
    counter("crossover_copies_total", "Copies between devices", |p| one(p.transfers as f64)),
    counter("crossover_copied_bytes_total", "Bytes copied between devices", |p| one(p.transferred as f64)),
    counter("crossover_fallbacks_total", "Kernels that a device could not run and the host did", |p| {
        one(p.fallbacks as f64)
    }),
    counter("crossover_postponed_total", "Kernels that the host ran while a compiler was busy", |p| {
        one(p.postponed as f64)
    }),
    counter(
        "crossover_judged_seconds_total",
        "Time of kernels that were timed after a choice of device",
        |p| one(p.judged as f64 / 1e9),
    ),
    counter(
        "crossover_regret_seconds_total",
        "Of that, time beyond the prediction for the best device",
        |p| one(p.regret as f64 / 1e9),
    ),
    counter("crossover_decisions_total", "Kernels by device and reason", |p| {
        let labels = |d: &crossover_array::ProcessDecision| {
            format!("device={},reason={}", label(&d.device), label(&d.reason))
        };
        p.decisions.iter().map(|d| (labels(d), d.kernels as f64)).collect()
    }),
    gauge("crossover_memory_bytes", "Memory of a device by what it is used for", |p| {
        let kinds = |m: &crossover_array::ProcessMemory| {
            let kinds = [
                ("live", m.live),
                ("cached", m.cached),
                ("others", m.others),
                ("free", m.free),
                ("budget", m.budget),
                ("total", m.total),
                ("peak", m.peak),
            ];
            let device = label(&m.device);
            kinds.map(|(kind, bytes)| (format!("device={device},kind={}", label(kind)), bytes as f64))
        };
        p.memory.iter().flat_map(kinds).collect()
    }),
    gauge("crossover_memory_usage_ratio", "Share of the budget that is taken", |p| devices(p, |m| m.usage)),
    gauge(
        "crossover_leak_bytes_per_second",
        "Growth of the least that arrays hold, for five minutes; else 0",
        |p| devices(p, |m| m.leak),
    ),
    gauge("crossover_device_lost", "Whether a device was lost", |p| {
        let lost = |device: &String| f64::from(p.lost.contains(device));
        let known = p.memory.iter().map(|memory| &memory.device);
        let gone = p.lost.iter().filter(|device| !p.memory.iter().any(|memory| memory.device == **device));
        known.chain(gone).map(|device| (format!("device={}", label(device)), lost(device))).collect()
    }),
    gauge("crossover_alert_active", "Whether an alert holds, by the process itself", |p| {
        let quiet =
            AlertKind::ALL.iter().filter(|kind| !p.alerts.iter().any(|alert| alert.kind == kind.name()));
        let quiet = quiet.map(|kind| (format!("alert={},device=\"\"", label(kind.name())), 0.0));
        let active = p
            .alerts
            .iter()
            .map(|alert| (format!("alert={},device={}", label(&alert.kind), label(&alert.device)), 1.0));
        active.chain(quiet).collect()
    }),
];

/// Metrics of processes and, if it was looked at, of the machine.
///
/// ```
/// use crossover_array::Runtime;
/// use crossover_profile::metrics::{MachineLoad, text};
/// let text = text(&[Runtime::current().process_stats()], &MachineLoad::default());
/// assert!(text.contains("# TYPE crossover_kernels_total counter\ncrossover_kernels_total{pid="));
/// ```
pub fn text(processes: &[ProcessStats], machine: &MachineLoad) -> String {
    let mut out = String::new();
    for metric in &METRICS {
        head(&mut out, metric.name, metric.help, metric.is_counter);
        for process in processes {
            let program = process.program.rsplit('/').next().unwrap_or(&process.program);
            let who =
                format!("pid=\"{}\",runtime=\"{}\",program={}", process.pid, process.runtime, label(program));
            for (labels, value) in (metric.samples)(process) {
                let comma = if labels.is_empty() { "" } else { "," };
                let _ = writeln!(out, "{}{{{who}{comma}{labels}}} {value}", metric.name);
            }
        }
    }
    of_machine(&mut out, machine);
    out
}

fn of_machine(out: &mut String, machine: &MachineLoad) {
    if let Some(busy) = machine.cpu {
        head(out, "crossover_machine_cpu_ratio", "Share of all cores that work, for whatever program", false);
        let _ = writeln!(out, "crossover_machine_cpu_ratio {busy}");
    }
    if let Some((used, total)) = machine.memory {
        head(out, "crossover_machine_memory_bytes", "Memory of the host", false);
        let _ = writeln!(out, "crossover_machine_memory_bytes{{kind=\"used\"}} {used}");
        let _ = writeln!(out, "crossover_machine_memory_bytes{{kind=\"total\"}} {total}");
    }
    if machine.gpus.is_empty() {
        return;
    }
    let gpus: Vec<(String, &crossover_array::GpuLoad)> = machine
        .gpus
        .iter()
        .enumerate()
        .map(|(number, gpu)| (format!("gpu=\"{number}\",name={}", label(&gpu.name)), gpu))
        .collect();
    head(out, "crossover_gpu_busy_ratio", "Share of time in which a GPU worked", false);
    for (labels, gpu) in &gpus {
        let _ = writeln!(out, "crossover_gpu_busy_ratio{{{labels}}} {}", gpu.busy);
    }
    head(out, "crossover_gpu_memory_bytes", "Memory of a GPU, for whatever program", false);
    for (labels, gpu) in &gpus {
        let _ = writeln!(out, "crossover_gpu_memory_bytes{{{labels},kind=\"used\"}} {}", gpu.used);
        let _ = writeln!(out, "crossover_gpu_memory_bytes{{{labels},kind=\"total\"}} {}", gpu.total);
    }
    head(out, "crossover_gpu_temperature_celsius", "Temperature of a GPU", false);
    for (labels, celsius) in gpus.iter().filter_map(|(labels, gpu)| Some((labels, gpu.celsius?))) {
        let _ = writeln!(out, "crossover_gpu_temperature_celsius{{{labels}}} {celsius}");
    }
    head(out, "crossover_gpu_power_watts", "Power that a GPU takes", false);
    for (labels, watts) in gpus.iter().filter_map(|(labels, gpu)| Some((labels, gpu.watts?))) {
        let _ = writeln!(out, "crossover_gpu_power_watts{{{labels}}} {watts}");
    }
}

fn head(out: &mut String, name: &str, help: &str, is_counter: bool) {
    let kind = if is_counter { "counter" } else { "gauge" };
    let _ = writeln!(out, "# HELP {name} {help}.\n# TYPE {name} {kind}");
}

#[cfg(test)]
mod tests {
    use crossover_array::Runtime;

    use super::*;

    #[test]
    fn hostile_names_stay_inside_their_quotes() {
        let mut stats = Runtime::current().process_stats();
        stats.program = "/bin/a\"} 1\nevil{x=\"\\".to_string();
        let text = text(&[stats], &MachineLoad::default());
        assert!(text.lines().all(|line| line.starts_with('#') || line.starts_with("crossover_")), "{text}");
        assert!(text.contains(r#"program="a\"} 1\nevil{x=\"\\""#), "{text}");
    }

    #[test]
    fn every_name_is_headed_once_and_before_its_samples() {
        let text = text(&[Runtime::current().process_stats()], &MachineLoad::look());
        for metric in &METRICS {
            let head = format!("# TYPE {} ", metric.name);
            assert_eq!(text.matches(&head).count(), 1, "{}", metric.name);
            assert_eq!(metric.is_counter, metric.name.ends_with("_total"), "{}", metric.name);
        }
    }
}
