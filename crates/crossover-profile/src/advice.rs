//! What to look at first: rules over a trace, each with what was seen and what to do.

use std::collections::HashMap;

use crossover_plan::duration;

use crate::{Advice, Bound, SpanKind, Trace};

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

fn rows(trace: &Trace, kind: SpanKind) -> impl Iterator<Item = usize> + Clone {
    (0..trace.spans.len()).filter(move |&row| trace.spans.kind[row] == kind)
}

/// The scope of the program that a span belongs to.
fn scope_of(trace: &Trace, row: usize) -> Option<&str> {
    let mut at = trace.spans.parent[row];
    while at >= 0 {
        if trace.spans.kind[at as usize] == SpanKind::Scope {
            return Some(trace.name_of(at as usize));
        }
        at = trace.spans.parent[at as usize];
    }
    None
}

/// Copies in one direction: how long, how many, how many bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Copies {
    time: u64,
    count: u64,
    bytes: u64,
}

impl Copies {
    fn add(&mut self, trace: &Trace, row: usize) {
        self.time = self.time.saturating_add(trace.spans.duration[row]);
        self.count += 1;
        self.bytes = self.bytes.saturating_add(trace.spans.bytes[row]);
    }
}

/// The line that asked for most of the copies to or from the host, with those.
fn busiest(trace: &Trace, to_host: bool) -> Option<(&str, Copies)> {
    let mut by_line: HashMap<&str, Copies> = HashMap::new();
    for (at, &row) in trace.transfers.span.iter().enumerate() {
        let row = row as usize;
        if (trace.transfers.to[at] == 0) == to_host
            && let Some(place) = trace.place_of(row)
        {
            let entry = by_line.entry(place).or_default();
            entry.add(trace, row);
        }
    }
    by_line.into_iter().max_by_key(|(line, copies)| (copies.time, *line))
}

/// Whether about as much goes one way as comes back, and more than once.
fn is_round_trip(down: Copies, up: Copies) -> bool {
    let alike = |a: u64, b: u64| a <= b.saturating_mul(2) && b <= a.saturating_mul(2);
    down.count.min(up.count) >= 2 && alike(down.count, up.count) && alike(down.bytes, up.bytes)
}

fn copies(trace: &Trace) -> Option<Advice> {
    let mut by_scope: HashMap<Option<&str>, Copies> = HashMap::new();
    for row in rows(trace, SpanKind::Transfer) {
        let entry = by_scope.entry(scope_of(trace, row)).or_default();
        entry.add(trace, row);
    }
    let (place, all) = by_scope.into_iter().max_by_key(|(name, copies)| (copies.time, *name))?;
    let place = place.map_or_else(|| "outside of all scopes".to_string(), |name| format!("in `{name}`"));
    let megabytes = |copies: Copies| copies.bytes as f64 / 1e6;
    let mut evidence = format!(
        "{} copies {place} moved {:.1} MB in {}",
        all.count,
        megabytes(all),
        duration(all.time as f64)
    );
    let (down, up) = (busiest(trace, true), busiest(trace, false));
    for (line, copies, what) in
        down.iter().map(|d| (d.0, d.1, "to the host")).chain(up.iter().map(|u| (u.0, u.1, "to a device")))
    {
        evidence.push_str(&format!(
            "; {line} asked for {} of {:.1} MB {what}",
            copies.count,
            megabytes(copies)
        ));
    }
    let suggestion = match (down, up) {
        // There and back about as often: a round trip.
        (Some((from, down)), Some((back, up))) if is_round_trip(down, up) => {
            format!(
                "keep it on the GPU until {back}: what {from} fetches, {back} sends back; write what lies between as array operations, \
                 and fetch only final results"
            )
        }
        (Some((line, copies)), _) if copies.time >= up.map_or(0, |(_, up)| up.time) => {
            format!("keep arrays on the device between steps: {line} fetches them {} times, ask for values once, at the end", copies.count)
        }
        (_, Some((line, _))) => {
            format!("start from `to_device` before {line}: operands that stay on the device are not sent again")
        }
        _ => "keep arrays on the device between steps: call `to_vec`, `item` or printing only on final results, or start from `to_device`".to_string(),
    };
    advice(
        share(trace, trace.breakdown.transfer_ns),
        "copies while nothing is computed".to_string(),
        evidence,
        &suggestion,
    )
}

