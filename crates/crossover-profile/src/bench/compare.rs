//! Whether something became slower: intervals by the bootstrap, verdicts, and a correction for many workloads.
//!
//! Two programs that took turns are compared round by round: what disturbs the machine disturbs both of a round. Two saved runs
//! were measured at different times, in one process each; their samples are drawn in blocks, because neighbours are alike, and the interval
//! gets an allowance for what differs between one process and the next (where memory lies, how warm the machine is).

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use super::{
    Difference, Run, Timing,
    numbers::{self, Random},
};

/// How a comparison judges.
///
/// ```
/// use crossover_profile::bench::{Entry, Fingerprint, Run, Settings, Timing, Verdict, files};
/// # let run = |times: &[f64]| {
/// #     let mut run = Run::new("mine", Fingerprint::default());
/// #     let timings = [("cpu".to_string(), Timing::new(times.to_vec()))].into();
/// #     run.results.push(Entry { name: "sum".into(), timings, ..Entry::default() });
/// #     run
/// # };
/// // 30% more time in every sample.
/// let (before, after) = (run(&[1.0; 20]), run(&[1.3; 20]));
/// let judged = |settings| files(&before, &after, &settings).map(|found| found.results[0].verdict);
/// assert_eq!(judged(Settings::default())?, Verdict::Slower);
/// // Where a half more does not matter, it is the same.
/// assert_eq!(judged(Settings { tolerance: 0.5, ..Settings::default() })?, Verdict::Same);
/// # Ok::<(), crossover_profile::bench::Mismatch>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Of all verdicts of a comparison together: the share of comparisons of equal things in which nothing is flagged.
    pub confidence: f64,
    /// Differences below this share do not matter.
    pub tolerance: f64,
    /// The share by which intervals of saved runs are wider on both sides, at least: by the spread of either run where that is more.
    pub allowance: f64,
    /// How often samples are drawn again.
    pub resamples: usize,
    /// Of the random numbers.
    pub seed: u64,
    /// Compare saved runs of different machines too.
    pub force: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            confidence: 0.95,
            tolerance: 0.02,
            allowance: 0.1,
            resamples: 10_000,
            seed: 1,
            force: false,
        }
    }
}

/// What became of a workload.
///
/// ```
/// use crossover_profile::bench::{Entry, Fingerprint, Run, Settings, Timing, Verdict, files};
/// # let run = |times: &[f64]| {
/// #     let mut run = Run::new("mine", Fingerprint::default());
/// #     let timings = [("cpu".to_string(), Timing::new(times.to_vec()))].into();
/// #     run.results.push(Entry { name: "sum".into(), timings, ..Entry::default() });
/// #     run
/// # };
/// let verdict = |a: &[f64], b: &[f64]| {
///     files(&run(a), &run(b), &Settings::default()).map(|found| found.results[0].verdict)
/// };
/// assert_eq!(verdict(&[2.0; 9], &[1.0; 9])?, Verdict::Faster);
/// assert_eq!(verdict(&[1.0; 9], &[2.0; 9])?, Verdict::Slower);
/// // Two samples decide nothing, however far apart they are.
/// assert_eq!(verdict(&[1.0; 2], &[2.0; 2])?, Verdict::Unsure);
/// assert_eq!(Verdict::Unsure.to_string(), "UNSURE");
/// # Ok::<(), crossover_profile::bench::Mismatch>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// The second takes less time, by more than the tolerance.
    Faster,
    /// The second takes more time, by more than the tolerance.
    Slower,
    /// Any difference is within the tolerance.
    Same,
    /// The samples do not decide.
    Unsure,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Faster => "FASTER",
            Verdict::Slower => "SLOWER",
            Verdict::Same => "SAME",
            Verdict::Unsure => "UNSURE",
        })
    }
}

