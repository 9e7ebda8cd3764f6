//! Host memory in, a kernel, host memory out, part by part: while one part is on its way up, the kernel works on the
//! part before, and results of the one before that come down.

#![allow(unsafe_code)]

use std::{collections::VecDeque, sync::Arc};

use crossover_plan::kernel::{Fused, Kind, StepOp, Window};
use crossover_runtime::{
    Address, Block, Error, Result, Stream, Streamed,
    trace::{self, Moment, Timing},
};
use smallvec::SmallVec;

use crate::{
    backend::Open,
    crew::{Direction, Pending},
    kernel::{Cell, CudaKernel, Entry},
    queue::Lane,
    queued::Queued,
};

/// Bytes of the largest operand in a part: a few pieces, and few enough to start soon.
const PART: usize = 4 << 20;
/// Parts are whole multiples of so many points, so that accesses stay aligned.
const POINTS: usize = 4096;

/// A kernel that makes point i of its output of points i of its inputs and of nothing else.
#[derive(Debug)]
pub(crate) struct Pointwise {
    /// All points.
    points: usize,
    /// Bytes per point of each input.
    inputs: SmallVec<[usize; 4]>,
    /// Bytes per point of the output.
    output: usize,
}

impl Pointwise {
    /// What a kernel with these entry points is, if it is one that can be run on parts.
    pub(crate) fn new(kernel: &Fused, entries: &[Entry]) -> Option<Pointwise> {
        let ([entry], [store]) = (entries, &kernel.stores[..]) else { return None };
        let dims: SmallVec<[usize; 4]> = kernel.space.dims().iter().copied().collect();
        let points: usize = dims.iter().product();
        let in_order = |window: &Window| {
            let mut step = 1;
            let axes = dims.iter().zip(&window.strides).rev();
            window.offset == 0
                && axes.into_iter().all(|(&length, &stride)| {
                    let fits = length == 1 || stride == step;
                    step *= length as isize;
                    fits
                })
        };
        let knows_its_place = |op: &StepOp| matches!(op, StepOp::Index { .. } | StepOp::Random { .. });
        // The number of points is the one number among the parameters: other forms of a kernel have more, or count
        // something else.
        let mut numbers = entry.cells.iter().filter_map(|cell| match cell {
            Cell::Fixed(value) => Some(*value),
            _ => None,
        });
        let counts = numbers.next() == Some(points as u64) && numbers.next().is_none();
        let holds = kernel.kind == Kind::Map
            && points > 0
            && counts
            && entry.grid.2 == 0
            && !kernel.loads.is_empty()
            && kernel.loads.iter().all(|load| in_order(&load.window))
            && in_order(&store.window)
            && !kernel.steps.iter().any(|step| knows_its_place(&step.op));
        let inputs = kernel.loads.iter().map(|load| load.dtype.size()).collect();
        holds.then(|| Pointwise { points, inputs, output: store.dtype.size() })
    }

    /// Points of a part, all but the last.
    fn part(&self) -> usize {
        let largest = self.inputs.iter().copied().max().unwrap_or(1).max(self.output);
        (PART / largest / POINTS).max(1) * POINTS
    }
}

/// Blocks of a run, given back unless it succeeds.
struct Taken<'a> {
    open: &'a Open,
    blocks: SmallVec<[Block; 4]>,
}

impl Taken<'_> {
    fn take(&mut self, bytes: usize) -> Result<u64> {
        let address = self.open.take(bytes)?;
        self.blocks.push(Block { address: Address(address), bytes });
        Ok(address)
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if self.blocks.is_empty() {
            return;
        }
        // A copy may still be on its way into them.
        let _ = self.open.gpu.finish(Lane::Up);
        for block in &self.blocks {
            self.open.give(block.address.0, block.bytes);
        }
    }
}

