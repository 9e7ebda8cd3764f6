//! A kernel whose operands do not fit on its device together, run there part by part: operands come from the host or stay where they
//! are, results go to the host.

use std::{ops::Range, sync::Arc};

use crossover_core::Scalar;
use crossover_plan::{Launch as PlannedLaunch, kernel::BufferId};
use smallvec::SmallVec;

use crate::{
    Backend, Block, Buffer, Device, Error, Executor, Prepared, Result, Signature,
    buffer::Pin,
    memory::{Cut, is_full},
    spans::{self, Started, When},
    trace::{self, Moment, Timing},
};

/// Parts of a kernel at most: beyond that the host is faster.
const MOST: usize = 4096;

/// An operand of a kernel that is run in parts.
enum Source<'a> {
    /// On the device as a whole, and it stays there.
    Resident { block: Block, _pin: Option<Pin> },
    /// On the host.
    Host(&'a [u8]),
}

/// Blocks of a part, given back in the end.
struct Taken<'a> {
    backend: &'a dyn Backend,
    blocks: SmallVec<[Block; 8]>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.blocks.iter().for_each(|block| self.backend.free(*block));
    }
}

impl Executor {
    /// Runs a launch in parts, if it can be cut; false if nothing was done. What it computes is on the host afterwards.
    pub(crate) fn launch_in_parts(
        &self,
        device: Device,
        prepared: &Prepared,
        launch: &PlannedLaunch,
        buffers: &mut [Option<Arc<Buffer>>],
        scalars: &[Scalar],
    ) -> Result<bool> {
        let Some(cut) = Cut::new(&launch.kernel) else { return Ok(false) };
        let machine = self.machine();
        let backend = &**machine.backend(device);
        let Some(account) = backend.account() else { return Ok(false) };
        let read: SmallVec<[Arc<Buffer>; 8]> = launch
            .kernel
            .reads()
            .map(|id| self.written(prepared.plan(), id, buffers).cloned())
            .collect::<Result<_>>()?;
        let mut sources: SmallVec<[Source<'_>; 8]> = SmallVec::new();
        for buffer in &read {
            sources.push(if buffer.is_valid_on(device) && !buffer.is_valid_on(Device::HOST) {
                let (block, _, pin) = buffer.held_on(device)?;
                Source::Resident { block, _pin: pin }
            } else {
                Source::Host(buffer.host_bytes()?)
            });
        }
        let writes: SmallVec<[BufferId; 4]> = launch.kernel.writes().collect();
        let mut made: SmallVec<[(BufferId, Arc<Buffer>); 4]> = SmallVec::new();
        for &id in &writes {
            let known = made.iter().find(|(other, _)| *other == id).map(|(_, buffer)| buffer.clone());
            let buffer = match known.or_else(|| buffers[id.0 as usize].clone()) {
                Some(buffer) => {
                    // Parts that others have written must be there.
                    if !buffer.valid_on().is_empty() {
                        buffer.on(Device::HOST)?;
                    }
                    buffer.for_writing(Device::HOST)?;
                    buffer
                }
                None => {
                    let bytes = prepared.plan().buffers[id.0 as usize].bytes();
                    Buffer::uninitialised(machine, Device::HOST, bytes)?.0
                }
            };
            made.push((id, buffer));
        }
        let length = cut.length();
        let mut resident = |i: usize| matches!(sources[i], Source::Resident { .. });
        let needs = |step: usize, resident: &mut dyn FnMut(usize) -> bool| {
            cut.part(0..step, resident).map_or(usize::MAX, |part| part.bytes()) as u64
        };
        // Half of the room, so that one part can be copied while memory of the one before is still counted.
        let room = account.room().max(account.most() / 4) / 2;
        let mut step = length.div_ceil(2);
        while step > 1 && needs(step, &mut resident) > room {
            step = step.div_ceil(2);
        }
        let (mut at, mut parts) = (0, 0);
        let (start, mut timings) = (Moment::now(), Vec::new());
        while at < length {
            let range = at..(at + step).min(length);
            let end = range.end;
            match self.run_part(backend, device, &cut, range, &sources, &made, scalars) {
                Ok(timing) => {
                    (at, parts) = (end, parts + 1);
                    timings.push(timing);
                }
                Err(error) if is_full(&error) && step > 1 && length / step < MOST => step = step.div_ceil(2),
                Err(error) => return Err(error),
            }
        }
        drop(sources);
        for (id, buffer) in made {
            buffers[id.0 as usize] = Some(buffer);
        }
        self.stats().split(parts);
        tracing::debug!(target: "crossover::memory", kernel = %launch.name, parts, "ran in parts");
        if trace::is_on() {
            let at = prepared.plan().launches.iter().position(|known| std::ptr::eq(known, launch));
            let plan = (prepared.number(), at.unwrap_or(0));
            let started = Started { start, launch, plan, device, decision: None, moved: 0 };
            let parts = timings.into_iter().map(|timing| timing.map_or(When::Over, When::Timed));
            spans::kernel(machine, started, parts);
        }
        Ok(true)
    }

    #[allow(clippy::too_many_arguments)]
    fn run_part(
        &self,
        backend: &dyn Backend,
        device: Device,
        cut: &Cut<'_>,
        range: Range<usize>,
        sources: &[Source<'_>],
        made: &[(BufferId, Arc<Buffer>)],
        scalars: &[Scalar],
    ) -> Result<Option<Arc<dyn Timing>>> {
        let mut resident = |i: usize| matches!(sources[i], Source::Resident { .. });
        let part = cut.part(range, &mut resident);
        let part = part.ok_or_else(|| Error::Internal("a cut kernel with gaps in a result".to_string()))?;
        let outside = || Error::Internal("a part outside of its operand".to_string());
        let mut taken = Taken { backend, blocks: SmallVec::new() };
        let mut inputs: SmallVec<[Block; 8]> = SmallVec::new();
        for (source, bytes) in sources.iter().zip(&part.inputs) {
            inputs.push(match (source, bytes) {
                (Source::Resident { block, .. }, _) => *block,
                (Source::Host(host), Some(bytes)) => {
                    let from = host.get(bytes.clone()).ok_or_else(outside)?;
                    let block = self.machine().receive(device, from)?;
                    taken.blocks.push(block);
                    block
                }
                (Source::Host(_), None) => return Err(outside()),
            });
        }
        let mut outputs: SmallVec<[Block; 4]> = SmallVec::new();
        for bytes in &part.outputs {
            let block = self.machine().obtain(device, bytes.len())?;
            taken.blocks.push(block);
            outputs.push(block);
        }
        let executable = backend.prepare(&part.kernel)?;
        let signature = Signature::new(&part.kernel);
        let arguments = signature.launch(&inputs, &outputs, scalars)?;
        let timing = match trace::is_on() {
            true => backend.timed(&mut || executable.run(&arguments))?,
            false => executable.run(&arguments).map(|()| None)?,
        };
        for ((_, buffer), (block, bytes)) in made.iter().zip(outputs.iter().zip(&part.outputs)) {
            buffer.write_from(device, *block, bytes.clone())?;
        }
        Ok(timing)
    }
}
