//! The clock of spans: the processor's own counter where it is steady, which is quicker than asking the system.
#![allow(unsafe_code)]

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

/// A moment on the clock of spans. Only differences mean anything, and only a [`Scale`] turns them into nanoseconds.
pub(crate) type Ticks = u64;

/// Where both clocks stood at the first use.
struct Base {
    ticks: Ticks,
    instant: Instant,
    steady: bool,
}

static BASE: OnceLock<Base> = OnceLock::new();

fn base() -> &'static Base {
    BASE.get_or_init(|| {
        let steady = is_steady();
        let instant = Instant::now();
        Base { ticks: if steady { counter() } else { 0 }, instant, steady }
    })
}

/// Now.
#[inline]
pub(crate) fn now() -> Ticks {
    let base = base();
    if base.steady { counter() } else { base.instant.elapsed().as_nanos() as u64 }
}

/// About how many nanoseconds so many ticks are, without looking at the system's clock: the rate is that of the last [`Scale`].
pub(crate) fn roughly(ticks: Ticks) -> u64 {
    let rate = f64::from_bits(RATE.load(Ordering::Relaxed));
    (ticks as f64 * if rate > 0.0 { rate } else { USUAL }) as u64
}

/// Nanoseconds per tick as last measured, as bits; 0 before that.
static RATE: AtomicU64 = AtomicU64::new(0);
/// Nanoseconds per tick of a processor of 2.5 GHz.
const USUAL: f64 = 0.4;

#[cfg(target_arch = "x86_64")]
#[inline]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    0
}

/// Whether the counter runs at one rate, also while the processor sleeps or changes its own.
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe)]
fn is_steady() -> bool {
    const POWER: u32 = 0x8000_0007;
    // SAFETY: every x86-64 processor has the instruction; the leaf is read only where there is one.
    unsafe {
        std::arch::x86_64::__cpuid(0x8000_0000).eax >= POWER
            && std::arch::x86_64::__cpuid(POWER).edx & (1 << 8) != 0
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn is_steady() -> bool {
    false
}

/// Turns moments into nanoseconds since one of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    origin: Ticks,
    /// Nanoseconds per tick.
    rate: f64,
}

impl Scale {
    /// Nanoseconds since a moment. Measures the rate of the counter over all the time since its first use.
    pub(crate) fn since(origin: Ticks) -> Scale {
        let base = base();
        if !base.steady {
            RATE.store(1f64.to_bits(), Ordering::Relaxed);
            return Scale { origin, rate: 1.0 };
        }
        // A short process has seen little of both clocks; wait until their grain is below one in ten thousand.
        const LEAST: std::time::Duration = std::time::Duration::from_millis(1);
        while base.instant.elapsed() < LEAST {
            std::hint::spin_loop();
        }
        let (instant, ticks) = (Instant::now(), counter());
        let elapsed = instant.duration_since(base.instant).as_nanos() as f64;
        let rate = elapsed / (ticks - base.ticks).max(1) as f64;
        RATE.store(rate.to_bits(), Ordering::Relaxed);
        Scale { origin, rate }
    }

    /// Nanoseconds from the origin to a moment; none before it.
    pub(crate) fn nanoseconds(&self, at: Ticks) -> u64 {
        (at.saturating_sub(self.origin) as f64 * self.rate) as u64
    }

    /// The moment of an instant of the system's clock.
    pub(crate) fn ticks_of(&self, instant: Instant) -> Ticks {
        let base = base();
        let since = instant.saturating_duration_since(base.instant).as_nanos() as f64;
        base.ticks + (since / self.rate) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn both_clocks_agree() {
        let (ticks, instant) = (now(), Instant::now());
        std::thread::sleep(Duration::from_millis(20));
        let (end, took) = (now(), instant.elapsed());
        let scale = Scale::since(ticks);
        let measured = scale.nanoseconds(end) as f64;
        // The thread may be put aside between the two readings; the clocks themselves differ by parts in a million.
        assert!((measured / took.as_nanos() as f64 - 1.0).abs() < 0.05, "{measured} ns against {took:?}");
        assert_eq!(scale.nanoseconds(ticks.saturating_sub(1000)), 0, "nothing happens before the origin");
        let rough = roughly(end - ticks) as f64;
        assert!((rough / measured - 1.0).abs() < 0.05, "{rough} ns against {measured}");
    }

    #[test]
    fn instants_find_their_place() {
        let scale = Scale::since(now());
        let ticks = scale.ticks_of(Instant::now());
        let off = scale.nanoseconds(now()) as i64 - scale.nanoseconds(ticks) as i64;
        assert!(off.abs() < 1_000_000, "{off} ns apart");
    }
}
