//! What the executor tells a session about kernels.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crossover_plan::{
    Launch, Plan,
    kernel::{Kernel, Kind},
};

use crate::{
    Decision, Device, Machine, Result,
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

/// When a device runs a kernel.
pub(crate) enum When {
    /// The host ran it, and it is over.
    Over,
    /// The device can tell.
    Timed(Arc<dyn Timing>),
    /// Nobody asked; it is placed by others like it.
    Untimed,
}

/// Runs a kernel that a session records, timed if the run is and the device does it by itself.
pub(crate) fn run(
    machine: &Machine,
    device: Device,
    is_detailed: bool,
    work: &mut dyn FnMut() -> Result<()>,
) -> Result<When> {
    if device != Device::HOST && !is_detailed {
        return work().map(|()| When::Untimed);
    }
    Ok(machine.backend(device).timed(work)?.map_or(When::Over, When::Timed))
}

/// Records a kernel that ran whole, or in so many parts of equal size, each with its own times.
pub(crate) fn kernel(machine: &Machine, started: Started<'_>, parts: impl ExactSizeIterator<Item = When>) {
    let Started { start, launch, device, decision, moved } = started;
    let (form, dtype) = match &launch.kernel {
        Kernel::Fused(fused) => {
            (form(fused.kind), fused.stores.first().map_or("", |store| store.dtype.name()))
        }
        Kernel::Call(call) if launch.kernel.is_custom() => ("custom", call.dtype.name()),
        Kernel::Call(call) => ("call", call.dtype.name()),
    };
    let (cost, count) = (launch.cost, parts.len().max(1) as u64);
    let (live, peak) = machine.backend(device).held().unwrap_or_default();
    let work = Work {
        device,
        form,
        read: cost.read / count,
        written: cost.written / count,
        flops: cost.flops / count,
        dtype,
        decision,
        moved: moved / count,
        live,
        peak,
    };
    let queue = Queue { device, purpose: "compute" };
    for when in parts {
        let away = match when {
            When::Over => None,
            When::Timed(timing) => Some((queue, Some(timing))),
            When::Untimed => Some((queue, None)),
        };
        trace::kernel(launch.name.clone(), start, work.clone(), away);
    }
}

/// Nanoseconds that a kernel costs the host beside its events where a plan would otherwise be one launch.
const APART: u64 = 6_000;

/// Nanoseconds of device time at least from which a kernel is always timed: its events are a hundredth of that.
const LONG: f64 = 200_000.0;

/// The sessions that have timed a plan: the last of them, and on which devices.
#[derive(Default)]
pub(crate) struct Detailed(AtomicU64);

impl Detailed {
    /// Whether the next run of a plan, on one device or on several, is timed kernel by kernel: the first of a session there is, and any that is
    /// cheap to time.
    pub(crate) fn is_next(&self, plan: &Plan, device: Option<Device>, is_replayed: bool) -> bool {
        let each = trace::TIMED + if is_replayed { APART } else { 0 };
        let cost = each * plan.launches.len() as u64;
        // Several devices are one more.
        let bit = 1 << device.map_or(0, |device| device.0.min(7));
        let (session, seen) = (trace::session() << 8, self.0.load(Ordering::Relaxed));
        let known = if seen & !0xff == session { seen & 0xff } else { 0 };
        if known & bit == 0 {
            self.0.store(session | known | bit, Ordering::Relaxed);
            trace::spend(cost);
            return true;
        }
        trace::affords(cost) || plan.launches.iter().any(|launch| least(launch) >= LONG)
    }
}

/// Nanoseconds that any device needs at least: faster than 5 TB/s and, in products of wide numbers, 60 TFLOP/s there is none.
fn least(launch: &Launch) -> f64 {
    let moving = (launch.cost.read + launch.cost.written) as f64 / 5e3;
    moving.max(launch.cost.flops as f64 / 6e4)
}

fn form(kind: Kind) -> &'static str {
    match kind {
        Kind::Map => "map",
        Kind::Row => "row",
        Kind::Column => "column",
    }
}
