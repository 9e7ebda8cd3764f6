//! What to look at first: rules over a trace, each with what was seen and what to do.

use std::collections::HashMap;

use crossover_plan::duration;

use crate::{Advice, Trace};

/// Shares of the wall time below which nothing is worth a word.
const LEAST: f64 = 0.05;

/// All advice on a trace, the largest share first.
pub(crate) fn of(trace: &Trace) -> Vec<Advice> {
    let rules = [copies, compiling, small, outside, replanned, regrets];
    let mut out: Vec<Advice> = rules.iter().filter_map(|rule| rule(trace)).collect();
    out.extend(slow_kernels(trace));
    out.retain(|advice| advice.share >= LEAST);
    out.sort_by(|a, b| b.share.total_cmp(&a.share));
    out
}

fn share(trace: &Trace, time: u64) -> f64 {
    time as f64 / trace.wall_ns.max(1) as f64
}

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

fn advice(share: f64, title: String, evidence: String, suggestion: &str) -> Option<Advice> {
    Some(Advice { share, title, evidence, suggestion: suggestion.to_string(), kernel: -1 })
}

fn rows<'a>(trace: &'a Trace, kind: &'a str) -> impl Iterator<Item = usize> + 'a {
    (0..trace.spans.len()).filter(move |&row| trace.spans.kind[row] == kind)
}

/// The scope of the program that a span belongs to.
fn scope_of(trace: &Trace, row: usize) -> Option<&str> {
    let mut at = trace.spans.parent[row];
    while at >= 0 {
        if trace.spans.kind[at as usize] == "s" {
            return Some(trace.name_of(at as usize));
        }
        at = trace.spans.parent[at as usize];
    }
    None
}

fn copies(trace: &Trace) -> Option<Advice> {
    let mut by_scope: HashMap<Option<&str>, (u64, u64, u64)> = HashMap::new();
    for row in rows(trace, "t") {
        let entry = by_scope.entry(scope_of(trace, row)).or_default();
        *entry = (entry.0 + trace.spans.duration[row], entry.1 + 1, entry.2 + trace.spans.bytes[row]);
    }
    let (place, (time, count, bytes)) =
        by_scope.into_iter().max_by_key(|(name, (time, ..))| (*time, *name))?;
    let part = share(trace, trace.breakdown.transfer_ns);
    let place = place.map_or_else(|| "outside of all scopes".to_string(), |name| format!("in `{name}`"));
    advice(
        part,
        format!("{} of the time is spent on copies alone", percent(part)),
        format!("{count} copies {place} moved {:.1} MB in {}", bytes as f64 / 1e6, duration(time as f64)),
        "keep arrays on the device between steps: call `to_vec`, `item` or printing only on final results, or start from `to_device`",
    )
}

fn compiling(trace: &Trace) -> Option<Advice> {
    let count = rows(trace, "c").count();
    let part = share(trace, trace.breakdown.compile_ns);
    advice(
        part,
        format!("{} of the time waits for a compiler", percent(part)),
        format!("{count} kernels were compiled, {} in all", duration(trace.breakdown.compile_ns as f64)),
        "compiled kernels are kept on disk: the next run of the same program compiles nothing if the cache directory can be written",
    )
}

fn small(trace: &Trace) -> Option<Advice> {
    let kernels: Vec<usize> = rows(trace, "k").collect();
    let part = share(trace, trace.breakdown.overhead_ns);
    let time: u64 = kernels.iter().map(|&row| trace.spans.duration[row]).sum();
    let mean = time as f64 / kernels.len().max(1) as f64;
    const SMALL: f64 = 20_000.0;
    if kernels.is_empty() || mean > SMALL {
        return None;
    }
    advice(
        part,
        format!("{} of the time goes into starting small kernels", percent(part)),
        format!("{} kernels took {} on average", kernels.len(), duration(mean)),
        "compute on larger arrays at once (a leading axis for the batch), and ask for values once at the end instead of after each step",
    )
}