/// A workload on a device, compared.
///
/// ```
/// use crossover_profile::bench::{Entry, Fingerprint, Run, Settings, Timing, files};
/// # let run = |times: &[f64]| {
/// #     let mut run = Run::new("mine", Fingerprint::default());
/// #     let timings = [("cpu".to_string(), Timing::new(times.to_vec()))].into();
/// #     run.results.push(Entry { name: "sum".into(), timings, ..Entry::default() });
/// #     run
/// # };
/// let comparison = files(&run(&[1.0, 1.1, 0.9, 1.0, 1.0]), &run(&[2.0; 5]), &Settings::default())?;
/// let judged = &comparison.results[0];
/// assert_eq!((judged.name.as_str(), judged.device.as_str(), judged.samples), ("sum", "cpu", 5));
/// assert_eq!((judged.a, judged.b), (1.0, 2.0));
/// assert!((judged.ratio - 2.0).abs() < 1e-12 && judged.low < 2.0 && 2.0 < judged.high);
/// # Ok::<(), crossover_profile::bench::Mismatch>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// Of the workload.
    pub name: String,
    /// As the runs call it.
    pub device: String,
    /// Median seconds of the first.
    pub a: f64,
    /// Median seconds of the second.
    pub b: f64,
    /// Time of the second over time of the first: above 1 the second is slower.
    pub ratio: f64,
    /// Where the interval begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
    /// What follows.
    pub verdict: Verdict,
    /// Rounds, or samples of the run that has fewer.
    pub samples: usize,
}

/// Two runs, compared.
///
/// ```
/// use crossover_profile::bench::{Entry, Fingerprint, Run, Settings, Timing, Verdict, files};
/// # let run = |times: &[f64]| {
/// #     let mut run = Run::new("mine", Fingerprint::default());
/// #     let timings = [("cpu".to_string(), Timing::new(times.to_vec()))].into();
/// #     run.results.push(Entry { name: "sum".into(), timings, ..Entry::default() });
/// #     run
/// # };
/// let (before, mut after) = (run(&[1.0; 8]), run(&[3.0; 8]));
/// after.results.push(Entry { name: "sort".into(), ..Entry::default() });
/// let comparison = files(&before, &after, &Settings::default())?;
/// // What a check before a release asks.
/// assert_eq!((comparison.count(Verdict::Slower), comparison.count(Verdict::Faster)), (1, 0));
/// assert_eq!(comparison.only_b, ["sort"]);
/// # Ok::<(), crossover_profile::bench::Mismatch>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Confidence of all verdicts together.
    pub confidence: f64,
    /// Differences below this share do not matter.
    pub tolerance: f64,
    /// Rounds in which two programs took turns; absent for saved runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// What differs between the machines or builds.
    pub differences: Vec<Difference>,
    /// Workloads that both have.
    pub results: Vec<Judged>,
    /// Names that only the first has.
    pub only_a: Vec<String>,
    /// Names that only the second has.
    pub only_b: Vec<String>,
}

impl Comparison {
    /// How many have a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.results.iter().filter(|judged| judged.verdict == verdict).count()
    }
}

/// Why two saved runs are not compared.
///
/// ```
/// use crossover_profile::bench::{Entry, Fingerprint, Mismatch, Run, Settings, Timing, files};
/// # let run = |times: &[f64]| {
/// #     let mut run = Run::new("mine", Fingerprint::default());
/// #     let timings = [("cpu".to_string(), Timing::new(times.to_vec()))].into();
/// #     run.results.push(Entry { name: "sum".into(), timings, ..Entry::default() });
/// #     run
/// # };
/// let here = run(&[1.0; 8]);
/// let mut there = here.clone();
/// there.machine.cpu = "another".into();
/// assert!(matches!(files(&here, &there, &Settings::default()), Err(Mismatch::Machine { .. })));
/// // Who knows what they are doing can have it.
/// assert!(files(&here, &there, &Settings { force: true, ..Settings::default() }).is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// They come from machines or builds whose times say nothing about each other.
    #[error("the runs were not measured under the same conditions ({}); measure both on one machine, or compare anyway with `force`", list(.differences))]
    Machine {
        /// What differs.
        differences: Vec<Difference>,
    },
    /// They have nothing in common.
    #[error("the runs have no workload in common: the first has {a:?}, the second {b:?}")]
    Nothing {
        /// Names of the first.
        a: Vec<String>,
        /// Names of the second.
        b: Vec<String>,
    },
}

fn list(differences: &[Difference]) -> String {
    differences.iter().map(Difference::to_string).collect::<Vec<_>>().join("; ")
}

