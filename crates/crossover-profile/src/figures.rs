//! What kernels achieve: bytes and operations per second, and the share of what their device was measured to allow.
//!
//! One definition, for [`summary`](Trace::summary), for advice and for programs; the page has the same in `stats.js`, and `check/figures.json` is tried on
//! both.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use crate::{MachineDevice, SpanKind, Trace};

/// What bounds a kernel.
///
/// ```
/// use crossover_array::Array;
/// let (_, trace) = crossover_profile::profile("exp", || Array::linspace(0.0, 1.0, 100_000).exp().eval().map(drop));
/// use crossover_profile::Bound;
/// assert_ne!(trace.kernel_figures()[0].bound, Some(Bound::Products));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Moving its bytes.
    Memory,
    /// Computing its matrix products.
    Products,
}

/// Nanoseconds that one launch needs at least, and what for; none where nobody knows.
type Roof = Option<(f64, Bound)>;

/// All launches of a kernel on a device, over arrays of whatever sizes.
///
/// ```
/// use crossover_array::Array;
/// let (_, trace) = crossover_profile::profile("exp", || Array::linspace(0.0, 1.0, 100_000).exp().eval().map(drop));
/// let slowest = trace.kernel_figures().into_iter().max_by_key(|kernel| kernel.time_ns).expect("a kernel ran");
/// assert!(slowest.bytes >= 800_000);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct KernelFigures {
    /// Its name.
    pub name: String,
    /// `map`, `row`, `column`, `call` or `custom`.
    pub form: String,
    /// What it computes, without sizes.
    pub text: String,
    /// The type it writes.
    pub dtype: String,
    /// Where it ran; 0 is the host.
    pub device: u32,
    /// The plans it belongs to, by their numbers in the trace, with its place there; none where nobody knows.
    pub plans: Vec<(u32, u32)>,
    /// How often it ran.
    pub launches: u64,
    /// Nanoseconds of all launches.
    pub time_ns: u64,
    /// Nanoseconds between the host's requests and the starts, of all launches.
    pub queued_ns: u64,
    /// Bytes that all launches read and wrote.
    pub bytes: u64,
    /// Operations of all launches.
    pub flops: u64,
    /// Bytes per second that were read and written; `None` where no time passed.
    pub bytes_per_second: Option<f64>,
    /// Operations per second; `None` where there are none.
    pub flops_per_second: Option<f64>,
    /// The least time that its bytes and its matrix products need by the roofs of its device, over the time it took. `None` where nobody measured the device, and
    /// for sorts, transforms, random numbers and lookups, whose limits are others.
    pub fraction: Option<f64>,
    /// What bounds it, if that is known.
    pub bound: Option<Bound>,
    /// The most that arrays held on its device at a launch, and the most until then; 0 where nobody counts.
    pub live: u64,
    /// The most that arrays had held there until then.
    pub peak: u64,
    /// Row of the span of its longest launch.
    pub longest: usize,
    /// Nanoseconds that its launches need at least.
    pub(crate) least_ns: Option<f64>,
    /// Those of launches that products bound.
    products_ns: f64,
}

impl MachineDevice {
    /// Bytes per second that it was measured to move at a size, between what was measured as sizes double.
    fn rate(&self, bytes: f64) -> Option<f64> {
        let after = self.bandwidths.partition_point(|point| point.0 < bytes);
        let rate = match (after.checked_sub(1).map(|low| self.bandwidths[low]), self.bandwidths.get(after)) {
            (Some(low), Some(high)) => {
                let along = (bytes / low.0).ln() / (high.0 / low.0).ln();
                low.1 + along * (high.1 - low.1)
            }
            (Some(only), None) | (None, Some(&only)) => only.1,
            (None, None) => self.bandwidth?,
        };
        Some(rate).filter(|&rate| rate > 0.0)
    }
}

