//! Comparisons of synthetic samples whose truth is known: noise, drift, outliers, and processes that differ for no reason.

use super::*;
use crate::bench::{Entry, Fingerprint};

/// Workloads of a run.
const WORKLOADS: usize = 10;
/// Rounds of a comparison.
const ROUNDS: usize = 24;

/// A machine as they are.
struct Machine {
    random: Random,
    /// Logarithm of how slow everything is at the moment.
    drift: f64,
}

impl Machine {
    fn new(seed: u64) -> Machine {
        Machine { random: Random(seed), drift: 0.0 }
    }

    fn uniform(&mut self) -> f64 {
        (self.random.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// By Box and Muller.
    fn normal(&mut self) -> f64 {
        let (radius, angle) = ((-2.0 * (1.0 - self.uniform()).ln()).sqrt(), self.uniform());
        radius * (2.0 * std::f64::consts::PI * angle).cos()
    }

    /// A process: every workload, `samples` times. Memory lies where it lies: all of it is up to a percent or so off for
    /// as long as it lives. Samples have noise of 2%, one in twenty takes half as long again, and the machine drifts by a percent
    /// or two within some hundred samples.
    fn run(&mut self, slowdown: impl Fn(usize) -> f64, samples: usize) -> Run {
        let mut run = Run::new("synthetic", Fingerprint::default());
        for workload in 0..WORKLOADS {
            let place = 0.007 * self.normal();
            let times: Vec<f64> = (0..samples)
                .map(|_| {
                    self.drift += 0.001 * self.normal() - 0.002 * self.drift;
                    let outlier = if self.uniform() < 0.05 { 1.5 } else { 1.0 };
                    let noise = (place + self.drift + 0.02 * self.normal()).exp();
                    1e-3 * (1 + workload) as f64 * slowdown(workload) * outlier * noise
                })
                .collect();
            let timings = [("cpu".to_string(), Timing::new(times))].into();
            let name = format!("work {workload}");
            run.results.push(Entry { name, timings, ..Entry::default() });
        }
        run
    }

    /// Both in turns; the second takes `slowdown` times as long.
    fn turns(&mut self, slowdown: impl Fn(usize) -> f64 + Copy) -> Comparison {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            for turn in 0..2 {
                if (round + turn) % 2 == 0 {
                    a.push(self.run(|_| 1.0, 9));
                } else {
                    b.push(self.run(slowdown, 9));
                }
            }
        }
        rounds(&a, &b, 3, &Settings { resamples: 2000, ..Settings::default() })
    }
}

fn flags(comparison: &Comparison) -> usize {
    comparison.count(Verdict::Slower) + comparison.count(Verdict::Faster)
}

#[test]
fn twenty_comparisons_of_a_program_with_itself_flag_at_most_one() {
    let flagged = (0..20).filter(|&seed| flags(&Machine::new(100 + seed).turns(|_| 1.0)) > 0).count();
    assert!(flagged <= 1, "{flagged} of 20");
}

#[test]
fn a_slowdown_of_five_percent_is_flagged_where_it_is() {
    let mut found = 0;
    for seed in 0..20 {
        let comparison = Machine::new(200 + seed).turns(|workload| if workload == 3 { 1.05 } else { 1.0 });
        found += usize::from(comparison.results[3].verdict == Verdict::Slower);
        assert_ne!(comparison.results[3].verdict, Verdict::Same, "{:?}", comparison.results[3]);
        let others = comparison.results.iter().enumerate().filter(|(at, _)| *at != 3);
        assert!(others.filter(|(_, judged)| judged.verdict == Verdict::Slower).count() <= 1);
    }
    assert!(found >= 19, "{found} of 20");
}

#[test]
fn a_gain_of_ten_percent_is_faster_and_none_is_mostly_the_same() {
    let comparison = Machine::new(7).turns(|workload| if workload == 0 { 0.9 } else { 1.0 });
    assert_eq!(comparison.results[0].verdict, Verdict::Faster);
    assert!((comparison.results[0].ratio - 0.9).abs() < 0.02);
    assert!(comparison.count(Verdict::Same) >= 7, "{comparison:?}");
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    // One workload and one look: 95% each.
    let settings = Settings { resamples: 1000, ..Settings::default() };
    let (mut inside, all) = (0, 200);
    for seed in 0..all {
        let mut machine = Machine::new(1000 + seed);
        let mut one = |slowdown: f64| {
            let mut run = machine.run(|_| slowdown, 9);
            run.results.truncate(1);
            run
        };
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for _ in 0..16 {
            a.push(one(1.0));
            b.push(one(1.07));
        }
        let judged = &rounds(&a, &b, 1, &settings).results[0];
        inside += usize::from(judged.low <= 1.07 && 1.07 <= judged.high);
    }
    assert!(inside >= 182, "{inside} of {all}");
}

#[test]
fn too_few_rounds_decide_nothing() {
    let mut machine = Machine::new(3);
    let a: Vec<Run> = (0..4).map(|_| machine.run(|_| 1.0, 9)).collect();
    let b: Vec<Run> = (0..4).map(|_| machine.run(|_| 2.0, 9)).collect();
    let comparison = rounds(&a, &b, 1, &Settings::default());
    assert_eq!(comparison.count(Verdict::Unsure), WORKLOADS);
    assert!(comparison.results.iter().all(|judged| judged.low > 1.5));
    assert_eq!(rounds_needed(0.05), 6);
    assert_eq!(rounds(&[], &[], 1, &Settings::default()).results.len(), 0);
}

#[test]
fn saved_runs_get_wider_intervals_and_still_show_a_quarter() {
    let mut flagged = 0;
    for seed in 0..20 {
        let mut machine = Machine::new(500 + seed);
        let (a, same) = (machine.run(|_| 1.0, 100), machine.run(|_| 1.0, 100));
        let settings = Settings { resamples: 1000, ..Settings::default() };
        let comparison = files(&a, &same, &settings).unwrap();
        flagged += usize::from(flags(&comparison) > 0);
        let narrow = files(&a, &same, &Settings { allowance: 0.0, ..settings }).unwrap();
        for (wide, narrow) in comparison.results.iter().zip(&narrow.results) {
            assert!(wide.low < narrow.low && wide.high > narrow.high);
        }
    }
    assert!(flagged <= 1, "{flagged} of 20");
    let mut machine = Machine::new(1);
    let a = machine.run(|_| 1.0, 100);
    let slower = machine.run(|_| 1.25, 100);
    let comparison = files(&a, &slower, &Settings::default()).unwrap();
    assert!(comparison.count(Verdict::Slower) >= 8, "{comparison:?}");
}

#[test]
fn runs_of_other_machines_are_refused_unless_forced() {
    let mut machine = Machine::new(1);
    let (a, mut b) = (machine.run(|_| 1.0, 20), machine.run(|_| 1.0, 20));
    b.machine.cpu = "another processor".into();
    let refused = files(&a, &b, &Settings::default()).unwrap_err();
    assert!(refused.to_string().contains("another processor"), "{refused}");
    let forced = files(&a, &b, &Settings { force: true, ..Settings::default() }).unwrap();
    assert_eq!(forced.differences.len(), 1);
    b.machine.cpu.clear();
    b.results.iter_mut().for_each(|entry| entry.name.push('!'));
    assert!(matches!(files(&a, &b, &Settings::default()), Err(Mismatch::Nothing { .. })));
}

#[test]
fn the_same_samples_give_the_same_answer() {
    let once = Machine::new(9).turns(|_| 1.01);
    assert_eq!(once, Machine::new(9).turns(|_| 1.01));
}