/// The line that most spans of a kind are asked for by, and how many of them.
fn line_of(trace: &Trace, kind: SpanKind) -> Option<(&str, usize)> {
    let mut counts = vec![0; trace.strings.len()];
    let lines = rows(trace, kind).filter_map(|row| trace.place_number(row));
    lines.for_each(|line| counts[line as usize] += 1);
    let lines = trace.strings.iter().map(String::as_str).zip(counts).filter(|&(_, count)| count > 0);
    lines.max_by_key(|&(line, count)| (count, line))
}

fn compiling(trace: &Trace) -> Option<Advice> {
    let count = rows(trace, SpanKind::Compile).count();
    let part = share(trace, trace.breakdown.compile_ns);
    advice(
        part,
        "waiting for a compiler".to_string(),
        format!("{count} kernels were compiled, {} in all", duration(trace.breakdown.compile_ns as f64)),
        "compiled kernels are kept on disk: the next run of the same program compiles nothing if the cache directory can be written",
    )
}

fn small(trace: &Trace) -> Option<Advice> {
    let part = share(trace, trace.breakdown.overhead_ns);
    let times = rows(trace, SpanKind::Kernel).map(|row| trace.spans.duration[row]);
    let (count, time) = times.fold((0u64, 0u64), |(count, sum), time| (count + 1, sum.saturating_add(time)));
    let mean = time as f64 / count.max(1) as f64;
    const SMALL: f64 = 20_000.0;
    if count == 0 || mean > SMALL {
        return None;
    }
    let mut evidence = format!("{count} kernels took {} on average", duration(mean));
    if let Some((line, count)) = line_of(trace, SpanKind::Evaluation) {
        evidence.push_str(&format!("; {line} asked for {count} evaluations"));
    }
    advice(
        part,
        "starting small kernels".to_string(),
        evidence,
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
        "time outside of array code".to_string(),
        format!("between evaluations the program itself takes {}", duration(trace.breakdown.rest_ns as f64)),
        "name parts of the program with `scope(…)` to see which; no kernel can make these faster",
    )
}

fn replanned(trace: &Trace) -> Option<Advice> {
    let (plans, evaluations) =
        (rows(trace, SpanKind::Plan).count(), rows(trace, SpanKind::Evaluation).count());
    if plans * 2 < evaluations || plans < 8 {
        return None;
    }
    let time: u64 = rows(trace, SpanKind::Plan).map(|row| trace.spans.duration[row]).sum();
    let part = share(trace, time);
    advice(
        part,
        "planning again and again".to_string(),
        match line_of(trace, SpanKind::Plan) {
            Some((line, count)) => {
                format!("{plans} plans were made for {evaluations} evaluations, {count} of them at {line}")
            }
            None => format!("{plans} plans were made for {evaluations} evaluations"),
        },
        "plans are kept for graphs that repeat: build the same expression each time, with the same number of steps between evaluations",
    )
}

/// What was lost to decisions that turned out wrong: as [`Trace::regret_ns`], without what is noise.
fn regrets(trace: &Trace) -> Option<Advice> {
    let (mut lost, mut count, mut most) = (0u64, 0, None::<(u64, usize)>);
    for row in rows(trace, SpanKind::Kernel) {
        let Some(regret) = trace.regret_ns(row) else { continue };
        // As the runtime's own counter: what another device would have taken is known no better.
        if regret > 20_000 && regret > trace.spans.duration[row].saturating_sub(regret) / 4 {
            (lost, count) = (lost + regret, count + 1);
            most = most.max(Some((regret, row)));
        }
    }
    let (_, row) = most?;
    let part = share(trace, lost);
    advice(
        part,
        "kernels that another device may run faster".to_string(),
        format!(
            "{count} kernels took {} longer than predicted for another device and the copies it needs, `{}` most of all",
            duration(lost as f64),
            trace.name_of(row)
        ),
        "run `crossover calibrate` once on this machine; predictions that it measured are better than assumed ones",
    )
}