impl Trace {
    /// What every kernel achieved on every device, the longest first.
    ///
    /// ```
    /// use crossover_array::Array;
    /// let (_, trace) = crossover_profile::profile("xor", || {
    ///     let x = Array::arange(1_000_000);
    ///     (&x ^ 12345).eval().map(drop)
    /// });
    /// for kernel in trace.kernel_figures() {
    ///     let share = kernel.fraction.map_or("unknown".to_string(), |share| format!("{:.0}%", 100.0 * share));
    ///     println!("{}: {:.1} GB/s, {share} of the roof", kernel.text, kernel.bytes_per_second.unwrap_or(0.0) / 1e9);
    /// }
    /// assert!(trace.kernel_figures()[0].bytes >= 8_000_000);
    /// ```
    pub fn kernel_figures(&self) -> Vec<KernelFigures> {
        let (mut groups, mut numbers): (Vec<KernelFigures>, HashMap<[u32; 5], usize>) = Default::default();
        // Kernels that differ in size only are one group, and all launches of a kernel have one roof.
        let mut known: FxHashMap<(usize, u32), (usize, Roof)> = FxHashMap::default();
        let kernels = &self.kernels;
        for row in (0..self.spans.len()).filter(|&row| self.spans.kind[row] == SpanKind::Kernel) {
            let (Ok(launch), Ok(kernel)) =
                (usize::try_from(self.spans.launch[row]), usize::try_from(self.spans.kernel[row]))
            else {
                continue;
            };
            let device = self.launches.device[launch];
            let (group, roof) = *known.entry((kernel, device)).or_insert_with(|| {
                let names = [&kernels.name, &kernels.form, &kernels.text, &kernels.dtype];
                let [name, form, text, dtype] = names.map(|column| column[kernel]);
                let group = *numbers.entry([name, form, text, dtype, device]).or_insert_with(|| {
                    groups.push(self.nothing(kernel, device, row));
                    groups.len() - 1
                });
                (group, self.roof(kernel, device as usize))
            });
            groups[group].add(self, (row, kernel, launch), roof);
        }
        let mut out: Vec<KernelFigures> = groups.into_iter().map(KernelFigures::finished).collect();
        out.sort_by(|a, b| {
            b.time_ns
                .cmp(&a.time_ns)
                .then_with(|| (&a.name, a.device, &a.text).cmp(&(&b.name, b.device, &b.text)))
        });
        out
    }

    /// No launches yet.
    fn nothing(&self, kernel: usize, device: u32, row: usize) -> KernelFigures {
        let text = |column: &[u32]| self.string(column[kernel]).to_string();
        KernelFigures {
            name: text(&self.kernels.name),
            form: text(&self.kernels.form),
            text: text(&self.kernels.text),
            dtype: text(&self.kernels.dtype),
            device,
            plans: Vec::new(),
            launches: 0,
            time_ns: 0,
            queued_ns: 0,
            bytes: 0,
            flops: 0,
            bytes_per_second: None,
            flops_per_second: None,
            fraction: None,
            bound: None,
            live: 0,
            peak: 0,
            longest: row,
            least_ns: Some(0.0),
            products_ns: 0.0,
        }
    }

    /// Nanoseconds that one launch of a kernel needs at least on a device, and what for.
    pub(crate) fn roof(&self, kernel: usize, device: usize) -> Roof {
        let (kernels, device) = (&self.kernels, self.machine.devices.get(device)?);
        if kernels.roof[kernel] == 0 {
            return None;
        }
        let bytes = kernels.read[kernel] as f64 + kernels.written[kernel] as f64;
        let memory = bytes / device.rate(bytes)?;
        let products = match kernels.products[kernel] {
            0 => 0.0,
            count => {
                count as f64
                    / device.flops.get(self.string(kernels.dtype[kernel])).filter(|&&rate| rate > 0.0)?
            }
        };
        let bound = if products > memory { Bound::Products } else { Bound::Memory };
        Some((memory.max(products) * 1e9, bound)).filter(|&(least, _)| least > 0.0)
    }

    /// What a launch took beyond the best prediction for another device, in nanoseconds, copies included on both sides; `None` where devices were not compared.
    ///
    /// ```
    /// use crossover_array::Array;
    /// let (_, trace) = crossover_profile::profile("exp", || Array::linspace(0.0, 1.0, 100_000).exp().eval().map(drop));
    /// let lost: u64 = (0..trace.spans.len()).filter_map(|row| trace.regret_ns(row)).sum();
    /// println!("{lost} ns lost to decisions");
    /// ```
    pub fn regret_ns(&self, span: usize) -> Option<u64> {
        let launch = usize::try_from(*self.spans.launch.get(span)?).ok()?;
        let (predicted, moving) = (&self.launches.predicted[launch], &self.launches.moving[launch]);
        let here = self.launches.device[launch] as usize;
        let others = predicted
            .iter()
            .zip(moving)
            .enumerate()
            .filter(|&(device, (&time, _))| device != here && time > 0);
        let best = others.map(|(_, (time, copies))| time.saturating_add(*copies)).min()?;
        let took = self.spans.duration[span].saturating_add(*moving.get(here)?);
        Some(took.saturating_sub(best))
    }
}

