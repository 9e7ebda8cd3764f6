//! Spreading independent units over threads.
//!
//! The caller works too, so a kernel needs no thread to be woken before it starts; helpers join it when they can. No
//! lock is waited for.

use std::{
    ops::Range,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use smallvec::SmallVec;

use crate::{control, team::Team};

/// Pieces that one thread starts on: it takes them from the front, others from the back, so that the same threads touch
/// the same memory again and again even if one is a little slower. On a cache line of its own, which threads do not take
/// from each other.
#[repr(align(128))]
struct Part {
    /// The first piece left in the low half, the end in the high half.
    left: AtomicU64,
}

impl Part {
    fn new(first: usize, end: usize) -> Part {
        Part { left: AtomicU64::new(first as u64 | (end as u64) << 32) }
    }

    /// The next piece, from the front or from the back.
    fn take(&self, front: bool) -> Option<usize> {
        let split = |left: u64| (left & u64::from(u32::MAX), left >> 32);
        let rest = |left: u64| {
            let (first, end) = split(left);
            (first < end).then(|| if front { left + 1 } else { left - (1 << 32) })
        };
        // Only the counters are shared; what the pieces write is published when the team is done.
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).ok()?;
        let (first, end) = split(left);
        Some(if front { first } else { end - 1 } as usize)
    }
}

/// The threads a backend uses.
#[derive(Debug)]
pub struct Threads {
    /// Helpers of the caller; `None` for one thread.
    team: Option<Arc<Team>>,
    /// Where matrix products run; `None` for Rayon's global pool.
    pool: Option<rayon::ThreadPool>,
    count: usize,
}

impl Threads {
    /// As many as Rayon's global pool has, shared by everyone who asks.
    pub fn shared() -> Threads {
        static TEAM: OnceLock<Option<Arc<Team>>> = OnceLock::new();
        let count = rayon::current_num_threads();
        // Where threads cannot be started the caller works alone.
        let start = || (count > 1).then(|| Team::new(count - 1).ok().map(Arc::new)).flatten();
        Threads { team: TEAM.get_or_init(start).clone(), pool: None, count }
    }

    /// `count` threads of its own, the caller among them.
    pub fn own(count: usize) -> Result<Threads, Box<dyn std::error::Error>> {
        let count = count.max(1);
        if count == 1 {
            return Ok(Threads { team: None, pool: None, count });
        }
        let name = |i| format!("crossover-cpu-product-{i}");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).thread_name(name).build()?;
        let team = Team::new(count - 1)?;
        Ok(Threads { team: Some(Arc::new(team)), pool: Some(pool), count })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Calls `f` for ranges that cover `0..units` in pieces of `grain`.
    ///
    /// Every thread starts on a part of its own, the same for the same number of pieces, so that what it left in its
    /// cache is there when the next kernel works on the same memory; then it helps the others.
    pub fn each(&self, units: usize, grain: usize, f: impl Fn(Range<usize>) + Sync) {
        let grain = grain.max(1).max(units >> 31);
        let pieces = units.div_ceil(grain);
        let Some(team) = self.team.as_ref().filter(|_| pieces > 1) else {
            let _control = control::Guard::new();
            if units > 0 {
                f(0..units);
            }
            return;
        };
        let part = pieces.div_ceil(self.count);
        let parts: SmallVec<[Part; 16]> = (0..self.count)
            .map(|i| Part::new((part * i).min(pieces), (part * (i + 1)).min(pieces)))
            .collect();
        team.run(&|number| {
            let _control = control::Guard::new();
            for i in 0..parts.len() {
                let part = &parts[(number + i) % parts.len()];
                while let Some(piece) = part.take(i == 0) {
                    f(piece * grain..((piece + 1) * grain).min(units));
                }
            }
        });
    }

    /// Runs a function whose own parallelism uses as many threads.
    pub fn install<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(f),
            None => f(),
        }
    }
}