/// Kernels that take much of the time and use little of the machine. Kernels without a roof are never among them.
fn slow_kernels(trace: &Trace) -> Vec<Advice> {
    let mut out = Vec::new();
    for kernel in trace.kernel_figures() {
        let part = share(trace, kernel.time_ns);
        let (Some(reached), Some(least)) = (kernel.fraction, kernel.least_ns) else { continue };
        if part < 0.1 || reached > 0.3 {
            continue;
        }
        let line = trace
            .place_of(kernel.longest)
            .map_or_else(String::new, |line| format!(", the slowest at {line}"));
        let each = |time: f64| duration(time / kernel.launches as f64);
        let what = match kernel.bound {
            Some(Bound::Products) => "products",
            _ => "bytes",
        };
        out.push(Advice {
            share: part,
            title: format!("`{}` at {} of what the device can", kernel.name, percent(reached)),
            evidence: format!(
                "{} launches took {} each{line}; their {what} need {}",
                kernel.launches,
                each(kernel.time_ns as f64),
                each(least)
            ),
            suggestion: "small launches leave most of a device idle, and strided operands waste its bandwidth: batch the former, copy the latter once"
                .to_string(),
            kernel: trace.spans.kernel[kernel.longest],
        });
    }
    out.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.title.cmp(&b.title)));
    out.truncate(3);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trace of one kernel, which ran for a millisecond on the host.
    fn one(change: impl FnOnce(&mut Trace)) -> Trace {
        let mut trace: Trace = Trace::from_json(include_str!("check/sample.json")).expect("it is whole");
        (trace.wall_ns, trace.spans.duration[3], trace.launches.device[0]) = (1_000_000, 900_000, 0);
        (trace.launches.predicted[0], trace.launches.moving[0]) = (vec![10_000, 500_000], vec![0, 150_000]);
        change(&mut trace);
        trace.advice.clear();
        trace
    }

    #[test]
    fn the_own_device_is_no_alternative_and_copies_count() {
        let lost = |trace: &Trace| regrets(trace).map(|advice| advice.evidence);
        // 900 against 500 and 150 of copies; the 10 of the host itself are nobody's alternative.
        let evidence = lost(&one(|_| ())).expect("another would have been faster");
        assert!(evidence.contains("took 250.0 µs longer"), "{evidence}");
        assert_eq!(lost(&one(|trace| trace.launches.moving[0] = vec![0, 300_000])), None, "too little");
        assert_eq!(
            lost(&one(|trace| trace.launches.predicted[0] = vec![10_000, 0])),
            None,
            "no other can run it"
        );
        assert_eq!(lost(&one(|trace| trace.launches.moving[0].clear())), None, "nothing was compared");
    }

    #[test]
    fn kernels_without_a_roof_are_not_called_slow() {
        let slow = one(|_| ());
        assert!(slow_kernels(&slow)[0].title.starts_with("`exp` at 0% of what the device can"));
        assert!(slow_kernels(&one(|trace| trace.kernels.roof[0] = 0)).is_empty());
        assert!(slow_kernels(&one(|trace| trace.machine.devices[0] = Default::default())).is_empty());
    }

    #[test]
    fn a_round_trip_goes_as_it_comes() {
        let copies = |count, bytes| Copies { time: 1, count, bytes };
        assert!(is_round_trip(copies(40, 400), copies(40, 400)));
        assert!(is_round_trip(copies(40, 400), copies(30, 700)));
        assert!(!is_round_trip(copies(1, 67), copies(3, 201)), "three operands and one result");
        assert!(!is_round_trip(copies(40, 400), copies(40, 4)), "a scalar goes back");
        assert!(!is_round_trip(copies(1, 10), copies(1, 10)), "once is no habit");
    }
}
