//! Alert rules for Prometheus: what [`Runtime::on_alert`](crossover_array::Runtime::on_alert) tells, from the metrics alone.

use std::fmt::Write as _;

use crossover_array::AlertKind;

/// An alert rule.
///
/// ```
/// use crossover_array::AlertKind;
/// use crossover_profile::metrics::rules;
/// let rules = rules();
/// let rule = rules.iter().find(|rule| rule.kind == AlertKind::Pressure).expect("there is one for each kind");
/// assert_eq!((rule.name, rule.severity), ("CrossoverMemoryPressure", "warning"));
/// assert_eq!(rule.expression, "crossover_memory_usage_ratio >= 0.85");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rule {
    /// What it is about.
    pub kind: AlertKind,
    /// Its name in Prometheus.
    pub name: &'static str,
    /// When it holds, as a query.
    pub expression: &'static str,
    /// `critical` or `warning`.
    pub severity: &'static str,
    /// One line for whoever is woken by it.
    pub summary: &'static str,
    /// What to do.
    pub description: &'static str,
}

/// The rules, one for each kind of alert, with the thresholds of the callbacks.
///
/// ```
/// let rules = crossover_profile::metrics::rules();
/// assert!(rules.iter().any(|rule| rule.name == "CrossoverDeviceLost" && rule.severity == "critical"));
/// ```
pub fn rules() -> Vec<Rule> {
    AlertKind::ALL.into_iter().filter_map(rule).collect()
}

fn rule(kind: AlertKind) -> Option<Rule> {
    let (name, expression, severity, summary, description) = match kind {
        AlertKind::Pressure => (
            "CrossoverMemoryPressure",
            "crossover_memory_usage_ratio >= 0.85",
            "warning",
            "{{ $labels.program }}: the memory of {{ $labels.device }} is at {{ $value | humanizePercentage }} of its budget",
            "Arrays are about to move to the host, which is slow. Drop arrays that nobody needs, or raise memory_limit.",
        ),
        AlertKind::Leak => (
            "CrossoverLeak",
            "crossover_leak_bytes_per_second > 0",
            "warning",
            "{{ $labels.program }}: arrays on {{ $labels.device }} grow by {{ $value | humanize1024 }}B per second",
            "The least that arrays hold has risen throughout five minutes: somebody keeps arrays that nobody needs.",
        ),
        AlertKind::Regret => (
            "CrossoverRegret",
            "increase(crossover_regret_seconds_total[5m]) > 0.2 * increase(crossover_judged_seconds_total[5m]) and increase(crossover_regret_seconds_total[5m]) >= 0.1",
            "warning",
            "{{ $labels.program }}: {{ $value | humanizeDuration }} of five minutes were lost to where kernels ran",
            "Kernels took longer than was predicted for the best device. Run crossover calibrate, or see who else uses the machine.",
        ),
        AlertKind::Fallback => (
            "CrossoverFallback",
            "increase(crossover_fallbacks_total[5m]) > 0",
            "warning",
            "{{ $labels.program }}: kernels ran on the host because their device could not",
            "CROSSOVER_LOG=crossover::fallback=warn says why (in a Rust program after crossover::log::init()); crossover doctor says which library is missing.",
        ),
        AlertKind::DeviceLost => (
            "CrossoverDeviceLost",
            "crossover_device_lost == 1",
            "critical",
            "{{ $labels.program }}: {{ $labels.device }} was lost with everything on it",
            "The host computes in its place until the program starts anew. Look at the driver's log (dmesg, nvidia-smi).",
        ),
        _ => return None,
    };
    Some(Rule { kind, name, expression, severity, summary, description })
}

/// The rules as a file for Prometheus, in YAML.
///
/// ```
/// let file = crossover_profile::metrics::rules_file();
/// assert!(file.starts_with("# Alert rules"));
/// assert!(file.contains("  - alert: CrossoverLeak\n"));
/// ```
pub fn rules_file() -> String {
    let mut out = String::from(
        "# Alert rules of Crossover for Prometheus; `rule_files` in prometheus.yml names this file.\ngroups:\n- name: crossover\n  rules:\n",
    );
    for rule in rules() {
        let _ = writeln!(out, "  - alert: {}", rule.name);
        let _ = writeln!(out, "    expr: {}", quoted(rule.expression));
        let _ = writeln!(out, "    labels:\n      severity: {}\n      alert: {}", rule.severity, rule.kind);
        let _ = writeln!(out, "    annotations:\n      summary: {}", quoted(rule.summary));
        let _ = writeln!(out, "      description: {}", quoted(rule.description));
    }
    out
}

/// A text as YAML writes it between single quotes, where nothing but the quote itself means anything.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use crossover_array::Runtime;

    use super::*;
    use crate::metrics::{MachineLoad, text};

    #[test]
    fn every_kind_has_a_rule_and_every_metric_it_names_exists() {
        let rules = rules();
        assert_eq!(rules.iter().map(|rule| rule.kind).collect::<Vec<_>>(), AlertKind::ALL);
        let served = text(&[Runtime::current().process_stats()], &MachineLoad::default());
        for rule in rules {
            let words = rule.expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let names: Vec<&str> = words.filter(|word| word.starts_with("crossover_")).collect();
            assert!(!names.is_empty(), "{}", rule.name);
            for name in names {
                assert!(served.contains(&format!("\n{name}{{")), "{} of {} is not served", name, rule.name);
            }
        }
    }
}
