//! Entries at which a mask is true.
//!
//! The mask is counted block by block, which tells every block where its entries go; then the blocks are copied
//! independently of each other.
#![allow(unsafe_code)]

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use crossover_plan::kernel::Call;
use crossover_runtime::{Error, Executable, Launch, Result};

use crate::{
    threads::Threads,
    tile::{GatherFn, Tiles},
    window::View,
};

/// Elements of the mask that are counted and copied together.
const BLOCK: usize = 16 << 10;

/// `compress` made ready.
#[derive(Debug)]
pub struct Compress {
    /// Offset, stride and length of the mask.
    mask: (isize, isize, usize),
    /// Offset and stride of the entries.
    entries: (isize, isize),
    inner: View,
    inner_size: usize,
    size: usize,
    count: usize,
    gather: GatherFn,
    threads: Arc<Threads>,
}

impl Compress {
    /// Prepares a call.
    pub fn new(call: &Call, tiles: &'static Tiles, threads: Arc<Threads>) -> Result<Compress> {
        let [mask, values] = call.operands.as_slice() else {
            return Err(Error::Internal(format!("compress with {} operands", call.operands.len())));
        };
        let (dims, strides) = (values.layout.shape.dims(), &values.layout.strides);
        Ok(Compress {
            mask: (mask.layout.offset as isize, mask.layout.strides[0], mask.layout.shape[0]),
            entries: (values.layout.offset as isize, strides[0]),
            inner: View::new(&dims[1..], &strides[1..]),
            inner_size: dims[1..].iter().product(),
            size: values.dtype.size(),
            count: call.layout.shape[0],
            gather: (tiles.gather)(values.dtype.size()),
            threads,
        })
    }

    /// Number of true elements of the mask in a range.
    ///
    /// # Safety
    /// `mask` is the block that `Launch::new` has checked.
    unsafe fn counted(&self, mask: *const u8, range: Range<usize>) -> usize {
        let (offset, stride, _) = self.mask;
        // SAFETY: the range lies inside the mask.
        let start = unsafe { mask.offset(offset + range.start as isize * stride) };
        if stride == 1 {
            // SAFETY: as above; neighbours lie side by side, and nobody writes an operand.
            let bytes = unsafe { std::slice::from_raw_parts(start, range.len()) };
            return bytes.chunks(128).map(|c| c.iter().sum::<u8>() as usize).sum();
        }
        // SAFETY: as above.
        (0..range.len() as isize).map(|i| unsafe { *start.offset(i * stride) } as usize).sum()
    }

    /// Copies the entries of a range of the mask to `places` of the result.
    ///
    /// # Safety
    /// All blocks are the ones that `Launch::new` has checked; nobody else writes these places.
    unsafe fn copy(&self, [mask, from, to]: [usize; 3], range: Range<usize>, places: Range<usize>) {
        let (offset, stride, _) = self.mask;
        // SAFETY: the caller's contract.
        unsafe {
            let mask = (mask as *const u8).offset(offset + range.start as isize * stride);
            let from = (from as *const u8)
                .offset((self.entries.0 + range.start as isize * self.entries.1) * self.size as isize);
            let to = (to as *mut u8).add(places.start * self.inner_size * self.size);
            let taken = places.len();
            match (self.inner_size, self.size) {
                (1, 1) => self.elements::<u8>(mask, from, to, taken),
                (1, 2) => self.elements::<u16>(mask, from, to, taken),
                (1, 4) => self.elements::<u32>(mask, from, to, taken),
                (1, 8) => self.elements::<u64>(mask, from, to, taken),
                (1, _) => self.elements::<[u64; 2]>(mask, from, to, taken),
                _ => self.slices(mask, from, to, taken),
            }
        }
    }

    /// The first `taken` elements at which the mask is true; there are as many.
    ///
    /// # Safety
    /// As [`Compress::copy`].
    unsafe fn elements<E: Copy>(&self, mask: *const u8, from: *const u8, to: *mut u8, taken: usize) {
        let (from, to) = (from.cast::<E>(), to.cast::<E>());
        let (steps, stride) = (self.mask.1, self.entries.1);
        let (mut i, mut done) = (0isize, 0);
        // Every element is written, and overwritten by the next one unless the mask holds: no branch to mispredict.
        while done < taken {
            // SAFETY: the caller's contract; the mask has `taken` more true elements, so `i` stays inside.
            unsafe {
                *to.add(done) = *from.offset(i * stride);
                done += *mask.offset(i * steps) as usize;
            }
            i += 1;
        }
    }

    /// As [`Compress::elements`], for entries of several elements.
    ///
    /// # Safety
    /// As [`Compress::copy`].
    unsafe fn slices(&self, mask: *const u8, from: *const u8, mut to: *mut u8, taken: usize) {
        let (mut i, mut done) = (0isize, 0);
        while done < taken {
            // SAFETY: as for `elements`.
            unsafe {
                if *mask.offset(i * self.mask.1) != 0 {
                    let entry = from.offset(i * self.entries.1 * self.size as isize);
                    self.inner.runs(0, self.inner_size, |at, stride, n| {
                        (self.gather)(entry.offset(at * self.size as isize), stride, to, n);
                        to = to.add(n * self.size);
                    });
                    done += 1;
                }
            }
            i += 1;
        }
    }
}

impl Executable for Compress {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        let all = [launch.inputs()[0], launch.inputs()[1], launch.outputs()[0]].map(|b| b.address.0 as usize);
        let length = self.mask.2;
        let entry = self.inner_size * self.size;
        if self.count * entry == 0 {
            return Ok(());
        }
        let blocks = length.div_ceil(BLOCK);
        let range = |block: usize| block * BLOCK..((block + 1) * BLOCK).min(length);
        let counts: Vec<AtomicUsize> = (0..blocks).map(|_| AtomicUsize::new(0)).collect();
        let grain = blocks.div_ceil(8 * self.threads.count());
        self.threads.each(blocks, grain, |pieces| {
            for block in pieces {
                // SAFETY: `Launch::new` has checked the mask's block.
                let n = unsafe { self.counted(all[0] as *const u8, range(block)) };
                counts[block].store(n, Ordering::Relaxed);
            }
        });
        let mut starts = Vec::with_capacity(blocks + 1);
        let mut total = 0usize;
        for count in counts {
            starts.push(total.min(self.count));
            total += count.into_inner();
        }
        starts.push(total.min(self.count));
        self.threads.each(blocks, grain, |pieces| {
            for block in pieces {
                // SAFETY: `Launch::new` has checked all blocks; the places of different blocks are disjoint, and a
                // block of the mask has at least as many true elements as places.
                unsafe { self.copy(all, range(block), starts[block]..starts[block + 1]) };
            }
        });
        let filled = starts[blocks];
        // SAFETY: the result has `count` entries.
        unsafe {
            let rest = (all[2] as *mut u8).add(filled * entry);
            std::ptr::write_bytes(rest, 0, (self.count - filled) * entry);
        }
        Ok(())
    }
}
