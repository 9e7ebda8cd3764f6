//! Memory that is never given back: use whose low points rise throughout a window of time.
//!
//! Arrays come and go, so use that rises says nothing. But a program in a steady state comes back to the same low points; one that
//! keeps what it does not need has higher ones every time. The window is cut into slices; a leak is reported when the lowest use
//! of every slice lies above that of the slice before, by at least a thousandth of what is used.

use std::{collections::VecDeque, time::Duration};

/// Slices of the window.
const SLICES: usize = 10;
/// Samples per slice that are kept at most.
const PER_SLICE: u32 = 64;

/// Bytes in use at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The moment, since any fixed one.
    pub at: Duration,
    /// Bytes.
    pub live: u64,
}

/// What looks like a leak.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeakReport {
    /// The lowest use in the first slice of the window.
    pub from: u64,
    /// The lowest use in the last.
    pub to: u64,
    /// Bytes per second by which low points rose.
    pub rate: f64,
    /// How long it has been going on, at least.
    pub window: Duration,
}

/// Watches for leaks.
///
/// ```
/// use std::time::Duration;
/// use crossover_runtime::memory::LeakWatch;
/// let mut watch = LeakWatch::default();
/// for second in 0..400 {
///     // Use goes up and down, and a little more is left every time.
///     watch.note(Duration::from_secs(second), 1_000_000 * (second % 7) + 10_000 * second);
/// }
/// let report = watch.report().expect("low points rise");
/// assert!((report.rate / 10_000.0 - 1.0).abs() < 0.2);
/// ```
#[derive(Debug, Clone)]
pub struct LeakWatch {
    window: Duration,
    samples: VecDeque<Sample>,
}

impl Default for LeakWatch {
    /// Five minutes.
    fn default() -> LeakWatch {
        LeakWatch::new(Duration::from_secs(300))
    }
}

impl LeakWatch {
    /// A watch over a window of time.
    pub fn new(window: Duration) -> LeakWatch {
        LeakWatch { window, samples: VecDeque::new() }
    }

    /// How long a sample stands before another is kept beside it.
    fn grain(&self) -> Duration {
        self.window / (SLICES as u32 * PER_SLICE)
    }

    /// Notes how much is in use.
    pub fn note(&mut self, at: Duration, live: u64) {
        let grain = self.grain();
        match self.samples.back_mut() {
            Some(last) if at < last.at + grain => last.live = last.live.min(live),
            _ => self.samples.push_back(Sample { at, live }),
        }
        // One slice more than the window, so that the window is always covered.
        let oldest = at.saturating_sub(self.window + self.window / SLICES as u32);
        while self.samples.front().is_some_and(|sample| sample.at < oldest) {
            self.samples.pop_front();
        }
    }

    /// A leak, if low points have risen throughout the window.
    pub fn report(&self) -> Option<LeakReport> {
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        if last.at - first.at < self.window {
            return None;
        }
        let (start, slice) = (last.at - self.window, self.window / SLICES as u32);
        let mut lows = [u64::MAX; SLICES];
        for sample in self.samples.iter().filter(|sample| sample.at >= start) {
            let index = ((sample.at - start).as_nanos() / slice.as_nanos().max(1)) as usize;
            let low = &mut lows[index.min(SLICES - 1)];
            *low = (*low).min(sample.live);
        }
        // A slice without a sample proves nothing.
        if lows.contains(&u64::MAX) {
            return None;
        }
        let rises = |pair: &[u64]| pair[1] > pair[0] && pair[1] - pair[0] >= (pair[0] / 1000).max(1);
        if !lows.windows(2).all(rises) {
            return None;
        }
        let (from, to) = (lows[0], lows[SLICES - 1]);
        let seconds = slice.as_secs_f64() * (SLICES - 1) as f64;
        Some(LeakReport { from, to, rate: (to - from) as f64 / seconds, window: self.window })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(seconds: u64, live: impl Fn(u64) -> u64) -> Option<LeakReport> {
        let mut watch = LeakWatch::default();
        (0..seconds).for_each(|second| watch.note(Duration::from_secs(second), live(second)));
        watch.report()
    }

    #[test]
    fn a_steady_saw_is_no_leak() {
        assert_eq!(watched(1000, |s| 1_000_000 * (s % 13)), None);
        assert_eq!(watched(1000, |_| 5), None);
    }

    #[test]
    fn growth_that_ends_is_no_leak() {
        assert_eq!(watched(1000, |s| s.min(800) * 1000), None);
        assert!(watched(790, |s| s.min(800) * 1000).is_some());
    }

    #[test]
    fn nothing_is_said_before_the_window_is_full() {
        assert_eq!(watched(250, |s| s * 1000), None);
    }

    #[test]
    fn samples_are_bounded() {
        let mut watch = LeakWatch::default();
        (0..2_000_000).for_each(|ms| watch.note(Duration::from_millis(ms), ms));
        assert!(watch.samples.len() <= (SLICES + 2) * PER_SLICE as usize);
        assert!(watch.report().is_some());
    }
}
