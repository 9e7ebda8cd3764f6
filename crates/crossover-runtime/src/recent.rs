//! The kernels that ran last, for people who watch. Off, it costs one relaxed load per kernel.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::Device;

/// Kernels kept at most; older ones are forgotten.
const KEPT: usize = 64;

/// A kernel that ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// Its name: the operations inside.
    pub name: String,
    /// Where it ran.
    pub device: Device,
    /// Why there, by [`Why::name`](crate::Why::name); empty where nothing was to be decided.
    pub why: &'static str,
    /// When it was started.
    pub start: Instant,
    /// How long that took the host: for an accelerator, unless the run was timed, only the start itself.
    pub took: Duration,
    /// Bytes it reads and writes.
    pub bytes: u64,
}

/// The kernels that ran last.
#[derive(Debug, Default)]
pub struct Recent {
    on: AtomicBool,
    ring: Mutex<VecDeque<Ran>>,
}

impl Recent {
    /// Switches recording on or off.
    pub fn set(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
    }

    /// Whether kernels are recorded.
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// The kernels that ran last, the latest at the end.
    pub fn latest(&self, count: usize) -> Vec<Ran> {
        let ring = self.ring.lock();
        ring.iter().skip(ring.len().saturating_sub(count)).cloned().collect()
    }

    pub(crate) fn note(&self, ran: Ran) {
        let mut ring = self.ring.lock();
        if ring.len() >= KEPT {
            ring.pop_front();
        }
        ring.push_back(ran);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten() {
        let recent = Recent::default();
        assert!(!recent.is_on());
        let ran = |number: usize| Ran {
            name: number.to_string(),
            device: Device::HOST,
            why: "",
            start: Instant::now(),
            took: Duration::ZERO,
            bytes: 0,
        };
        (0..3 * KEPT).for_each(|number| recent.note(ran(number)));
        let latest = recent.latest(2);
        assert_eq!(latest.iter().map(|r| r.name.as_str()).collect::<Vec<_>>(), ["190", "191"]);
        assert_eq!(recent.latest(1000).len(), KEPT);
    }
}
