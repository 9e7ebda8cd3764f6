//! Memory that a thread works in: one block per thread, kept from run to run.
//!
//! A block is taken out of its thread while it is used, so a run that starts inside another (Rayon may steal work
//! while it waits) finds none and allocates its own.
#![allow(unsafe_code)]

use std::{
    alloc::{Layout, alloc, dealloc},
    cell::Cell,
    ptr,
};

use crossover_runtime::{Error, Result};

/// Alignment of a block: a cache line and the widest vector.
const ALIGN: usize = 64;
/// A block larger than this is given back after use.
const KEEP: usize = 2 << 20;

/// A block of scratch memory with undefined contents.
#[derive(Debug)]
pub struct Scratch {
    start: *mut u8,
    bytes: usize,
}

thread_local! {
    static IDLE: Cell<Scratch> = const { Cell::new(Scratch { start: ptr::null_mut(), bytes: 0 }) };
}

impl Scratch {
    const EMPTY: Scratch = Scratch { start: ptr::null_mut(), bytes: 0 };

    /// At least `bytes` bytes.
    #[inline]
    pub fn take(bytes: usize) -> Result<Scratch> {
        let idle = IDLE.replace(Scratch::EMPTY);
        if idle.bytes >= bytes && !idle.start.is_null() { Ok(idle) } else { Scratch::grow(idle, bytes) }
    }

    #[cold]
    fn grow(idle: Scratch, bytes: usize) -> Result<Scratch> {
        idle.release();
        let bytes = bytes.max(64 << 10).next_multiple_of(4096);
        let failed = || Error::OutOfMemory {
            device: "CPU".into(),
            requested: bytes as u64,
            free: 0,
            reserved: 0,
            largest: 0,
        };
        let layout = Layout::from_size_align(bytes, ALIGN).map_err(|_| failed())?;
        // SAFETY: the layout has a size that is not zero.
        let start = unsafe { alloc(layout) };
        if start.is_null() { Err(failed()) } else { Ok(Scratch { start, bytes }) }
    }

    /// Where it starts.
    #[inline]
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// Leaves the block to the next run on this thread.
    #[inline]
    fn put_back(&mut self) {
        let mine = std::mem::replace(self, Scratch::EMPTY);
        if mine.start.is_null() {
            return;
        }
        if mine.bytes > KEEP {
            return mine.release();
        }
        // During thread exit the slot may be gone; the block is then released.
        let mut mine = Some(mine);
        let _ = IDLE.try_with(|slot| {
            let other = slot.replace(Scratch::EMPTY);
            let (larger, smaller) = match mine.take() {
                Some(mine) if mine.bytes >= other.bytes => (mine, other),
                Some(mine) => (other, mine),
                None => (other, Scratch::EMPTY),
            };
            smaller.release();
            std::mem::forget(slot.replace(larger));
        });
        if let Some(mine) = mine {
            mine.release();
        }
    }

    fn release(self) {
        if !self.start.is_null() {
            // SAFETY: `start` came from `alloc` with exactly this layout, and nobody else has the block.
            unsafe { dealloc(self.start, Layout::from_size_align_unchecked(self.bytes, ALIGN)) };
        }
        std::mem::forget(self);
    }
}

impl Drop for Scratch {
    #[inline]
    fn drop(&mut self) {
        self.put_back();
    }
}
