//! What groups of one kind of items are worked on with: their pieces put together, the plan of so many of them, its result.

use std::{panic::Location, sync::Arc};

use crossover_core::{Graph, graph::Type};
use crossover_runtime::{Buffer, Device as Place, Entry, Placement, Wanted};

use super::{
    group::{self, Limits, Stacked},
    pieces::{Pieces, pieces},
    traced::Traced,
};
use crate::{Array, Error, Result, Runtime, footprint, node::State};

/// How many of so many items a group has: as many as `limits` allow, asking the planner where it is not plain that they do. An error where
/// the function has no form for many.
pub(super) fn group_size(
    runtime: &Runtime,
    traced: &Traced,
    limits: Limits,
    (items, most): (usize, Option<usize>),
) -> std::result::Result<usize, String> {
    let mut count = group::even(items, limits.items(traced.bytes_per_item(), most));
    if limits.hold(traced.bytes_apart().saturating_mul(count as u64)) {
        return Ok(count);
    }
    let captured: u64 = traced.captured().iter().map(|buffer| buffer.bytes() as u64).sum();
    while count > 1 {
        let graph = traced.lifted(count)?;
        // What is wrong with the plan is told to whoever evaluates it.
        let Ok(bytes) = footprint::at_most(runtime, &graph) else { break };
        let bytes = bytes.saturating_sub(captured);
        if limits.hold(bytes) {
            break;
        }
        count = group::even(items, limits.fewer(count, bytes));
    }
    Ok(count)
}

/// What every group of one kind of items is worked on with. The function itself is not here: it stays on its thread.
pub(super) struct Work<'a, P> {
    items: &'a [P],
    types: &'a [Type],
    pub(super) traced: &'a Traced,
    location: &'static Location<'static>,
    /// The graphs for the one or two sizes that groups have.
    lifted: Vec<(usize, Graph)>,
    /// Where pieces are sent while something else is computed.
    to: Option<Place>,
}

