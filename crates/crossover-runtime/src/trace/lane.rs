//! Where threads write events: each its own list, so that nobody waits for anybody.

use std::{
    cell::OnceCell,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;

use super::{
    clock,
    event::{Event, Note, Sample},
};

/// Sessions that are recording.
pub(super) static SESSIONS: AtomicU32 = AtomicU32::new(0);

/// Sessions that have ever begun.
pub(super) static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Events in all lanes, and those that found them full.
static HELD: AtomicUsize = AtomicUsize::new(0);
pub(super) static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Events kept at most; one takes about a hundred bytes.
const CAPACITY: usize = 1 << 20;

/// The events of one thread.
struct Lane {
    thread: String,
    events: Mutex<Vec<Event>>,
}

/// Lanes of all threads that have written any.
static LANES: Mutex<Vec<Arc<Lane>>> = Mutex::new(Vec::new());

/// What happened beside the spans; times are moments of the clock.
#[derive(Default)]
pub(super) struct Beside {
    pub(super) samples: Vec<Sample>,
    pub(super) notes: Vec<Note>,
}

static BESIDE: Mutex<Beside> = Mutex::new(Beside { samples: Vec::new(), notes: Vec::new() });
/// When memory was looked at last.
static LOOKED: AtomicU64 = AtomicU64::new(0);
/// Samples and notes kept at most.
const ASIDE: usize = 1 << 16;

thread_local! {
    static LANE: OnceCell<Arc<Lane>> = const { OnceCell::new() };
}

fn join() -> Arc<Lane> {
    static UNNAMED: AtomicU32 = AtomicU32::new(1);
    let thread = match std::thread::current().name() {
        Some(name) => name.to_string(),
        None => format!("thread {}", UNNAMED.fetch_add(1, Ordering::Relaxed)),
    };
    let lane = Arc::new(Lane { thread, events: Mutex::default() });
    LANES.lock().push(lane.clone());
    lane
}

/// Writes an event down, unless the lanes are full or the thread is ending.
pub(super) fn push(event: Event) {
    if HELD.fetch_add(1, Ordering::Relaxed) >= CAPACITY {
        HELD.fetch_sub(1, Ordering::Relaxed);
        DROPPED.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let written = LANE.try_with(|lane| lane.get_or_init(join).events.lock().push(event));
    if written.is_err() {
        HELD.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Shows every thread's name and a copy of its events since a moment. No lock is held meanwhile: who looks may wait for a device.
pub(super) fn visit(first: clock::Ticks, mut see: impl FnMut(&str, Vec<Event>)) {
    let lanes = LANES.lock().clone();
    for lane in lanes {
        let events = lane.events.lock().iter().filter(|event| event.start >= first).cloned().collect();
        see(&lane.thread, events);
    }
}

/// Whether so many nanoseconds have passed since this was last true.
pub(super) fn is_time(every: u64) -> bool {
    let (now, last) = (clock::nanoseconds(), LOOKED.load(Ordering::Relaxed));
    now.saturating_sub(last) >= every
        && LOOKED.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

pub(super) fn sample(sample: Sample) {
    let mut beside = BESIDE.lock();
    if beside.samples.len() < ASIDE {
        beside.samples.push(sample);
    }
}

pub(super) fn note(note: Note) {
    let mut beside = BESIDE.lock();
    if beside.notes.len() < ASIDE {
        beside.notes.push(note);
    }
}

/// Samples and notes since a moment.
pub(super) fn beside(first: clock::Ticks) -> Beside {
    let beside = BESIDE.lock();
    Beside {
        samples: beside.samples.iter().filter(|sample| sample.time >= first).copied().collect(),
        notes: beside.notes.iter().filter(|note| note.time >= first).cloned().collect(),
    }
}

/// Begins a session: the moment from which events belong to it.
pub(super) fn enter() -> clock::Ticks {
    BEGUN.fetch_add(1, Ordering::Relaxed);
    SESSIONS.fetch_add(1, Ordering::AcqRel);
    clock::now()
}

/// Ends a session. After the last one, what was recorded is forgotten, and the lanes of threads that ended with it.
pub(super) fn leave() {
    let mut lanes = LANES.lock();
    if SESSIONS.fetch_sub(1, Ordering::AcqRel) > 1 {
        return;
    }
    let mut freed = 0;
    for lane in lanes.iter() {
        freed += std::mem::take(&mut *lane.events.lock()).len();
    }
    HELD.fetch_sub(freed, Ordering::Relaxed);
    *BESIDE.lock() = Beside::default();
    lanes.retain(|lane| Arc::strong_count(lane) > 1);
}
