//! What an executor has done: counters, and readings of them.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use crate::{Decision, Device, Why, memory::Reclaimed};

/// Counters since an executor was made.
#[derive(Debug)]
pub(crate) struct Stats {
    launches: AtomicU64,
    transfers: AtomicU64,
    transferred: AtomicU64,
    fallbacks: AtomicU64,
    postponed: AtomicU64,
    replayed: AtomicU64,
    planned: AtomicU64,
    split: AtomicU64,
    parts: AtomicU64,
    judged: AtomicU64,
    regret: AtomicU64,
    /// Kernels that ran on each device for each reason.
    decisions: Vec<[AtomicU64; Why::NAMES.len()]>,
}

/// What an [`Executor`](crate::Executor) has done since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Kernels launched.
    pub launches: u64,
    /// Copies between devices.
    pub transfers: u64,
    /// Bytes copied between devices.
    pub transferred: u64,
    /// Kernels that a device could not run and the host did.
    pub fallbacks: u64,
    /// Kernels that the host ran because their device was still making them ready.
    pub postponed: u64,
    /// Kernels among those launched that were started together with the others of their plan.
    pub replayed: u64,
    /// Plans made because none was cached.
    pub planned: u64,
    /// Kernels that ran in parts because their operands did not fit together.
    pub split: u64,
    /// Parts that they ran in.
    pub parts: u64,
    /// Nanoseconds of kernels that were timed after a choice between devices.
    pub judged: u64,
    /// Nanoseconds of those beyond what was predicted for the best other device, copies included, where that is more than a quarter and 20 µs.
    pub regret: u64,
    /// What was done to make room on devices.
    pub reclaimed: Reclaimed,
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

impl Stats {
    /// Counters that are all zero.
    pub fn new(devices: usize) -> Stats {
        Stats {
            launches: AtomicU64::new(0),
            transfers: AtomicU64::new(0),
            transferred: AtomicU64::new(0),
            fallbacks: AtomicU64::new(0),
            postponed: AtomicU64::new(0),
            replayed: AtomicU64::new(0),
            planned: AtomicU64::new(0),
            split: AtomicU64::new(0),
            parts: AtomicU64::new(0),
            judged: AtomicU64::new(0),
            regret: AtomicU64::new(0),
            decisions: (0..devices).map(|_| Default::default()).collect(),
        }
    }

    /// What they say now.
    pub fn read(&self, reclaimed: Reclaimed) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            launches: read(&self.launches),
            transfers: read(&self.transfers),
            transferred: read(&self.transferred),
            fallbacks: read(&self.fallbacks),
            postponed: read(&self.postponed),
            replayed: read(&self.replayed),
            planned: read(&self.planned),
            split: read(&self.split),
            parts: read(&self.parts),
            judged: read(&self.judged),
            regret: read(&self.regret),
            reclaimed,
        }
    }

    /// How many kernels ran on a device for which reason, by [`Why::NAMES`].
    pub fn decisions(&self, device: Device) -> Vec<(&'static str, u64)> {
        let counts = self.decisions[device.0].iter().map(|count| count.load(Ordering::Relaxed));
        Why::NAMES.into_iter().zip(counts).collect()
    }

    /// A kernel was launched.
    pub fn launched(&self) {
        add(&self.launches, 1);
    }

    /// Kernels were started together.
    pub fn replayed(&self, kernels: usize) {
        add(&self.launches, kernels as u64);
        add(&self.replayed, kernels as u64);
    }

    /// A kernel ran in parts.
    pub fn split(&self, parts: u64) {
        add(&self.launches, parts);
        add(&self.split, 1);
        add(&self.parts, parts);
    }

    /// Bytes were copied to a device.
    pub fn moved(&self, bytes: usize) {
        add(&self.transfers, 1);
        add(&self.transferred, bytes as u64);
    }

    /// A plan was made.
    pub fn planned(&self) {
        add(&self.planned, 1);
    }

    /// The host runs kernels whose device is still making them ready.
    pub fn postponed(&self, kernels: usize) {
        add(&self.postponed, kernels as u64);
    }

    /// The host runs a kernel that a device could not run.
    pub fn fell_back(&self) {
        add(&self.fallbacks, 1);
    }

    /// A kernel goes where a decision says.
    pub fn decided(&self, decision: &Decision, at: usize) {
        add(&self.decisions[decision.device(at).0][decision.why(at).index()], 1);
    }

    /// A kernel took so long: counts what lies beyond the prediction for the best other device. Runs that are there to learn are not
    /// judged: they are meant to be slower.
    pub fn judge(&self, decision: &Decision, at: usize, took: Duration) {
        /// Differences below it are noise of the clock and of other programs.
        const LEAST: f64 = 20_000.0;
        if decision.is_trial() {
            return;
        }
        let took = took.as_nanos() as f64;
        let Some(lost) = decision.regret_ns(at, took) else { return };
        add(&self.judged, took as u64);
        if lost > LEAST && lost > (took - lost) / 4.0 {
            add(&self.regret, lost as u64);
        }
    }
}
