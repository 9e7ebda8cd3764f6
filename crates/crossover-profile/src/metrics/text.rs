//! Metrics in Prometheus' text format.

use std::{collections::BTreeMap, fmt::Write as _};

use crossover_array::{AlertKind, GpuLoad, ProcessMemory, ProcessStats};
use serde::Serialize;

use super::MachineLoad;
use crate::export::label;

/// What a sample is of.
type Labels = Vec<(&'static str, String)>;

/// A metric of processes: its name, what it counts, whether it only grows, and its samples of one process, each with more labels.
struct Metric {
    name: &'static str,
    help: &'static str,
    is_counter: bool,
    samples: fn(&ProcessStats) -> Vec<(Labels, f64)>,
}

const fn counter(
    name: &'static str,
    help: &'static str,
    samples: fn(&ProcessStats) -> Vec<(Labels, f64)>,
) -> Metric {
    Metric { name, help, is_counter: true, samples }
}

const fn gauge(
    name: &'static str,
    help: &'static str,
    samples: fn(&ProcessStats) -> Vec<(Labels, f64)>,
) -> Metric {
    Metric { name, help, is_counter: false, samples }
}

/// One sample without more labels.
fn one(value: f64) -> Vec<(Labels, f64)> {
    vec![(Vec::new(), value)]
}

/// One sample per device.
fn devices(stats: &ProcessStats, value: fn(&ProcessMemory) -> f64) -> Vec<(Labels, f64)> {
    stats.memory.iter().map(|memory| (vec![("device", memory.device.clone())], value(memory))).collect()
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
        "Of that, time beyond the prediction for the best other device, copies included",
        |p| one(p.regret as f64 / 1e9),
    ),
    counter("crossover_decisions_total", "Kernels by device and reason", |p| {
        let labels = |d: &crossover_array::ProcessDecision| {
            vec![("device", d.device.clone()), ("reason", d.reason.clone())]
        };
        p.decisions.iter().map(|d| (labels(d), d.kernels as f64)).collect()
    }),
    gauge("crossover_memory_bytes", "Memory of a device by what it is used for", |p| {
        let kinds = |m: &ProcessMemory| {
            let kinds = [
                ("live", m.live),
                ("cached", m.cached),
                ("others", m.others),
                ("free", m.free),
                ("budget", m.budget),
                ("total", m.total),
                ("peak", m.peak),
            ];
            let labels = |kind: &str| vec![("device", m.device.clone()), ("kind", kind.to_string())];
            kinds.map(|(kind, bytes)| (labels(kind), bytes as f64))
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
        known.chain(gone).map(|device| (vec![("device", device.clone())], lost(device))).collect()
    }),
    gauge("crossover_alert_active", "Whether an alert holds, by the process itself", |p| {
        let quiet =
            AlertKind::ALL.iter().filter(|kind| !p.alerts.iter().any(|alert| alert.kind == kind.name()));
        let labels =
            |alert: &str, device: &str| vec![("alert", alert.to_string()), ("device", device.to_string())];
        let quiet = quiet.map(|kind| (labels(kind.name(), ""), 0.0));
        let active = p.alerts.iter().map(|alert| (labels(&alert.kind, &alert.device), 1.0));
        active.chain(quiet).collect()
    }),
];

/// A metric with all its samples.
///
/// ```
/// use crossover_array::Runtime;
/// use crossover_profile::metrics::{MachineLoad, families};
/// let all = families(&[Runtime::current().process_stats()], &MachineLoad::default());
/// let counters: Vec<&str> = all.iter().filter(|family| family.kind == "counter").map(|family| family.name).collect();
/// assert!(counters.contains(&"crossover_kernels_total"));
/// // What grows is named as Prometheus asks.
/// assert!(counters.iter().all(|name| name.ends_with("_total")));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Family {
    /// Its name, as in Prometheus.
    pub name: &'static str,
    /// What it is.
    pub help: &'static str,
    /// `counter` if it only grows, else `gauge`.
    pub kind: &'static str,
    /// Its samples.
    pub samples: Vec<MetricSample>,
}

