//! The clock of spans: the processor's own counter where it is steady, which is quicker than asking the system.
#![allow(unsafe_code)]

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// A moment on the clock of spans. Only differences mean anything, and only a [`Scale`] turns them into nanoseconds.
pub(crate) type Ticks = u64;

/// A moment on both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) ticks: Ticks,
    instant: Instant,
}

impl Pair {
    /// Now, as exactly as it can be had: of a few readings the one during which the least happened.
    pub(crate) fn now() -> Pair {
        let read = |_| {
            let before = now();
            let instant = Instant::now();
            let apart = now().saturating_sub(before);
            (apart, Pair { ticks: before + apart / 2, instant })
        };
        let best = (1..4).map(read).fold(read(0), |best, next| if next.0 < best.0 { next } else { best });
        best.1
    }
}

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

/// Whether the counter is known to be steady: what every span asks first.
static STEADY: AtomicBool = AtomicBool::new(false);

/// Now.
#[inline]
pub(crate) fn now() -> Ticks {
    if STEADY.load(Ordering::Relaxed) { counter() } else { asked() }
}

/// Now, where the counter is not steady or nobody knows yet.
#[cold]
fn asked() -> Ticks {
    let base = base();
    STEADY.store(base.steady, Ordering::Relaxed);
    if base.steady { counter() } else { base.instant.elapsed().as_nanos() as u64 }
}

/// Which clock it is.
pub(super) fn name() -> &'static str {
    if base().steady { "the processor's counter" } else { "the system's clock" }
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

/// Whether the counter runs at one rate, also while the processor sleeps or changes its own, and on all cores alike.
#[cfg(target_arch = "x86_64")]
fn is_steady() -> bool {
    match source().trim() {
        // The system keeps its own time by the counter.
        "tsc" => true,
        // It has found the counter wanting.
        "hpet" | "acpi_pm" | "jiffies" | "refined-jiffies" => false,
        _ => is_invariant() || is_stable_guest(),
    }
}

/// What the system keeps time by, where it tells.
#[cfg(target_arch = "x86_64")]
fn source() -> String {
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    std::fs::read_to_string(SOURCE).unwrap_or_default()
}

/// Whether the processor promises it.
#[cfg(target_arch = "x86_64")]
fn is_invariant() -> bool {
    const POWER: u32 = 0x8000_0007;
    cpuid(0x8000_0000)[0] >= POWER && cpuid(POWER)[3] & (1 << 8) != 0
}

/// Whether the host of a virtual machine does: KVM hides the processor's promise from guests that may be moved to another machine, and
/// says by itself that the clock it makes of the counter is the same on all processors.
#[cfg(target_arch = "x86_64")]
fn is_stable_guest() -> bool {
    const GUEST: u32 = 1 << 31;
    const STABLE: u32 = 1 << 24;
    if cpuid(1)[2] & GUEST == 0 {
        return false;
    }
    let [most, name @ ..] = cpuid(0x4000_0000);
    // Old hosts say 0 where they mean the leaf of features.
    let has_features = most == 0 || most >= 0x4000_0001;
    name == KVM && has_features && cpuid(0x4000_0001)[0] & STABLE != 0
}

/// `KVMKVMKVM`, as the instruction tells it.
#[cfg(target_arch = "x86_64")]
const KVM: [u32; 3] = [0x4b4d_564b, 0x564b_4d56, 0x0000_004d];

#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe)]
fn cpuid(leaf: u32) -> [u32; 4] {
    // SAFETY: every x86-64 processor has the instruction; a leaf that it does not have means nothing and does no harm.
    let found = unsafe { std::arch::x86_64::__cpuid(leaf) };
    [found.eax, found.ebx, found.ecx, found.edx]
}

#[cfg(not(target_arch = "x86_64"))]
fn is_steady() -> bool {
    false
}

/// Turns moments into nanoseconds since one of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    origin: Pair,
    /// Nanoseconds per tick.
    rate: f64,
}

impl Scale {
    /// Nanoseconds since a moment. Measures the rate of the counter over the time since then; if that is short, over all the time since its first
    /// use.
    pub(crate) fn since(origin: Pair) -> Scale {
        let base = base();
        if !base.steady {
            RATE.store(1f64.to_bits(), Ordering::Relaxed);
            return Scale { origin, rate: 1.0 };
        }
        /// Both clocks are read within 50 ns of each other: a part in 200,000.
        const ENOUGH: Duration = Duration::from_millis(10);
        /// A short process has seen little of both clocks; wait until their grain is below one in ten thousand.
        const LEAST: Duration = Duration::from_millis(1);
        while base.instant.elapsed() < LEAST {
            std::hint::spin_loop();
        }
        let now = Pair::now();
        let is_long = now.instant.duration_since(origin.instant) >= ENOUGH;
        let from = if is_long { origin } else { Pair { ticks: base.ticks, instant: base.instant } };
        let elapsed = now.instant.duration_since(from.instant).as_nanos() as f64;
        let rate = elapsed / now.ticks.saturating_sub(from.ticks).max(1) as f64;
        RATE.store(rate.to_bits(), Ordering::Relaxed);
        Scale { origin, rate }
    }

    /// Nanoseconds from the origin to a moment; none before it.
    pub(crate) fn nanoseconds(&self, at: Ticks) -> u64 {
        (at.saturating_sub(self.origin.ticks) as f64 * self.rate) as u64
    }

    /// Nanoseconds from the origin to an instant of the system's clock; none before it.
    pub(crate) fn nanoseconds_of(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.origin.instant).as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_agree() {
        // Over its own time, and, where that is short, over that of the process.
        for millis in [20, 2] {
            let start = Pair::now();
            std::thread::sleep(Duration::from_millis(millis));
            let end = Pair::now();
            let (scale, took) = (Scale::since(start), end.instant.duration_since(start.instant));
            let measured = scale.nanoseconds(end.ticks) as f64;
            // The thread may be put aside between two readings; the clocks themselves differ by parts in a million.
            assert!((measured / took.as_nanos() as f64 - 1.0).abs() < 0.05, "{measured} ns against {took:?}");
            let before = start.ticks.saturating_sub(1000);
            assert_eq!(scale.nanoseconds(before), 0, "nothing happens before the origin");
            let rough = roughly(end.ticks - start.ticks) as f64;
            assert!((rough / measured - 1.0).abs() < 0.05, "{rough} ns against {measured}");
        }
    }

    #[test]
    fn instants_find_their_place() {
        let start = Pair::now();
        let earlier = start.instant - Duration::from_millis(1);
        let scale = Scale::since(start);
        let off = scale.nanoseconds(now()) as i64 - scale.nanoseconds_of(Instant::now()) as i64;
        assert!(off.abs() < 1_000_000, "{off} ns apart");
        assert_eq!(scale.nanoseconds_of(earlier), 0, "nothing happens before the origin");
    }

    #[test]
    fn the_clock_never_goes_back() {
        let mut last = now();
        for _ in 0..10_000 {
            let next = now();
            assert!(next >= last);
            last = next;
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_name_of_kvm_is_spelled_as_registers_hold_it() {
        let bytes: Vec<u8> = KVM.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(bytes, b"KVMKVMKVM\0\0\0");
    }
}