fn outside(trace: &Trace) -> Option<Advice> {
    let part = share(trace, trace.breakdown.rest_ns);
    if part < 0.5 {
        return None;
    }
    advice(
        part,
        format!("{} of the time is not spent in array code", percent(part)),
        format!("between evaluations the program itself takes {}", duration(trace.breakdown.rest_ns as f64)),
        "name parts of the program with `scope(…)` to see which; no kernel can make these faster",
    )
}

fn replanned(trace: &Trace) -> Option<Advice> {
    let (plans, evaluations) = (rows(trace, "p").count(), rows(trace, "e").count());
    if plans * 2 < evaluations || plans < 8 {
        return None;
    }
    let time: u64 = rows(trace, "p").map(|row| trace.spans.duration[row]).sum();
    let part = share(trace, time);
    advice(
        part,
        format!("{} of the time is spent on planning", percent(part)),
        format!("{plans} plans were made for {evaluations} evaluations"),
        "plans are kept for graphs that repeat: build the same expression each time, with the same number of steps between evaluations",
    )
}

/// What was lost to decisions that turned out wrong.
fn regrets(trace: &Trace) -> Option<Advice> {
    let (mut lost, mut count, mut most) = (0u64, 0, None::<(u64, usize)>);
    for row in rows(trace, "k") {
        let Ok(launch) = usize::try_from(trace.spans.launch[row]) else { continue };
        let best = trace.launches.predicted[launch].iter().copied().filter(|&time| time > 0).min();
        let Some(best) = best else { continue };
        let regret = trace.spans.duration[row].saturating_sub(best.max(1) * 5 / 4);
        if regret > 20_000 {
            (lost, count) = (lost + regret, count + 1);
            most = most.max(Some((regret, row)));
        }
    }
    let (_, row) = most?;
    let part = share(trace, lost);
    advice(
        part,
        format!("{} of the time may be due to where kernels ran", percent(part)),
        format!(
            "{count} kernels took longer than predicted for the best device, `{}` most of all",
            trace.name_of(row)
        ),
        "run `crossover calibrate` once on this machine; predictions that it measured are better than assumed ones",
    )
}

/// Kernels that take much of the time and use little of the machine.
fn slow_kernels(trace: &Trace) -> Vec<Advice> {
    let mut times: HashMap<(i64, u32), (u64, u64)> = HashMap::new();
    for row in rows(trace, "k") {
        let Ok(launch) = usize::try_from(trace.spans.launch[row]) else { continue };
        let entry = times.entry((trace.spans.kernel[row], trace.launches.device[launch])).or_default();
        *entry = (entry.0 + trace.spans.duration[row], entry.1 + 1);
    }
    let mut out = Vec::new();
    for ((kernel, device), (time, count)) in times {
        let part = share(trace, time);
        let Some(roof) = trace.roof(kernel as usize, device as usize) else { continue };
        let reached = roof * count as f64 / time.max(1) as f64;
        if part < 0.1 || reached > 0.3 {
            continue;
        }
        let name = trace.string(trace.kernels.name[kernel as usize]);
        out.push(Advice {
            share: part,
            title: format!("`{name}` takes {} of the time at {} of what the device can", percent(part), percent(reached)),
            evidence: format!(
                "{count} launches took {} each; its bytes and operations need {}",
                duration(time as f64 / count as f64),
                duration(roof)
            ),
            suggestion: "small launches leave most of a device idle, and strided operands waste its bandwidth: batch the former, copy the latter once"
                .to_string(),
            kernel,
        });
    }
    out.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.title.cmp(&b.title)));
    out.truncate(3);
    out
}

impl Trace {
    /// Nanoseconds that one launch of a kernel needs at least on a device, by its bytes and operations and the measured roofs.
    pub(crate) fn roof(&self, kernel: usize, device: usize) -> Option<f64> {
        let device = self.machine.devices.get(device)?;
        let bytes = (self.kernels.read.get(kernel)? + self.kernels.written.get(kernel)?) as f64;
        let memory = bytes / device.bandwidth? * 1e9;
        let dtype = self.string(*self.kernels.dtype.get(kernel)?);
        let flops = *self.kernels.flops.get(kernel)? as f64;
        let rate = device.flops.get(dtype).or_else(|| device.flops.get("f32"))?;
        Some(memory.max(flops / rate * 1e9))
    }
}