impl KernelFigures {
    fn add(&mut self, trace: &Trace, (row, kernel, launch): (usize, usize, usize), roof: Roof) {
        let (kernels, launches, spans) = (&trace.kernels, &trace.launches, &trace.spans);
        let bytes = kernels.read[kernel].saturating_add(kernels.written[kernel]);
        self.launches += 1;
        self.time_ns = self.time_ns.saturating_add(spans.duration[row]);
        self.queued_ns =
            self.queued_ns.saturating_add(spans.start[row].saturating_sub(launches.queued[launch]));
        self.bytes = self.bytes.saturating_add(bytes);
        self.flops = self.flops.saturating_add(kernels.flops[kernel]);
        self.live = self.live.max(launches.live[launch]);
        self.peak = self.peak.max(launches.peak[launch]);
        if spans.duration[row] > spans.duration[self.longest] {
            self.longest = row;
        }
        // Rates are sums over sums, and so is the share of the roof: one launch without it, and there is none.
        self.least_ns = self.least_ns.zip(roof).map(|(sum, (least, _))| sum + least);
        self.products_ns +=
            roof.filter(|(_, bound)| *bound == Bound::Products).map_or(0.0, |(least, _)| least);
        if let Ok(plan) = u32::try_from(launches.plan[launch]) {
            let place = (plan, launches.step[launch]);
            if !self.plans.contains(&place) && self.plans.len() < MOST_PLANS {
                self.plans.push(place);
            }
        }
    }

    fn finished(mut self) -> KernelFigures {
        let rate =
            |amount: u64| (amount > 0 && self.time_ns > 0).then(|| amount as f64 / self.time_ns as f64 * 1e9);
        (self.bytes_per_second, self.flops_per_second) = (rate(self.bytes), rate(self.flops));
        self.fraction = self.least_ns.filter(|_| self.time_ns > 0).map(|least| least / self.time_ns as f64);
        let least = self.least_ns.filter(|_| self.fraction.is_some());
        self.bound =
            least.map(|least| if 2.0 * self.products_ns > least { Bound::Products } else { Bound::Memory });
        self.plans.sort_unstable();
        self
    }
}

/// Plans of a kernel that are named at most.
const MOST_PLANS: usize = 64;

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// A trace with kernels of every kind, and what they achieve.
    const FIGURES: &str = include_str!("check/figures.json");

    #[test]
    fn figures_are_those_of_the_page() {
        let all: Value = serde_json::from_str(FIGURES).expect("it is JSON");
        let trace = Trace::from_json(&all["trace"].to_string()).expect("it is whole");
        let found = trace.kernel_figures();
        let expected = all["figures"].as_array().expect("a list");
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found.text, expected["text"].as_str().expect("a text"));
            let near = |found: Option<f64>, name: &str| {
                let expected = expected[name].as_f64();
                let same = match (found, expected) {
                    (Some(found), Some(expected)) => (found / expected - 1.0).abs() < 1e-9,
                    (found, expected) => found.is_none() && expected.is_none(),
                };
                assert!(same, "{name} of {}: {:?}, {expected:?}", found.is_some(), found);
            };
            near(found.bytes_per_second, "rate");
            near(found.flops_per_second, "flopRate");
            near(found.fraction, "roof");
            let plans: Vec<(u32, u32)> = serde_json::from_value(expected["plans"].clone()).expect("pairs");
            assert_eq!(found.plans, plans, "{}", found.text);
            let bound = match found.bound {
                Some(Bound::Memory) => Some("memory"),
                Some(Bound::Products) => Some("compute"),
                None => None,
            };
            assert_eq!(bound, expected["bound"].as_str(), "{}", found.text);
        }
        let regret: Vec<Option<u64>> = (0..trace.spans.len()).map(|row| trace.regret_ns(row)).collect();
        assert_eq!(serde_json::json!(regret), all["regret"]);
        let idle: Vec<f64> = (0..trace.memory.len()).map(|row| trace.memory.fragmentation(row)).collect();
        assert_eq!(serde_json::json!(idle), all["fragmentation"]);
    }

    #[test]
    fn whole_numbers_and_truth_values_have_a_roof_and_sorts_have_none() {
        use crossover_array::{Array, DType};
        let (_, trace) = crate::profile("kinds", || {
            let x = Array::arange(200_000i64);
            x.eval().expect("it fits");
            (&x ^ 77).eval().map(drop).expect("it fits");
            x.astype(DType::F16).eval().map(drop).expect("it fits");
            x.greater(5).eval().map(drop).expect("it fits");
            x.sort(0).eval().map(drop).expect("it fits");
        });
        let figures = trace.kernel_figures();
        let of = |part: &str| {
            figures
                .iter()
                .find(|kernel| kernel.text.contains(part))
                .unwrap_or_else(|| panic!("{part}: {figures:#?}"))
        };
        for part in ["bitwise_xor(", "f16(", "greater("] {
            let kernel = of(part);
            assert!(kernel.fraction.is_some_and(|share| share > 0.0), "{kernel:?}");
            assert_eq!(kernel.bound, Some(Bound::Memory));
            assert_eq!(kernel.plans.len(), 1, "{kernel:?}");
        }
        assert_eq!(of("sort(").fraction, None);
        assert!(of("sort(").bytes_per_second.is_some());
    }
}
