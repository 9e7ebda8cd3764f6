//! What whole evaluations took, from operands to a copy of the host's own: copies, kernels and waits together.
//!
//! Predictions add up what is known about kernels and copies, and miss what lies between. Where the host waits for the end anyway, the
//! end says how long it took. An assignment that was run a few times is judged by that and by nothing else.

use smallvec::SmallVec;

use crate::recording::Devices;

/// Runs that make an estimate.
pub(crate) const SURE: usize = 3;
/// Runs that count: later ones take the place of the oldest.
const KEPT: usize = 5;
/// How many times longer than usual a run takes after which the next ones are looked at kernel by kernel.
const ODD: f64 = 2.5;
/// Assignments remembered for one plan and place of its operands.
const MOST: usize = 4;

/// Runs after which a way that was left is tried again, at first and at most: each time twice as many.
const PATIENCE: (u32, u32) = (16, 1024);
/// How many times faster a way may be than the fastest run of it: all of them may have been disturbed, as few as they were.
const DISTURBED: f64 = 1.5;
/// Share of the time spent since the last trial that another one may take, however little it promises: what is believed of a way may
/// be wrong, and nothing but running it tells.
const CURIOSITY: f64 = 0.125;

#[derive(Debug, Clone)]
struct Total {
    devices: Devices,
    /// Nanoseconds of the latest runs.
    samples: SmallVec<[f64; KEPT]>,
    next: usize,
    /// The fastest run of all.
    best: f64,
}

impl Total {
    fn note(&mut self, took: f64) {
        self.best = self.best.min(took);
        if self.samples.len() < KEPT {
            self.samples.push(took);
        } else {
            self.samples[self.next] = took;
        }
        self.next = (self.next + 1) % KEPT;
    }

    /// The fastest of a few runs, the second of more: those that were disturbed say little, even if they are many.
    fn estimate(&self) -> Option<f64> {
        if self.samples.len() < SURE {
            return None;
        }
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        Some(sorted[(sorted.len() - 1) / 4])
    }
}

/// What a plan took in the ways it was run.
#[derive(Debug, Clone)]
pub(crate) struct Totals {
    seen: SmallVec<[Total; 2]>,
    /// Runs since another way was tried, and how many there are to be.
    runs: u32,
    patience: u32,
    /// Nanoseconds of those runs.
    spent: f64,
    /// Whether there is something new to decide about.
    pub stale: bool,
}

impl Default for Totals {
    fn default() -> Totals {
        Totals { seen: SmallVec::new(), runs: 0, patience: PATIENCE.0, spent: 0.0, stale: false }
    }
}

impl Totals {
    /// Notes how long a run took; `needed` is what another way must save to be taken instead. True if it took far longer than usual.
    pub fn note(&mut self, devices: &Devices, took: f64, needed: impl Fn(f64) -> f64) -> bool {
        let at = match self.seen.iter().position(|total| total.devices == *devices) {
            Some(at) => at,
            None => {
                if self.seen.len() >= MOST {
                    self.seen.remove(0);
                }
                self.seen.push(Total {
                    devices: devices.clone(),
                    samples: SmallVec::new(),
                    next: 0,
                    best: f64::INFINITY,
                });
                self.seen.len() - 1
            }
        };
        let is_odd = self.seen[at].estimate().is_some_and(|usual| took > ODD * usual);
        self.seen[at].note(took);
        let Some(now) = self.seen[at].estimate() else { return is_odd };
        let is_first = self.seen[at].samples.len() == SURE;
        let others = self.seen.iter().filter(|total| total.devices != *devices);
        let better = others.filter_map(Total::estimate).any(|other| now - other > needed(now));
        self.stale |= is_first || better;
        (self.runs, self.spent) = if is_first { (0, 0.0) } else { (self.runs + 1, self.spent + took) };
        if self.runs >= self.patience {
            self.reconsider(at, now);
        }
        is_odd
    }

    /// Whether a trial of a way that takes so long is a small part of what was spent without one.
    pub fn affords(&self, took: f64) -> bool {
        SURE as f64 * took <= CURIOSITY * self.spent
    }

    /// Forgets what is known about ways that may be faster than the one at `at` is now, and asks for a decision: what was left may
    /// have been disturbed, what was never tried may have been misjudged.
    fn reconsider(&mut self, at: usize, now: f64) {
        let most = (DISTURBED * now).max(CURIOSITY * self.spent / SURE as f64);
        let others = self.seen.iter_mut().enumerate().filter(|&(other, _)| other != at);
        for (_, total) in others.filter(|(_, total)| total.best < most) {
            (total.samples, total.next) = (SmallVec::new(), 0);
        }
        (self.runs, self.patience, self.stale) = (0, (2 * self.patience).min(PATIENCE.1), true);
    }

    /// What an assignment may take if all runs of it were disturbed, however long ago they were.
    pub fn hope(&self, devices: &[u8]) -> Option<f64> {
        self.best(devices).map(|best| best / DISTURBED)
    }

