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

/// What a kernel was asked to do.
#[derive(Debug, Clone)]
pub struct Work {
    /// Where it ran.
    pub device: Device,
    /// `map`, `row`, `column`, `call` or `custom`.
    pub form: &'static str,
    /// Bytes it reads.
    pub read: u64,
    /// Bytes it writes.
    pub written: u64,
    /// Arithmetic operations.
    pub flops: u64,
    /// The type it writes.
    pub dtype: &'static str,
    /// Why it ran there, if anything was decided, and which kernel of its plan it is.
    pub decision: Option<(Arc<Decision>, usize)>,
    /// Bytes that had to be copied for it first.
    pub moved: u64,
    /// Bytes of arrays on its device once its results had their memory; 0 where nobody counts.
    pub live: u64,
    /// The most that had been live there until then.
    pub peak: u64,
}

/// What a kernel or a copy was about.
#[derive(Clone)]
pub(crate) enum What {
    Work(Work),
    Copy { bytes: u64, from: Device, to: Device },
}

/// What goes with kernels and copies.
#[derive(Clone)]
pub(crate) struct More {
    pub(crate) what: What,
    pub(crate) away: Option<Away>,
}

/// Something that a device does after the host has gone on: on which queue, and who knows when. Nobody does if it was not timed; then it is
/// placed by others of its kind that were.
pub type Away = (Queue, Option<Arc<dyn Timing>>);

/// One thing that happened, as its thread wrote it down.
#[derive(Clone)]
pub(crate) struct Event {
    pub(crate) kind: Kind,
    pub(crate) name: Name,
    /// When the host began it, or asked a device to.
    pub(crate) start: Ticks,
    /// When the host was through with it.
    pub(crate) end: Ticks,
    pub(crate) more: Option<Box<More>>,
    /// The line of the program that asked for it.
    pub(crate) place: Option<&'static Location<'static>>,
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
