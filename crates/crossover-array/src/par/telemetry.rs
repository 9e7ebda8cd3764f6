//! How long items took.

use std::{fmt, time::Duration};

/// Counts and times of one run over items.
///
/// ```
/// use crossover_array::par::par_iter;
/// let telemetry = par_iter(0..10).jobs().run(|n| Ok::<i32, String>(n * 2)).telemetry;
/// assert_eq!((telemetry.items, telemetry.succeeded, telemetry.retries), (10, 10, 0));
/// println!("{:.0} items per second, 99% within {:?}", telemetry.throughput(), telemetry.p99);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Telemetry {
    /// Items that there were.
    pub items: usize,
    /// Items with a result.
    pub succeeded: usize,
    /// Items without, after all attempts.
    pub failed: usize,
    /// Items that were not started, because another had failed.
    pub skipped: usize,
    /// Attempts beyond the first, of all items together.
    pub retries: usize,
    /// From the first item to the last.
    pub wall: Duration,
    /// Time of an item, retries included, that half of the items stay below.
    pub p50: Duration,
    /// The same for 95% of them.
    pub p95: Duration,
    /// The same for 99%.
    pub p99: Duration,
}

impl Telemetry {
    /// Items with a result per second.
    pub fn throughput(&self) -> f64 {
        let seconds = self.wall.as_secs_f64();
        if seconds > 0.0 { self.succeeded as f64 / seconds } else { 0.0 }
    }

    /// Puts times of items in, in any order.
    pub(super) fn note(&mut self, mut times: Vec<Duration>) {
        times.sort_unstable();
        self.p50 = rank(&times, 50);
        self.p95 = rank(&times, 95);
        self.p99 = rank(&times, 99);
    }
}

/// The smallest time that so many percent of the items do not exceed.
fn rank(sorted: &[Duration], percent: usize) -> Duration {
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or_default()
}

impl fmt::Display for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Telemetry { items, succeeded, failed, skipped, retries, wall, p50, p95, p99 } = self;
        write!(
            f,
            "{items} items in {wall:.3?}: {succeeded} done, {failed} failed, {skipped} skipped, {retries} retries; "
        )?;
        write!(f, "p50 {p50:.3?}, p95 {p95:.3?}, p99 {p99:.3?}, {:.0} items/s", self.throughput())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_occurred() {
        let mut telemetry = Telemetry::default();
        telemetry.note((1..=200).rev().map(Duration::from_millis).collect());
        let found = [telemetry.p50, telemetry.p95, telemetry.p99].map(|time| time.as_millis());
        assert_eq!(found, [100, 190, 198]);
        telemetry.note(vec![]);
        assert_eq!(telemetry.p99, Duration::ZERO);
    }
}
