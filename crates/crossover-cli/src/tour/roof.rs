//! The roofline: how fast memory of a given size can be read, copied and written by all threads together.
//!
//! Measured with the C library's compare, copy and fill, which use the widest instructions of the processor, in the
//! same run as the workloads. A working set that fits a cache has that cache's roof. Each thread repeats its own
//! part without waiting for others, so starting and ending a parallel call is not part of the roof.

use std::{
    collections::BTreeMap,
    hint::black_box,
    sync::Barrier,
    time::{Duration, Instant},
};

/// Bandwidth in bytes per second, counted as STREAM does: bytes read plus bytes written.
#[derive(Debug, Clone, Copy)]
pub struct Bandwidth {
    pub read: f64,
    pub copy: f64,
    pub write: f64,
}

impl Bandwidth {
    /// Seconds that moving these bytes takes at least: between the measured mixes, time per byte is interpolated.
    pub fn floor(&self, read: u64, written: u64) -> f64 {
        let total = (read + written) as f64;
        if total == 0.0 {
            return 0.0;
        }
        let share = written as f64 / total;
        let (from, to, along) = if share < 0.5 {
            (self.read, self.copy, share * 2.0)
        } else {
            (self.copy, self.write, share * 2.0 - 1.0)
        };
        total * ((1.0 - along) / from + along / to)
    }
}

/// Bandwidths by working set, measured when first asked for.
pub struct Roof {
    threads: usize,
    time: Duration,
    /// By the power of two that the working set is rounded up to.
    known: BTreeMap<u32, Bandwidth>,
}

/// Smaller working sets than 2^14 bytes are as fast as this one; larger ones than 2^28 are all in memory.
const SMALLEST: u32 = 14;
const LARGEST: u32 = 28;
/// The best of this many trials counts: a roof is what can be reached.
const TRIALS: usize = 4;

impl Roof {
    /// A roof for this many threads, each trial taking about `time`.
    pub fn new(threads: usize, time: Duration) -> Roof {
        Roof { threads, time, known: BTreeMap::new() }
    }

    /// The bandwidth for a working set of this many bytes.
    pub fn at(&mut self, bytes: u64) -> Bandwidth {
        let exponent = Roof::of(bytes);
        let (threads, time) = (self.threads, self.time);
        *self.known.entry(exponent).or_insert_with(|| measure(1 << exponent, threads, time))
    }

    /// The power of two that stands for a working set.
    fn of(bytes: u64) -> u32 {
        bytes.max(1).next_power_of_two().trailing_zeros().clamp(SMALLEST, LARGEST)
    }

    /// Whether two working sets have one bandwidth.
    pub fn is_same(one: u64, other: u64) -> bool {
        Roof::of(one) == Roof::of(other)
    }

    /// Raises the bandwidth for a working set of this many bytes by a factor, because something is that much faster.
    pub fn raise(&mut self, bytes: u64, factor: f64) {
        if let Some(known) = self.known.get_mut(&Roof::of(bytes)) {
            *known = Bandwidth {
                read: known.read * factor,
                copy: known.copy * factor,
                write: known.write * factor,
            };
        }
    }

    /// Every working set measured so far, in bytes, with its bandwidth.
    pub fn known(&self) -> impl DoubleEndedIterator<Item = (u64, Bandwidth)> + '_ {
        self.known.iter().map(|(&exponent, &bandwidth)| (1 << exponent, bandwidth))
    }
}

fn measure(bytes: usize, threads: usize, time: Duration) -> Bandwidth {
    let part = bytes / 2 / threads.max(1);
    let mut from = vec![1u8; part * threads];
    let mut to = vec![1u8; part * threads];
    let mut best = |work: fn(&mut [u8], &mut [u8])| {
        let rates = (0..TRIALS).map(|_| trial(&mut from, &mut to, part, time, work));
        rates.fold(0.0, f64::max)
    };
    // Equal contents, so that comparing reads to the end.
    let read = best(|a, b| _ = black_box(*a == *b));
    let copy = best(|a, b| b.copy_from_slice(a));
    let write = best(|a, b| {
        a.fill(1);
        b.fill(1);
    });
    Bandwidth { read, copy, write }
}

/// Bytes per second of all threads, each working on its own part for about `time`.
fn trial(from: &mut [u8], to: &mut [u8], part: usize, time: Duration, work: fn(&mut [u8], &mut [u8])) -> f64 {
    let parts = from.len() / part;
    let barrier = Barrier::new(parts);
    let rates: Vec<f64> = std::thread::scope(|scope| {
        let workers: Vec<_> = from
            .chunks_exact_mut(part)
            .zip(to.chunks_exact_mut(part))
            .map(|(a, b)| {
                let barrier = &barrier;
                scope.spawn(move || repeat(a, b, barrier, time, work))
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or(0.0)).collect()
    });
    rates.iter().sum()
}

fn repeat(
    a: &mut [u8],
    b: &mut [u8],
    barrier: &Barrier,
    time: Duration,
    work: fn(&mut [u8], &mut [u8]),
) -> f64 {
    work(a, b);
    barrier.wait();
    // Read the clock once per quarter of a megabyte or so.
    let rounds = ((1 << 18) / (2 * a.len()).max(1)).max(1);
    let start = Instant::now();
    let mut moved = 0usize;
    while start.elapsed() < time {
        for _ in 0..rounds {
            work(black_box(&mut *a), black_box(&mut *b));
        }
        moved += rounds * 2 * a.len();
    }
    moved as f64 / start.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_the_measured_one_for_pure_mixes_and_between_them_elsewhere() {
        let bandwidth = Bandwidth { read: 30.0, copy: 20.0, write: 10.0 };
        assert_eq!(bandwidth.floor(30, 0), 1.0);
        assert_eq!(bandwidth.floor(10, 10), 1.0);
        assert_eq!(bandwidth.floor(0, 10), 1.0);
        assert_eq!(bandwidth.floor(0, 0), 0.0);
        let two_to_one = bandwidth.floor(40, 20);
        assert!(two_to_one > 2.0 && two_to_one < 3.0, "{two_to_one}");
    }

    #[test]
    fn bandwidths_are_positive_and_measured_once() {
        let mut roof = Roof::new(2, Duration::from_micros(200));
        let first = roof.at(100_000);
        assert!(first.read > 0.0 && first.copy > 0.0 && first.write > 0.0);
        assert_eq!(roof.at(131_072).copy, first.copy);
        assert_eq!(roof.known().count(), 1);
        roof.raise(100_000, 1.25);
        assert_eq!(roof.at(131_072).read, 1.25 * first.read);
        assert!(Roof::is_same(100_000, 131_072) && !Roof::is_same(100_000, 131_073));
    }
}