/// Compares two saved runs. Runs of different processors, GPUs, thread counts or builds are refused unless
/// [`force`](Settings::force) is set.
///
/// ```
/// use crossover_profile::bench::{Entry, Fingerprint, Run, Settings, Timing, Verdict, files};
///
/// let run = |seconds: f64| {
///     let mut run = Run::new("mine", Fingerprint::default());
///     let samples: Vec<f64> = (0..40).map(|i| seconds * (1.0 + 0.001 * f64::from(i % 7))).collect();
///     let timings = [("cpu".to_string(), Timing::new(samples))].into();
///     run.results.push(Entry { name: "sum".into(), timings, ..Entry::default() });
///     run
/// };
/// let comparison = files(&run(1.0), &run(1.2), &Settings::default())?;
/// assert_eq!(comparison.results[0].verdict, Verdict::Slower);
/// # Ok::<(), crossover_profile::bench::Mismatch>(())
/// ```
pub fn files(a: &Run, b: &Run, settings: &Settings) -> Result<Comparison, Mismatch> {
    let differences = a.machine.differences(&b.machine);
    if !settings.force && differences.iter().any(|difference| difference.serious) {
        return Err(Mismatch::Machine { differences });
    }
    let common = common(a, b);
    if common.is_empty() {
        let names = |run: &Run| run.results.iter().map(|entry| entry.name.clone()).collect();
        return Err(Mismatch::Nothing { a: names(a), b: names(b) });
    }
    let risk = (1.0 - settings.confidence) / common.len() as f64;
    let judged = common.iter().enumerate().map(|(at, (name, device, first, second))| {
        let seed = settings.seed.wrapping_add(at as u64);
        let (low, high) = apart(first, second, risk, settings.resamples, seed);
        let centre = (second.median() / first.median()).ln();
        let wider = settings.allowance.max(first.spread()).max(second.spread()).ln_1p();
        let (low, high) = (low - wider, high + wider);
        let samples = first.samples.len().min(second.samples.len());
        let verdict = if samples < FEWEST { Verdict::Unsure } else { verdict(low, high, settings.tolerance) };
        Judged {
            name: name.clone(),
            device: device.clone(),
            a: first.median(),
            b: second.median(),
            ratio: centre.exp(),
            low: low.exp(),
            high: high.exp(),
            verdict,
            samples,
        }
    });
    Ok(comparison(judged.collect(), a, b, differences, None, settings))
}

/// Compares runs of two programs that took turns: the first of each were measured one after the other, then the second, …
///
/// `looks` is how often somebody looks and may stop then; every look costs some confidence.
///
/// ```
/// use crossover_profile::bench::{Entry, Fingerprint, Run, Settings, Timing, Verdict, rounds};
///
/// let run = |seconds: f64| {
///     let mut run = Run::new("mine", Fingerprint::default());
///     let timings = [("cpu".to_string(), Timing::new([seconds]))].into();
///     run.results.push(Entry { name: "sum".into(), timings, ..Entry::default() });
///     run
/// };
/// // The machine gets slower and slower; the ratio does not.
/// let a: Vec<Run> = (0..12).map(|round| run(1.0 + 0.1 * f64::from(round))).collect();
/// let b: Vec<Run> = (0..12).map(|round| run(1.05 * (1.0 + 0.1 * f64::from(round)))).collect();
/// let comparison = rounds(&a, &b, 1, &Settings::default());
/// assert_eq!(comparison.results[0].verdict, Verdict::Slower);
/// ```
pub fn rounds(a: &[Run], b: &[Run], looks: usize, settings: &Settings) -> Comparison {
    let count = a.len().min(b.len());
    let (Some(first_a), Some(first_b)) = (a.first(), b.first()) else {
        return Comparison {
            confidence: settings.confidence,
            tolerance: settings.tolerance,
            rounds: Some(0),
            differences: Vec::new(),
            results: Vec::new(),
            only_a: Vec::new(),
            only_b: Vec::new(),
        };
    };
    let wanted: Vec<(String, String)> =
        common(first_a, first_b).into_iter().map(|(name, device, ..)| (name, device)).collect();
    let risk = (1.0 - settings.confidence) / (wanted.len().max(1) * looks.max(1)) as f64;
    let mut results = Vec::new();
    for (at, (name, device)) in wanted.into_iter().enumerate() {
        let times = |runs: &[Run], round: usize| runs[round].find(&name).and_then(|e| e.median(&device));
        let pairs: Vec<(f64, f64)> =
            (0..count).filter_map(|round| Some((times(a, round)?, times(b, round)?))).collect();
        let logs: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
        let seed = settings.seed.wrapping_add(at as u64);
        let (low, high) = together(&logs, risk, settings.resamples, seed);
        let enough = logs.len() >= rounds_needed(risk);
        let verdict = if enough { verdict(low, high, settings.tolerance) } else { Verdict::Unsure };
        results.push(Judged {
            a: numbers::median(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>()),
            b: numbers::median(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>()),
            ratio: numbers::median(&logs).exp(),
            low: low.exp(),
            high: high.exp(),
            verdict,
            samples: logs.len(),
            name,
            device,
        });
    }
    let differences = first_a.machine.differences(&first_b.machine);
    comparison(results, first_a, first_b, differences, Some(count), settings)
}

