//! What the executor tells a session about kernels.

use std::sync::Arc;

use crossover_plan::{
    Launch,
    kernel::{Kernel, Kind},
};

use crate::{
    Decision, Device,
    trace::{self, Moment, Queue, Timing, Work},
};

/// Records a kernel that was launched at a moment.
pub(crate) fn kernel(
    start: Moment,
    launch: &Launch,
    device: Device,
    decision: Option<(Arc<Decision>, usize)>,
    moved: u64,
    timing: Option<Arc<dyn Timing>>,
) {
    let (form, dtype) = match &launch.kernel {
        Kernel::Fused(fused) => {
            (form(fused.kind), fused.stores.first().map_or("", |store| store.dtype.name()))
        }
        Kernel::Call(call) if launch.kernel.is_custom() => ("custom", call.dtype.name()),
        Kernel::Call(call) => ("call", call.dtype.name()),
    };
    let cost = launch.cost;
    let work = Work {
        device,
        form,
        read: cost.read,
        written: cost.written,
        flops: cost.flops,
        dtype,
        decision,
        moved,
    };
    let queue = Queue { device, purpose: "compute" };
    trace::kernel(launch.name.clone(), start, work, timing.map(|timing| (queue, timing)));
}

fn form(kind: Kind) -> &'static str {
    match kind {
        Kind::Map => "map",
        Kind::Row => "row",
        Kind::Column => "column",
    }
}