impl<'a, P: Pieces> Work<'a, P> {
    /// For so many items in groups of one size, of which the last may be smaller; an error where the function has no form for many.
    pub(super) fn new(
        items: &'a [P],
        types: &'a [Type],
        traced: &'a Traced,
        location: &'static Location<'static>,
        (count, size): (usize, usize),
    ) -> std::result::Result<Work<'a, P>, String> {
        let mut lifted = vec![(size, traced.lifted(size)?)];
        if count % size > 0 {
            lifted.push((count % size, traced.lifted(count % size)?));
        }
        Ok(Work { items, types, traced, location, lifted, to: None })
    }

    /// Sends pieces where all of a group will be computed, as far as that is known, and says whether there is such a device.
    pub(super) fn send_ahead(&mut self, groups: &[&[usize]], wanted: Wanted) -> bool {
        let runtime = Runtime::current();
        self.to = match (runtime.placement(), groups) {
            (Ok(Placement::On(device)), _) => Some(device).filter(|&device| device != Place::HOST),
            // What is there at once overlaps nothing.
            (Ok(Placement::Auto), [first, _, ..])
                if !runtime.machine().is_host_only() && self.are_at_home(first[0]) =>
            {
                self.destination(&runtime, first.len(), wanted)
            }
            _ => None,
        };
        self.to.is_some()
    }

    /// Whether the pieces of an item are on the host and nowhere else.
    fn are_at_home(&self, item: usize) -> bool {
        let is_at_home = |piece: &Array| match &*piece.version().state() {
            State::Ready(buffer) => matches!(buffer.valid_on()[..], [Place::HOST]),
            _ => false,
        };
        pieces(&self.items[item]).all(is_at_home)
    }

    /// The device that a group of so many items that are put together on the host would be computed on.
    fn destination(&self, runtime: &Runtime, count: usize, wanted: Wanted) -> Option<Place> {
        let (executor, graph) = (runtime.executor(), self.lifted_to(count)?);
        let prepared = executor.prepare(graph).ok()?;
        let piece = Buffer::from_bytes(runtime.machine(), &[]).ok()?;
        executor.destination(Placement::Auto, &prepared, &self.traced.outlook(&piece), wanted)
    }

    fn lifted_to(&self, count: usize) -> Option<&Graph> {
        self.lifted.iter().find(|(known, _)| *known == count).map(|(_, graph)| graph)
    }

    fn wrap(&self, error: crossover_runtime::Error) -> Error {
        Error::new(error, self.location)
    }

    fn graph(&self, count: usize) -> Result<&Graph> {
        let missing = || crossover_runtime::Error::Internal("a group of a size that nobody expected".into());
        self.lifted_to(count).ok_or_else(|| self.wrap(missing()))
    }

    /// The pieces of some items, each as one buffer or on the way to it.
    pub(super) fn stacked(&self, members: &[usize]) -> Result<Vec<Stacked>> {
        let pieces: Vec<Vec<&Array>> = members.iter().map(|&item| self.items[item].pieces()).collect();
        let one = |piece: usize| {
            let is_known = |other: &usize| pieces.iter().all(|p| is_same(p[piece], p[*other]));
            if let Some(other) = (0..piece).find(is_known) {
                return Ok(Stacked::Same(other));
            }
            let arrays: Vec<&Array> = pieces.iter().map(|pieces| pieces[piece]).collect();
            group::stacked(&arrays, &self.types[piece], self.to, self.location)
        };
        (0..self.types.len()).map(one).collect()
    }

    /// Buffers that kernels find everything in.
    pub(super) fn arrived(&self, stacked: Vec<Stacked>) -> Result<Vec<Arc<Buffer>>> {
        let mut there: Vec<Arc<Buffer>> = Vec::with_capacity(stacked.len());
        for (stacked, ty) in stacked.into_iter().zip(self.types) {
            let next = stacked.arrived(&there, ty, self.location)?;
            there.push(next);
        }
        Ok(there)
    }

    pub(super) fn evaluate(
        &self,
        stacked: &[Arc<Buffer>],
        count: usize,
        wanted: Wanted,
    ) -> Result<Arc<Buffer>> {
        let internal = || crossover_runtime::Error::Internal("a plan without a result".into());
        let graph = self.graph(count)?;
        let buffers = Runtime::current()
            .evaluate(graph, &self.traced.inputs(stacked), wanted)
            .map_err(|error| self.wrap(error))?;
        buffers.into_iter().next().ok_or_else(|| self.wrap(internal()))
    }

    /// A group from its pieces to its result.
    pub(super) fn whole(&self, members: &[usize], wanted: Wanted) -> Result<Arc<Buffer>> {
        let arrived = self.stacked(members).and_then(|stacked| self.arrived(stacked))?;
        self.evaluate(&arrived, members.len(), wanted)
    }

    /// Whether bits may not depend on what devices can do at the moment.
    pub(super) fn is_pinned(&self) -> bool {
        Runtime::current().executor().router().is_deterministic()
    }

    /// The result of items that are read where they lie; `None` where they have to be put together first.
    pub(super) fn apart(&self, members: &[usize]) -> Option<Arc<Buffer>> {
        let runtime = Runtime::current();
        let (placement, graph) = (runtime.placement().ok()?, self.lifted_to(members.len())?);
        let is_host = placement == Placement::Host || runtime.machine().is_host_only();
        // It sums in an order of its own, and whether it can be done depends on what was made ready before.
        if !self.traced.is_bare() || is_host || self.is_pinned() {
            return None;
        }
        let list = |piece: usize| -> Option<Vec<Entry>> {
            let arrays = members.iter().map(|&item| self.items[item].piece(piece));
            group::entries(arrays, &self.types[piece])
        };
        let inputs: Vec<Vec<Entry>> = self.traced.pieces().map(list).collect::<Option<_>>()?;
        let evaluated = runtime.executor().evaluate_apart(placement, graph, &inputs);
        // What goes wrong here goes wrong in the usual way too, where it is dealt with.
        evaluated.ok().flatten()
    }
}

/// Whether two arrays show the same elements of the same memory.
fn is_same(one: &Array, other: &Array) -> bool {
    Arc::ptr_eq(&one.version(), &other.version()) && one.view() == other.view()
}

/// Whether an error says that a device could not do what it was asked for, whatever the items hold.
pub(super) fn is_of_device(error: &Error) -> bool {
    use crossover_runtime::Error as Kind;
    matches!(error.kind(), Kind::Device { .. } | Kind::OutOfMemory { .. } | Kind::Unsupported { .. })
}
