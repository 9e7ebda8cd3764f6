//! What kernels really took: corrections of predicted times, learnt by observing, and whether a device is slower than it was.
//!
//! For each kind of kernel, device and half octave of size the table keeps the ratio of observed to predicted time. The first
//! observation is dropped (caches are cold, machine code is being made), the faster of two more is a correction, later ones move it
//! slowly. Observations far from the correction count for nothing until four follow each other; then they are the new truth.
//!
//! A device that becomes slow altogether is noticed by three kernels in a row; corrections then stay as they are and a
//! factor for the device multiplies them, so that everything comes back at once when the device recovers.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// Corrections kept at most.
const CAPACITY: usize = 4096;
/// Observations before a correction is used, the dropped first included.
const NEEDED: u32 = 3;
/// Weight of a new observation.
const WEIGHT: f64 = 0.25;
/// A correction that moves by more than this share makes earlier decisions stale.
const NOTABLE: f64 = 0.10;
/// Unusual observations in a row that become the new truth.
const MOST_ODD: u32 = 4;
/// Observations in a row, of whatever kernel, that make a device suspect.
const STREAK: u32 = 3;
/// How many times slower than usual these are.
const SLOW: f64 = 2.5;

/// A kind of kernel at a size on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// Hash of what the kernel does.
    pub kernel: u64,
    /// Half octaves of its size.
    pub size: u16,
    /// The device.
    pub device: u8,
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    seen: u32,
    /// Observed over predicted time.
    ratio: f64,
    /// The ratio that decisions were made with.
    published: f64,
    odd: u32,
    used: u64,
}

#[derive(Debug, Clone, Copy)]
struct Health {
    /// How many times slower the device is than its corrections say.
    factor: f64,
    /// Slow observations in a row, and the last ratio.
    slow: u32,
    last: f64,
    /// Observations in a row that are much faster than the factor says.
    fast: u32,
}

/// What an observation means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Noted {
    /// As expected, or not yet known what to expect.
    Usual,
    /// Far from what was expected.
    Odd,
    /// The device as a whole may have become slower or recovered: somebody should look.
    Suspect,
}

#[derive(Debug)]
pub(crate) struct Table {
    entries: Mutex<FxHashMap<Key, Entry>>,
    health: Mutex<Vec<Health>>,
    clock: AtomicU64,
    /// Grows with every change that decisions should know.
    epoch: AtomicU64,
}

