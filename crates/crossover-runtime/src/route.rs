//! What a plan remembers about where it ran: decisions, times of whole runs, and which runs are looked at kernel by kernel.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use crossover_plan::Plan;
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::{Decision, Wanted, outline::Outline, recording::Devices, whole::Totals};

/// Every so many evaluations of a plan its kernels are timed.
const TIMED: u64 = 6;
/// The same where every run is timed as a whole: kernels wait for one another while they are timed.
const SELDOM: u64 = 30;
/// Evaluations of a plan that are all timed at first.
const FIRST: u64 = 4;
/// Evaluations that are timed after something odd, and how many others there must have been for each timed one: kernels whose times
/// waver would be timed for ever.
const ODD: (u32, u64) = (3, 4);

/// Decisions for operands that lie in one way.
#[derive(Debug)]
pub(crate) struct Remembered {
    pub key: u64,
    pub current: Arc<Decision>,
    /// The last one that was no trial.
    pub settled: Option<Arc<Decision>>,
    /// What whole runs took.
    pub totals: Totals,
}

/// What a plan remembers about where it ran.
#[derive(Debug, Default)]
pub(crate) struct Route {
    outline: OnceLock<Outline>,
    /// One for each way its operands can lie.
    pub known: Mutex<SmallVec<[Remembered; 2]>>,
    /// Runs so far, and how many of them were timed.
    runs: AtomicU64,
    timed: AtomicU64,
    /// Runs that will be timed because something was odd.
    alert: AtomicU32,
    /// Where it ran when it was recorded.
    pub fixed: Option<Devices>,
}

impl Route {
    /// The route of a plan that was recorded, if it was.
    pub fn following(recorded: Option<&Devices>) -> Route {
        Route { fixed: recorded.cloned(), ..Route::default() }
    }

    /// Whether a recording says where it runs.
    pub fn is_fixed(&self) -> bool {
        self.fixed.is_some()
    }

    /// Where its kernels ran last: on the host, where nothing was decided.
    pub fn latest(&self, kernels: usize) -> Devices {
        let known = self.known.lock();
        known.last().map_or_else(|| smallvec::smallvec![0; kernels], |entry| entry.current.devices.clone())
    }

    pub fn outline(&self, plan: &Plan) -> &Outline {
        self.outline.get_or_init(|| Outline::new(plan))
    }

    /// Forgets decisions: a device could not do what it was chosen for.
    pub fn forget(&self) {
        self.known.lock().clear();
    }

    /// Runs so far.
    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    /// What is known about the plan, once somebody has asked.
    pub fn known_outline(&self) -> Option<&Outline> {
        self.outline.get()
    }

    /// Whether the kernels of the run that begins now are timed.
    pub fn is_timed(&self, wanted: Wanted) -> bool {
        let period = if wanted == Wanted::Copied { SELDOM } else { TIMED };
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let alert = self.alert.load(Ordering::Relaxed);
        if alert > 0 {
            self.alert.store(alert - 1, Ordering::Relaxed);
        }
        let is_odd = alert > 0 && self.timed.load(Ordering::Relaxed) * ODD.1 <= run;
        let timed = run < FIRST || is_odd || run.is_multiple_of(period);
        self.timed.fetch_add(u64::from(timed), Ordering::Relaxed);
        timed
    }

    /// Times the next runs, for something was odd.
    pub fn alert(&self) {
        self.alert.store(ODD.0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_whose_times_waver_are_not_timed_for_ever() {
        let route = Route::default();
        let timed = (0..400).filter(|_| {
            let timed = route.is_timed(Wanted::Copied);
            if timed {
                route.alert();
            }
            timed
        });
        let timed = timed.count();
        assert!((80..=110).contains(&timed), "{timed} of 400");
        let calm = Route::default();
        assert_eq!((0..400).filter(|_| calm.is_timed(Wanted::Copied)).count(), 4 + 13);
    }
}
