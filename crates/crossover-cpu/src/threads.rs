//! Spreading independent units over threads.
//!
//! The caller works too, so a kernel needs no thread to be woken before it starts; helpers join through Rayon. No
//! lock is held while the caller waits for them.

use std::{
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::control;

/// The threads a backend uses.
#[derive(Debug)]
pub struct Threads {
    /// A pool of its own; `None` for Rayon's global one.
    pool: Option<rayon::ThreadPool>,
    count: usize,
}

impl Threads {
    /// Rayon's global pool.
    pub fn shared() -> Threads {
        Threads { pool: None, count: rayon::current_num_threads() }
    }

    /// A pool of its own with `count` threads. The caller is one of those that work, so one of the pool may rest.
    pub fn own(count: usize) -> Result<Threads, rayon::ThreadPoolBuildError> {
        let count = count.max(1);
        if count == 1 {
            return Ok(Threads { pool: None, count });
        }
        let name = |i| format!("crossover-cpu-{i}");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).thread_name(name).build()?;
        Ok(Threads { pool: Some(pool), count })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Calls `f` for ranges that cover `0..units` in pieces of `grain`.
    pub fn each(&self, units: usize, grain: usize, f: impl Fn(Range<usize>) + Sync) {
        let grain = grain.max(1);
        let pieces = units.div_ceil(grain);
        if self.count == 1 || pieces <= 1 {
            let _control = control::Guard::new();
            if units > 0 {
                f(0..units);
            }
            return;
        }
        let next = AtomicUsize::new(0);
        let work = || {
            let _control = control::Guard::new();
            loop {
                // Only the counter is shared; what the pieces write is published by the end of the scope.
                let piece = next.fetch_add(1, Ordering::Relaxed);
                if piece >= pieces {
                    return;
                }
                f(piece * grain..((piece + 1) * grain).min(units));
            }
        };
        let helpers = (self.count - 1).min(pieces - 1);
        match &self.pool {
            Some(pool) => pool.in_place_scope(|s| {
                for _ in 0..helpers {
                    s.spawn(|_| work());
                }
                work();
            }),
            None => rayon::in_place_scope(|s| {
                for _ in 0..helpers {
                    s.spawn(|_| work());
                }
                work();
            }),
        }
    }

    /// Runs a function whose own parallelism uses these threads.
    pub fn install<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(f),
            None => f(),
        }
    }
}
