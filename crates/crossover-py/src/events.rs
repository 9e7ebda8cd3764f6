//! What the library tells `tracing`, for Python's `logging`.
//!
//! Events may come from any thread, with anything locked, so they are only written down here. The next call that computes hands them to the
//! logger `crossover`, with Python's lock held and nothing else; see `crossover/events.py`.

use std::{
    collections::VecDeque,
    fmt::{self, Write as _},
    sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
};

use parking_lot::Mutex;
use pyo3::prelude::*;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
    span,
};

/// Events kept at most until somebody computes; later ones are counted.
const KEPT: usize = 1024;

/// Name, level as `logging` counts, text.
type Line = (String, u8, String);

static WAITING: AtomicBool = AtomicBool::new(false);
static LINES: Mutex<VecDeque<Line>> = Mutex::new(VecDeque::new());
static LOST: AtomicU64 = AtomicU64::new(0);
/// Levels of `logging`; events below are not written down.
static LEAST: AtomicU8 = AtomicU8::new(30);

/// A level as `logging` counts.
fn number(level: tracing::Level) -> u8 {
    match level {
        tracing::Level::ERROR => 40,
        tracing::Level::WARN => 30,
        tracing::Level::INFO => 20,
        tracing::Level::DEBUG => 10,
        tracing::Level::TRACE => 5,
    }
}

struct ToPython;

/// A line of text from the fields of an event.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

impl Subscriber for ToPython {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        !metadata.is_span()
            && number(*metadata.level()) >= LEAST.load(Ordering::Relaxed)
            && metadata.target().starts_with("crossover")
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(match LEAST.load(Ordering::Relaxed) {
            0..=5 => LevelFilter::TRACE,
            6..=10 => LevelFilter::DEBUG,
            11..=20 => LevelFilter::INFO,
            21..=30 => LevelFilter::WARN,
            31..=40 => LevelFilter::ERROR,
            _ => LevelFilter::OFF,
        })
    }

    fn new_span(&self, _span: &span::Attributes<'_>) -> span::Id {
        // Spans are not enabled; an identity must still not be zero.
        span::Id::from_u64(1)
    }

    fn record(&self, _span: &span::Id, _values: &span::Record<'_>) {}

    fn record_follows_from(&self, _span: &span::Id, _follows: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        let metadata = event.metadata();
        let line = (
            metadata.target().replace("::", "."),
            number(*metadata.level()),
            format!("{}{}", text.message, text.fields),
        );
        let mut lines = LINES.lock();
        if lines.len() < KEPT {
            lines.push_back(line);
        } else {
            LOST.fetch_add(1, Ordering::Relaxed);
        }
        WAITING.store(true, Ordering::Relaxed);
    }

    fn enter(&self, _span: &span::Id) {}

    fn exit(&self, _span: &span::Id) {}
}

/// Hands what has been written down to `logging`. Off the path of whoever logs nothing: one load.
#[inline]
pub fn deliver(py: Python<'_>) {
    if WAITING.load(Ordering::Relaxed) && WAITING.swap(false, Ordering::Relaxed) {
        hand_over(py);
    }
}

#[cold]
fn hand_over(py: Python<'_>) {
    let lines: Vec<Line> = LINES.lock().drain(..).collect();
    let lost = LOST.swap(0, Ordering::Relaxed);
    let told = py
        .import("crossover.events")
        .and_then(|module| module.getattr("_tell"))
        .and_then(|tell| tell.call1((lines, lost)));
    if let Err(error) = told {
        // A handler that fails is not the fault of whoever computes.
        error.write_unraisable(py, None);
    }
}

/// From which level on events are handed to `logging`, as it counts; the level before.
#[pyfunction]
fn log_level(level: u8) -> u8 {
    let before = LEAST.swap(level, Ordering::Relaxed);
    tracing::callsite::rebuild_interest_cache();
    before
}

/// Hands what has been written down to `logging` now.
#[pyfunction]
fn flush_log(py: Python<'_>) {
    deliver(py);
}

/// Adds the functions to the module, and begins to listen.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Whoever listens already, in a program that has this library twice, goes on listening.
    let _ = tracing::subscriber::set_global_default(ToPython);
    module.add_function(wrap_pyfunction!(log_level, module)?)?;
    module.add_function(wrap_pyfunction!(flush_log, module)?)
}
