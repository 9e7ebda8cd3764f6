//! Kernels from host memory to host memory, with copies both ways side by side.
//!
//! A host that wants the result of a large elementwise kernel at once, whose operands are on the host too, would wait
//! for a copy up, for the kernel and for a copy down. A device that can runs them part by part instead. Afterwards
//! everything is as if they had run one after the other: operands and result are on the device as well.

use std::{sync::Arc, time::Instant};

use crossover_core::{Graph, Scalar};
use crossover_plan::{
    Role,
    kernel::{BufferId, Kernel, Kind},
};
use smallvec::{SmallVec, smallvec};

use crate::{
    Address, Block, Buffer, Decision, Device, Executor, Placement, Prepared, Result, Wanted,
    executor::{Outputs, is_device_fault},
    spans::{self, Started, When},
    trace::{self, Kind as SpanKind, Moment, Timing},
};

/// Bytes of the result from which parts are worth their overhead.
const LARGE: usize = 4 << 20;

/// A run of a kernel over host memory.
#[derive(Debug)]
pub struct Stream<'a> {
    /// One per load.
    pub inputs: &'a [&'a [u8]],
    /// Host scalars of the plan.
    pub scalars: &'a [Scalar],
    /// Where the result goes; exactly as long as it is.
    pub to: &'a mut [u8],
}

/// What such a run leaves on the device.
pub struct Streamed {
    /// The operands, one per load.
    pub inputs: Vec<Block>,
    /// The result.
    pub output: Block,
    /// When the device ran the kernel on each part; empty unless a session records.
    pub timings: Vec<Arc<dyn Timing>>,
}

/// A result, and the decision that it follows, if there was something to decide.
type Made = (Arc<Buffer>, Option<Arc<Decision>>);

impl Executor {
    /// Evaluates a verified graph for a host that wants its first output at once, in memory of its own.
    ///
    /// The flag says whether the bytes are there; otherwise they are to be read from the buffer.
    pub fn evaluate_into(
        &self,
        placement: Placement,
        graph: &Graph,
        inputs: &[Arc<Buffer>],
        to: &mut [u8],
    ) -> Result<(Outputs, bool)> {
        // Where there is nothing to choose between, nobody needs to know.
        let start = (!self.machine().is_host_only()).then(Instant::now);
        let prepared = self.prepare(graph)?;
        if to.len() >= LARGE
            && placement != Placement::Host
            && let Some((made, decision)) = self.stream(placement, &prepared, inputs, graph.scalars(), to)?
        {
            if let (Some(decision), Some(start)) = (decision, start) {
                self.router().observe_whole(&prepared.route, &decision, start.elapsed());
            }
            return Ok((smallvec![made], true));
        }
        self.run_into(placement, &prepared, inputs, graph.scalars(), to, start)
    }

    /// The result of a plan that is one elementwise kernel over large host memory, if its device can do that in parts.
    fn stream(
        &self,
        placement: Placement,
        prepared: &Prepared,
        inputs: &[Arc<Buffer>],
        scalars: &[Scalar],
        to: &mut [u8],
    ) -> Result<Option<Made>> {
        let plan = prepared.plan();
        let ([launch], [output]) = (&plan.launches[..], &plan.outputs[..]) else { return Ok(None) };
        let Kernel::Fused(fused) = &launch.kernel else { return Ok(None) };
        let bytes = |id: BufferId| plan.buffers[id.0 as usize].bytes();
        let writes_it = fused.stores.len() == 1 && fused.stores[0].buffer == *output;
        if fused.kind != Kind::Map || !writes_it || bytes(*output) != to.len() {
            return Ok(None);
        }
        // Every operand a whole buffer of its own.
        let mut operands: SmallVec<[&Arc<Buffer>; 4]> = SmallVec::new();
        for id in launch.kernel.reads() {
            let Role::Input(i) = plan.buffers[id.0 as usize].role else { return Ok(None) };
            let Some(buffer) = inputs.get(i as usize).filter(|b| b.bytes() >= bytes(id)) else {
                return Ok(None);
            };
            if operands.iter().any(|other| Arc::ptr_eq(other, buffer)) {
                return Ok(None);
            }
            operands.push(buffer);
        }
        let mut decided = None;
        let device = match placement {
            Placement::On(device) => device,
            Placement::Auto if self.machine().is_host_only() => return Ok(None),
            Placement::Auto => {
                let decision = self.decide(prepared, inputs, Wanted::Copied);
                // A trial is to find out how long the kernel takes.
                if decision.is_trial() {
                    return Ok(None);
                }
                let device = decision.device(0);
                decided = Some(decision);
                device
            }
            Placement::Host | Placement::RoundRobin => return Ok(None),
        };
        let moves = |b: &&Arc<Buffer>| b.is_valid_on(Device::HOST) && !b.is_valid_on(device);
        if device == Device::HOST || operands.is_empty() || !operands.iter().all(moves) {
            return Ok(None);
        }
        let backend = &**self.machine().backend(device);
        prepared.begin(device.0, backend);
        // What goes wrong here goes wrong kernel by kernel too, where it is dealt with.
        let Ok(Some(executable)) = prepared.executable(0, device.0, backend, placement != Placement::Auto)
        else {
            return Ok(None);
        };
        let sizes = |ids: &mut dyn Iterator<Item = BufferId>| -> SmallVec<[Block; 4]> {
            ids.map(|id| Block { address: Address(0), bytes: bytes(id) }).collect()
        };
        let (reads, writes) = (sizes(&mut launch.kernel.reads()), sizes(&mut launch.kernel.writes()));
        prepared.signature(0).launch(&reads, &writes, scalars)?;
        let mut from: SmallVec<[&[u8]; 4]> = SmallVec::new();
        for (buffer, id) in operands.iter().zip(launch.kernel.reads()) {
            from.push(&buffer.host_bytes()?[..bytes(id)]);
        }
        let whole = operands.iter().zip(&from).all(|(buffer, bytes)| buffer.bytes() == bytes.len());
        if !whole {
            return Ok(None);
        }
        let span = trace::span(SpanKind::Evaluation, "evaluate in parts");
        let start = Moment::now();
        let made = match backend.stream(executable, Stream { inputs: &from, scalars, to }) {
            Ok(Some(made)) => made,
            Err(error) if !is_device_fault(&error) => return Err(error),
            // What goes wrong here goes wrong kernel by kernel too, where it is dealt with.
            Ok(None) | Err(_) => {
                span.discard();
                return Ok(None);
            }
        };
        if !made.timings.is_empty() {
            let started = Started {
                start,
                launch,
                plan: (prepared.number(), 0),
                device,
                decision: decided.clone(),
                moved: from.iter().map(|part| part.len() as u64).sum(),
            };
            spans::kernel(self.machine(), started, made.timings.into_iter().map(When::Timed));
            trace::look(self.machine(), start);
        }
        for (buffer, block) in operands.iter().zip(made.inputs) {
            buffer.place(device, block);
            self.note_transfer(device, buffer);
        }
        self.stats().launched();
        decided.iter().for_each(|decision| self.stats().decided(decision, 0));
        let result = Buffer::placed(self.machine(), device, made.output);
        self.machine().tidy(device);
        self.machine().tell(device);
        Ok(Some((result, decided)))
    }
}
