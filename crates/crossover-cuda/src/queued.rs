//! Kernels and calls that are queued with memory that somebody else names: one after the other as a plan runs, or noted for
//! a graph.

use crossover_core::Scalar;
use crossover_runtime::{Executable, Launch, Result};
use smallvec::SmallVec;

use crate::{
    Gpu,
    backend::Open,
    calls::{Launched, OwnCall},
    kernel::CudaKernel,
    matmul::MatMul,
};

/// Where everything is that a launch touches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Addresses<'a> {
    /// Starts of the blocks of operands.
    pub(crate) inputs: &'a [u64],
    /// Starts of the blocks of results.
    pub(crate) outputs: &'a [u64],
    /// Of the scratch memory, if there is any.
    pub(crate) scratch: u64,
    pub(crate) scalars: &'a [Scalar],
}

/// What is queued by nothing but launches on the lane of kernels.
pub(crate) trait Queued: Send + Sync {
    /// Bytes of scratch memory.
    fn scratch(&self) -> usize;

    /// Whether everything that is found out by trying has been found out: from now on it waits for nothing.
    fn is_settled(&self) -> bool {
        true
    }

    /// Queues it. Blocks are as large as those that the launch was checked against.
    fn queue(&self, gpu: &Gpu, addresses: &Addresses<'_>) -> crate::Result<()>;

    /// Counts a launch.
    fn launched(&self) {}
}

/// An executable of this crate as what is queued; `None` for those that wait or use streams of their own.
pub(crate) fn of(executable: &dyn Executable) -> Option<&dyn Queued> {
    fn cast<T: Queued + 'static>(any: &dyn std::any::Any) -> Option<&dyn Queued> {
        any.downcast_ref::<T>().map(|found| found as &dyn Queued)
    }
    let any = executable.as_any()?;
    cast::<CudaKernel>(any)
        .or_else(|| cast::<MatMul>(any))
        .or_else(|| cast::<Launched>(any))
        .or_else(|| cast::<OwnCall>(any))
}

/// Queues it as part of a plan that runs.
pub(crate) fn run(open: &Open, during: &'static str, it: &dyn Queued, launch: &Launch<'_>) -> Result<()> {
    open.check(during)?;
    open.gpu.bind().map_err(|e| open.failed(during, e))?;
    let inputs: SmallVec<[u64; 8]> = launch.inputs().iter().map(|block| block.address.0).collect();
    let outputs: SmallVec<[u64; 4]> = launch.outputs().iter().map(|block| block.address.0).collect();
    let bytes = it.scratch();
    let scratch = if bytes > 0 { open.take(bytes)? } else { 0 };
    let (inputs, outputs) = (&inputs[..], &outputs[..]);
    let queued = it.queue(&open.gpu, &Addresses { inputs, outputs, scratch, scalars: launch.scalars() });
    it.launched();
    if bytes > 0 {
        // In the order of the stream: the launches above come first.
        open.give(scratch, bytes);
    }
    queued.map_err(|e| open.failed(during, e))
}
