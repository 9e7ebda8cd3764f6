//! How near the end of its memory a device is, and who is told when that changes.
//!
//! Nobody is told while a lock is held or a buffer is being moved: an evaluation tells when it has launched a kernel and holds
//! nothing. A subscriber may allocate, evaluate, ask for statistics and unsubscribe.

use std::{cell::Cell, fmt, sync::Arc};

use parking_lot::Mutex;

use crate::Device;

/// How near the end of its budget the memory of a device is.
///
/// A level ends five points below where it began, so that a use that wavers about a border is told once.
///
/// ```
/// use crossover_runtime::memory::Level;
/// assert_eq!(Level::Normal.after(0.86), Level::High);
/// assert_eq!(Level::High.after(0.82), Level::High);
/// assert_eq!(Level::High.after(0.79), Level::Elevated);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Level {
    /// Less than 70% of the budget is taken.
    #[default]
    Normal,
    /// From 70%.
    Elevated,
    /// From 85%: cached memory and copies that are also on the host are given up.
    High,
    /// From 95%.
    Critical,
}

/// Shares of the budget at which levels begin, but for the first.
const BEGIN: [f64; 3] = [0.70, 0.85, 0.95];
/// By how much use has to fall below the beginning of a level before it ends.
const SLACK: f64 = 0.05;

impl Level {
    const ALL: [Level; 4] = [Level::Normal, Level::Elevated, Level::High, Level::Critical];

    /// The level after this one, given the share of the budget that is taken.
    pub fn after(self, usage: f64) -> Level {
        let rising = BEGIN.iter().filter(|&&begin| usage >= begin).count();
        let falling = BEGIN.iter().filter(|&&begin| usage >= begin - SLACK).count();
        let now = self as usize;
        Level::ALL[if rising > now { rising } else { now.min(falling) }]
    }

    /// The share of the budget at which the next level begins.
    pub(crate) fn end(self) -> Option<f64> {
        BEGIN.get(self as usize).copied()
    }

    pub(crate) fn index(self) -> u8 {
        self as u8
    }

    pub(crate) fn from_index(index: u8) -> Level {
        Level::ALL[(index as usize).min(3)]
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Normal => "normal",
            Level::Elevated => "elevated",
            Level::High => "high",
            Level::Critical => "critical",
        })
    }
}

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PressureEvent {
    /// The level before.
    pub from: Level,
    /// The level now.
    pub to: Level,
    /// Share of the budget that was taken when it changed.
    pub usage: f64,
    /// The budget in bytes.
    pub budget: u64,
}

type Callback = Arc<dyn Fn(Device, PressureEvent) + Send + Sync>;

/// Who wants to be told.
#[derive(Default)]
pub(crate) struct Subscribers {
    list: Arc<Mutex<Vec<(u64, Callback)>>>,
    next: Mutex<u64>,
}

/// Ends a subscription when it is dropped.
#[must_use = "the subscription ends when this is dropped"]
pub struct Subscription {
    list: Arc<Mutex<Vec<(u64, Callback)>>>,
    number: u64,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subscription({})", self.number)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        // Dropped after the lock: what a callback owns may have a `Drop` of its own.
        let mut list = self.list.lock();
        let at = list.iter().position(|(number, _)| *number == self.number);
        let gone = at.map(|at| list.remove(at));
        drop(list);
        drop(gone);
    }
}

thread_local! {
    /// Whether this thread is telling somebody.
    static TELLING: Cell<bool> = const { Cell::new(false) };
}

impl Subscribers {
    pub fn subscribe(&self, callback: Callback) -> Subscription {
        let mut next = self.next.lock();
        *next += 1;
        let number = *next;
        drop(next);
        self.list.lock().push((number, callback));
        Subscription { list: self.list.clone(), number }
    }

    /// Tells everybody, with no lock held. What subscribers cause themselves is told when the next evaluation tells.
    pub fn tell(&self, device: Device, events: impl FnOnce() -> Vec<PressureEvent>) {
        struct Done;
        impl Drop for Done {
            fn drop(&mut self) {
                TELLING.set(false);
            }
        }
        if TELLING.get() {
            return;
        }
        TELLING.set(true);
        let _done = Done;
        for event in events() {
            tracing::info!(
                target: "crossover::memory",
                device = device.0,
                from = %event.from,
                to = %event.to,
                usage = event.usage,
                "pressure"
            );
            crate::trace::note("pressure", || {
                format!(
                    "{} to {} on device {}, {:.0}% used",
                    event.from,
                    event.to,
                    device.0,
                    100.0 * event.usage
                )
            });
            let callbacks: Vec<Callback> = self.list.lock().iter().map(|(_, c)| c.clone()).collect();
            for callback in callbacks {
                callback(device, event);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_rise_at_their_beginning_and_fall_five_points_below() {
        use Level::{Critical, Elevated, High, Normal};
        for (before, usage, want) in [
            (Normal, 0.69, Normal),
            (Normal, 0.70, Elevated),
            (Normal, 0.99, Critical),
            (Elevated, 0.66, Elevated),
            (Elevated, 0.64, Normal),
            (High, 0.81, High),
            (High, 0.79, Elevated),
            (Critical, 0.91, Critical),
            (Critical, 0.89, High),
            (Critical, 0.10, Normal),
        ] {
            assert_eq!(before.after(usage), want, "{before} at {usage}");
        }
    }

    #[test]
    fn a_dropped_subscription_is_told_nothing() {
        let subscribers = Subscribers::default();
        let told = Arc::new(Mutex::new(0));
        let event = PressureEvent { from: Level::Normal, to: Level::High, usage: 0.9, budget: 10 };
        let count = told.clone();
        let first = subscribers.subscribe(Arc::new(move |_, _| *count.lock() += 1));
        subscribers.tell(Device(1), || vec![event, event]);
        assert_eq!(*told.lock(), 2);
        drop(first);
        subscribers.tell(Device(1), || vec![event]);
        assert_eq!(*told.lock(), 2);
    }
}
