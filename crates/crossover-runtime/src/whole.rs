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

#[derive(Debug, Clone)]
struct Total {
    devices: Devices,
    /// Nanoseconds of the latest runs.
    samples: SmallVec<[f64; KEPT]>,
    next: usize,
}

impl Total {
    fn note(&mut self, took: f64) {
        if self.samples.len() < KEPT {
            self.samples.push(took);
        } else {
            self.samples[self.next] = took;
        }
        self.next = (self.next + 1) % KEPT;
    }

    /// The median: a run that was disturbed says nothing.
    fn estimate(&self) -> Option<f64> {
        if self.samples.len() < SURE {
            return None;
        }
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        Some(sorted[(sorted.len() - 1) / 2])
    }
}

/// What a plan took in the ways it was run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    seen: SmallVec<[Total; 2]>,
    /// Whether there is something new to decide about.
    pub stale: bool,
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
                self.seen.push(Total { devices: devices.clone(), samples: SmallVec::new(), next: 0 });
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
        is_odd
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
        assert_eq!((totals.estimate(&[0]), totals.stale), (Some(12.0), true));
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
        assert!(note(60.0) && note(60.0) && note(60.0));
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
    fn few_assignments_are_remembered() {
        let mut totals = Totals::default();
        for device in 0..20 {
            totals.note(&on(&[device]), 1.0, |_| 0.0);
        }
        assert_eq!(totals.seen.len(), MOST);
    }
}
