//! Entries along an axis at given indices: a copy of one slice per index.
//!
//! Slices that lie side by side in memory are copied whole, past the caches where the result would not stay there
//! anyway; single elements have a loop of their own.
#![allow(unsafe_code)]

use std::{ops::Range, sync::Arc};

use crossover_plan::kernel::Call;
use crossover_runtime::{Error, Executable, Launch, Result};

use crate::{
    kernels::stream,
    threads::Threads,
    tile::{GatherFn, Tiles},
    window::{Form, View},
};

/// Bytes below which one thread copies everything.
const ALONE: usize = 256 << 10;

/// How a slice is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copy {
    /// One element.
    Element,
    /// A run of bytes.
    Run,
    /// A run of bytes, written past the caches.
    Stream,
    /// Anything else.
    Strided,
}

/// `take` made ready: output element (outer, i, inner) is source element (outer, clamp(index[i]), inner).
#[derive(Debug)]
pub struct Take {
    size: usize,
    offset: isize,
    outer: View,
    outer_size: usize,
    /// Stride and length of the axis.
    axis: (isize, usize),
    inner: View,
    inner_size: usize,
    /// Offset, stride and number of the indices.
    indices: (isize, isize, usize),
    gather: GatherFn,
    copy: Copy,
    threads: Arc<Threads>,
}

impl Take {
    /// Prepares a call.
    pub fn new(call: &Call, axis: usize, tiles: &'static Tiles, threads: Arc<Threads>) -> Result<Take> {
        let [source, index] = call.operands.as_slice() else {
            return Err(Error::Internal(format!("take with {} operands", call.operands.len())));
        };
        let (dims, strides) = (source.layout.shape.dims(), &source.layout.strides);
        let size = source.dtype.size();
        let count = index.layout.shape.size();
        if count > 0 && dims[axis] == 0 && call.layout.shape.size() > 0 {
            return Err(Error::Internal("take from an axis of length 0".into()));
        }
        let inner = View::new(&dims[axis + 1..], &strides[axis + 1..]);
        let inner_size: usize = dims[axis + 1..].iter().product();
        let total = call.layout.shape.size() * size;
        let copy = match inner.form() {
            _ if inner_size == 1 => Copy::Element,
            Form::Contiguous if stream::is_worth(total, inner_size * size) => Copy::Stream,
            Form::Contiguous => Copy::Run,
            _ => Copy::Strided,
        };
        Ok(Take {
            size,
            offset: source.layout.offset as isize,
            outer: View::new(&dims[..axis], &strides[..axis]),
            outer_size: dims[..axis].iter().product(),
            axis: (strides[axis], dims[axis]),
            inner,
            inner_size,
            indices: (
                index.layout.offset as isize,
                index.layout.strides.first().copied().unwrap_or(0),
                count,
            ),
            gather: (tiles.gather)(size),
            copy,
            threads,
        })
    }

    /// Copies the slices of a range. Slice s is for outer position s / count and index s % count.
    ///
    /// # Safety
    /// `from`, `index` and `to` are blocks that `Launch::new` has checked, and nobody else writes these slices.
    unsafe fn slices(&self, from: *const u8, index: *const i64, to: *mut u8, range: Range<usize>) {
        let (first, step, count) = self.indices;
        let mut slice = range.start;
        while slice < range.end {
            let outer = slice / count;
            let end = range.end.min((outer + 1) * count);
            let mut start = self.offset;
            self.outer.runs(outer, 1, |position, _, _| start += position);
            let at = first + (slice - outer * count) as isize * step;
            // SAFETY: the caller's contract; positions of the source and the indices lie inside their blocks.
            unsafe {
                let from = from.offset(start * self.size as isize);
                let index = index.offset(at);
                let to = to.add(slice * self.inner_size * self.size);
                match (self.copy, self.size) {
                    (Copy::Element, 1) => self.elements::<u8>(from, index, to, end - slice),
                    (Copy::Element, 2) => self.elements::<u16>(from, index, to, end - slice),
                    (Copy::Element, 4) => self.elements::<u32>(from, index, to, end - slice),
                    (Copy::Element, 8) => self.elements::<u64>(from, index, to, end - slice),
                    (Copy::Element, _) => self.elements::<[u64; 2]>(from, index, to, end - slice),
                    _ => self.blocks(from, index, to, end - slice),
                }
            }
            slice = end;
        }
        if self.copy == Copy::Stream {
            stream::fence();
        }
    }

    /// Position of an index along the axis, in elements.
    #[inline(always)]
    fn place(&self, index: i64) -> isize {
        index.clamp(0, self.axis.1 as i64 - 1) as isize * self.axis.0
    }

    /// # Safety
    /// As [`Take::slices`].
    unsafe fn elements<E: std::marker::Copy>(
        &self,
        from: *const u8,
        index: *const i64,
        to: *mut u8,
        count: usize,
    ) {
        let (from, to) = (from.cast::<E>(), to.cast::<E>());
        let step = self.indices.1;
        for i in 0..count {
            // SAFETY: the caller's contract.
            unsafe { *to.add(i) = *from.offset(self.place(*index.offset(i as isize * step))) };
        }
    }

    /// # Safety
    /// As [`Take::slices`].
    unsafe fn blocks(&self, from: *const u8, index: *const i64, to: *mut u8, count: usize) {
        let step = self.indices.1;
        let bytes = self.inner_size * self.size;
        for i in 0..count {
            // SAFETY: the caller's contract.
            unsafe {
                let at = self.place(*index.offset(i as isize * step));
                let source = from.offset(at * self.size as isize);
                let mut out = to.add(i * bytes);
                match self.copy {
                    Copy::Stream => stream::copy(source, out, bytes),
                    Copy::Run => std::ptr::copy_nonoverlapping(source, out, bytes),
                    _ => self.inner.runs(0, self.inner_size, |position, stride, n| {
                        (self.gather)(source.offset(position * self.size as isize), stride, out, n);
                        out = out.add(n * self.size);
                    }),
                }
            }
        }
    }
}

impl Executable for Take {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        let [from, index, to] =
            [launch.inputs()[0], launch.inputs()[1], launch.outputs()[0]].map(|b| b.address.0 as usize);
        let slices = self.outer_size * self.indices.2;
        let bytes = self.inner_size * self.size;
        if slices * bytes == 0 {
            return Ok(());
        }
        let alone = slices * bytes <= ALONE;
        let grain = if alone { slices } else { slices.div_ceil(8 * self.threads.count()) };
        self.threads.each(slices, grain, |range| {
            // SAFETY: `Launch::new` has checked that the indices and every position of the source lie inside their
            // blocks; clamped indices lie inside the axis; slices of the output are disjoint.
            unsafe { self.slices(from as *const u8, index as *const i64, to as *mut u8, range) };
        });
        Ok(())
    }
}
