//! Entries along an axis at given indices: a copy of one slice per index.
#![allow(unsafe_code)]

use std::sync::Arc;

use crossover_plan::kernel::Call;
use crossover_runtime::{Error, Executable, Launch, Result};

use crate::{
    threads::Threads,
    tile::{GatherFn, Tiles},
    window::View,
};

/// Bytes below which one thread copies everything.
const ALONE: usize = 256 << 10;

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
        Ok(Take {
            size,
            offset: source.layout.offset as isize,
            outer: View::new(&dims[..axis], &strides[..axis]),
            outer_size: dims[..axis].iter().product(),
            axis: (strides[axis], dims[axis]),
            inner: View::new(&dims[axis + 1..], &strides[axis + 1..]),
            inner_size: dims[axis + 1..].iter().product(),
            indices: (
                index.layout.offset as isize,
                index.layout.strides.first().copied().unwrap_or(0),
                count,
            ),
            gather: (tiles.gather)(size),
            threads,
        })
    }
}

impl Executable for Take {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        let (from, index) = (launch.inputs()[0].address.0 as isize, launch.inputs()[1].address.0 as isize);
        let to = launch.outputs()[0].address.0 as usize;
        let (first, step, count) = self.indices;
        let slices = self.outer_size * count;
        if slices * self.inner_size == 0 {
            return Ok(());
        }
        let bytes = self.inner_size * self.size;
        let alone = slices * bytes <= ALONE;
        let grain = if alone { slices } else { slices.div_ceil(8 * self.threads.count()) };
        self.threads.each(slices, grain, |range| {
            for slice in range {
                let (outer, i) = (slice / count, slice % count);
                // SAFETY: `Launch::new` has checked that the indices and every position of the source lie inside
                // their blocks; clamped indices lie inside the axis; slices of the output are disjoint.
                unsafe {
                    let at = *((index + (first + i as isize * step) * 8) as *const i64);
                    let at = at.clamp(0, self.axis.1 as i64 - 1) as isize;
                    let mut start = self.offset + at * self.axis.0;
                    self.outer.runs(outer, 1, |position, _, _| start += position);
                    let mut out = (to + slice * bytes) as *mut u8;
                    self.inner.runs(0, self.inner_size, |position, stride, n| {
                        (self.gather)(
                            (from + (start + position) * self.size as isize) as *const u8,
                            stride,
                            out,
                            n,
                        );
                        out = out.add(n * self.size);
                    });
                }
            }
        });
        Ok(())
    }
}
