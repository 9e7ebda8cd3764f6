//! Spans of what happened, on the host's threads and on the queues of devices.
//!
//! Nothing is recorded until a [`Session`] begins; until then a [`scope`] is one relaxed load. Recording, each thread writes to a list of
//! its own, 64 bytes for each thing that happened, and devices note the times of what they were asked to do without anybody waiting. What can be found out
//! later is: a session that ends puts it all on one clock, finds what kernels are by their numbers, and what encloses what.
//!
//! ```
//! use crossover_runtime::trace::{Kind, Session, scope};
//!
//! let session = Session::begin();
//! {
//!     let _outer = scope("outer");
//!     let _inner = scope("inner");
//! }
//! let seen = session.end();
//! let mine: Vec<_> = seen.spans().filter(|span| span.kind == Kind::Scope).map(|span| span.name).collect();
//! assert_eq!(mine, ["outer", "inner"]);
//! ```

mod chunk;
mod clock;
mod estimate;
mod event;
mod gather;
mod lane;
mod meter;
mod seen;
mod session;
mod told;

use std::{
    cell::Cell,
    panic::Location,
    sync::{Arc, atomic::Ordering},
};

use crate::{Decision, Device};

pub use event::{Away, Described, Kind, Name, Note, Queue, Sample, Timing};
use event::{Copied, Event, What};
pub(crate) use event::{Held, More, Number};
pub use meter::{TIMED, affords, spend};
pub use seen::{Seen, Span, Track, Work};
pub use session::Session;
pub(crate) use told::{Told, once};

/// The name of the evaluation of a plan.
pub(crate) const EVALUATE: &str = "evaluate";

/// Whether anybody records.
#[inline]
pub fn is_on() -> bool {
    lane::SESSIONS.load(Ordering::Relaxed) > 0
}

/// Whether anybody listens to what `tracing` says about evaluations.
#[inline]
pub fn is_heard() -> bool {
    tracing::level_filters::LevelFilter::current() >= tracing::level_filters::LevelFilter::INFO
}

/// Whether anybody records, or listens to what `tracing` says about evaluations.
#[inline]
pub fn is_watched() -> bool {
    is_on() || is_heard()
}

/// The clock that spans are measured by, in words.
///
/// ```
/// assert!(["the processor's counter", "the system's clock"].contains(&crossover_runtime::trace::clock()));
/// ```
pub fn clock() -> &'static str {
    clock::name()
}

/// The number of the session that began last. Devices set their clocks anew for each.
pub fn session() -> u64 {
    lane::BEGUN.load(Ordering::Relaxed)
}

/// A span that ends when it is dropped.
#[must_use = "a span lasts until it is dropped"]
pub struct Scope(Option<Open>);

struct Open {
    kind: Kind,
    name: Name,
    start: clock::Ticks,
    place: Option<&'static Location<'static>>,
    /// The same span for subscribers of `tracing`, if any listens. In a box, so that a span is small where none does.
    _shown: Option<Box<tracing::span::EnteredSpan>>,
}

/// Begins a span with a name. Without a session and without a subscriber of `tracing` it costs a load and a branch.
#[inline]
#[track_caller]
pub fn scope(name: impl Into<Name>) -> Scope {
    begin(Kind::Scope, name, Some(Location::caller()))
}

/// Begins a span of some kind.
#[inline]
pub fn span(kind: Kind, name: impl Into<Name>) -> Scope {
    begin(kind, name, None)
}

#[inline]
fn begin(kind: Kind, name: impl Into<Name>, place: Option<&'static Location<'static>>) -> Scope {
    let listens = is_heard();
    if !is_on() && !listens {
        return Scope(None);
    }
    open(kind, name.into(), listens, place)
}

#[cold]
fn open(kind: Kind, name: Name, listens: bool, place: Option<&'static Location<'static>>) -> Scope {
    let place = place.or_else(asking);
    let shown = listens.then(|| Box::new(shown(kind, name.as_str(), place).entered()));
    Scope(Some(Open { kind, name, start: clock::now(), place, _shown: shown }))
}

