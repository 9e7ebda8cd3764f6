//! Catalytic computing: memory that is full of something else serves as scratch, and is given back bit for bit.
//!
//! A [`Scratch`] borrows bytes. What is done to them is either reversible, and then only its name is noted ([`Scratch::xor`],
//! [`Scratch::add`], [`Scratch::swap`]), or a plain write, and then the bytes it covers are saved first ([`Scratch::write`]).
//! Undoing everything in reverse order restores the memory; this happens in [`Scratch::finish`], which proves it with a hash, and on
//! drop, also while a panic unwinds.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_128;

use crate::{Error, Result};

/// What was done, as far as it takes to undo it.
#[derive(Debug)]
enum Done {
    Xor { to: usize, from: usize, length: usize },
    Add { to: usize, from: usize, length: usize },
    Swap { a: usize, b: usize, length: usize },
    Written { at: usize, before: Box<[u8]> },
}

/// That borrowed memory came back as it was.
///
/// ```
/// use crossover_lattice::Scratch;
/// let mut full = [7u8; 64];
/// let mut scratch = Scratch::borrow(&mut full);
/// scratch.add(0..16, 32)?;
/// scratch.write(48..50)?.fill(0);
/// let proof = scratch.finish()?;
/// // Two operations on 64 bytes, of which only the two that were written had to be kept.
/// assert_eq!((proof.bytes, proof.operations, proof.saved), (64, 2, 2));
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Hash of the memory before and after (XXH3, 128 bits).
    pub hash: u128,
    /// Length of the memory.
    pub bytes: usize,
    /// Operations that were undone.
    pub operations: usize,
    /// Bytes that had to be saved, because they were written and not combined.
    pub saved: usize,
}

/// Borrowed memory that is in use, as scratch.
///
/// ```
/// use crossover_lattice::Scratch;
/// let mut full = *b"somebody's data!";
/// let mut scratch = Scratch::borrow(&mut full);
/// scratch.xor(0..4, 8)?; // reversible: nothing is saved
/// scratch.write(4..6)?.copy_from_slice(b"42"); // saved first
/// assert_eq!(&scratch.bytes()[4..6], b"42");
/// let proof = scratch.finish()?;
/// assert_eq!((proof.operations, proof.saved), (2, 2));
/// assert_eq!(&full, b"somebody's data!");
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
#[derive(Debug)]
pub struct Scratch<'a> {
    bytes: &'a mut [u8],
    hash: u128,
    done: Vec<Done>,
    saved: usize,
}

