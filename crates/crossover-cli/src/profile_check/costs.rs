//! What a span costs, and what a session costs typical work.

use std::{hint::black_box, time::Instant};

use anyhow::{Context, Result};
use crossover::{
    Runtime,
    profile::{Session, scope},
    runtime::trace,
};
use serde::Serialize;

use super::{kernels, seeds};

/// The JSON of `crossover profile-check costs`.
#[derive(Debug, Serialize)]
pub struct Costs {
    /// Devices of the machine.
    devices: Vec<String>,
    /// The clock of spans, and nanoseconds that looking at it and at the system's takes; a scope looks twice.
    clock: &'static str,
    clock_ns: f64,
    system_clock_ns: f64,
    /// Nanoseconds of a scope while nobody records; the bar is 2.
    span_off_ns: f64,
    /// Nanoseconds of a scope while a session records; the bar is 60.
    span_on_ns: f64,
    /// Nanoseconds per span that the end of a session takes to make a trace of them.
    gather_ns: f64,
    /// Microseconds that the end of a session takes in which nothing happened.
    empty_us: f64,
    /// One per place where the workloads ran.
    suites: Vec<Together>,
    workloads: Vec<Cost>,
}

/// All workloads of one place together.
#[derive(Debug, Serialize)]
struct Together {
    place: String,
    /// Time with a session against time without, each workload called once; the bar is 1.02.
    total: f64,
    /// The geometric mean of the ratios, as if each workload ran for equally long.
    mean: f64,
    /// Both again, with the end of the session counted too: from its beginning until there is a trace.
    ended_total: f64,
    ended_mean: f64,
    /// Both again, of a third turn without a session against the first: what is noise.
    control_total: f64,
    control_mean: f64,
}

/// One workload in one place.
#[derive(Debug, Serialize)]
struct Cost {
    name: String,
    place: String,
    /// Calls of a batch: so many share a session.
    calls: usize,
    /// Microseconds of one call, the median of all batches.
    off_us: f64,
    on_us: f64,
    /// The median over pairs of batches, one right after the other.
    ratio: f64,
    /// Half the distance between the quartiles of those.
    spread: f64,
    /// As `ratio`, of a turn that has no session either.
    control: f64,
    /// Microseconds of a call that ending the session takes, once the calls are over: no part of `ratio`.
    end_us: f64,
    /// As `ratio`, with the end of the session counted too.
    ended: f64,
}

/// Runs something so many times, waits until all is done, and says how many seconds one took.
pub type Runs = Box<dyn FnMut(usize) -> Result<f64>>;

/// Something to be timed with and without a session.
pub struct Work {
    pub name: String,
    /// On which device, or which way.
    pub place: String,
    pub run: Runs,
}

/// Which workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Suite {
    /// `crossover bench seeds`, on the CPU and on the GPU
    Seeds,
    /// Graphs of few kernels over many elements, placed by themselves
    Kernels,
    /// None: only what a span costs
    None,
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    pub suite: Suite,
    /// Of `Kernels`: elements of the largest operand.
    pub elements: usize,
    pub rounds: usize,
    /// Workloads whose name contains it.
    pub only: &'a str,
    /// Leave out what takes seconds.
    pub quick: bool,
}

/// Spans of one batch: few enough for the recorder to keep.
const SPANS: u32 = 100_000;
/// Batches of spans, of which the fastest counts: what others do only adds time.
const BATCHES: usize = 20;
/// Seconds of a batch of evaluations.
const BATCH: f64 = 0.02;

