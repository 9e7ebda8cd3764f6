//! Small freed blocks, kept for the next allocation of their size.
//!
//! The driver's pool takes about a microsecond to hand out memory and as long to take it back, which is a third of
//! a small launch. Blocks here are handed out and taken back on the lane of kernels, so whoever gets one comes after
//! whoever had it, without waiting.

use parking_lot::Mutex;

/// Largest block that is kept.
const LARGEST: usize = 1 << 20;
/// Blocks of one size that are kept.
const EACH: usize = 32;
/// Sizes are powers of two from here.
const SMALLEST: u32 = 9;
/// 2^9 to 2^20.
const CLASSES: usize = 12;

/// The blocks, by size.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    free: Mutex<[Vec<u64>; CLASSES]>,
}

/// The size class of a block, or `None` if it is too large to be kept.
fn class(bytes: usize) -> Option<usize> {
    let bits = bytes.max(1).next_power_of_two().trailing_zeros().max(SMALLEST);
    (bytes <= LARGEST).then_some((bits - SMALLEST) as usize)
}

impl Blocks {
    /// Bytes to ask the driver for, so that the block fits every request of its class.
    pub(crate) fn size(bytes: usize) -> usize {
        class(bytes).map_or(bytes, |class| 1 << (class + SMALLEST as usize))
    }

    /// Whether blocks of this size are kept.
    pub(crate) fn keeps(bytes: usize) -> bool {
        class(bytes).is_some()
    }

    /// A kept block that is large enough.
    pub(crate) fn take(&self, bytes: usize) -> Option<u64> {
        self.free.lock()[class(bytes)?].pop()
    }

    /// Keeps a block; false if the driver is to have it.
    pub(crate) fn keep(&self, address: u64, bytes: usize) -> bool {
        let Some(class) = class(bytes) else { return false };
        let mut free = self.free.lock();
        let kept = &mut free[class];
        if kept.len() >= EACH {
            return false;
        }
        kept.push(address);
        true
    }

    /// Every kept block, to be given back.
    pub(crate) fn drain(&self) -> Vec<u64> {
        self.free.lock().iter_mut().flat_map(std::mem::take).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_fits_every_request_that_can_get_it() {
        let blocks = Blocks::default();
        for bytes in [1, 511, 512, 513, 4000, 65_536, LARGEST - 1, LARGEST] {
            assert!(Blocks::size(bytes) >= bytes && Blocks::size(bytes) <= LARGEST);
            assert!(blocks.keep(bytes as u64, bytes));
            assert_eq!(
                blocks.take(Blocks::size(bytes)),
                Some(bytes as u64),
                "all of the block can be asked for"
            );
        }
        assert_eq!(Blocks::size(LARGEST + 1), LARGEST + 1);
        assert!(Blocks::keeps(LARGEST) && !Blocks::keeps(LARGEST + 1));
        assert!(!blocks.keep(1, LARGEST + 1));
        assert_eq!(blocks.take(LARGEST + 1), None);
    }

    #[test]
    fn the_number_of_kept_blocks_is_bounded() {
        let blocks = Blocks::default();
        let kept = (0..100).filter(|&i| blocks.keep(i, 700)).count();
        assert_eq!((kept, blocks.drain().len(), blocks.take(700)), (EACH, EACH, None));
    }
}