impl Table {
    pub fn new(devices: usize) -> Table {
        Table {
            entries: Mutex::default(),
            health: Mutex::new(vec![Health { factor: 1.0, slow: 0, last: 1.0, fast: 0 }; devices]),
            clock: AtomicU64::new(0),
            epoch: AtomicU64::new(1),
        }
    }

    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Makes decisions so far stale.
    pub fn advance(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// Corrections for kernels, in the order of the keys: what a predicted time is multiplied with, and whether that was
    /// learnt.
    pub fn corrections(&self, keys: impl Iterator<Item = Key>, mut use_one: impl FnMut(f64, bool)) {
        let factors: smallvec::SmallVec<[f64; 4]> = self.health.lock().iter().map(|h| h.factor).collect();
        let entries = self.entries.lock();
        for key in keys {
            let learnt = entries.get(&key).filter(|e| e.seen >= NEEDED).map(|e| e.ratio);
            use_one(learnt.unwrap_or(1.0) * factors[key.device as usize], learnt.is_some());
        }
    }

    /// How many times slower than usual a device is.
    pub fn factor(&self, device: usize) -> f64 {
        self.health.lock()[device].factor
    }

    /// Notes how long a kernel took, as a multiple of what was predicted without corrections.
    pub fn observe(&self, key: Key, ratio: f64) -> Noted {
        if !(ratio.is_finite() && ratio > 0.0) {
            return Noted::Usual;
        }
        let ratio = ratio / self.factor(key.device as usize);
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut entries = self.entries.lock();
        if entries.len() >= CAPACITY && !entries.contains_key(&key) {
            forget_half(&mut entries);
        }
        let entry = entries.entry(key).or_default();
        (entry.used, entry.seen) = (now, entry.seen.saturating_add(1));
        if entry.seen <= NEEDED {
            if entry.seen > 1 {
                // Whatever disturbs a kernel makes it slower.
                entry.ratio = if entry.seen == 2 { ratio } else { entry.ratio.min(ratio) };
            }
            if entry.seen == NEEDED {
                self.publish(entry);
            }
            return Noted::Usual;
        }
        let relative = ratio / entry.ratio;
        if (0.5..=1.5).contains(&relative) {
            entry.odd = 0;
            entry.ratio += WEIGHT * (ratio - entry.ratio);
            if (entry.ratio / entry.published - 1.0).abs() > NOTABLE {
                self.publish(entry);
            }
            self.calm(key.device);
            return Noted::Usual;
        }
        entry.odd += 1;
        if self.suspect(key.device, relative) {
            return Noted::Suspect;
        }
        if entry.odd >= MOST_ODD {
            (entry.ratio, entry.odd) = (ratio, 0);
            self.publish(entry);
        }
        Noted::Odd
    }

    fn publish(&self, entry: &mut Entry) {
        entry.published = entry.ratio;
        self.advance();
    }

    fn calm(&self, device: u8) {
        let health = &mut self.health.lock()[device as usize];
        (health.slow, health.fast) = (0, 0);
    }

    /// Whether unusual observations of a device have become a streak.
    fn suspect(&self, device: u8, relative: f64) -> bool {
        let health = &mut self.health.lock()[device as usize];
        if relative > SLOW {
            (health.slow, health.fast, health.last) = (health.slow + 1, 0, relative);
        } else if relative < 1.0 / SLOW && health.factor > 1.0 {
            (health.fast, health.slow, health.last) = (health.fast + 1, 0, relative);
        } else {
            (health.slow, health.fast) = (0, 0);
        }
        health.slow >= STREAK || health.fast >= 2
    }

    /// Settles a suspicion: how many times longer than usual a trial copy took.
    pub fn judge(&self, device: usize, trial: f64) {
        let health = &mut self.health.lock()[device];
        let slow = health.slow >= STREAK;
        (health.slow, health.fast) = (0, 0);
        if trial < 1.5 {
            // The device is as it was. Whatever was odd belongs to a kernel, which learns it by itself.
            if health.factor == 1.0 {
                return;
            }
            health.factor = 1.0;
        } else if slow {
            health.factor *= health.last;
        } else {
            return;
        }
        self.advance();
    }
}

fn forget_half(entries: &mut FxHashMap<Key, Entry>) {
    let mut ages: Vec<u64> = entries.values().map(|e| e.used).collect();
    let middle = ages.len() / 2;
    let (_, &mut median, _) = ages.select_nth_unstable(middle);
    entries.retain(|_, e| e.used >= median);
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key { kernel: 7, size: 20, device: 1 };

    fn repeat(table: &Table, times: usize, ratio: f64) {
        for _ in 0..times {
            table.observe(KEY, ratio);
        }
    }

    fn correction(table: &Table) -> f64 {
        let mut found = 0.0;
        table.corrections([KEY].into_iter(), |c, _| found = c);
        found
    }

    #[test]
    fn the_first_observation_is_dropped_and_three_make_a_correction() {
        let table = Table::new(2);
        table.observe(KEY, 50.0);
        table.observe(KEY, 2.0);
        assert_eq!(correction(&table), 1.0);
        let before = table.epoch();
        table.observe(KEY, 3.0);
        assert_eq!(correction(&table), 2.0, "the faster of two");
        assert!(table.epoch() > before);
    }

    #[test]
    fn outliers_are_ignored_until_they_are_the_rule() {
        let table = Table::new(2);
        repeat(&table, 10, 1.0);
        assert_eq!(table.observe(KEY, 1.8), Noted::Odd);
        assert_eq!(correction(&table), 1.0);
        table.observe(KEY, 1.0);
        repeat(&table, 3, 1.8);
        assert_eq!(correction(&table), 1.0);
        table.observe(KEY, 1.8);
        assert_eq!(correction(&table), 1.8);
    }

    #[test]
    fn noise_within_bounds_leaves_decisions_alone() {
        let table = Table::new(2);
        repeat(&table, 10, 1.0);
        let before = table.epoch();
        for i in 0..100 {
            table.observe(KEY, if i % 2 == 0 { 0.9 } else { 1.1 });
        }
        assert_eq!(table.epoch(), before);
    }

    #[test]
    fn a_device_that_slows_down_gets_a_factor_and_loses_it_again() {
        let table = Table::new(2);
        repeat(&table, 10, 1.0);
        assert_eq!(table.observe(KEY, 10.0), Noted::Odd);
        assert_eq!(table.observe(KEY, 10.0), Noted::Odd);
        assert_eq!(table.observe(KEY, 10.0), Noted::Suspect);
        table.judge(1, 9.0);
        assert_eq!((table.factor(1), correction(&table)), (10.0, 10.0));
        assert_eq!(table.observe(KEY, 10.0), Noted::Usual, "slow as it is known to be");
        table.judge(1, 1.1);
        assert_eq!(correction(&table), 1.0);
    }

    #[test]
    fn a_kernel_that_slows_down_alone_is_corrected_alone() {
        let table = Table::new(2);
        repeat(&table, 10, 1.0);
        repeat(&table, 3, 10.0);
        table.judge(1, 1.0);
        assert_eq!(table.factor(1), 1.0);
        table.observe(KEY, 10.0);
        assert_eq!(correction(&table), 10.0);
    }

    #[test]
    fn the_table_is_bounded() {
        let table = Table::new(1);
        for kernel in 0..3 * CAPACITY as u64 {
            table.observe(Key { kernel, size: 0, device: 0 }, 1.0);
        }
        assert!(table.entries.lock().len() <= CAPACITY);
    }
}
