//! A trace as a person reads it in a terminal.

use std::fmt::Write as _;

use crossover_plan::duration;

use crate::Trace;

/// Kernels shown at most.
const SHOWN: usize = 12;

impl Trace {
    /// Wall time, where it went, the kernels that took most of it, and what to do.
    ///
    /// ```
    /// use crossover_array::Array;
    /// let (_, trace) = crossover_profile::profile("exp", || Array::linspace(0.0, 1.0, 100_000).exp().to_vec::<f64>());
    /// let text = trace.summary();
    /// assert!(text.starts_with("exp: "));
    /// assert!(text.contains("CPU kernels"));
    /// ```
    pub fn summary(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "{}: {} in all, {} spans",
            self.name,
            duration(self.wall_ns as f64),
            self.spans.len()
        );
        if self.dropped > 0 {
            let _ = writeln!(
                out,
                "{} spans are missing: they found no room, or no device can tell when they were",
                self.dropped
            );
        }
        if !self.estimated.is_empty() {
            let _ = writeln!(
                out,
                "{} of them were not timed and are placed by others of their kind that were",
                self.estimated.len()
            );
        }
        let all = self.wall_ns.max(1) as f64;
        for (name, time) in self.breakdown.parts().into_iter().filter(|&(_, time)| time > 0) {
            let share = 100.0 * time as f64 / all;
            let _ = writeln!(out, "  {share:5.1}%  {:>9}  {name}", duration(time as f64));
        }
        self.write_kernels(&mut out);
        for advice in &self.advice {
            let share = 100.0 * advice.share;
            let _ = writeln!(
                out,
                "\n{share:.0}%: {}\n  {}\n  {}",
                advice.title, advice.evidence, advice.suggestion
            );
        }
        out
    }

    fn write_kernels(&self, out: &mut String) {
        let rows = self.kernel_figures();
        if rows.is_empty() {
            return;
        }
        let _ = writeln!(
            out,
            "\n  {:>5}  {:>9}  {:>9}  {:>9}  {:>7}  {:>8}  {:>7}  {:>9}  {:>9}  kernel",
            "times", "in all", "each", "queued", "GB/s", "GFLOP/s", "of roof", "live MB", "peak MB"
        );
        for row in rows.iter().take(SHOWN) {
            let each = |time: u64| duration(time as f64 / row.launches as f64);
            let place =
                self.machine.devices.get(row.device as usize).map_or("", |device| device.name.as_str());
            let giga =
                |rate: Option<f64>| rate.map_or_else(|| "-".to_string(), |rate| format!("{:.1}", rate / 1e9));
            let share =
                row.fraction.map_or_else(|| "-".to_string(), |share| format!("{:.0}%", 100.0 * share));
            let _ = writeln!(
                out,
                "  {:>5}  {:>9}  {:>9}  {:>9}  {:>7}  {:>8}  {share:>7}  {:>9.2}  {:>9.2}  {} on {place}",
                row.launches,
                duration(row.time_ns as f64),
                each(row.time_ns),
                each(row.queued_ns),
                giga(row.bytes_per_second),
                giga(row.flops_per_second),
                row.live as f64 / 1e6,
                row.peak as f64 / 1e6,
                row.name
            );
        }
        if rows.len() > SHOWN {
            let _ = writeln!(out, "  and {} more", rows.len() - SHOWN);
        }
    }
}
