//! When the device did what it was asked to, by its own clock, without anybody waiting.
//!
//! Events stand before and after the work on its lane. The driver tells the time between two events in milliseconds as `f32`, exact to a
//! microsecond only while they are seconds apart; so every few hundred spans a new anchor is set, whose time follows from the one before, and
//! the first of a session was waited for beside the host's clock.
#![allow(unsafe_code)]

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use crossover_runtime::trace::{self, Timing};
use cudarc::driver::{result, sys};
use parking_lot::Mutex;

use crate::{Gpu, Result, driver::driver, queue::Lane};

/// Spans that share an anchor.
const SHARED: u32 = 256;

/// Events kept for reuse at most: making one takes about as long as using it.
const KEPT: usize = 4096;

/// Events that nobody needs at the moment.
#[derive(Debug, Default)]
struct Pool(Mutex<Vec<Idle>>);

/// An event that no stamp has.
#[derive(Debug)]
struct Idle {
    gpu: Gpu,
    event: sys::CUevent,
}

// SAFETY: a handle that the thread-safe driver looks up.
unsafe impl Send for Idle {}
// SAFETY: as above.
unsafe impl Sync for Idle {}

impl Idle {
    fn new(gpu: &Gpu) -> Result<Idle> {
        gpu.bind()?;
        let event =
            result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map_err(driver("cuEventCreate"))?;
        Ok(Idle { gpu: gpu.clone(), event })
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let _ = self.gpu.bind();
        // SAFETY: created by `Idle::new`, destroyed once.
        let _ = unsafe { result::event::destroy(self.event) };
    }
}

/// A moment of the device.
#[derive(Debug)]
struct Stamp {
    gpu: Gpu,
    event: sys::CUevent,
    /// The event itself, which goes back to where it came from.
    idle: Option<Idle>,
    pool: Arc<Pool>,
}

// SAFETY: a handle that the thread-safe driver looks up.
unsafe impl Send for Stamp {}
// SAFETY: as above.
unsafe impl Sync for Stamp {}

impl Stamp {
    /// Queues a stamp on a lane.
    fn new(pool: &Arc<Pool>, gpu: &Gpu, lane: Lane) -> Result<Stamp> {
        gpu.bind()?;
        let kept = pool.0.lock().pop();
        let idle = match kept {
            Some(idle) => idle,
            None => Idle::new(gpu)?,
        };
        let event = idle.event;
        let stamp = Stamp { gpu: gpu.clone(), event, idle: Some(idle), pool: pool.clone() };
        // SAFETY: event and stream are valid.
        unsafe { result::event::record(event, gpu.lane(lane)) }.map_err(driver("cuEventRecord"))?;
        Ok(stamp)
    }

    fn wait(&self) -> Result<()> {
        self.gpu.bind()?;
        // SAFETY: the event is valid.
        unsafe { result::event::synchronize(self.event) }.map_err(driver("cuEventSynchronize"))
    }

    /// Nanoseconds from this stamp to another; negative if that one was earlier. Both have passed.
    fn until(&self, other: &Stamp) -> Result<f64> {
        // SAFETY: both events are valid and were recorded.
        let millis = unsafe { result::event::elapsed(self.event, other.event) };
        millis.map(|millis| f64::from(millis) * 1e6).map_err(driver("cuEventElapsedTime"))
    }
}

impl Drop for Stamp {
    fn drop(&mut self) {
        let Some(idle) = self.idle.take() else { return };
        let mut kept = self.pool.0.lock();
        if kept.len() < KEPT {
            kept.push(idle);
            return;
        }
        // Destroyed after the lock.
        drop(kept);
        drop(idle);
    }
}

/// A stamp whose place on the host's clock is known, or follows from that of another.
#[derive(Debug)]
struct Anchor {
    stamp: Stamp,
    before: Option<Arc<Anchor>>,
    at: OnceLock<Instant>,
}

impl Anchor {
    fn at(&self) -> Result<Instant> {
        // From the nearest one that is known forwards: chains may be long.
        let mut chain = vec![self];
        while let Some(last) = chain.last()
            && last.at.get().is_none()
            && let Some(before) = &last.before
        {
            chain.push(before);
        }
        let mut known = chain.pop().and_then(|first| first.at.get().copied().map(|at| (first, at)));
        while let (Some((first, at)), Some(next)) = (known, chain.pop()) {
            next.stamp.wait()?;
            let since = first.stamp.until(&next.stamp)?.max(0.0);
            known = Some((next, *next.at.get_or_init(|| at + Duration::from_nanos(since as u64))));
        }
        Ok(known.map_or_else(Instant::now, |(_, at)| at))
    }
}

/// The anchor in use: of which session, and by how many spans.
type InUse = Option<(u64, u32, Arc<Anchor>)>;

/// Tells when the device did something.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    anchor: Mutex<InUse>,
    pool: Arc<Pool>,
}

impl Clock {
    fn anchor(&self, gpu: &Gpu) -> Result<Arc<Anchor>> {
        let session = trace::session();
        let used = |found: &mut (u64, u32, Arc<Anchor>)| {
            found.1 += 1;
            (found.0, found.1, found.2.clone())
        };
        // The lock is not held while anything is waited for.
        let found = self.anchor.lock().as_mut().map(used);
        let anchor = match found {
            Some((of, uses, anchor)) if of == session && uses < SHARED => return Ok(anchor),
            Some((of, _, before)) if of == session => {
                let stamp = Stamp::new(&self.pool, gpu, Lane::Compute)?;
                Anchor { stamp, before: Some(before), at: OnceLock::new() }
            }
            _ => {
                let stamp = Stamp::new(&self.pool, gpu, Lane::Compute)?;
                stamp.wait()?;
                Anchor { stamp, before: None, at: OnceLock::from(Instant::now()) }
            }
        };
        let anchor = Arc::new(anchor);
        // What it replaces gives its event back, which is no work for a lock.
        let old = self.anchor.lock().replace((session, 0, anchor.clone()));
        drop(old);
        Ok(anchor)
    }

    /// The beginning of something that is about to be queued on a lane.
    pub(crate) fn begin(&self, gpu: &Gpu, lane: Lane) -> Result<Begun> {
        let anchor = self.anchor(gpu)?;
        Ok(Begun { anchor, start: Stamp::new(&self.pool, gpu, lane)?, lane })
    }
}

/// Something that is being queued.
pub(crate) struct Begun {
    anchor: Arc<Anchor>,
    start: Stamp,
    lane: Lane,
}

impl Begun {
    /// All of it has been queued.
    pub(crate) fn end(self) -> Result<Arc<dyn Timing>> {
        let end = Stamp::new(&self.start.pool, &self.start.gpu, self.lane)?;
        Ok(Arc::new(Timed { anchor: self.anchor, start: self.start, end }))
    }
}

/// Something that was queued between two stamps.
struct Timed {
    anchor: Arc<Anchor>,
    start: Stamp,
    end: Stamp,
}

impl Timing for Timed {
    fn resolve(&self) -> Option<(Instant, Instant)> {
        self.end.wait().ok()?;
        let anchor = self.anchor.at().ok()?;
        self.anchor.stamp.wait().ok()?;
        let place = |stamp: &Stamp| {
            let since = self.anchor.stamp.until(stamp).ok()?;
            let distance = Duration::from_nanos(since.abs() as u64);
            if since < 0.0 { anchor.checked_sub(distance) } else { anchor.checked_add(distance) }
        };
        Some((place(&self.start)?, place(&self.end)?))
    }
}
