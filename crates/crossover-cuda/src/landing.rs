//! Page-locked memory that results land in: the device writes it by itself, at the speed of the bus, and nobody copies them once more.
//!
//! The system takes far longer to lock pages than to copy them, so blocks are kept when results are dropped, and one is reserved only when
//! twice its bytes have had to go another way. What always holds: live and kept blocks have at most [`MOST`] bytes together.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::{Gpu, Pinned};

/// Bytes of all blocks at most: locked pages are taken from everybody.
const MOST: usize = 256 << 20;

/// The blocks of one device.
#[derive(Debug)]
pub(crate) struct Landings<B = Pinned> {
    state: Mutex<State<B>>,
}

#[derive(Debug)]
struct State<B> {
    /// Kept blocks, by size.
    free: FxHashMap<usize, Vec<B>>,
    /// Bytes of live and kept blocks.
    held: usize,
    /// By size, how often there was no block.
    missed: FxHashMap<usize, u64>,
}

impl<B> Default for Landings<B> {
    fn default() -> Landings<B> {
        let state = State { free: FxHashMap::default(), held: 0, missed: FxHashMap::default() };
        Landings { state: Mutex::new(state) }
    }
}

/// Bytes of the block that serves a request: eight sizes for each power of two.
fn size(bytes: usize) -> Option<usize> {
    bytes.checked_next_multiple_of((bytes.checked_next_power_of_two()? / 8).max(1))
}

impl<B> Landings<B> {
    /// A block of at least so many bytes: a kept one, or a new one where results of this size keep coming. `make` reserves memory.
    fn block(&self, bytes: usize, make: impl FnOnce(usize) -> Option<B>) -> Option<B> {
        let size = size(bytes)?;
        let mut state = self.state.lock();
        if let Some(block) = state.free.get_mut(&size).and_then(Vec::pop) {
            return Some(block);
        }
        let missed = state.missed.entry(size).or_default();
        *missed += 1;
        if *missed % 2 == 1 {
            return None;
        }
        let others = state.make_room(size)?;
        state.held += size;
        drop(state);
        // Outside the lock: the driver takes milliseconds.
        drop(others);
        let made = make(size);
        if made.is_none() {
            self.state.lock().held -= size;
        }
        made
    }

    fn keep(&self, bytes: usize, block: B) {
        if let Some(size) = size(bytes) {
            self.state.lock().free.entry(size).or_default().push(block);
        }
    }

    /// Gives kept blocks back.
    pub(crate) fn empty(&self) {
        let mut state = self.state.lock();
        let free = std::mem::take(&mut state.free);
        state.held -= free.iter().map(|(size, blocks)| size * blocks.len()).sum::<usize>();
        drop(state);
        drop(free);
    }
}

impl<B> State<B> {
    /// Kept blocks of other sizes that have to go before one of this size can come; `None` if it cannot.
    fn make_room(&mut self, size: usize) -> Option<Vec<B>> {
        let kept: usize = self.free.iter().map(|(size, blocks)| size * blocks.len()).sum();
        if self.held - kept + size > MOST {
            return None;
        }
        let mut gone = Vec::new();
        while self.held + size > MOST {
            let other = self.free.iter().find(|(_, blocks)| !blocks.is_empty()).map(|(other, _)| *other)?;
            gone.extend(self.free.get_mut(&other).and_then(Vec::pop));
            self.held -= other;
        }
        Some(gone)
    }
}

impl Landings {
    /// Memory for so many bytes, if there is some at hand.
    pub(crate) fn take(self: &Arc<Self>, gpu: &Gpu, bytes: usize) -> Option<Landed> {
        let memory = self.block(bytes, |size| gpu.pinned(size).ok())?;
        Some(Landed { memory: Some(memory), bytes, home: self.clone() })
    }
}

/// Memory that a result has landed in, or is about to.
#[derive(Debug)]
pub(crate) struct Landed {
    memory: Option<Pinned>,
    bytes: usize,
    home: Arc<Landings>,
}

impl Landed {
    /// Where it starts.
    pub(crate) fn start(&mut self) -> *mut u8 {
        self.memory.as_mut().map_or(std::ptr::null_mut(), |memory| memory.bytes_mut().as_mut_ptr())
    }
}

impl AsRef<[u8]> for Landed {
    fn as_ref(&self) -> &[u8] {
        self.memory.as_ref().map_or(&[], |memory| &memory.bytes()[..self.bytes])
    }
}

impl Drop for Landed {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.home.keep(self.bytes, memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_block_is_reserved_when_results_of_its_size_keep_coming() {
        let landings = Landings::default();
        assert_eq!(landings.block(5 * MIB, Some), None, "one result is no habit");
        assert_eq!(landings.block(5 * MIB, Some), Some(5 * MIB));
        assert_eq!(landings.block(5 * MIB, Some), None);
        landings.keep(5 * MIB, 77);
        assert_eq!(landings.block(5 * MIB - 9, Some), Some(77), "the next of about that size has it");
        assert_eq!(landings.block(9 * MIB, Some), None, "another size is another habit");
    }

    #[test]
    fn blocks_have_a_bound_and_kept_ones_give_way() {
        let landings = Landings::default();
        let take = |bytes: usize| landings.block(bytes, Some).or_else(|| landings.block(bytes, Some));
        let live: Vec<usize> = std::iter::from_fn(|| take(64 * MIB)).collect();
        assert_eq!(live.len() * 64 * MIB, MOST);
        landings.keep(64 * MIB, live[0]);
        assert_eq!(take(8 * MIB), Some(8 * MIB), "a kept block of another size makes room");
        assert_eq!(take(64 * MIB), None);
        landings.empty();
        assert_eq!(landings.state.lock().held, 3 * 64 * MIB + 8 * MIB, "live blocks stay");
    }

    #[test]
    fn what_cannot_be_reserved_is_not_counted() {
        let landings: Landings<usize> = Landings::default();
        for _ in 0..1000 {
            assert_eq!(landings.block(100 * MIB, |_| None), None);
        }
        assert_eq!(landings.state.lock().held, 0);
    }
}
