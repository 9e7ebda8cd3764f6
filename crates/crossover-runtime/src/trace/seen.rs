//! What a session saw: spans, made from what threads wrote whenever somebody looks at them.
//!
//! Nothing is copied out of an event. A draft says of a span when it was and inside what, in 48 bytes, and which event tells the rest; the chunks of those
//! events stay as they are until what a session saw is dropped, and serve the next session then.

use std::{panic::Location, sync::Arc, time::SystemTime};

use super::{
    EVALUATE,
    chunk::Chunk,
    event::{Described, Event, Held, Kind, Note, Number, Queue, Sample, What},
    lane, told,
};
use crate::{Decision, Device};

/// What a session saw.
#[derive(Debug)]
pub struct Seen {
    /// When it began, for people.
    pub began: SystemTime,
    /// How long it lasted, in nanoseconds.
    pub wall: u64,
    /// Spans that found no room, or of which no device can tell when they were.
    pub dropped: u64,
    /// Threads and queues; spans name them by their place.
    pub tracks: Vec<Track>,
    /// How full devices were, in order.
    pub samples: Vec<Sample>,
    /// What happened besides, in order.
    pub notes: Vec<Note>,
    pub(super) drafts: Vec<Draft>,
    pub(super) written: Written,
}

/// Where spans follow or enclose each other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Track {
    /// A thread of the host.
    Thread(String),
    /// A queue of a device.
    Queue(Queue),
}

/// Something that took time; nanoseconds since the session began.
#[derive(Debug, Clone, Copy)]
pub struct Span<'a> {
    /// What it is about.
    pub kind: Kind,
    /// Its name.
    pub name: &'a str,
    /// Place of its track in [`Seen::tracks`].
    pub track: usize,
    /// When it began.
    pub start: u64,
    /// How long it took.
    pub duration: u64,
    /// Place of the span around it; of what asked for it, if it is on a queue.
    pub parent: Option<usize>,
    /// When the host asked for it.
    pub queued: u64,
    /// What a kernel was asked to do.
    pub work: Option<Work<'a>>,
    /// Bytes of a copy, or that a kernel reads and writes.
    pub bytes: u64,
    /// From where to where a copy went.
    pub way: Option<(Device, Device)>,
    /// The line of the program that opened it, or that asked for values.
    pub place: Option<&'static Location<'static>>,
    /// Whether a device did it untimed, and others of its kind that were timed say when.
    pub estimated: bool,
}

/// What a kernel was asked to do.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    /// What was known about the kernel before it ran.
    pub kernel: &'a Described,
    /// The number of the kernel, below [`Seen::kernels`].
    pub number: u32,
    /// Of how many parts of equal size this is one; 1 if it ran whole.
    pub parts: u64,
    /// Where it ran.
    pub device: Device,
    /// Why it ran there, if anything was decided, and which kernel of its plan it is.
    pub decision: Option<(&'a Decision, usize)>,
    /// Bytes that had to be copied for it first.
    pub moved: u64,
    /// Bytes of arrays on its device once its results had their memory; 0 where nobody counts.
    pub live: u64,
    /// The most that had been live there until then.
    pub peak: u64,
}

impl Work<'_> {
    /// Bytes it reads.
    pub fn read(&self) -> u64 {
        self.kernel.read / self.parts
    }

    /// Bytes it writes.
    pub fn written(&self) -> u64 {
        self.kernel.written / self.parts
    }

    /// Arithmetic operations.
    pub fn flops(&self) -> u64 {
        self.kernel.flops / self.parts
    }

    /// Those of matrix products.
    pub fn products(&self) -> u64 {
        self.kernel.products / self.parts
    }
}

impl Span<'_> {
    /// When it ended.
    pub fn end(&self) -> u64 {
        self.start + self.duration
    }
}

impl Seen {
    /// How many spans there are.
    pub fn len(&self) -> usize {
        self.drafts.len()
    }

    /// Whether nothing took time.
    pub fn is_empty(&self) -> bool {
        self.drafts.is_empty()
    }

    /// How many of them are kernels.
    pub fn launches(&self) -> usize {
        self.drafts.iter().filter(|draft| draft.kernel != NONE).count()
    }

    /// How many kernels have numbers.
    pub fn kernels(&self) -> usize {
        self.written.kernels.len()
    }

