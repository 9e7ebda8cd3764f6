//! How long something takes: the median of many samples.

use std::time::{Duration, Instant};

use anyhow::Result;

/// Shorter samples are means over several calls, so that reading the clock does not count.
const SHORTEST_SAMPLE: f64 = 100e-6;
/// Samples taken at least, however long they are.
const FEWEST: usize = 5;
/// Samples taken at most.
const MOST: usize = 2000;

/// Median seconds of one call, from samples that fill `budget`. The first calls, which plan and warm caches, do not
/// count.
pub fn median(budget: Duration, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    call()?;
    let start = Instant::now();
    call()?;
    let once = start.elapsed().as_secs_f64().max(1e-9);
    let calls = (SHORTEST_SAMPLE / once).ceil().clamp(1.0, 1e6) as u32;
    let begin = Instant::now();
    let mut samples = Vec::new();
    while samples.len() < FEWEST || (begin.elapsed() < budget && samples.len() < MOST) {
        let start = Instant::now();
        for _ in 0..calls {
            call()?;
        }
        samples.push(start.elapsed().as_secs_f64() / f64::from(calls));
    }
    samples.sort_by(f64::total_cmp);
    Ok(samples[samples.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_call_ends_the_measurement() {
        let mut calls = 0;
        let outcome = median(Duration::from_millis(1), || {
            calls += 1;
            if calls == 4 { anyhow::bail!("enough") } else { Ok(()) }
        });
        assert_eq!((outcome.is_err(), calls), (true, 4));
    }
}
