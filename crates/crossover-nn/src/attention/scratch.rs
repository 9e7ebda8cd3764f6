//! Memory that a thread computes attention in, kept from piece to piece: fresh memory costs a page fault every 4 KiB.
//!
//! It is taken out of its thread while it is used, so a call that starts inside another finds none and makes its own.

#![allow(unsafe_code)]

use std::cell::Cell;

/// Numbers of a line.
const LINE: usize = 16;
/// A cache line, and the widest vector.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([f32; LINE]);

/// Parts that the memory is cut into.
const PARTS: usize = 8;
/// Lines that a thread keeps, 4 MiB; what is larger is given back.
const KEPT: usize = (4 << 20) / size_of::<Line>();

thread_local! {
    static IDLE: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// Numbers of any value, in parts that start at cache lines.
pub(super) struct Scratch {
    lines: Vec<Line>,
}

impl Scratch {
    /// Room for parts of so many numbers in all.
    pub(super) fn take(numbers: usize) -> Scratch {
        let mut lines = IDLE.take();
        // A part may leave almost a line empty.
        let count = numbers / LINE + PARTS;
        if lines.len() < count {
            lines = vec![Line([0.0; LINE]); count];
        }
        Scratch { lines }
    }

    /// Parts of these lengths.
    ///
    /// # Panics
    /// If they are longer in all than what was taken.
    pub(super) fn parts(&mut self, sizes: [usize; PARTS]) -> [&mut [f32]; PARTS] {
        let mut rest = self.lines.as_mut_slice();
        sizes.map(|size| {
            let (part, others) = std::mem::take(&mut rest).split_at_mut(size.div_ceil(LINE));
            rest = others;
            // SAFETY: the lines are borrowed mutably, lie side by side without padding, and hold at least `size` numbers.
            unsafe { std::slice::from_raw_parts_mut(part.as_mut_ptr().cast::<f32>(), size) }
        })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.lines.len() <= KEPT {
            IDLE.set(std::mem::take(&mut self.lines));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_apart_and_aligned_and_memory_is_used_again() {
        let sizes = [1, 17, 0, 5, 16, 33, 2, 100];
        let address = |scratch: &mut Scratch| {
            let parts = scratch.parts(sizes);
            for (part, size) in parts.iter().zip(sizes) {
                assert_eq!((part.len(), part.as_ptr() as usize % 64), (size, 0));
            }
            for (at, part) in parts.into_iter().enumerate() {
                part.fill(at as f32);
            }
            let parts = scratch.parts(sizes);
            assert!(parts.iter().enumerate().all(|(at, part)| part.iter().all(|&x| x == at as f32)));
            parts[0].as_ptr() as usize
        };
        let mut first = Scratch::take(sizes.iter().sum());
        let place = address(&mut first);
        let inner = address(&mut Scratch::take(sizes.iter().sum()));
        assert_ne!(place, inner, "the outer one is in use");
        drop(first);
        assert_eq!(address(&mut Scratch::take(4)), place);
    }

    #[test]
    fn what_is_large_is_given_back() {
        drop(Scratch::take(8 << 20));
        assert!(Scratch::take(16).lines.len() <= KEPT);
    }
}
