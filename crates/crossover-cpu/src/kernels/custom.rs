//! Kernels that users write: their closures on our memory.
//!
//! A whole kernel is one call on the caller's thread, which may start threads of its own, or one for each of the pieces that
//! it asks for, on all threads. An elementwise one is called for pieces on all threads; operands whose elements do not lie side by side are gathered first.
#![allow(unsafe_code)]

use std::{ops::Range, sync::Arc};

use crossover_core::{
    Shape,
    custom::{CustomKernel, Room, Values},
};
use crossover_plan::kernel::{Call, Operand};
use crossover_runtime::{Block, Executable, Launch, Result};
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::{
    threads::Threads,
    window::{Form, View},
};

/// Elements of a piece of work; the closure is called for parts of them.
const GRAIN: usize = 16 * TILE;
/// Elements that the closure is called for at once: gathered operands stay in the first-level cache.
const TILE: usize = 1024;

/// An operand of an elementwise kernel.
#[derive(Debug)]
struct Source {
    /// Bytes of an element.
    size: usize,
    /// In elements.
    offset: isize,
    view: View,
    contiguous: bool,
}

impl Source {
    fn new(operand: &Operand) -> Source {
        let layout = &operand.layout;
        let view = View::new(layout.shape.dims(), &layout.strides);
        let contiguous = view.form() == Form::Contiguous;
        Source { size: operand.dtype.size(), offset: layout.offset as isize, view, contiguous }
    }

    /// Copies `count` elements from a flattened position on, side by side.
    ///
    /// # Safety
    /// `from` is the block that the launch was checked with; `to` has room for them.
    unsafe fn gather(&self, from: usize, start: usize, count: usize, to: &mut Room) {
        to.resize(count * self.size);
        let (mut out, size) = (to.bytes_mut().as_mut_ptr(), self.size);
        self.view.runs(start, count, |position, stride, run| {
            let first = (from as *const u8).wrapping_offset((self.offset + position) * size as isize);
            for i in 0..run as isize {
                let element = first.wrapping_offset(i * stride * size as isize);
                // SAFETY: every position of the view lies inside the block, and runs cover `count` elements, for which
                // the caller has made room.
                unsafe {
                    match size {
                        1 => *out = *element,
                        2 => out.cast::<u16>().write_unaligned(element.cast::<u16>().read_unaligned()),
                        4 => out.cast::<u32>().write_unaligned(element.cast::<u32>().read_unaligned()),
                        8 => out.cast::<u64>().write_unaligned(element.cast::<u64>().read_unaligned()),
                        _ => out.cast::<u128>().write_unaligned(element.cast::<u128>().read_unaligned()),
                    }
                    out = out.add(size);
                }
            }
        });
    }
}

/// A user's kernel made ready.
#[derive(Debug)]
pub struct Custom {
    kernel: CustomKernel,
    operands: Vec<Operand>,
    sources: Vec<Source>,
    shape: Shape,
    threads: Arc<Threads>,
}

impl Custom {
    /// Prepares a call.
    pub fn new(call: &Call, kernel: &CustomKernel, threads: Arc<Threads>) -> Custom {
        Custom {
            kernel: kernel.clone(),
            operands: call.operands.clone(),
            sources: call.operands.iter().map(Source::new).collect(),
            shape: call.layout.shape.clone(),
            threads,
        }
    }

    /// A whole kernel, or a range of elements of its result.
    fn whole(&self, inputs: &[Block], output: usize, range: Range<usize>) -> crossover_core::Result<()> {
        let values: SmallVec<[Values<'_>; 4]> = self
            .operands
            .iter()
            .zip(inputs)
            .map(|(operand, block)| {
                let layout = &operand.layout;
                let (size, count) = (operand.dtype.size(), layout.shape.size());
                let bytes: &[u8] = match count {
                    0 => &[],
                    // SAFETY: `Launch::new` has checked that the block holds every element of the layout, which is
                    // without gaps; nobody writes to operands while a kernel runs.
                    _ => unsafe {
                        let start = (block.address.0 as *const u8).add(layout.offset * size);
                        std::slice::from_raw_parts(start, count * size)
                    },
                };
                Values::new(operand.dtype, &layout.shape, bytes)
            })
            .collect();
        let size = self.kernel.output().dtype.size();
        // SAFETY: `Launch::new` has checked that the result has room; it is ours until the kernel has run, and ranges do not
        // overlap.
        let out = unsafe {
            let start = (output as *mut u8).add(range.start * size);
            std::slice::from_raw_parts_mut(start, range.len() * size)
        };
        if self.kernel.is_zeroed() {
            out.fill(0);
        }
        self.kernel.run_piece(&values, &self.shape, range.start, out)
    }

    /// One piece of an elementwise kernel.
    fn piece(&self, inputs: &[Block], output: usize, range: Range<usize>) -> crossover_core::Result<()> {
        let mut rooms: SmallVec<[Room; 4]> = self.sources.iter().map(|_| Room::default()).collect();
        let size = self.kernel.output().dtype.size();
        for start in range.clone().step_by(TILE) {
            let count = TILE.min(range.end - start);
            let shape = Shape::from([count]);
            for ((source, room), block) in self.sources.iter().zip(&mut rooms).zip(inputs) {
                if !source.contiguous {
                    // SAFETY: the block is the one of this operand, which `Launch::new` has checked.
                    unsafe { source.gather(block.address.0 as usize, start, count, room) };
                }
            }
            let mut values: SmallVec<[Values<'_>; 4]> = SmallVec::new();
            for (at, source) in self.sources.iter().enumerate() {
                let bytes = if source.contiguous {
                    let first = (source.offset + start as isize) * source.size as isize;
                    // SAFETY: the elements lie side by side inside the block, which `Launch::new` has checked.
                    unsafe {
                        let first = (inputs[at].address.0 as *const u8).offset(first);
                        std::slice::from_raw_parts(first, count * source.size)
                    }
                } else {
                    rooms[at].bytes()
                };
                values.push(Values::new(self.operands[at].dtype, &shape, bytes));
            }
            // SAFETY: the result has room for every element, and pieces do not overlap.
            let out = unsafe {
                std::slice::from_raw_parts_mut((output as *mut u8).add(start * size), count * size)
            };
            self.kernel.run(&values, &shape, out)?;
        }
        Ok(())
    }
}

impl Executable for Custom {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        let (inputs, output) = (launch.inputs(), launch.outputs()[0].address.0 as usize);
        let first: Mutex<Option<crossover_core::Error>> = Mutex::new(None);
        let total = self.shape.size();
        let shapes: SmallVec<[&Shape; 4]> = self.operands.iter().map(|o| &o.layout.shape).collect();
        let piece = self.kernel.piece(&shapes, &self.shape)?;
        let (units, grain) = match piece {
            _ if self.kernel.is_elementwise() => (total, GRAIN),
            // A kernel may want to look at operands even if there is nothing to write.
            Some(each) if total > 0 => (total.div_ceil(each), 1),
            _ => (1, 1),
        };
        self.threads.each(units, grain, |range| {
            if first.lock().is_some() {
                return;
            }
            let done = if self.kernel.is_elementwise() {
                self.piece(inputs, output, range)
            } else {
                let each = piece.unwrap_or(total);
                range.into_iter().try_for_each(|unit| {
                    let start = (unit * each).min(total);
                    self.whole(inputs, output, start..(start + each).min(total))
                })
            };
            if let Err(error) = done {
                first.lock().get_or_insert(error);
            }
        });
        first.into_inner().map_or(Ok(()), |error| Err(error.into()))
    }
}