/// One value of a metric.
///
/// ```
/// use crossover_array::Runtime;
/// use crossover_profile::metrics::{MachineLoad, families};
/// let all = families(&[Runtime::current().process_stats()], &MachineLoad::default());
/// let memory = all.iter().find(|family| family.name == "crossover_memory_bytes").expect("it is served");
/// for sample in &memory.samples {
///     let of = |key| sample.labels.iter().find(|(label, _)| *label == key).map(|(_, value)| value.as_str());
///     println!("{:?} {:?}: {} bytes", of("device"), of("kind"), sample.value);
///     assert!(of("device").is_some() && of("kind").is_some());
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MetricSample {
    /// What it is of, in the order of the text.
    #[serde(serialize_with = "as_object")]
    pub labels: Vec<(&'static str, String)>,
    /// How much.
    pub value: f64,
}

fn as_object<S: serde::Serializer>(labels: &Labels, to: S) -> Result<S::Ok, S::Error> {
    labels.iter().map(|(name, value)| (*name, value)).collect::<BTreeMap<_, _>>().serialize(to)
}

/// Metrics of processes and, if it was looked at, of the machine, as values.
///
/// ```
/// use crossover_array::Runtime;
/// use crossover_profile::metrics::{MachineLoad, families};
/// let all = families(&[Runtime::current().process_stats()], &MachineLoad::default());
/// let up = all.iter().find(|family| family.name == "crossover_up").expect("the first of all");
/// assert_eq!((up.kind, up.samples[0].value), ("gauge", 1.0));
/// ```
pub fn families(processes: &[ProcessStats], machine: &MachineLoad) -> Vec<Family> {
    let mut out = Vec::new();
    for metric in &METRICS {
        let mut samples = Vec::new();
        for process in processes {
            let program = process.program.rsplit('/').next().unwrap_or(&process.program);
            for (more, value) in (metric.samples)(process) {
                let mut labels = vec![
                    ("pid", process.pid.to_string()),
                    ("runtime", process.runtime.to_string()),
                    ("program", program.to_string()),
                ];
                labels.extend(more);
                samples.push(MetricSample { labels, value });
            }
        }
        let kind = if metric.is_counter { "counter" } else { "gauge" };
        out.push(Family { name: metric.name, help: metric.help, kind, samples });
    }
    of_machine(&mut out, machine);
    out
}

/// Metrics of processes and, if it was looked at, of the machine, as Prometheus reads them.
///
/// ```
/// use crossover_array::Runtime;
/// use crossover_profile::metrics::{MachineLoad, text};
/// let text = text(&[Runtime::current().process_stats()], &MachineLoad::default());
/// assert!(text.contains("# TYPE crossover_kernels_total counter\ncrossover_kernels_total{pid="));
/// ```
pub fn text(processes: &[ProcessStats], machine: &MachineLoad) -> String {
    let mut out = String::new();
    for Family { name, help, kind, samples } in families(processes, machine) {
        let _ = writeln!(out, "# HELP {name} {help}.\n# TYPE {name} {kind}");
        for MetricSample { labels, value } in samples {
            let labels: Vec<String> = labels.iter().map(|(key, of)| format!("{key}={}", label(of))).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(out, "{name}{labels} {value}");
        }
    }
    out
}

fn of_machine(out: &mut Vec<Family>, machine: &MachineLoad) {
    let sample = |(labels, value)| MetricSample { labels, value };
    let mut add = |name, help, samples: Vec<(Labels, f64)>| {
        let samples = samples.into_iter().map(sample).collect();
        out.push(Family { name, help, kind: "gauge", samples });
    };
    if let Some(busy) = machine.cpu {
        let help = "Share of all cores that work, for whatever program";
        add("crossover_machine_cpu_ratio", help, one(busy));
    }
    let kind = |name: &str| vec![("kind", name.to_string())];
    if let Some((used, total)) = machine.memory {
        let samples = vec![(kind("used"), used as f64), (kind("total"), total as f64)];
        add("crossover_machine_memory_bytes", "Memory of the host", samples);
    }
    if machine.gpus.is_empty() {
        return;
    }
    let each = |value: &dyn Fn(&GpuLoad) -> Option<f64>, more: Labels| -> Vec<(Labels, f64)> {
        let labels = |(number, gpu): (usize, &GpuLoad)| {
            let own = [("gpu", number.to_string()), ("name", gpu.name.clone())];
            Some((own.into_iter().chain(more.clone()).collect(), value(gpu)?))
        };
        machine.gpus.iter().enumerate().filter_map(labels).collect()
    };
    let none = Vec::new;
    add(
        "crossover_gpu_busy_ratio",
        "Share of time in which a GPU worked",
        each(&|gpu| Some(gpu.busy), none()),
    );
    let mut memory = each(&|gpu| Some(gpu.used as f64), kind("used"));
    memory.extend(each(&|gpu| Some(gpu.total as f64), kind("total")));
    add("crossover_gpu_memory_bytes", "Memory of a GPU, for whatever program", memory);
    let celsius = each(&|gpu| gpu.celsius.map(f64::from), none());
    add("crossover_gpu_temperature_celsius", "Temperature of a GPU", celsius);
    add("crossover_gpu_power_watts", "Power that a GPU takes", each(&|gpu| gpu.watts, none()));
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
    fn values_are_those_of_the_text() {
        let machine = MachineLoad { cpu: Some(0.5), memory: Some((1, 2)), gpus: Vec::new() };
        let stats = [Runtime::current().process_stats()];
        let (all, text) = (families(&stats, &machine), text(&stats, &machine));
        let samples: usize = all.iter().map(|family| family.samples.len()).sum();
        assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), samples);
        assert!(text.contains("crossover_machine_memory_bytes{kind=\"total\"} 2\n"), "{text}");
        assert!(text.contains("crossover_machine_cpu_ratio 0.5\n"), "{text}");
        let json = serde_json::to_value(&all).unwrap();
        let memory =
            json.as_array().unwrap().iter().find(|one| one["name"] == "crossover_machine_memory_bytes");
        assert_eq!(
            memory.unwrap()["samples"][1],
            serde_json::json!({"labels": {"kind": "total"}, "value": 2.0})
        );
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
