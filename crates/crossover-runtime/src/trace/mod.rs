//! Spans of what happened, on the host's threads and on the queues of devices.
//!
//! Nothing is recorded until a [`Session`] begins; until then a [`scope`] is one relaxed load. Recording, each thread writes to a list of
//! its own, and devices note the times of what they were asked to do without anybody waiting; a session that ends puts it all on one clock.
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
//! let mine: Vec<_> = seen.spans.iter().filter(|span| span.kind == Kind::Scope).map(|span| span.name.as_str()).collect();
//! assert_eq!(mine, ["outer", "inner"]);
//! ```

mod chunk;
mod clock;
mod estimate;
mod event;
mod lane;
mod meter;
mod session;

use std::{cell::Cell, panic::Location, sync::atomic::Ordering};

use crate::Device;

pub use event::{Away, Kind, Name, Note, Queue, Sample, Timing, Work};
use event::{Event, More, What};
pub use meter::{TIMED, affords, spend};
pub use session::{Seen, Session, Span, Track};

/// Whether anybody records.
#[inline]
pub fn is_on() -> bool {
    lane::SESSIONS.load(Ordering::Relaxed) > 0
}

/// Whether anybody records, or listens to what `tracing` says about evaluations.
#[inline]
pub fn is_watched() -> bool {
    is_on() || tracing::level_filters::LevelFilter::current() >= tracing::level_filters::LevelFilter::INFO
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
    /// The same span for subscribers of `tracing`, if any listens.
    _shown: Option<tracing::span::EnteredSpan>,
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
    let listens = tracing::level_filters::LevelFilter::current() >= tracing::level_filters::LevelFilter::INFO;
    if !is_on() && !listens {
        return Scope(None);
    }
    open(kind, name.into(), listens, place)
}

#[cold]
fn open(kind: Kind, name: Name, listens: bool, place: Option<&'static Location<'static>>) -> Scope {
    let place = place.or_else(asking);
    let shown = listens.then(|| shown(kind, name.as_str(), place).entered());
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
/// let span = seen.spans.iter().find(|span| span.name.as_str() == "on behalf of a line").unwrap();
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
        if let Some(open) = self.0.take() {
            close(open);
        }
    }
}

/// Apart from the drop, so that scopes which nobody records stay a load and a branch where they are inlined.
#[cold]
fn close(open: Open) {
    if is_on() {
        let end = clock::now();
        let Open { kind, name, start, place, .. } = open;
        lane::push(Event { kind, name, start, end, more: None, place });
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

/// Records a kernel: what it was asked to do since a moment, and if a device does it after the host has gone on, where and when.
pub fn kernel(name: impl Into<Name>, start: Moment, work: Work, away: Option<Away>) {
    // Of what a device does, it is the device's times that count.
    let end = if away.is_some() { start.0 } else { clock::now() };
    let (name, place) = (name.into(), asking());
    let more = Some(Box::new(More { what: What::Work(work), away }));
    lane::push(Event { kind: Kind::Kernel, name, start: start.0, end, more, place });
}

/// Records a copy of so many bytes from one device to another since a moment, or on a queue.
pub fn transfer(start: Moment, bytes: u64, (from, to): (Device, Device), away: Option<Away>) {
    let name = if to == Device::HOST { "copy to the host" } else { "copy to a device" };
    let more = Some(Box::new(More { what: What::Copy { bytes, from, to }, away }));
    let (start, end, place) = (start.0, clock::now(), asking());
    lane::push(Event { kind: Kind::Transfer, name: name.into(), start, end, more, place });
}

/// Records that something happened.
pub fn note(kind: &'static str, text: impl FnOnce() -> String) {
    if is_on() {
        lane::note(Note { time: clock::now(), kind, text: text() });
    }
}

/// Looks how full devices are, unless somebody has just looked, or looking takes too long to be done so soon again.
pub(crate) fn look(machine: &crate::Machine, now: Moment) {
    if !meter::may_look(now.0) {
        return;
    }
    let start = clock::now();
    for device in machine.devices() {
        if let Some(memory) = machine.memory(device) {
            lane::sample(Sample { time: clock::now(), device, memory });
        }
    }
    meter::looked(start, clock::now());
}