/// Measures.
pub fn measure(wanted: &Wanted) -> Result<Costs> {
    let runtime = Runtime::current();
    let machine = runtime.executor().machine();
    let mut costs = Costs {
        devices: machine.devices().map(|d| machine.backend(d).describe()).collect(),
        clock: trace::clock(),
        clock_ns: best(|| each_of(SPANS, trace::Moment::now)),
        system_clock_ns: best(|| each_of(SPANS, Instant::now)),
        span_off_ns: best(|| spans(10 * SPANS)),
        span_on_ns: 0.0,
        gather_ns: 0.0,
        empty_us: 0.0,
        suites: Vec::new(),
        workloads: Vec::new(),
    };
    let mut gathered = Vec::new();
    costs.span_on_ns = best(|| {
        let session = Session::begin("spans");
        let took = spans(SPANS);
        let start = Instant::now();
        let trace = session.end();
        gathered.push(start.elapsed().as_nanos() as f64 / trace.spans.len().max(1) as f64);
        took
    });
    costs.gather_ns = gathered.into_iter().fold(f64::INFINITY, f64::min);
    costs.empty_us = best(|| {
        let session = Session::begin("nothing");
        let start = Instant::now();
        black_box(session.end());
        start.elapsed().as_secs_f64() * 1e6
    });
    let mut one = |mut work: Work| -> Result<()> {
        let (name, place) = (work.name, work.place);
        let (calls, [off, on, ratio, spread, control, end, ended]) =
            compared(&mut work.run, wanted.rounds).with_context(|| format!("{name} {place}"))?;
        let (off_us, on_us, end_us) = (off * 1e6, on * 1e6, end * 1e6);
        let cost = Cost { name, place, calls, off_us, on_us, ratio, spread, control, end_us, ended };
        // As they come: all of them take minutes.
        if costs.workloads.is_empty() {
            eprintln!("{HEADS}");
        }
        eprintln!("{}", cost.line());
        costs.workloads.push(cost);
        Ok(())
    };
    match wanted.suite {
        Suite::Seeds => seeds::each(wanted, &mut one)?,
        Suite::Kernels => kernels::each(wanted, &mut one)?,
        Suite::None => {}
    }
    costs.suites = together(&costs.workloads);
    for suite in &costs.suites {
        eprintln!("{}", suite.line());
    }
    Ok(costs)
}

/// What stands above the lines of workloads.
const HEADS: &str = "  plain µs  profiled µs   ratio  spread  control   ended  calls  workload";

impl Cost {
    /// A line of the table.
    fn line(&self) -> String {
        let Cost { off_us, on_us, ratio, spread, control, ended, calls, name, place, .. } = self;
        format!(
            "{off_us:>10.2} {on_us:>12.2} {ratio:>7.3} {spread:>7.3} {control:>8.3} {ended:>7.3} {calls:>6}  {name} {place}"
        )
    }
}

impl Together {
    /// A line below the table.
    fn line(&self) -> String {
        let Together { place, total, mean, ended_total, ended_mean, control_total, control_mean } = self;
        format!(
            "{place}: total {total:.4} (control {control_total:.4}, ended {ended_total:.4}), mean {mean:.4} (control {control_mean:.4}, ended \
             {ended_mean:.4})"
        )
    }
}

fn together(workloads: &[Cost]) -> Vec<Together> {
    let mut places: Vec<&str> = workloads.iter().map(|cost| cost.place.as_str()).collect();
    places.sort_unstable();
    places.dedup();
    let one = |place: &str| {
        let here: Vec<&Cost> = workloads.iter().filter(|cost| cost.place == place).collect();
        let all: f64 = here.iter().map(|cost| cost.off_us).sum();
        let total =
            |ratio: fn(&Cost) -> f64| here.iter().map(|cost| cost.off_us * ratio(cost)).sum::<f64>() / all;
        let mean = |ratio: fn(&Cost) -> f64| {
            (here.iter().map(|cost| ratio(cost).ln()).sum::<f64>() / here.len() as f64).exp()
        };
        Together {
            place: place.to_owned(),
            total: total(|cost| cost.ratio),
            mean: mean(|cost| cost.ratio),
            ended_total: total(|cost| cost.ended),
            ended_mean: mean(|cost| cost.ended),
            control_total: total(|cost| cost.control),
            control_mean: mean(|cost| cost.control),
        }
    };
    places.into_iter().map(one).collect()
}

fn best(mut batch: impl FnMut() -> f64) -> f64 {
    (0..BATCHES).map(|_| batch()).fold(f64::INFINITY, f64::min)
}

/// Nanoseconds per scope.
fn spans(count: u32) -> f64 {
    each_of(count, || drop(scope(black_box("span"))))
}

