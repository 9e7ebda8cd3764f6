//! Elements along an axis, each at an index of its own.
#![allow(unsafe_code)]

use std::sync::Arc;

use crossover_plan::kernel::Call;
use crossover_runtime::{Error, Executable, Launch, Result};
use smallvec::SmallVec;

use crate::{kernels::walk::Walk, threads::Threads};

/// Elements below which one thread gathers everything.
const ALONE: usize = 1 << 15;

/// `take_along_axis` made ready.
#[derive(Debug)]
pub struct Gather {
    /// Source (its axis standing still) and indices; the result is walked from front to back.
    walk: Walk<2>,
    /// Offsets of source and indices.
    offsets: [isize; 2],
    /// Stride and length of the axis.
    axis: (isize, usize),
    count: usize,
    /// Bytes of an element.
    size: usize,
    run: RunFn,
    threads: Arc<Threads>,
}

/// Source, its step, indices, their step, result, length of the run, stride and length of the axis.
type RunFn = unsafe fn(*const u8, isize, *const i64, isize, *mut u8, usize, (isize, usize));

impl Gather {
    /// Prepares a call.
    pub fn new(call: &Call, axis: usize, threads: Arc<Threads>) -> Result<Gather> {
        let [source, index] = call.operands.as_slice() else {
            return Err(Error::Internal(format!("a gather with {} operands", call.operands.len())));
        };
        let mut still: SmallVec<[isize; 4]> = source.layout.strides.clone();
        let stride = std::mem::replace(&mut still[axis], 0);
        let run = match source.dtype.size() {
            1 => run::<u8>,
            2 => run::<u16>,
            4 => run::<u32>,
            8 => run::<u64>,
            _ => run::<[u64; 2]>,
        };
        Ok(Gather {
            walk: Walk::new(call.layout.shape.dims(), [&still, &index.layout.strides]),
            offsets: [source.layout.offset as isize, index.layout.offset as isize],
            axis: (stride, source.layout.shape[axis]),
            count: call.layout.shape.size(),
            size: source.dtype.size(),
            run,
            threads,
        })
    }
}

impl Executable for Gather {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        let [from, index, to] =
            [launch.inputs()[0], launch.inputs()[1], launch.outputs()[0]].map(|b| b.address.0 as usize);
        if self.count == 0 {
            return Ok(());
        }
        let alone = self.count <= ALONE;
        let grain = if alone { self.count } else { self.count.div_ceil(8 * self.threads.count()) };
        let ([step, index_step], size) = (self.walk.steps(), self.size);
        self.threads.each(self.count, grain, |range| {
            let mut done = range.start;
            self.walk.runs(range.start, range.len(), |[at, i], n| {
                let (at, i) = (self.offsets[0] + at, self.offsets[1] + i);
                // SAFETY: `Launch::new` has checked that every position of the source and the indices lies inside
                // its block; clamped indices lie inside the axis; ranges of the result are disjoint.
                unsafe {
                    (self.run)(
                        (from as *const u8).offset(at * size as isize),
                        step,
                        (index as *const i64).offset(i),
                        index_step,
                        (to as *mut u8).add(done * size),
                        n,
                        self.axis,
                    );
                }
                done += n;
            });
        });
        Ok(())
    }
}

/// # Safety
/// Every element that the arguments name is readable or writable; clamped indices lie inside the axis.
unsafe fn run<E: Copy>(
    from: *const u8,
    step: isize,
    index: *const i64,
    index_step: isize,
    to: *mut u8,
    n: usize,
    (stride, length): (isize, usize),
) {
    let (from, to) = (from.cast::<E>(), to.cast::<E>());
    for i in 0..n as isize {
        // SAFETY: the caller's contract.
        unsafe {
            let at = (*index.offset(i * index_step)).clamp(0, length as i64 - 1) as isize;
            *to.offset(i) = *from.offset(i * step + at * stride);
        }
    }
}
