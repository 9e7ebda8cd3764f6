//! What is remembered of one thing that happened.

use std::{borrow::Cow, panic::Location, sync::Arc};

use super::clock::Ticks;
use crate::{Decision, Device};

/// What a span is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A part of the program that its author named.
    Scope,
    /// The evaluation of a graph.
    Evaluation,
    /// A kernel.
    Kernel,
    /// A copy between devices.
    Transfer,
    /// Compiling a kernel.
    Compile,
    /// Making a plan.
    Plan,
    /// The host waiting for a device.
    Wait,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 7] =
        [Kind::Scope, Kind::Evaluation, Kind::Kernel, Kind::Transfer, Kind::Compile, Kind::Plan, Kind::Wait];
}

/// The name of a span: of the program's text, or shared with the plan that it belongs to.
#[derive(Debug, Clone)]
pub enum Name {
    /// From the text of a program.
    Text(&'static str),
    /// Made at run time.
    Made(Arc<str>),
}

impl Name {
    /// The name.
    pub fn as_str(&self) -> &str {
        match self {
            Name::Text(text) => text,
            Name::Made(text) => text,
        }
    }
}

impl From<&'static str> for Name {
    fn from(text: &'static str) -> Name {
        Name::Text(text)
    }
}

impl From<String> for Name {
    fn from(text: String) -> Name {
        Name::Made(text.into())
    }
}

impl From<Cow<'static, str>> for Name {
    fn from(text: Cow<'static, str>) -> Name {
        match text {
            Cow::Borrowed(text) => Name::Text(text),
            Cow::Owned(text) => Name::Made(text.into()),
        }
    }
}

/// A queue of a device, which runs one thing after another beside the host's threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Queue {
    /// Whose.
    pub device: Device,
    /// What it is for: `"compute"`, `"up"` or `"down"`.
    pub purpose: &'static str,
}

/// When a device began and ended something; known only after it is done.
pub trait Timing: Send + Sync {
    /// Start and end on the host's clock. Waits for the device if it has to; `None` if the device was lost.
    fn resolve(&self) -> Option<(std::time::Instant, std::time::Instant)>;
}

/// Something that a device does after the host has gone on: on which queue, and who knows when. Nobody does if it was not timed; then it is
/// placed by others of its kind that were.
pub type Away = (Queue, Option<Arc<dyn Timing>>);

/// One thing that happened, as its thread wrote it down: no more than one line of a cache. What can be found out later is not in it.
pub(crate) struct Event {
    /// When the host began it, or asked a device to.
    pub(crate) start: Ticks,
    /// When the host was through with it.
    pub(crate) end: Ticks,
    /// The line of the program that asked for it.
    pub(crate) place: Option<&'static Location<'static>>,
    pub(crate) what: What,
}

const _: () = assert!(size_of::<Event>() <= 64);

/// What happened. Kernels have numbers, by which the list of them is asked later.
pub(crate) enum What {
    /// A part of what the host did.
    Part(Kind, Name),
    /// The host evaluated a plan of one kernel, which began at a moment and ended with it.
    Alone { kernel: Number, held: Held, begun: Ticks },
    /// The host ran a kernel, or a device was asked to.
    Kernel {
        kernel: Number,
        device: u16,
        /// Whether a device does it after the host has gone on.
        is_away: bool,
        held: Held,
        decision: Option<Arc<Decision>>,
        more: Option<Box<More>>,
    },
    /// A device was asked to run all kernels of a list, one after the other; nobody times them.
    Chain { first: Number, device: u16, held: Held, decision: Option<Arc<Decision>> },
    /// A copy.
    Copy(Box<Copied>),
}

/// The number of a kernel, among those that the sessions of the moment know.
pub(crate) type Number = u32;

/// Bytes of arrays on a device, and the most that there had been until then.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Held {
    pub(crate) live: u64,
    pub(crate) peak: u64,
}

/// What few kernels have.
#[derive(Default)]
pub(crate) struct More {
    /// Bytes that had to be copied first.
    pub(crate) moved: u64,
    /// Who knows when a device ran it.
    pub(crate) timing: Option<Arc<dyn Timing>>,
    /// Of how many parts it is one; 0 and 1 mean whole.
    pub(crate) parts: u64,
}

/// A copy.
pub(crate) struct Copied {
    pub(crate) bytes: u64,
    pub(crate) way: (Device, Device),
    pub(crate) away: Option<Away>,
}

/// What is known about a kernel before it runs.
#[derive(Debug)]
pub struct Described {
    /// Its name.
    pub name: Arc<str>,
    /// What it computes, without sizes.
    pub text: Arc<str>,
    /// The number of its plan.
    pub plan: u64,
    /// Its place in its plan, for what was decided about it.
    pub at: usize,
    /// `map`, `row`, `column`, `call` or `custom`.
    pub form: &'static str,
    /// The type it writes.
    pub dtype: &'static str,
    /// Bytes it reads.
    pub read: u64,
    /// Bytes it writes.
    pub written: u64,
    /// Arithmetic operations.
    pub flops: u64,
    /// Operations of matrix products among them.
    pub products: u64,
    /// Whether moving its bytes and computing its products are all that bounds it: not so for sorts, transforms, random numbers and lookups.
    pub has_roof: bool,
}

/// How full a device was at a moment.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Nanoseconds since the session began.
    pub time: u64,
    /// Which device.
    pub device: Device,
    /// How full.
    pub memory: crate::DeviceMemory,
}

/// Something that happened: a fallback, a change of pressure.
#[derive(Debug, Clone)]
pub struct Note {
    /// Nanoseconds since the session began.
    pub time: u64,
    /// What it is about, in a word.
    pub kind: &'static str,
    /// What happened.
    pub text: String,
}