/// Nanoseconds of one of so many calls.
fn each_of<T>(count: u32, mut call: impl FnMut() -> T) -> f64 {
    let start = Instant::now();
    for _ in 0..count {
        black_box(call());
    }
    start.elapsed().as_nanos() as f64 / f64::from(count)
}

/// Seconds of one call without and with a session, their ratio, its spread, the ratio of a second turn without one, the part of a call in ending the session, and
/// the ratio with that.
fn compared(run: &mut dyn FnMut(usize) -> Result<f64>, rounds: usize) -> Result<(usize, [f64; 7])> {
    /// Of what takes longer, in seconds, a few calls must do.
    const LONG: f64 = 0.5;
    /// Calls before anything counts, unless they are long: compilers, trials and sequences are over then.
    const WARM: usize = 12;
    // The shortest: one that waited for a compiler would make a batch of a single call, and the first call of a session is always timed.
    let (warm, mut first, mut calls) = (Instant::now(), f64::INFINITY, 0);
    while warm.elapsed().as_secs_f64() < 0.3 || (calls < WARM && warm.elapsed().as_secs_f64() < 10.0 * LONG) {
        first = first.min(run(1)?);
        calls += 1;
    }
    let count = ((BATCH / first.max(1e-9)) as usize).clamp(1, 20_000);
    let rounds = if first > LONG { rounds.min(5) } else { rounds };
    let [mut off, mut on, mut ratios, mut controls, mut ends, mut ended] = [const { Vec::new() }; 6];
    for round in 0..rounds {
        let (mut took, mut end) = ([0.0; 3], 0.0);
        // In turn, so that none is always the second.
        for turn in 0..took.len() {
            let which = (round + turn) % took.len();
            let session = (which == 1).then(|| Session::begin("cost"));
            took[which] = run(count)?;
            if let Some(session) = session {
                let start = Instant::now();
                black_box(session.end());
                end = start.elapsed().as_secs_f64() / count as f64;
            }
        }
        off.push(took[0]);
        on.push(took[1]);
        ratios.push(took[1] / took[0]);
        controls.push(took[2] / took[0]);
        ends.push(end);
        ended.push((took[1] + end) / took[0]);
    }
    let spread = (quantile(&mut ratios, 0.75) - quantile(&mut ratios, 0.25)) / 2.0;
    let middle = |values: &mut Vec<f64>| quantile(values, 0.5);
    let [off, on, control, end, ended] =
        [&mut off, &mut on, &mut controls, &mut ends, &mut ended].map(middle);
    let figures = [off, on, middle(&mut ratios), spread, control, end, ended];
    Ok((count, figures))
}

fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_sorted_values() {
        let mut values = [5.0, 1.0, 3.0, 2.0, 4.0];
        assert_eq!(
            (quantile(&mut values, 0.0), quantile(&mut values, 0.5), quantile(&mut values, 1.0)),
            (1.0, 3.0, 5.0)
        );
    }

    #[test]
    fn a_total_weighs_by_time_and_a_mean_does_not() {
        let cost = |place: &str, off_us: f64, ratio: f64| Cost {
            name: String::new(),
            place: place.to_owned(),
            calls: 1,
            off_us,
            on_us: off_us * ratio,
            ratio,
            spread: 0.0,
            control: 1.0,
            end_us: 0.1 * off_us,
            ended: ratio + 0.1,
        };
        let line = cost("a", 90.0, 1.5).line();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words, ["90.00", "135.00", "1.500", "0.000", "1.000", "1.600", "1", "a"]);
        let all = together(&[cost("a", 90.0, 1.0), cost("b", 7.0, 3.0), cost("a", 10.0, 1.21)]);
        assert_eq!((all[0].place.as_str(), all[1].place.as_str()), ("a", "b"));
        assert!((all[0].total - 1.021).abs() < 1e-12 && (all[0].mean - 1.1).abs() < 1e-12);
        assert!((all[0].ended_total - 1.121).abs() < 1e-12 && (all[1].ended_mean - 3.1).abs() < 1e-12);
        assert!((all[1].total - 3.0).abs() < 1e-12 && (all[0].control_total - 1.0).abs() < 1e-12);
    }
}
