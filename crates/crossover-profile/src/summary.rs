//! A trace as a person reads it in a terminal.

use std::{collections::HashMap, fmt::Write as _};

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
                "{} spans are missing: they found no room, or their device was lost",
                self.dropped
            );
        }
        let all = self.wall_ns.max(1) as f64;
        for (name, time) in self.breakdown.parts().into_iter().filter(|&(_, time)| time > 0) {
            let share = 100.0 * time as f64 / all;
            let _ = writeln!(out, "  {share:5.1}%  {:>9}  {name}", duration(time as f64));
        }
        self.write_kernels(&mut out);
        for advice in &self.advice {
            let _ = writeln!(out, "\n{}\n  {}\n  {}", advice.title, advice.evidence, advice.suggestion);
        }
        out
    }

    fn write_kernels(&self, out: &mut String) {
        let mut totals: HashMap<(i64, u32), (u64, u64)> = HashMap::new();
        for row in (0..self.spans.len()).filter(|&row| self.spans.kind[row] == "k") {
            let device = usize::try_from(self.spans.launch[row]).map_or(0, |at| self.launches.device[at]);
            let entry = totals.entry((self.spans.kernel[row], device)).or_default();
            *entry = (entry.0 + self.spans.duration[row], entry.1 + 1);
        }
        if totals.is_empty() {
            return;
        }
        let mut rows: Vec<_> = totals.into_iter().collect();
        rows.sort_by_key(|&(key, (time, _))| (std::cmp::Reverse(time), key));
        let _ = writeln!(out, "\n  {:>5}  {:>9}  {:>9}  {:>9}  kernel", "times", "in all", "each", "GB/s");
        for ((kernel, device), (time, count)) in rows.iter().take(SHOWN) {
            let Ok(kernel) = usize::try_from(*kernel) else { continue };
            let bytes = (self.kernels.read[kernel] + self.kernels.written[kernel]) * count;
            let rate = bytes as f64 / (*time).max(1) as f64;
            let (all, each) = (duration(*time as f64), duration(*time as f64 / *count as f64));
            let name = self.string(self.kernels.name[kernel]);
            let place = self.machine.devices.get(*device as usize).map_or("", |device| device.name.as_str());
            let _ = writeln!(out, "  {count:>5}  {all:>9}  {each:>9}  {rate:>9.1}  {name} on {place}");
        }
        if rows.len() > SHOWN {
            let _ = writeln!(out, "  and {} more", rows.len() - SHOWN);
        }
    }
}