/// Runs a pointwise kernel over host memory; `None` if this device has no threads for it.
pub(crate) fn run(
    open: &Arc<Open>,
    kernel: &CudaKernel,
    pointwise: &Pointwise,
    work: &mut Stream<'_>,
) -> Result<Option<Streamed>> {
    const DURING: &str = "running a kernel from host memory to host memory";
    open.check(DURING)?;
    let lengths = pointwise.inputs.iter().map(|size| size * pointwise.points);
    let fits = work.inputs.len() == pointwise.inputs.len()
        && work.inputs.iter().zip(lengths).all(|(input, length)| input.len() >= length)
        && work.to.len() == pointwise.output * pointwise.points;
    if !fits {
        return Err(Error::Internal("a kernel over host memory of other sizes".to_string()));
    }
    let crew = |direction| open.transfers.crew(direction);
    let (Some(_), Some(down)) = (crew(Direction::Up), crew(Direction::Down)) else { return Ok(None) };
    let fail = |error| open.failed(DURING, error);
    let to = work.to.as_mut_ptr() as usize;
    // Declared before what the threads of the crew use: dropped after it.
    let mut taken = Taken { open, blocks: SmallVec::new() };
    let part = pointwise.part();
    let parts = (0..pointwise.points).step_by(part).map(|start| (start, part.min(pointwise.points - start)));
    let mut coming: SmallVec<[Pending; 16]> = SmallVec::new();
    let mut addresses: SmallVec<[u64; 4]> = SmallVec::new();
    for input in work.inputs {
        addresses.push(taken.take(input.len())?);
    }
    let result = taken.take(work.to.len())?;
    open.gpu.bind().map_err(fail)?;
    let mark = open.gpu.mark().map_err(fail)?;
    // The memory may have belonged to a kernel that is still running.
    mark.set(Lane::Compute).and_then(|()| mark.hold(Lane::Up)).map_err(fail)?;
    let records = trace::is_on();
    let begin = |lane| records.then(|| open.transfers.clock.begin(&open.gpu, lane)).transpose().map_err(fail);
    let (asked, up) = (Moment::now(), begin(Lane::Up)?);
    let (mut back, mut timings): (_, Vec<Arc<dyn Timing>>) = (None, Vec::new());
    // All parts are handed over at once, so that nobody waits between one and the next.
    let mut going: VecDeque<SmallVec<[Pending; 2]>> = VecDeque::new();
    for (start, count) in parts.clone() {
        let mut part = SmallVec::new();
        for ((input, &address), &size) in work.inputs.iter().zip(&addresses).zip(&pointwise.inputs) {
            let bytes = &input[start * size..(start + count) * size];
            // SAFETY: the caller lends the bytes for the whole call, which ends after results have come down, and these
            // wait for this copy.
            part.extend(
                unsafe { open.transfers.upload_part(bytes, address + (start * size) as u64) }
                    .map_err(fail)?,
            );
        }
        going.push_back(part);
    }
    for (start, count) in parts {
        for pending in going.pop_front().into_iter().flatten() {
            pending.wait().map_err(fail)?;
        }
        mark.set(Lane::Up).and_then(|()| mark.hold(Lane::Compute)).map_err(fail)?;
        let inputs: SmallVec<[u64; 4]> =
            addresses.iter().zip(&pointwise.inputs).map(|(a, size)| a + (start * size) as u64).collect();
        let at = start * pointwise.output;
        let begun = begin(Lane::Compute)?;
        // SAFETY: the executor checked the kernel against blocks of these sizes; the part lies inside them.
        unsafe { kernel.queue_part(&inputs, result + at as u64, count, pointwise.points, work.scalars) }
            .map_err(fail)?;
        if let Some(begun) = begun {
            timings.push(begun.end().map_err(fail)?);
        }
        mark.set(Lane::Compute).and_then(|()| mark.hold(Lane::Down)).map_err(fail)?;
        if back.is_none() {
            back = begin(Lane::Down)?.map(|begun| (Moment::now(), begun));
        }
        coming.push(down.begin_part(to + at, result + at as u64, count * pointwise.output));
    }
    // All pieces on their way up were queued before the last kernel.
    if let Some(begun) = up {
        let bytes: usize = work.inputs.iter().map(|input| input.len()).sum();
        open.transfers.noted(asked, Lane::Up, false, bytes, begun).map_err(fail)?;
    }
    for pending in coming {
        pending.wait().map_err(fail)?;
    }
    if let Some((asked, begun)) = back {
        open.transfers.noted(asked, Lane::Down, true, work.to.len(), begun).map_err(fail)?;
    }
    kernel.launched();
    let mut blocks = std::mem::take(&mut taken.blocks);
    let output = blocks.pop().ok_or_else(|| Error::Internal("a run without a result".to_string()))?;
    Ok(Some(Streamed { inputs: blocks.into_iter().collect(), output, timings }))
}