    /// A span by its place in order of start.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn span(&self, at: usize) -> Span<'_> {
        self.written.span(&self.drafts[at])
    }

    /// All spans, in order of their start.
    ///
    /// ```
    /// use crossover_runtime::trace::{Session, scope};
    /// let session = Session::begin();
    /// drop(scope("first"));
    /// drop(scope("second"));
    /// let seen = session.end();
    /// let names: Vec<&str> = seen.spans().map(|span| span.name).filter(|name| ["first", "second"].contains(name)).collect();
    /// assert_eq!(names, ["first", "second"]);
    /// ```
    pub fn spans(&self) -> impl ExactSizeIterator<Item = Span<'_>> + Clone {
        self.drafts.iter().map(|draft| self.written.span(draft))
    }
}

/// No kernel, or no span.
pub(super) const NONE: u32 = u32::MAX;

/// Of a span, what its event alone does not say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draft {
    pub(super) start: u64,
    pub(super) duration: u64,
    pub(super) queued: u64,
    /// The number of its kernel, or none.
    pub(super) kernel: Number,
    /// Where its event is: the chunk, and the place there.
    pub(super) chunk: u32,
    pub(super) at: u16,
    pub(super) kind: Kind,
    pub(super) estimated: bool,
    pub(super) track: u32,
    /// The track of the thread that asked for it.
    pub(super) asked_by: u32,
    /// The span around it, or none.
    pub(super) parent: u32,
}

const _: () = assert!(size_of::<Draft>() <= 48);

impl Draft {
    pub(super) fn end(&self) -> u64 {
        self.start + self.duration
    }

    /// Whether the thread that asked for it did it.
    pub(super) fn is_own(&self) -> bool {
        self.track == self.asked_by
    }
}

/// The events of a session, and the kernels that they name.
pub(super) struct Written {
    pub(super) chunks: Vec<Arc<Chunk>>,
    pub(super) kernels: told::Numbered,
}

impl std::fmt::Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} chunks of events", self.chunks.len())
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        lane::recycle(std::mem::take(&mut self.chunks));
    }
}

impl Written {
    fn event(&self, draft: &Draft) -> &Event {
        &self.chunks[draft.chunk as usize].events()[usize::from(draft.at)]
    }

    /// The span that a draft is of.
    #[inline]
    pub(super) fn span(&self, draft: &Draft) -> Span<'_> {
        let event = self.event(draft);
        let work = self.work(draft, event);
        let (name, bytes, way) = match (&event.what, &work) {
            (_, Some(work)) => (&*work.kernel.name, work.read().saturating_add(work.written()), None),
            (What::Part(_, name), None) => (name.as_str(), 0, None),
            (What::Copy(copied), None) => {
                let to_host = copied.way.1 == Device::HOST;
                let name = if to_host { "copy to the host" } else { "copy to a device" };
                (name, copied.bytes, Some(copied.way))
            }
            (What::Alone { .. } | What::Kernel { .. } | What::Chain { .. }, None) => (EVALUATE, 0, None),
        };
        Span {
            kind: draft.kind,
            name,
            track: draft.track as usize,
            start: draft.start,
            duration: draft.duration,
            parent: (draft.parent != NONE).then_some(draft.parent as usize),
            queued: draft.queued,
            work,
            bytes,
            way,
            place: event.place,
            estimated: draft.estimated,
        }
    }

    #[inline]
    fn work<'a>(&'a self, draft: &Draft, event: &'a Event) -> Option<Work<'a>> {
        let kernel = self.kernels.get(draft.kernel)?;
        let whole = |device, held: Held| Work {
            kernel,
            number: draft.kernel,
            parts: 1,
            device,
            decision: None,
            moved: 0,
            live: held.live,
            peak: held.peak,
        };
        let made = |decision: &'a Option<Arc<Decision>>| decision.as_deref().map(|made| (made, kernel.at));
        match &event.what {
            What::Alone { held, .. } => Some(whole(Device::HOST, *held)),
            What::Kernel { device, held, decision, more, .. } => {
                let (parts, moved) = more.as_ref().map_or((1, 0), |more| (more.parts.max(1), more.moved));
                let whole = whole(Device(usize::from(*device)), *held);
                Some(Work { parts, decision: made(decision), moved: moved / parts, ..whole })
            }
            What::Chain { device, held, decision, .. } => {
                Some(Work { decision: made(decision), ..whole(Device(usize::from(*device)), *held) })
            }
            What::Part(..) | What::Copy(_) => None,
        }
    }
}
