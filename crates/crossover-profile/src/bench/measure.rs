//! How long one call takes: cold, and warm as many samples.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::numbers;

/// Shorter samples are means over several calls, so that reading the clock does not count.
const SHORTEST_SAMPLE: f64 = 200e-6;

/// How long to measure.
///
/// ```
/// use crossover_profile::bench::Budget;
/// assert!(Budget::quick().time < Budget::default().time);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// For samples.
    pub time: Duration,
    /// For calls before the first sample: plans, caches, compilers.
    pub warm_up: Duration,
    /// Samples taken at least, however long they are.
    pub fewest: usize,
    /// Samples taken at most.
    pub most: usize,
}

impl Default for Budget {
    fn default() -> Budget {
        let (time, warm_up) = (Duration::from_millis(500), Duration::from_millis(100));
        Budget { time, warm_up, fewest: 7, most: 400 }
    }
}

impl Budget {
    /// A tenth of the usual: for a first look, and for programs that are started many times.
    pub fn quick() -> Budget {
        let (time, warm_up) = (Duration::from_millis(50), Duration::from_millis(15));
        Budget { time, warm_up, fewest: 5, most: 60 }
    }
}

/// What was measured: seconds of one call.
///
/// ```
/// use crossover_profile::bench::Timing;
/// let timing = Timing { cold: Some(9.0), ..Timing::new([1.0, 2.0, 3.0]) };
/// assert_eq!((timing.median(), timing.best(), timing.spread()), (2.0, 1.0, 0.5));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The very first call, which plans, compiles and touches memory for the first time. Absent where nobody took it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<f64>,
    /// Calls that a sample is the mean of.
    pub calls: u64,
    /// Warm calls, in the order they were made.
    pub samples: Vec<f64>,
}

impl Timing {
    /// One sample per call.
    ///
    /// ```
    /// use crossover_profile::bench::Timing;
    /// let timing = Timing::new([3.0, 1.0, 2.0, 2.0]);
    /// assert_eq!((timing.median(), timing.best()), (2.0, 1.0));
    /// assert_eq!(timing.spread(), 0.25);
    /// ```
    pub fn new(samples: impl Into<Vec<f64>>) -> Timing {
        Timing { cold: None, calls: 1, samples: samples.into() }
    }

    /// The middle of the samples.
    pub fn median(&self) -> f64 {
        numbers::median(&self.samples)
    }

    /// The shortest sample.
    pub fn best(&self) -> f64 {
        self.samples.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The distance between the quartiles, as a share of the median: half of the samples lie within it.
    pub fn spread(&self) -> f64 {
        let sorted = numbers::sorted(&self.samples);
        let middle = numbers::quantile(&sorted, 0.5);
        let between = numbers::quantile(&sorted, 0.75) - numbers::quantile(&sorted, 0.25);
        if middle > 0.0 { between / middle } else { 0.0 }
    }
}

/// Times a call: once cold, then warm until the budget is spent. The first failure ends it.
///
/// ```
/// use crossover_array::Array;
/// use crossover_profile::bench::{Budget, measure};
///
/// let x = Array::linspace(0.0, 1.0, 10_000);
/// let timing = measure(&Budget::quick(), || x.exp().eval().map(drop))?;
/// assert!(timing.samples.len() >= 5 && timing.median() > 0.0);
/// # Ok::<(), crossover_array::Error>(())
/// ```
pub fn measure<E>(budget: &Budget, mut call: impl FnMut() -> Result<(), E>) -> Result<Timing, E> {
    let mut timed = |calls: u64| -> Result<f64, E> {
        let start = Instant::now();
        for _ in 0..calls {
            call()?;
        }
        Ok(start.elapsed().as_secs_f64() / calls as f64)
    };
    let cold = timed(1)?;
    // At least one more: the first says nothing about the others.
    let begin = Instant::now();
    let mut once = timed(1)?;
    while begin.elapsed() < budget.warm_up {
        once = once.min(timed(1)?);
    }
    let calls = (SHORTEST_SAMPLE / once.max(1e-9)).ceil().clamp(1.0, 1e6) as u64;
    let begin = Instant::now();
    let mut samples = Vec::new();
    while samples.len() < budget.fewest || (begin.elapsed() < budget.time && samples.len() < budget.most) {
        samples.push(timed(calls)?);
    }
    Ok(Timing { cold: Some(cold), calls, samples })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_call_ends_the_measurement() {
        let mut calls = 0;
        let outcome = measure(&Budget::quick(), || {
            calls += 1;
            if calls == 4 { Err("enough") } else { Ok(()) }
        });
        assert_eq!((outcome, calls), (Err("enough"), 4));
    }

    #[test]
    fn the_first_call_is_cold_and_no_sample() {
        let mut first = true;
        let timing = measure(&Budget::quick(), || {
            if std::mem::take(&mut first) {
                std::thread::sleep(Duration::from_millis(30));
            }
            Ok::<(), ()>(())
        })
        .unwrap();
        assert!(timing.cold.unwrap() >= 0.03 && timing.median() < 0.01, "{timing:?}");
        assert!(timing.calls > 1, "an empty call is too short for a sample of its own");
    }

    #[test]
    fn long_calls_are_sampled_as_often_as_asked() {
        let budget = Budget { time: Duration::ZERO, warm_up: Duration::ZERO, fewest: 3, most: 9 };
        let mut calls = 0;
        let timing = measure(&budget, || {
            calls += 1;
            std::thread::sleep(Duration::from_millis(1));
            Ok::<(), ()>(())
        });
        assert_eq!((timing.unwrap().samples.len(), calls), (3, 5), "a cold, a warm and three samples");
    }
}