    /// The fastest run of an assignment, however long ago.
    pub fn best(&self, devices: &[u8]) -> Option<f64> {
        self.seen.iter().find(|total| total.devices[..] == *devices).map(|total| total.best)
    }

    /// Nanoseconds of an assignment, if it was run often enough.
    pub fn estimate(&self, devices: &[u8]) -> Option<f64> {
        self.seen.iter().find(|total| total.devices[..] == *devices)?.estimate()
    }

    /// The fastest assignment among those that can still be run.
    pub fn fastest(&self, can: impl Fn(&Devices) -> bool) -> Option<(&Devices, f64)> {
        let known = self.seen.iter().filter_map(|total| Some((&total.devices, total.estimate()?)));
        known.filter(|(devices, _)| can(devices)).min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(devices: &[u8]) -> Devices {
        Devices::from_slice(devices)
    }

    #[test]
    fn three_runs_make_an_estimate_and_one_disturbed_run_changes_nothing() {
        let mut totals = Totals::default();
        let note = |totals: &mut Totals, took| totals.note(&on(&[0]), took, |_| 0.0);
        note(&mut totals, 10.0);
        note(&mut totals, 1000.0);
        assert_eq!((totals.estimate(&[0]), totals.stale), (None, false));
        note(&mut totals, 12.0);
        assert_eq!((totals.estimate(&[0]), totals.stale), (Some(10.0), true));
        for _ in 0..KEPT {
            note(&mut totals, 50.0);
        }
        assert_eq!(totals.estimate(&[0]), Some(50.0), "what is the rule is believed");
    }

    #[test]
    fn what_takes_far_longer_than_usual_is_odd_until_it_is_usual() {
        let mut totals = Totals::default();
        let mut note = |took| totals.note(&on(&[1]), took, |_| 0.0);
        assert!(!note(10.0) && !note(90.0) && !note(11.0), "nothing is usual yet");
        assert!(!note(25.0));
        assert!(note(60.0) && note(60.0));
        assert!(!note(60.0));
    }

    #[test]
    fn the_faster_way_is_found_and_asks_for_a_decision_only_beyond_the_margin() {
        let mut totals = Totals::default();
        for _ in 0..SURE {
            totals.note(&on(&[0, 1]), 100.0, |_| 20.0);
            totals.note(&on(&[1, 1]), 90.0, |_| 20.0);
        }
        assert_eq!(totals.fastest(|_| true), Some((&on(&[1, 1]), 90.0)));
        assert_eq!(totals.fastest(|devices| devices[0] == 0), Some((&on(&[0, 1]), 100.0)));
        totals.stale = false;
        totals.note(&on(&[0, 1]), 100.0, |_| 20.0);
        assert!(!totals.stale);
        for _ in 0..KEPT {
            totals.note(&on(&[0, 1]), 200.0, |_| 20.0);
        }
        assert!(totals.stale);
    }

    #[test]
    fn a_way_that_was_left_after_disturbances_is_tried_again_ever_more_rarely() {
        let mut totals = Totals::default();
        let (host, gpu) = (on(&[0]), on(&[1]));
        let mut note = |devices: &Devices, took| {
            totals.note(devices, took, |_| 0.0);
            totals.clone()
        };
        for took in [10.0, 90.0, 90.0, 90.0, 90.0] {
            note(&host, took);
        }
        let mut forgotten = Vec::new();
        for run in 0..200 {
            if note(&gpu, 50.0).estimate(&host).is_none() {
                forgotten.push(run);
                (0..SURE).for_each(|_| drop(note(&host, 95.0)));
            }
        }
        assert_eq!(forgotten, [18, 50, 114], "after 16, 32 and 64 runs");
        assert_eq!(totals.hope(&host), Some(10.0 / DISTURBED));
    }

    #[test]
    fn a_way_is_tried_again_if_all_its_runs_may_have_been_disturbed_and_not_if_it_is_hopeless() {
        for (took, again) in [(70.0, true), (80.0, false)] {
            let mut totals = Totals::default();
            for _ in 0..SURE {
                totals.note(&on(&[0]), took, |_| 0.0);
            }
            for _ in 0..PATIENCE.0 + SURE as u32 {
                totals.note(&on(&[1]), 50.0, |_| 0.0);
            }
            assert_eq!(totals.estimate(&[0]).is_none(), again, "{took} instead of 50");
        }
    }

    #[test]
    fn whatever_is_believed_of_a_way_it_is_tried_once_that_costs_little() {
        let mut totals = Totals::default();
        let mut stale = Vec::new();
        for run in 1..=200 {
            totals.note(&on(&[1]), 50.0, |_| 0.0);
            if std::mem::take(&mut totals.stale) {
                stale.push((run, totals.affords(200.0)));
            }
        }
        // Three of 200 are an eighth of 96 of 50.
        assert_eq!(stale, [(3, false), (19, false), (51, false), (115, true)]);
    }

    #[test]
    fn few_assignments_are_remembered() {
        let mut totals = Totals::default();
        for device in 0..20 {
            totals.note(&on(&[device]), 1.0, |_| 0.0);
        }
        assert_eq!(totals.seen.len(), MOST);
    }
}
