//! Spans of what ran. Off, it costs one relaxed load per kernel; on, spans go into a bounded buffer.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::Device;

/// One kernel that ran.
#[derive(Debug, Clone)]
pub struct Span {
    /// Name of the kernel.
    pub name: String,
    /// Where it ran.
    pub device: Device,
    /// When it started.
    pub start: Instant,
    /// How long it took on the host's clock.
    pub duration: Duration,
    /// Bytes it reads and writes.
    pub bytes: u64,
    /// Arithmetic operations.
    pub flops: u64,
}

/// A recorder of spans.
#[derive(Debug, Default)]
pub struct Trace {
    on: AtomicBool,
    spans: Mutex<Vec<Span>>,
}

/// Spans kept at most; later ones are dropped.
const CAPACITY: usize = 1 << 16;

impl Trace {
    /// Whether spans are recorded.
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Starts or stops recording.
    pub fn switch(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
    }

    pub(crate) fn record(&self, span: Span) {
        let mut spans = self.spans.lock();
        if spans.len() < CAPACITY {
            spans.push(span);
        }
    }

    /// Takes the spans recorded so far.
    pub fn take(&self) -> Vec<Span> {
        std::mem::take(&mut self.spans.lock())
    }
}