/// Samples of a saved run without which nothing is decided.
const FEWEST: usize = 5;

/// Rounds without which no interval of a median is as safe as the risk asks for: the median lies outside of all of n values once in
/// 2^(n − 1) times.
pub(crate) fn rounds_needed(risk: f64) -> usize {
    1 + (1.0 / risk.max(1e-12)).log2().ceil() as usize
}

fn comparison(
    results: Vec<Judged>,
    a: &Run,
    b: &Run,
    differences: Vec<Difference>,
    rounds: Option<usize>,
    settings: &Settings,
) -> Comparison {
    let missing = |from: &Run, other: &Run| {
        let alone = from.results.iter().filter(|entry| other.find(&entry.name).is_none());
        alone.map(|entry| entry.name.clone()).collect()
    };
    Comparison {
        confidence: settings.confidence,
        tolerance: settings.tolerance,
        rounds,
        differences,
        results,
        only_a: missing(a, b),
        only_b: missing(b, a),
    }
}

/// What both have: name, device, both times.
fn common<'a>(a: &'a Run, b: &'a Run) -> Vec<(String, String, &'a Timing, &'a Timing)> {
    let others: BTreeMap<&str, _> = b.results.iter().map(|entry| (entry.name.as_str(), entry)).collect();
    let mut found = Vec::new();
    for entry in &a.results {
        let Some(other) = others.get(entry.name.as_str()) else { continue };
        for (device, timing) in &entry.timings {
            if let Some(second) = other.timings.get(device) {
                found.push((entry.name.clone(), device.clone(), timing, second));
            }
        }
    }
    found
}

/// From an interval of the logarithm of the ratio.
fn verdict(low: f64, high: f64, tolerance: f64) -> Verdict {
    let margin = tolerance.ln_1p();
    match () {
        () if low > margin => Verdict::Slower,
        () if high < -margin => Verdict::Faster,
        () if low >= -margin && high <= margin => Verdict::Same,
        () => Verdict::Unsure,
    }
}

/// The interval of the median of values that belong together.
fn together(logs: &[f64], risk: f64, resamples: usize, seed: u64) -> (f64, f64) {
    let mut random = Random(seed);
    let mut drawn = vec![0.0; logs.len()];
    let medians = (0..resamples).map(|_| {
        drawn.iter_mut().for_each(|value| *value = logs[random.below(logs.len())]);
        numbers::median_of(&mut drawn)
    });
    between(medians.collect(), risk)
}

/// The interval of the ratio of two medians, each of samples in the order they were taken.
fn apart(a: &Timing, b: &Timing, risk: f64, resamples: usize, seed: u64) -> (f64, f64) {
    let mut random = Random(seed);
    let mut first = Vec::with_capacity(a.samples.len());
    let mut second = Vec::with_capacity(b.samples.len());
    let ratios = (0..resamples).map(|_| {
        blocks(&a.samples, &mut random, &mut first);
        blocks(&b.samples, &mut random, &mut second);
        (numbers::median_of(&mut second) / numbers::median_of(&mut first)).ln()
    });
    between(ratios.collect(), risk)
}

/// As many samples again, in blocks of neighbours: about the square root of their number.
fn blocks(samples: &[f64], random: &mut Random, drawn: &mut Vec<f64>) {
    let length = samples.len();
    let block = (length as f64).sqrt().ceil() as usize;
    drawn.clear();
    while drawn.len() < length {
        let start = random.below(length);
        let take = block.min(length - drawn.len());
        drawn.extend((start..start + take).map(|at| samples[at % length]));
    }
}

fn between(mut values: Vec<f64>, risk: f64) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    (numbers::quantile(&values, 0.5 * risk), numbers::quantile(&values, 1.0 - 0.5 * risk))
}

#[cfg(test)]
mod tests;
