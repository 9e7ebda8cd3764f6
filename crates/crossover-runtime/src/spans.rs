//! What the executor tells a session about kernels.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

use crossover_plan::{
    Class, Launch, Plan, Work,
    kernel::{Kernel, Kind},
};

use crate::{
    Decision, Device, Machine, Prepared, Result,
    trace::{self, Described, Held, Moment, More, Number, Timing},
};

/// A kernel that was launched.
pub(crate) struct Started<'a> {
    /// When the host asked for it.
    pub start: Moment,
    pub launch: &'a Launch,
    /// The number of its plan, and which kernel of that it is.
    pub plan: (u64, usize),
    pub device: Device,
    /// Why there.
    pub decision: Option<Arc<Decision>>,
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

impl When {
    /// When the host is through with a kernel that it began at a moment: of what a device does, it is the device's times that count.
    fn end(&self, start: Moment) -> Moment {
        if matches!(self, When::Over) { Moment::now() } else { start }
    }

    /// Whether a device does it by itself, and who knows when.
    fn away(self) -> (bool, Option<Arc<dyn Timing>>) {
        match self {
            When::Over => (false, None),
            When::Timed(timing) => (true, Some(timing)),
            When::Untimed => (true, None),
        }
    }
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

/// Records that the host has just evaluated a plan of one kernel, since a moment; the kernel began at another.
#[inline]
pub(crate) fn alone(machine: &Machine, prepared: &Prepared, start: Moment, begun: Moment) {
    let end = Moment::now();
    trace::alone([start, begun, end], first(prepared), held(machine, Device::HOST));
    trace::look(machine, start);
}

/// The number of a plan's first kernel.
#[inline]
fn first(prepared: &Prepared) -> Option<Number> {
    prepared.told().number(|| of_plan(prepared))
}

/// Records a kernel of a plan; by its place there, or, if it does the work of two, that of the first.
pub(crate) fn launched(
    machine: &Machine,
    (prepared, at, is_folded): (&Prepared, usize, bool),
    (start, device, when): (Moment, Device, When),
    decision: Option<Arc<Decision>>,
    moved: u64,
) {
    let end = when.end(start);
    let at = if is_folded { prepared.plan().launches.len() + at } else { at };
    let kernel = first(prepared).map(|first| first + at as Number);
    let (is_away, timing) = when.away();
    let more = (moved > 0 || timing.is_some()).then_some(More { moved, timing, parts: 1 });
    trace::kernel([start, end], kernel, (device, is_away), held(machine, device), decision, more);
    trace::look(machine, start);
}

/// Records a kernel that ran whole, or in so many parts of equal size, each with its own times.
pub(crate) fn kernel(machine: &Machine, started: Started<'_>, parts: impl ExactSizeIterator<Item = When>) {
    let Started { start, launch, plan, device, decision, moved } = started;
    let number = trace::once(described(launch, plan));
    let (held, count) = (held(machine, device), parts.len() as u64);
    for when in parts {
        let end = when.end(start);
        let (is_away, timing) = when.away();
        let more = Some(More { moved, timing, parts: count });
        trace::kernel([start, end], number, (device, is_away), held, decision.clone(), more);
    }
}

/// Bytes of arrays on a device, and the most there were; 0 where nobody counts.
#[inline]
pub(crate) fn held(machine: &Machine, device: Device) -> Held {
    let (live, peak) = machine.backend(device).held().unwrap_or_default();
    Held { live, peak }
}

/// The kernels of a plan, and behind them those that do the work of one of them and the next.
fn of_plan(prepared: &Prepared) -> Vec<Described> {
    let numbered = || prepared.plan().launches.iter().enumerate();
    let own = numbered().map(|(at, launch)| described(launch, (prepared.number(), at)));
    own.chain(numbered().map(|(at, launch)| folded(launch, (prepared.number(), at)))).collect()
}

/// What does the work of a launch and the next; the launch, if nothing does.
pub(crate) fn folded(launch: &Launch, plan: (u64, usize)) -> Described {
    described(launch.fold.as_ref().map_or(launch, |fold| &fold.launch), plan)
}

/// What is known about a launch of a plan, by the plan's number and its place there, before it runs.
pub(crate) fn described(launch: &Launch, (plan, at): (u64, usize)) -> Described {
    let (form, dtype) = match &launch.kernel {
        Kernel::Fused(fused) => {
            (form(fused.kind), fused.stores.first().map_or("", |store| store.dtype.name()))
        }
        Kernel::Call(call) if launch.kernel.is_custom() => ("custom", call.dtype.name()),
        Kernel::Call(call) => ("call", call.dtype.name()),
    };
    let cost = launch.cost;
    // How operands overlap changes bytes only, which the plan has counted.
    let work = Work::of(&launch.kernel, &[]);
    let products = work.terms.iter().filter(|term| term.class == Class::Product).map(|term| term.count).sum();
    Described {
        name: launch.name.as_str().into(),
        text: launch.text().into(),
        plan,
        at,
        form,
        dtype,
        read: cost.read,
        written: cost.written,
        flops: cost.flops,
        products,
        has_roof: work.has_roof(),
    }
}

/// Nanoseconds that a kernel costs the host beside its events where a plan would otherwise be one launch.
const APART: u64 = 6_000;

/// Nanoseconds of device time at least from which a kernel is always timed: its events are a hundredth of that.
const LONG: f64 = 200_000.0;

/// The sessions that have timed a plan.
#[derive(Default)]
pub(crate) struct Detailed {
    /// The last of them, and on which devices.
    seen: AtomicU64,
    /// Whether some kernel is always timed.
    is_long: OnceLock<bool>,
}

impl Detailed {
    /// Whether the next run of a plan, on one device or on several, is timed kernel by kernel: the first of a session there is, and any that is
    /// cheap to time.
    pub(crate) fn is_next(&self, plan: &Plan, device: Option<Device>, is_replayed: bool) -> bool {
        let each = trace::TIMED + if is_replayed { APART } else { 0 };
        let cost = each * plan.launches.len() as u64;
        // Several devices are one more.
        let bit = 1 << device.map_or(0, |device| device.0.min(7));
        let (session, seen) = (trace::session() << 8, self.seen.load(Ordering::Relaxed));
        let known = if seen & !0xff == session { seen & 0xff } else { 0 };
        if known & bit == 0 {
            self.seen.store(session | known | bit, Ordering::Relaxed);
            trace::spend(cost);
            return true;
        }
        let is_long = || plan.launches.iter().any(|launch| least(launch) >= LONG);
        trace::affords(cost) || *self.is_long.get_or_init(is_long)
    }
}

/// Nanoseconds that any device needs at least: faster than 5 TB/s and, in products of wide numbers, 60 TFLOP/s there is none.
fn least(launch: &Launch) -> f64 {
    let moving = launch.cost.moved() as f64 / 5e3;
    moving.max(launch.cost.flops as f64 / 6e4)
}

fn form(kind: Kind) -> &'static str {
    match kind {
        Kind::Map => "map",
        Kind::Row => "row",
        Kind::Column => "column",
    }
}
