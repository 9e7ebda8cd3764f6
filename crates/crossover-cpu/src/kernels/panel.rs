//! Scratch memory of a call, counted against the budget like any other.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use crossover_runtime::{Block, Result};

use crate::memory::Pool;

/// Scratch from the pool, given back when it goes out of scope. Its contents are undefined at first.
pub(super) struct Panel<'a> {
    pool: &'a Pool,
    block: Block,
}

impl Panel<'_> {
    /// At least `bytes` bytes.
    pub fn new(pool: &Pool, bytes: usize) -> Result<Panel<'_>> {
        Ok(Panel { pool, block: pool.allocate(bytes)? })
    }

    /// Where it starts.
    pub fn at(&self) -> *mut u8 {
        self.block.address.0 as *mut u8
    }

    /// All of it, as memory to be written.
    pub fn bytes(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: the block holds this many bytes and is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.at().cast(), self.block.bytes) }
    }

    /// The start of the panel as `count` numbers, all of them `value`.
    ///
    /// # Panics
    /// If the panel is too small.
    pub fn filled<T: Copy>(&mut self, count: usize, value: T) -> &mut [T] {
        assert!(count * size_of::<T>() <= self.block.bytes, "a panel holds what it was made for");
        let start = self.at().cast::<T>();
        // SAFETY: blocks are aligned to 64 bytes and this one is large enough and borrowed mutably; every element is
        // written before the slice exists.
        unsafe {
            (0..count).for_each(|i| start.add(i).write(value));
            std::slice::from_raw_parts_mut(start, count)
        }
    }
}

impl Drop for Panel<'_> {
    fn drop(&mut self) {
        self.pool.free(self.block);
    }
}
