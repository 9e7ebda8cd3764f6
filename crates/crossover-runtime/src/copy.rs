//! Large copies between host memory, by several threads: one thread cannot keep the memory system busy, and fresh
//! pages cost more to enter than to fill. The threads are started by the first such copy and sleep between copies.
#![allow(unsafe_code)]

use std::{
    collections::VecDeque,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::{Condvar, Mutex};

/// Bytes from which more than one thread pays: waking them takes about as long as copying 1 MiB.
const LARGE: usize = 4 << 20;
/// Threads at most.
const MOST: usize = 16;
/// Bytes that a thread takes at a time: whole pages, so that no two threads enter the same one.
const PIECE: usize = 512 << 10;

/// One copy that several threads work on.
struct Job {
    from: usize,
    to: usize,
    bytes: usize,
    /// The next piece that nobody has taken.
    next: AtomicUsize,
    /// Pieces that have not been copied yet.
    left: Mutex<usize>,
    finished: Condvar,
}

impl Job {
    /// Copies pieces until none is left.
    fn work(&self) {
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed) * PIECE;
            if at >= self.bytes {
                return;
            }
            let length = PIECE.min(self.bytes - at);
            // SAFETY: pieces do not overlap and lie inside the two slices, which `copy` borrows until every piece that
            // was taken has been copied.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    (self.from + at) as *const u8,
                    (self.to + at) as *mut u8,
                    length,
                );
            }
            let mut left = self.left.lock();
            *left -= 1;
            if *left == 0 {
                self.finished.notify_all();
            }
        }
    }
}

/// Copies that wait for threads.
#[derive(Default)]
struct Queue {
    jobs: Mutex<VecDeque<Arc<Job>>>,
    arrived: Condvar,
}

/// The queue and how many threads serve it; the caller of a copy is one more.
fn threads() -> &'static (Arc<Queue>, usize) {
    static THREADS: OnceLock<(Arc<Queue>, usize)> = OnceLock::new();
    THREADS.get_or_init(|| {
        let queue = Arc::new(Queue::default());
        let wanted = std::thread::available_parallelism().map_or(1, usize::from).min(MOST) - 1;
        let start = |i: usize| {
            let queue = queue.clone();
            let body = move || {
                loop {
                    let mut jobs = queue.jobs.lock();
                    let job = loop {
                        match jobs.pop_front() {
                            Some(job) => break job,
                            None => queue.arrived.wait(&mut jobs),
                        }
                    };
                    drop(jobs);
                    job.work();
                }
            };
            std::thread::Builder::new().name(format!("crossover-memory-{i}")).spawn(body).is_ok()
        };
        let started = (0..wanted).filter(|&i| start(i)).count();
        (queue, started)
    })
}

/// Copies all bytes; both sides are equally long.
pub(crate) fn copy(from: &[u8], to: &mut [u8]) {
    if from.len() < LARGE || from.len() != to.len() {
        return to.copy_from_slice(from);
    }
    let (queue, helpers) = threads();
    if *helpers == 0 {
        return to.copy_from_slice(from);
    }
    let job = Arc::new(Job {
        from: from.as_ptr() as usize,
        to: to.as_mut_ptr() as usize,
        bytes: from.len(),
        next: AtomicUsize::new(0),
        left: Mutex::new(from.len().div_ceil(PIECE)),
        finished: Condvar::new(),
    });
    queue.jobs.lock().extend(std::iter::repeat_n(job.clone(), *helpers));
    queue.arrived.notify_all();
    job.work();
    let mut left = job.left.lock();
    while *left > 0 {
        job.finished.wait(&mut left);
    }
}

#[cfg(test)]
mod tests {
    use super::{LARGE, copy};

    fn check(size: usize, seed: usize) {
        let from: Vec<u8> = (0..size).map(|i| (i * 7 + i / 251 + seed) as u8).collect();
        let mut to = vec![0; size];
        copy(&from, &mut to);
        assert!(to == from, "{size} bytes");
    }

    #[test]
    fn every_byte_arrives_whatever_the_size() {
        for size in [0, 1, 4095, LARGE - 1, LARGE, LARGE + 1, 3 * LARGE + 12_345] {
            check(size, 0);
        }
    }

    #[test]
    fn copies_side_by_side_do_not_mix() {
        std::thread::scope(|scope| {
            for seed in 0..4 {
                scope.spawn(move || (0..5).for_each(|round| check(2 * LARGE + 77 * seed, seed + round)));
            }
        });
    }
}
