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

mod clock;
mod event;
mod lane;
mod session;

use std::sync::{Arc, atomic::Ordering};

use crate::Device;

use event::{Event, More};
pub use event::{Kind, Name, Note, Queue, Sample, Timing, Work};
pub use session::{Recording, Session, Span, Track};

/// Whether anybody records.
#[inline]
pub fn is_on() -> bool {
    lane::SESSIONS.load(Ordering::Relaxed) > 0
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
    /// The same span for subscribers of `tracing`, if any listens.
    _shown: Option<tracing::span::EnteredSpan>,
}

/// Begins a span with a name. Without a session and without a subscriber of `tracing` it costs a load and a branch.
#[inline]
pub fn scope(name: impl Into<Name>) -> Scope {
    span(Kind::Scope, name)
}

/// Begins a span of some kind.
#[inline]
pub fn span(kind: Kind, name: impl Into<Name>) -> Scope {
    let listens = tracing::level_filters::LevelFilter::current() >= tracing::level_filters::LevelFilter::INFO;
    if !is_on() && !listens {
        return Scope(None);
    }
    open(kind, name.into(), listens)
}

#[cold]
fn open(kind: Kind, name: Name, listens: bool) -> Scope {
    let shown = listens.then(|| shown(kind, name.as_str()).entered());
    Scope(Some(Open { kind, name, start: clock::now(), _shown: shown }))
}

/// A span of `tracing`; its name for exporters is the field `otel.name`, since those of `tracing` are fixed.
fn shown(kind: Kind, name: &str) -> tracing::Span {
    match kind {
        Kind::Scope => tracing::info_span!(target: "crossover::scope", "scope", otel.name = name),
        Kind::Evaluation => {
            tracing::info_span!(target: "crossover::evaluation", "evaluation", otel.name = name)
        }
        _ => tracing::debug_span!(target: "crossover::span", "span", otel.name = name),
    }
}

impl Drop for Scope {
    #[inline]
    fn drop(&mut self) {
        if let Some(open) = self.0.take()
            && is_on()
        {
            let end = clock::now();
            let Open { kind, name, start, .. } = open;
            lane::push(Event { kind, name, start, end, more: None, away: None });
        }
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
pub fn kernel(name: impl Into<Name>, start: Moment, work: Work, away: Option<(Queue, Arc<dyn Timing>)>) {
    let more = Some(Box::new(More::Work(work)));
    lane::push(Event {
        kind: Kind::Kernel,
        name: name.into(),
        start: start.0,
        end: clock::now(),
        more,
        away,
    });
}

/// Records a copy of so many bytes from one device to another since a moment, or on a queue.
pub fn transfer(
    start: Moment,
    bytes: u64,
    (from, to): (Device, Device),
    away: Option<(Queue, Arc<dyn Timing>)>,
) {
    let name = if to == Device::HOST { "copy to the host" } else { "copy to a device" };
    let more = Some(Box::new(More::Copy { bytes, from, to }));
    let (start, end) = (start.0, clock::now());
    lane::push(Event { kind: Kind::Transfer, name: name.into(), start, end, more, away });
}

/// Records that something happened.
pub fn note(kind: &'static str, text: impl FnOnce() -> String) {
    if is_on() {
        lane::note(Note { time: clock::now(), kind, text: text() });
    }
}

/// Nanoseconds between two looks at the memory.
const LOOK: u64 = 100_000;

/// Looks how full devices are, unless somebody has just looked.
pub(crate) fn look(machine: &crate::Machine) {
    if !lane::is_time(LOOK) {
        return;
    }
    for device in machine.devices() {
        if let Some(memory) = machine.memory(device) {
            lane::sample(Sample { time: clock::now(), device, memory });
        }
    }
}
