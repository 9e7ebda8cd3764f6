//! Where threads write events: each its own chunks, so that nobody waits for anybody.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;

use super::{
    chunk::{Chunk, EVENTS, Pen},
    clock::{Pair, Ticks},
    event::{Event, Note, Sample},
    meter, told,
};

/// Sessions that are recording.
pub(super) static SESSIONS: AtomicU32 = AtomicU32::new(0);

/// Sessions that have ever begun.
pub(super) static BEGUN: AtomicU64 = AtomicU64::new(0);

/// How often everything was forgotten, from 1; chunks of before are written to no more, and numbers of before mean nothing.
static FORGOTTEN: AtomicU64 = AtomicU64::new(1);

/// A number that changes whenever everything is forgotten. Never 0.
#[inline]
pub(super) fn forgotten() -> u64 {
    FORGOTTEN.load(Ordering::Acquire)
}

/// Chunks in use, and events that found none.
static CHUNKS: AtomicUsize = AtomicUsize::new(0);
pub(super) static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Events kept at most; one takes 64 bytes, and a copy or a kernel that is timed about 200 more.
pub(super) const CAPACITY: usize = 1 << 20;

/// Empty chunks kept for the next session: memory that was written before is not a fault of a page away.
static EMPTY: Mutex<Vec<Pen>> = Mutex::new(Vec::new());
const KEPT: usize = 256;

/// The events of one thread.
struct Lane {
    thread: String,
    chunks: Mutex<Vec<Arc<Chunk>>>,
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
/// Samples and notes kept at most.
const ASIDE: usize = 1 << 16;

/// What a thread writes with.
struct Writer {
    /// `None` until it writes.
    lane: Option<Arc<Lane>>,
    pen: Option<Pen>,
    /// The value of `FORGOTTEN` when the chunk was taken.
    of: u64,
}

thread_local! {
    static WRITER: RefCell<Writer> = const { RefCell::new(Writer { lane: None, pen: None, of: 0 }) };
}

fn join() -> Arc<Lane> {
    static UNNAMED: AtomicU32 = AtomicU32::new(1);
    let thread = match std::thread::current().name() {
        Some(name) => name.to_string(),
        None => format!("thread {}", UNNAMED.fetch_add(1, Ordering::Relaxed)),
    };
    let lane = Arc::new(Lane { thread, chunks: Mutex::default() });
    LANES.lock().push(lane.clone());
    lane
}

impl Writer {
    /// Begins a chunk; `None` if there are too many.
    #[cold]
    fn turn_over(&mut self) -> Option<&mut Pen> {
        let now = FORGOTTEN.load(Ordering::Acquire);
        let old = self.pen.take().filter(|_| self.of != now);
        if CHUNKS.fetch_add(1, Ordering::Relaxed) >= CAPACITY / EVENTS {
            CHUNKS.fetch_sub(1, Ordering::Relaxed);
            DROPPED.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let own = old.and_then(|mut pen| pen.reuse().then_some(pen));
        let pen = own.or_else(|| EMPTY.lock().pop()).unwrap_or_else(Pen::new);
        self.lane.get_or_insert_with(join).chunks.lock().push(pen.chunk());
        self.of = now;
        Some(self.pen.insert(pen))
    }
}

/// Writes an event down, where it is to stay, unless there is no room or the thread is ending.
#[inline]
pub(super) fn push(make: impl FnOnce() -> Event) {
    let _ = WRITER.try_with(|writer| {
        // Making an event writes none, so nobody is inside already.
        let Ok(mut writer) = writer.try_borrow_mut() else { return };
        let writer = &mut *writer;
        let is_current = writer.of == FORGOTTEN.load(Ordering::Relaxed);
        if let Some(slot) = writer.pen.as_mut().filter(|_| is_current).and_then(Pen::slot) {
            slot.write(make());
        } else if let Some(slot) = writer.turn_over().and_then(Pen::slot) {
            slot.write(make());
        }
    });
}

/// Counts an event that nothing was kept of.
#[cold]
pub(super) fn dropped() {
    DROPPED.fetch_add(1, Ordering::Relaxed);
}

/// What a thread has written: its chunks, and how many events each of them had.
pub(super) struct Written {
    pub(super) name: String,
    pub(super) chunks: Vec<(Arc<Chunk>, usize)>,
}

/// What all threads have written until now.
pub(super) fn written() -> Vec<Written> {
    let lanes = LANES.lock().clone();
    let one = |lane: Arc<Lane>| {
        let chunks = lane.chunks.lock().clone();
        let counted = chunks.into_iter().map(|chunk| {
            let count = chunk.events().len();
            (chunk, count)
        });
        Written { name: lane.thread.clone(), chunks: counted.collect() }
    };
    lanes.into_iter().map(one).collect()
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
pub(super) fn beside(first: Ticks) -> Beside {
    let beside = BESIDE.lock();
    Beside {
        samples: beside.samples.iter().filter(|sample| sample.time >= first).copied().collect(),
        notes: beside.notes.iter().filter(|note| note.time >= first).cloned().collect(),
    }
}

/// Begins a session: the moment from which events belong to it.
pub(super) fn enter() -> Pair {
    // A session that ends forgets everything before another begins.
    let _lanes = LANES.lock();
    BEGUN.fetch_add(1, Ordering::Relaxed);
    let now = Pair::now();
    if SESSIONS.fetch_add(1, Ordering::AcqRel) == 0 {
        meter::restart(now.ticks);
    }
    now
}

/// Ends a session. After the last one, what was recorded is forgotten, and the lanes of threads that ended with it.
pub(super) fn leave() {
    let mut lanes = LANES.lock();
    if SESSIONS.fetch_sub(1, Ordering::AcqRel) > 1 {
        return;
    }
    told::List::clear(|| {
        FORGOTTEN.fetch_add(1, Ordering::AcqRel);
    });
    // This thread's chunk is forgotten at once, with what its events hold on to; those of others when they write again or end.
    let _ = WRITER.try_with(|writer| {
        if let Ok(mut writer) = writer.try_borrow_mut() {
            writer.pen = None;
        }
    });
    let mut chunks = Vec::new();
    for lane in lanes.iter() {
        chunks.append(&mut lane.chunks.lock());
    }
    CHUNKS.fetch_sub(chunks.len(), Ordering::Relaxed);
    *BESIDE.lock() = Beside::default();
    lanes.retain(|lane| Arc::strong_count(lane) > 1);
    drop(lanes);
    recycle(chunks);
}

/// Empties chunks that nobody else has, and keeps some of them for the next session. Those that threads still write to, or other sessions look at, are
/// left to them.
pub(super) fn recycle(chunks: Vec<Arc<Chunk>>) {
    let mut empty: Vec<Pen> = chunks.into_iter().filter_map(Pen::of).collect();
    let mut kept = EMPTY.lock();
    let room = KEPT.saturating_sub(kept.len());
    let rest = empty.split_off(room.min(empty.len()));
    kept.append(&mut empty);
    drop(kept);
    drop(rest);
}
