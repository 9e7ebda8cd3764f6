//! What the executor tells a session about kernels.

use std::sync::Arc;

use crossover_plan::{
    Launch,
    kernel::{Kernel, Kind},
};

use crate::{
    Decision, Device, Machine,
    trace::{self, Moment, Queue, Timing, Work},
};

/// A kernel that was launched.
pub(crate) struct Started<'a> {
    /// When the host asked for it.
    pub start: Moment,
    pub launch: &'a Launch,
    pub device: Device,
    /// Why there, and which kernel of its plan it is.
    pub decision: Option<(Arc<Decision>, usize)>,
    /// Bytes that had to be copied for it first.
    pub moved: u64,
}

/// Records a kernel that ran whole, or in so many parts of equal size, each with its own times.
pub(crate) fn kernel(machine: &Machine, started: Started<'_>, timings: Vec<Option<Arc<dyn Timing>>>) {
    let Started { start, launch, device, decision, moved } = started;
    let (form, dtype) = match &launch.kernel {
        Kernel::Fused(fused) => {
            (form(fused.kind), fused.stores.first().map_or("", |store| store.dtype.name()))
        }
        Kernel::Call(call) if launch.kernel.is_custom() => ("custom", call.dtype.name()),
        Kernel::Call(call) => ("call", call.dtype.name()),
    };
    let (cost, parts) = (launch.cost, timings.len().max(1) as u64);
    let (live, peak) = machine.backend(device).held().unwrap_or_default();
    let work = Work {
        device,
        form,
        read: cost.read / parts,
        written: cost.written / parts,
        flops: cost.flops / parts,
        dtype,
        decision,
        moved: moved / parts,
        live,
        peak,
    };
    let queue = Queue { device, purpose: "compute" };
    for timing in timings {
        let away = timing.map(|timing| (queue, timing));
        trace::kernel(launch.name.clone(), start, work.clone(), away);
    }
}

fn form(kind: Kind) -> &'static str {
    match kind {
        Kind::Map => "map",
        Kind::Row => "row",
        Kind::Column => "column",
    }
}
