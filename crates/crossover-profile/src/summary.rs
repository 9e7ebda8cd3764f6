//! A trace as a person reads it in a terminal.

use std::{collections::HashMap, fmt::Write as _};

use crossover_plan::duration;

use crate::Trace;

/// Kernels shown at most.
const SHOWN: usize = 12;

/// All launches of a kernel on a device.
#[derive(Debug, Default)]
struct Total {
    time: u64,
    count: u64,
    bytes: u64,
    /// Nanoseconds between the host's request and the start.
    queued: u64,
    live: u64,
    peak: u64,
}

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
        // Launches over arrays of several sizes are the same kernel.
        let mut totals: HashMap<(u32, u32), Total> = HashMap::new();
        for row in (0..self.spans.len()).filter(|&row| self.spans.kind[row] == "k") {
            let Ok(launch) = usize::try_from(self.spans.launch[row]) else { continue };
            let total = totals.entry((self.spans.name[row], self.launches.device[launch])).or_default();
            total.time = total.time.saturating_add(self.spans.duration[row]);
            total.count += 1;
            total.bytes = total.bytes.saturating_add(self.spans.bytes[row]);
            let queued = self.spans.start[row].saturating_sub(self.launches.queued[launch]);
            total.queued = total.queued.saturating_add(queued);
            total.live = total.live.max(self.launches.live[launch]);
            total.peak = total.peak.max(self.launches.peak[launch]);
        }
        if totals.is_empty() {
            return;
        }
        let mut rows: Vec<_> = totals.into_iter().collect();
        rows.sort_by_key(|(key, total)| (std::cmp::Reverse(total.time), *key));
        let _ = writeln!(
            out,
            "\n  {:>5}  {:>9}  {:>9}  {:>9}  {:>7}  {:>9}  {:>9}  kernel",
            "times", "in all", "each", "queued", "GB/s", "live MB", "peak MB"
        );
        for ((name, device), total) in rows.iter().take(SHOWN) {
            let count = total.count;
            let each = |time: u64| duration(time as f64 / count as f64);
            let place = self.machine.devices.get(*device as usize).map_or("", |device| device.name.as_str());
            let _ = writeln!(
                out,
                "  {count:>5}  {:>9}  {:>9}  {:>9}  {:>7.1}  {:>9.2}  {:>9.2}  {} on {place}",
                duration(total.time as f64),
                each(total.time),
                each(total.queued),
                total.bytes as f64 / total.time.max(1) as f64,
                total.live as f64 / 1e6,
                total.peak as f64 / 1e6,
                self.string(*name)
            );
        }
        if rows.len() > SHOWN {
            let _ = writeln!(out, "  and {} more", rows.len() - SHOWN);
        }
    }
}