impl<'a> Scratch<'a> {
    /// Borrows memory and notes its hash.
    pub fn borrow(bytes: &'a mut [u8]) -> Scratch<'a> {
        let hash = xxh3_128(bytes);
        Scratch { bytes, hash, done: Vec::new(), saved: 0 }
    }

    /// The memory as it is now.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// `to ^= from`: combines a range with an equally long one that starts at `from`.
    pub fn xor(&mut self, to: Range<usize>, from: usize) -> Result<()> {
        self.apart("xor", &to, from)?;
        self.act(Done::Xor { to: to.start, from, length: to.len() });
        Ok(())
    }

    /// `to += from` byte by byte, modulo 256.
    ///
    /// ```
    /// use crossover_lattice::Scratch;
    /// let mut memory = [1u8, 2, 250, 10];
    /// let mut scratch = Scratch::borrow(&mut memory);
    /// scratch.add(2..4, 0)?;
    /// scratch.add(2..3, 3)?;
    /// assert_eq!(scratch.bytes(), [1, 2, 7, 12]); // 250 + 1 + 12 = 256 + 7
    /// drop(scratch); // undoes it, as `finish` does, and proves nothing
    /// assert_eq!(memory, [1, 2, 250, 10]);
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn add(&mut self, to: Range<usize>, from: usize) -> Result<()> {
        self.apart("add", &to, from)?;
        self.act(Done::Add { to: to.start, from, length: to.len() });
        Ok(())
    }

    /// Exchanges a range with an equally long one that starts at `other`.
    ///
    /// ```
    /// use crossover_lattice::Scratch;
    /// let mut memory = *b"left right";
    /// let mut scratch = Scratch::borrow(&mut memory);
    /// scratch.swap(0..4, 5)?;
    /// assert_eq!(scratch.bytes(), b"righ leftt");
    /// let error = scratch.swap(0..4, 3).unwrap_err();
    /// assert_eq!(error.to_string(), "swap: bytes 0..4 and 3..7 overlap");
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn swap(&mut self, range: Range<usize>, other: usize) -> Result<()> {
        self.apart("swap", &range, other)?;
        self.act(Done::Swap { a: range.start, b: other, length: range.len() });
        Ok(())
    }

    /// A range to write anything to. Its bytes are saved first.
    pub fn write(&mut self, range: Range<usize>) -> Result<&mut [u8]> {
        self.inside("write", &range)?;
        self.saved += range.len();
        self.done.push(Done::Written { at: range.start, before: self.bytes[range.clone()].into() });
        Ok(&mut self.bytes[range])
    }

    /// Gives the memory back and proves that it is as it was.
    pub fn finish(mut self) -> Result<Proof> {
        let (operations, saved) = (self.done.len(), self.saved);
        self.undo();
        let (before, after, bytes) = (self.hash, xxh3_128(self.bytes), self.bytes.len());
        if before != after {
            return Err(Error::NotRestored { bytes, before, after });
        }
        Ok(Proof { hash: before, bytes, operations, saved })
    }

    fn act(&mut self, step: Done) {
        self.apply(&step, false);
        self.done.push(step);
    }

    fn undo(&mut self) {
        while let Some(step) = self.done.pop() {
            self.apply(&step, true);
        }
    }

    fn apply(&mut self, step: &Done, backwards: bool) {
        match *step {
            Done::Xor { to, from, length } => {
                let (to, from) = pair(self.bytes, to, from, length);
                to.iter_mut().zip(from).for_each(|(to, from)| *to ^= *from);
            }
            Done::Add { to, from, length } => {
                let (to, from) = pair(self.bytes, to, from, length);
                let step =
                    |to: u8, from: u8| if backwards { to.wrapping_sub(from) } else { to.wrapping_add(from) };
                to.iter_mut().zip(from).for_each(|(to, from)| *to = step(*to, *from));
            }
            Done::Swap { a, b, length } => {
                let (a, b) = pair(self.bytes, a, b, length);
                a.swap_with_slice(b);
            }
            Done::Written { at, ref before } => self.bytes[at..at + before.len()].copy_from_slice(before),
        }
    }

    fn inside(&self, op: &'static str, range: &Range<usize>) -> Result<()> {
        if range.start <= range.end && range.end <= self.bytes.len() {
            return Ok(());
        }
        let what = format!("bytes {}..{} do not lie within {}", range.start, range.end, self.bytes.len());
        Err(Error::Scratch { op, what })
    }

    /// Two ranges that must not meet: what is combined with itself cannot be undone.
    fn apart(&self, op: &'static str, range: &Range<usize>, other: usize) -> Result<()> {
        self.inside(op, range)?;
        let end = other.saturating_add(range.len());
        self.inside(op, &(other..end))?;
        if range.start < end && other < range.end {
            let what = format!("bytes {}..{} and {other}..{end} overlap", range.start, range.end);
            return Err(Error::Scratch { op, what });
        }
        Ok(())
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        self.undo();
    }
}

/// Two equally long ranges that do not overlap.
fn pair(bytes: &mut [u8], a: usize, b: usize, length: usize) -> (&mut [u8], &mut [u8]) {
    if a <= b {
        let (low, high) = bytes.split_at_mut(b);
        (&mut low[a..a + length], &mut high[..length])
    } else {
        let (low, high) = bytes.split_at_mut(a);
        (&mut high[..length], &mut low[b..b + length])
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    fn noise(length: usize, mut seed: u64) -> Vec<u8> {
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn hundreds_of_operations_are_undone() {
        let before = noise(4096, 1);
        let mut memory = before.clone();
        let mut scratch = Scratch::borrow(&mut memory);
        let steps = noise(3000, 7);
        for step in steps.chunks_exact(3) {
            let (at, other, length) =
                (step[1] as usize * 8, 2048 + step[2] as usize * 4, 1 + step[0] as usize % 64);
            match step[0] % 4 {
                0 => scratch.xor(at..at + length, other).unwrap(),
                1 => scratch.add(other..other + length, at).unwrap(),
                2 => scratch.swap(at..at + length, other).unwrap(),
                _ => scratch.write(at..at + length).unwrap().fill(step[2]),
            }
        }
        assert_ne!(scratch.bytes(), before);
        let proof = scratch.finish().unwrap();
        assert_eq!((memory, proof.operations, proof.hash), (before.clone(), 1000, xxh3_128(&before)));
    }

    #[test]
    fn a_panic_restores_too() {
        let before = noise(256, 3);
        let mut memory = before.clone();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let mut scratch = Scratch::borrow(&mut memory);
            scratch.write(0..256).unwrap().fill(0);
            std::panic::resume_unwind(Box::new("interrupted"));
        }));
        assert!(panicked.is_err());
        assert_eq!(memory, before);
    }

    #[test]
    fn what_could_not_be_undone_is_refused() {
        let mut memory = noise(64, 5);
        let mut scratch = Scratch::borrow(&mut memory);
        let overlap = scratch.xor(0..8, 4).unwrap_err();
        assert_eq!(overlap.to_string(), "xor: bytes 0..8 and 4..12 overlap");
        let outside = scratch.write(60..70).unwrap_err();
        assert_eq!(outside.to_string(), "write: bytes 60..70 do not lie within 64");
        assert!(scratch.swap(0..8, usize::MAX).is_err());
    }
}