thread_local! {
    /// The line of the program on whose behalf this thread works.
    static ASKING: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

fn asking() -> Option<&'static Location<'static>> {
    ASKING.try_with(Cell::get).ok().flatten()
}

/// Until this is dropped, spans of this thread say which line asked for them.
#[must_use = "the line is forgotten when this is dropped"]
pub struct Asked(bool);

/// Says which line of the program asks for what follows, unless one is known already: calls of ours inside a user's call are not his.
/// Without a session it costs a load and a branch.
///
/// ```
/// use crossover_runtime::trace::{Kind, Session, asked, span};
/// let session = Session::begin();
/// let here = std::panic::Location::caller();
/// {
///     let _asked = asked(here);
///     let _span = span(Kind::Plan, "on behalf of a line");
/// }
/// let seen = session.end();
/// let span = seen.spans().find(|span| span.name == "on behalf of a line").unwrap();
/// assert_eq!(span.place, Some(here));
/// ```
#[inline]
pub fn asked(place: &'static Location<'static>) -> Asked {
    Asked(is_on() && claim(place))
}

#[cold]
fn claim(place: &'static Location<'static>) -> bool {
    let claimed = ASKING.try_with(|line| {
        line.get().is_none() && {
            line.set(Some(place));
            true
        }
    });
    claimed.unwrap_or(false)
}

impl Drop for Asked {
    #[inline]
    fn drop(&mut self) {
        if self.0 {
            let _ = ASKING.try_with(|line| line.set(None));
        }
    }
}

/// A span of `tracing`; its name for exporters is the field `otel.name`, since those of `tracing` are fixed.
fn shown(kind: Kind, name: &str, place: Option<&'static Location<'static>>) -> tracing::Span {
    let (file, line) = place.map(|place| (place.file(), place.line())).unzip();
    match kind {
        Kind::Scope => tracing::info_span!(
            target: "crossover::scope", "scope", otel.name = name, crossover.file = file, crossover.line = line
        ),
        Kind::Evaluation => tracing::info_span!(
            target: "crossover::evaluation",
            "evaluation",
            otel.name = name,
            crossover.file = file,
            crossover.line = line
        ),
        _ => tracing::debug_span!(
            target: "crossover::span", "span", otel.name = name, crossover.file = file, crossover.line = line
        ),
    }
}

impl Scope {
    /// Ends the span without recording it: what it was about did not happen.
    pub fn discard(mut self) {
        self.0 = None;
    }
}

impl Drop for Scope {
    #[inline]
    fn drop(&mut self) {
        if let Some(open) = &mut self.0 {
            close(open);
        }
    }
}

/// Apart from the drop, so that scopes which nobody records stay a load and a branch where they are inlined.
#[cold]
fn close(open: &mut Open) {
    if is_on() {
        let end = clock::now();
        lane::push(|| {
            let name = std::mem::replace(&mut open.name, Name::Text(""));
            Event { start: open.start, end, place: open.place, what: What::Part(open.kind, name) }
        });
    }
}

/// A moment, for what is recorded once it is over.
#[derive(Debug, Clone, Copy)]
pub struct Moment(clock::Ticks);

impl Moment {
    /// Now.
    #[inline]
    pub fn now() -> Moment {
        Moment(clock::now())
    }
}

/// Records that the host evaluated a plan of one kernel: when that began, when the kernel did, and when both ended.
#[inline]
pub(crate) fn alone([start, begun, end]: [Moment; 3], kernel: Option<Number>, held: Held) {
    let Some(kernel) = kernel else { return lane::dropped() };
    let place = asking();
    lane::push(|| {
        let what = What::Alone { kernel, held, begun: begun.0 };
        Event { start: start.0, end: end.0, place, what }
    });
}

/// Records a kernel that the host has run from a moment to another, or that a device was asked to run then.
#[inline]
pub(crate) fn kernel(
    [start, end]: [Moment; 2],
    kernel: Option<Number>,
    (device, is_away): (Device, bool),
    held: Held,
    decision: Option<Arc<Decision>>,
    more: Option<More>,
) {
    let Some(kernel) = kernel else { return lane::dropped() };
    let (place, device, more) = (asking(), device.0 as u16, more.map(Box::new));
    lane::push(|| {
        let what = What::Kernel { kernel, device, is_away, held, decision, more };
        Event { start: start.0, end: end.0, place, what }
    });
}

/// Records that a device was asked, at a moment, to run all kernels that were told from a number on.
pub(crate) fn chain(
    start: Moment,
    first: Option<Number>,
    device: Device,
    held: Held,
    decision: Option<Arc<Decision>>,
) {
    let Some(first) = first else { return lane::dropped() };
    let (place, device) = (asking(), device.0 as u16);
    lane::push(|| {
        let what = What::Chain { first, device, held, decision };
        Event { start: start.0, end: start.0, place, what }
    });
}

/// Records a copy of so many bytes from one device to another since a moment, or on a queue.
pub fn transfer(start: Moment, bytes: u64, way: (Device, Device), away: Option<Away>) {
    let (end, place) = (clock::now(), asking());
    let what = What::Copy(Box::new(Copied { bytes, way, away }));
    lane::push(|| Event { start: start.0, end, place, what });
}

/// Records that something happened.
pub fn note(kind: &'static str, text: impl FnOnce() -> String) {
    if is_on() {
        lane::note(Note { time: clock::now(), kind, text: text() });
    }
}

/// Looks how full devices are, unless somebody has just looked, or looking takes too long to be done so soon again.
#[inline]
pub(crate) fn look(machine: &crate::Machine, now: Moment) {
    if meter::may_look(now.0) {
        look_now(machine);
    }
}

#[cold]
fn look_now(machine: &crate::Machine) {
    let start = clock::now();
    for device in machine.devices() {
        if let Some(memory) = machine.memory(device) {
            lane::sample(Sample { time: clock::now(), device, memory });
        }
    }
    meter::looked(start, clock::now());
}
