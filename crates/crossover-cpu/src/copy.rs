//! Large copies within host memory, by the threads that compute: one thread cannot keep the memory system busy, and fresh pages cost
//! more to enter than to fill.
#![allow(unsafe_code)]

use std::ops::Range;

use crate::threads::Threads;

/// Bytes from which more than one thread pays: helpers that sleep are woken in the time that 1 MiB takes.
const LARGE: usize = 4 << 20;
/// Bytes that a thread takes at a time: whole pages, so that no two threads enter the same one.
const PIECE: usize = 512 << 10;

/// Where bytes go; threads write pieces that do not overlap.
struct Target(*mut u8);

// SAFETY: the address is only used inside `copy`, by threads that write pieces of their own.
unsafe impl Sync for Target {}

impl Target {
    /// # Safety
    /// The range lies inside the memory, and nobody else uses it.
    unsafe fn write(&self, range: Range<usize>, from: &[u8]) {
        // SAFETY: as the caller promises; the slice is at least as long as the range.
        unsafe {
            std::ptr::copy_nonoverlapping(from[range.clone()].as_ptr(), self.0.add(range.start), range.len())
        };
    }
}

/// Copies all bytes; both sides are equally long.
pub(crate) fn copy(threads: &Threads, from: &[u8], to: &mut [u8]) {
    if from.len() < LARGE || from.len() != to.len() {
        return to.copy_from_slice(from);
    }
    let target = Target(to.as_mut_ptr());
    // SAFETY: ranges lie inside both slices, which are borrowed until `each` returns, and do not overlap.
    threads.each(from.len(), PIECE, |range| unsafe { target.write(range, from) });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(threads: &Threads, size: usize, seed: usize) {
        let from: Vec<u8> = (0..size).map(|i| (i * 7 + i / 251 + seed) as u8).collect();
        let mut to = vec![0; size];
        copy(threads, &from, &mut to);
        assert!(to == from, "{size} bytes");
    }

    #[test]
    fn every_byte_arrives_whatever_the_size() {
        for count in [1, 3] {
            let threads = Threads::own(count).unwrap();
            for size in [0, 1, 4095, LARGE - 1, LARGE, LARGE + 1, 3 * LARGE + 12_345] {
                check(&threads, size, 0);
            }
        }
    }

    #[test]
    fn copies_side_by_side_do_not_mix() {
        let threads = Threads::own(2).unwrap();
        std::thread::scope(|scope| {
            for seed in 0..4 {
                let threads = &threads;
                scope.spawn(move || {
                    (0..5).for_each(|round| check(threads, 2 * LARGE + 77 * seed, seed + round));
                });
            }
        });
    }
}
