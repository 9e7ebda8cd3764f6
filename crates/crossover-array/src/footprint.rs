//! How much memory an evaluation takes.

use std::panic::Location;

use crossover_core::Graph;
use crossover_plan::{
    Launch, Plan, Role,
    kernel::{BufferId, CallOp, Kernel},
};

use crate::{Array, Device, Error, Result, device, eval, runtime::Runtime};

/// Memory.
impl Array {
    /// Bytes that a device holds at most at once while it computes what is pending: operands, results, and what lies between them, from
    /// the plan. Nothing is computed.
    ///
    /// What else is on the device comes on top, and so does what an allocator rounds up.
    ///
    /// ```
    /// use crossover_array::{Array, Device};
    /// let x = Array::from_vec(vec![1.0f32; 1000], [1000]);
    /// assert_eq!((&x + 1.0).exp().peak_bytes(Device::Cpu)?, 8000); // one kernel, from 4000 bytes to 4000
    /// assert_eq!(x.sort(0).cumulative_sum(0).peak_bytes(Device::Cpu)?, 12000); // the sorted values lie between
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn peak_bytes(&self, device: Device) -> Result<u64> {
        let location = Location::caller();
        let wrap = |error: crossover_runtime::Error| Error::new(error, location);
        let runtime = Runtime::current();
        let extraction = eval::extract(&[&self.node()], &runtime)?;
        let prepared = runtime.executor().prepare(&extraction.graph).map_err(wrap)?;
        let target = device::resolve(device, runtime.machine()).map_err(wrap)?;
        let backend = runtime.machine().backend(target);
        // One kernel for two, on devices that have it.
        let folds = |launch: &Launch| {
            let fold = launch.fold.as_ref().filter(|_| target != crossover_runtime::Device::HOST);
            fold.is_some_and(|fold| backend.prepare(&fold.launch.kernel).is_ok())
        };
        Ok(peak(prepared.plan(), folds, |_| 0))
    }
}

/// Bytes that a device holds at most while it runs a plan: operands, results, and what lies between. `folds` says which launches do the work of
/// the next one too, `inside` how much a launch needs besides what it reads and writes.
pub(crate) fn peak(plan: &Plan, folds: impl Fn(&Launch) -> bool, inside: impl Fn(&Launch) -> u64) -> u64 {
    // Arrays that fit into no memory are together more than a u64 holds.
    let size = |id: BufferId| plan.buffers[id.0 as usize].bytes() as u128;
    let operands = plan.buffers.iter().filter(|buffer| buffer.role != Role::Computed);
    let mut live: u128 = operands.map(|buffer| buffer.bytes() as u128).sum();
    let (mut peak, mut made, mut done) = (live, vec![false; plan.buffers.len()], false);
    for launch in &plan.launches {
        let folded = !done && folds(launch);
        let kernel = match &launch.fold {
            Some(fold) if folded => Some(&fold.launch.kernel),
            _ => (!done).then_some(&launch.kernel),
        };
        for id in kernel.into_iter().flat_map(|kernel| kernel.writes()) {
            live += size(id);
            made[id.0 as usize] = true;
        }
        peak = peak.max(live + u128::from(inside(launch)));
        for &id in &launch.free {
            // What a folded kernel kept to itself was never made.
            live -= if made[id.0 as usize] { size(id) } else { 0 };
        }
        done = folded;
    }
    u64::try_from(peak).unwrap_or(u64::MAX)
}

/// What a device that has every kernel of a graph by itself holds at most, if calls other than products need as much again as they read and
/// write: a sort has keys and places besides, a transform its work area. Depends on nothing but the graph.
pub(crate) fn at_most(runtime: &Runtime, graph: &Graph) -> crossover_runtime::Result<u64> {
    let prepared = runtime.executor().prepare(graph)?;
    let plan = prepared.plan();
    let size = |id: BufferId| plan.buffers[id.0 as usize].bytes() as u64;
    let inside = |launch: &Launch| match &launch.kernel {
        Kernel::Call(call) if call.op != CallOp::MatMul => {
            call.operands.iter().map(|it| size(it.buffer)).fold(size(call.output), u64::saturating_add)
        }
        _ => 0,
    };
    Ok(peak(plan, |_| false, inside))
}
