//! A call over operands whose entries lie apart, as arrays that were made one by one do: where a device can read them in place, they are
//! not put together first.

use std::{ops::Range, sync::Arc};

use crossover_core::{Graph, Layout};
use crossover_plan::{Role, kernel::Kernel};
use smallvec::SmallVec;

use crate::{
    Address, Block, Buffer, Device, Executor, Placement, Result,
    buffer::Pin,
    spans::{self, Started},
    trace::{self, Kind, Moment},
};

/// One entry of an operand: some bytes of a buffer.
pub type Entry = (Arc<Buffer>, Range<usize>);

/// Whether a layout is that of so many whole entries, one behind the other.
fn is_list(layout: &Layout, count: usize) -> bool {
    layout.offset == 0 && layout.is_contiguous() && layout.shape.dims().first() == Some(&count)
}

/// The one device that has the contents of all entries; the host if there is none, or it has some of them too.
fn sole_device(inputs: &[Vec<Entry>]) -> Device {
    let mut found = None;
    for (buffer, _) in inputs.iter().flatten() {
        let [only] = buffer.valid_on()[..] else { return Device::HOST };
        if *found.get_or_insert(only) != only {
            return Device::HOST;
        }
    }
    found.unwrap_or(Device::HOST)
}

impl Executor {
    /// Evaluates a graph of one call, each of whose inputs is a list of entries along its first axis, all on one accelerator. `None`, with
    /// nothing done, where the graph is anything else, or the entries have to be put together first.
    ///
    /// ```
    /// use crossover_core::{DType, Graph, Shape, graph::Op};
    /// use crossover_runtime::{Buffer, Executor, Machine, Placement, sim::{Clock, SimHost, SimOptions}};
    /// # use std::sync::Arc;
    /// let host = Arc::new(SimHost::hollow(SimOptions::default(), Clock::default()));
    /// let machine = Machine::new(host, Vec::new())?;
    /// let executor = Executor::new(machine.clone(), Default::default(), Placement::Host);
    /// let mut graph = Graph::new();
    /// let x = graph.input(DType::F32, Shape::from([1, 2, 2]))?;
    /// let square = graph.push(Op::MatMul, &[x, x])?;
    /// graph.output(square);
    /// let entries = vec![(Buffer::from_bytes(&machine, &[0; 16])?, 0..16)];
    /// assert!(executor.evaluate_apart(Placement::Host, &graph, &[entries])?.is_none(), "the host does not");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn evaluate_apart(
        &self,
        placement: Placement,
        graph: &Graph,
        inputs: &[Vec<Entry>],
    ) -> Result<Option<Arc<Buffer>>> {
        let is_ours = |(buffer, _): &Entry| Arc::ptr_eq(buffer.machine(), self.machine());
        if !inputs.iter().flatten().all(is_ours) {
            return Ok(None);
        }
        let prepared = self.prepare(graph)?;
        let device = match placement {
            Placement::On(device) => device,
            // What is on one accelerator alone is worked on there, unless a rule or a recording decides.
            Placement::Auto if !self.is_pinned(&prepared) => sole_device(inputs),
            _ => Device::HOST,
        };
        if device == Device::HOST {
            return Ok(None);
        }
        let plan = prepared.plan();
        let ([launch], [output]) = (&plan.launches[..], &plan.outputs[..]) else { return Ok(None) };
        let Kernel::Call(call) = &launch.kernel else { return Ok(None) };
        let Some(executable) = prepared.ready(0, device.0) else { return Ok(None) };
        let mut lists: SmallVec<[&[Entry]; 2]> = SmallVec::new();
        for operand in &call.operands {
            let Role::Input(at) = plan.buffers[operand.buffer.0 as usize].role else { return Ok(None) };
            let Some(list) = inputs.get(at as usize) else { return Ok(None) };
            let bytes = operand.layout.shape.size() * operand.dtype.size();
            let whole = |(buffer, range): &Entry| {
                range.len() * list.len() == bytes && range.end <= buffer.bytes() && buffer.is_valid_on(device)
            };
            if !is_list(&operand.layout, list.len()) || !list.iter().all(whole) {
                return Ok(None);
            }
            lists.push(list);
        }
        if call.output != *output || !is_list(&call.layout, lists.first().map_or(0, |list| list.len())) {
            return Ok(None);
        }
        let span = trace::span(Kind::Evaluation, "evaluate apart");
        let machine = self.machine();
        let mut pins: SmallVec<[Option<Pin>; 32]> = SmallVec::new();
        let mut blocks: SmallVec<[SmallVec<[Block; 16]>; 2]> = SmallVec::new();
        for list in lists {
            let mut these = SmallVec::new();
            for (buffer, range) in list {
                let (block, _, pin) = buffer.held_on(device)?;
                pins.push(pin);
                let address = Address(block.address.0 + range.start as u64);
                these.push(Block { address, bytes: range.len() });
            }
            blocks.push(these);
        }
        let (result, block, pin) =
            Buffer::uninitialised(machine, device, plan.buffers[output.0 as usize].bytes())?;
        pins.push(pin);
        let blocks: SmallVec<[&[Block]; 2]> = blocks.iter().map(|list| &list[..]).collect();
        let start = Moment::now();
        let mut done = false;
        let is_recording = trace::is_on();
        let mut run = || executable.run_apart(&blocks, block).map(|ran| done = ran);
        let when = match is_recording {
            true => Some(spans::run(machine, device, true, &mut run)?),
            false => run().map(|()| None)?,
        };
        if !done {
            span.discard();
            return Ok(None);
        }
        self.stats().launched();
        if let Some(when) = when {
            let started =
                Started { start, launch, plan: (prepared.number(), 0), device, decision: None, moved: 0 };
            spans::kernel(machine, started, std::iter::once(when));
        }
        machine.tell(device);
        Ok(Some(result))
    }
}
