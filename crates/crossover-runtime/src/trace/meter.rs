//! What a session can afford to ask of devices.
//!
//! Two events around a kernel take the host and the device 3 µs together, about as long as a short kernel (`bench/timing.cu` measures it). So
//! every plan is timed kernel by kernel when a session first sees it on a device, and again as soon as that takes no more than a small
//! share of the time since the session began. What is long is thereby always timed; of short work that repeats, what was not timed is placed by what was. A
//! session may ask for every launch to be timed.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::clock::{self, Ticks};

/// Nanoseconds that it takes to time one launch or copy on a device.
pub const TIMED: u64 = 4_000;

/// One part in so many of a session's time may go into timing.
const PARTS: u64 = 400;

/// One part in so many may go into looking at memory, which asks drivers.
const LOOKS: u64 = 500;

/// Nanoseconds between two looks at the memory at least.
const APART: u64 = 100_000;

/// Sessions that want everything timed.
static EVERY: AtomicU32 = AtomicU32::new(0);
/// When the first of the sessions that record began.
static ORIGIN: AtomicU64 = AtomicU64::new(0);
/// Nanoseconds that timing has taken since.
static SPENT: AtomicU64 = AtomicU64::new(0);
/// When memory may be looked at again.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A first session begins.
pub(super) fn restart(now: Ticks) {
    ORIGIN.store(now, Ordering::Relaxed);
    SPENT.store(0, Ordering::Relaxed);
    NEXT.store(0, Ordering::Relaxed);
}

/// A session that wants everything timed begins.
pub(super) fn want_every() {
    EVERY.fetch_add(1, Ordering::Relaxed);
}

/// It ends.
pub(super) fn want_no_more() {
    EVERY.fetch_sub(1, Ordering::Relaxed);
}

/// Whether timing that takes so many nanoseconds is a small part of the time by now; if so, it counts as done.
pub fn affords(cost: u64) -> bool {
    if EVERY.load(Ordering::Relaxed) > 0 {
        return true;
    }
    let elapsed = clock::roughly(clock::now().saturating_sub(ORIGIN.load(Ordering::Relaxed)));
    let is_small = is_small(cost, SPENT.load(Ordering::Relaxed), elapsed);
    if is_small {
        spend(cost);
    }
    is_small
}

/// Whether what was spent and a cost are a small part of the time.
fn is_small(cost: u64, spent: u64, elapsed: u64) -> bool {
    let all = spent.checked_add(cost).and_then(|all| all.checked_mul(PARTS));
    all.is_some_and(|all| all <= elapsed)
}

/// Counts timing that is done whatever it takes.
pub fn spend(cost: u64) {
    SPENT.fetch_add(cost, Ordering::Relaxed);
}

/// Whether memory may be looked at now.
#[inline]
pub(super) fn may_look(now: Ticks) -> bool {
    let next = NEXT.load(Ordering::Relaxed);
    // One thread looks at a time: the others come back after it.
    now >= next && NEXT.compare_exchange(next, Ticks::MAX, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

/// Notes that looking took from one moment to another.
pub(super) fn looked(from: Ticks, to: Ticks) {
    let took = to.saturating_sub(from);
    // Ticks of the pause, by the rate of the clock.
    let apart = APART as f64 / (clock::roughly(1_000_000).max(1) as f64 / 1e6);
    NEXT.store(to + took.saturating_mul(LOOKS).max(apart as u64), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_always_timed_and_what_is_short_now_and_then() {
        // One launch after the other, each of so many nanoseconds.
        let timed = |each: u64| {
            let mut spent = 0;
            (1..=1000u64)
                .filter(|at| {
                    let yes = is_small(TIMED, spent, at * each);
                    spent += if yes { TIMED } else { 0 };
                    yes
                })
                .count()
        };
        assert_eq!(timed(2_000_000), 1000);
        assert_eq!(timed(20_000), 12, "4 µs in 1600");
        assert_eq!(timed(100), 0);
        assert!(!is_small(u64::MAX, 1, u64::MAX), "numbers that are too large are no small part");
    }
}
