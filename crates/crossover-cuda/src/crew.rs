//! Threads that move large copies through page-locked memory, piece by piece.
//!
//! One thread fills memory more slowly than the bus takes it, so several work on one copy. Each has blocks of its own:
//! while the device copies one, the thread fills or empties another. Threads are started once and sleep between copies. They are no part of the pool that computes: a copy waits while it holds a buffer, and a pool that steals
//! work could run into the same buffer.

#![allow(unsafe_code)]

use std::{
    collections::VecDeque,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{JoinHandle, Thread},
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};

use crate::{Error, Gpu, Result, queue::Lane, transfer::Staging};

/// Bytes of a piece on its way up at most.
const PIECE: usize = 1 << 20;
/// Bytes of a large page, and of a piece on its way down at most: fresh memory takes longer to enter than to fill, and no two
/// threads should enter the same page.
const LARGE_PAGE: usize = 2 << 20;
/// Bytes of a piece at least: the driver takes microseconds for each, however short.
const LEAST: usize = 256 << 10;
/// How long somebody who waits for a copy looks again and again: waking a thread that sleeps takes as long as copying a megabyte.
const PATIENCE: Duration = Duration::from_micros(200);
/// Cores from which a thread may wait without sleeping.
const MANY_CORES: usize = 4;

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To the device.
    Up,
    /// From the device.
    Down,
}

impl Direction {
    /// Bytes of the largest piece.
    fn most_piece(self) -> usize {
        match self {
            Direction::Up => PIECE,
            Direction::Down => LARGE_PAGE,
        }
    }

    /// Bytes of the pieces of a copy: few enough that every thread has some to do, two where the first is on its way while the second is
    /// filled. Powers of two, so that large pages are cut evenly.
    fn piece(self, bytes: usize, threads: usize) -> usize {
        let each = match self {
            Direction::Up => bytes / (2 * threads),
            Direction::Down => bytes / threads,
        };
        each.next_power_of_two().clamp(LEAST, self.most_piece())
    }

    /// Pieces that a thread has on their way.
    fn blocks(self) -> usize {
        match self {
            Direction::Up => 3,
            Direction::Down => 2,
        }
    }

    /// Threads at most. They wait for the device without sleeping, and both ways may be busy at once: together they leave some of
    /// a large host's cores to others. Those that copy down enter fresh memory, too, which takes them longer than the copy.
    fn most(self) -> usize {
        match self {
            Direction::Up => 6,
            Direction::Down => 8,
        }
    }
}

/// One copy that several threads work on.
#[derive(Debug)]
struct Job {
    direction: Direction,
    host: usize,
    /// Where parts of one length lie, if the host's bytes are apart; they count from 0 then.
    parts: Option<(Vec<usize>, usize)>,
    device: u64,
    bytes: usize,
    /// Where the first piece would start if it were whole: at or before the host's bytes.
    origin: usize,
    /// Bytes of a piece.
    piece: usize,
    /// The next piece that nobody has taken.
    next: AtomicUsize,
    /// Threads that have not finished yet; lowered under the lock of the error.
    busy: AtomicUsize,
    error: Mutex<Option<Error>>,
    finished: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<Arc<Job>>,
    closed: bool,
}

/// A thread as others see it.
#[derive(Debug)]
struct Hand {
    thread: Thread,
    /// Whether it sleeps, or is about to: raised under the lock of the queue, which was empty then.
    idle: Arc<AtomicBool>,
}

/// The threads of one device.
#[derive(Debug)]
pub(crate) struct Crew {
    direction: Direction,
    queue: Arc<Mutex<Queue>>,
    hands: Vec<Hand>,
    threads: Vec<JoinHandle<()>>,
}

impl Crew {
    /// Starts the threads, each with its blocks, for copies in one direction.
    pub(crate) fn new(gpu: &Gpu, direction: Direction) -> Result<Crew> {
        let count = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, direction.most());
        let mut crew = Crew { direction, queue: Arc::default(), hands: Vec::new(), threads: Vec::new() };
        for i in 0..count {
            let blocks = (0..direction.blocks())
                .map(|_| Staging::new(gpu, direction.most_piece()))
                .collect::<Result<Vec<Staging>>>()?;
            let (queue, gpu, idle) = (crew.queue.clone(), gpu.clone(), Arc::<AtomicBool>::default());
            let seen = idle.clone();
            let body = move || work(&queue, &idle, &gpu, blocks);
            let started = std::thread::Builder::new().name(format!("crossover-copy-{i}")).spawn(body);
            let started = started.map_err(|e| Error::Thread { why: e.to_string() })?;
            crew.hands.push(Hand { thread: started.thread().clone(), idle: seen });
            crew.threads.push(started);
        }
        Ok(crew)
    }

    /// Copies `bytes` bytes between a host address and a device address, on the lane of its direction.
    ///
    /// The caller borrows the host's bytes for the whole call, so the address stays valid.
    pub(crate) fn copy(&self, host: usize, device: u64, bytes: usize) -> Result<()> {
        self.begin(host, device, bytes).wait()
    }

    /// As `copy`, without waiting: the caller borrows the host's bytes until the answer is waited for or dropped.
    pub(crate) fn begin(&self, host: usize, device: u64, bytes: usize) -> Pending {
        let piece = self.direction.piece(bytes, self.threads.len());
        self.put(host, None, device, bytes, piece)
    }

    /// As `begin`, for one of many parts that are begun together: threads have enough to do with whole pieces.
    pub(crate) fn begin_part(&self, host: usize, device: u64, bytes: usize) -> Pending {
        self.put(host, None, device, bytes, self.direction.most_piece())
    }

    /// Copies parts of one length to one place on the device, one behind the other.
    ///
    /// The caller borrows the host's bytes for the whole call.
    pub(crate) fn gather(&self, parts: &[&[u8]], device: u64) -> Result<()> {
        self.begin_gather(parts, device)?.wait()
    }

    /// As `gather`, without waiting: the caller borrows the host's bytes until the answer is waited for or dropped.
    pub(crate) fn begin_gather(&self, parts: &[&[u8]], device: u64) -> Result<Pending> {
        let each = parts.first().map_or(0, |part| part.len());
        if self.direction == Direction::Down || parts.iter().any(|part| part.len() != each) {
            return Err(Error::Thread { why: "parts of one length are gathered on their way up".into() });
        }
        let starts: Vec<usize> = parts.iter().map(|part| part.as_ptr() as usize).collect();
        let bytes = each * starts.len();
        let piece = self.direction.piece(bytes, self.threads.len());
        Ok(self.put(0, Some((starts, each)), device, bytes, piece))
    }

    fn put(
        &self,
        host: usize,
        parts: Option<(Vec<usize>, usize)>,
        device: u64,
        bytes: usize,
        piece: usize,
    ) -> Pending {
        let direction = self.direction;
        let origin = match direction {
            Direction::Up => host,
            Direction::Down => host / piece * piece,
        };
        let pieces = (host - origin + bytes).div_ceil(piece);
        let hands = self.threads.len().min(pieces);
        let job = Arc::new(Job {
            direction,
            host,
            parts,
            device,
            bytes,
            origin,
            piece,
            next: AtomicUsize::new(0),
            busy: AtomicUsize::new(hands),
            error: Mutex::new(None),
            finished: Condvar::new(),
        });
        self.queue.lock().jobs.extend(std::iter::repeat_n(job.clone(), hands));
        // Each by itself: those that one condition wakes wait for each other. Who is busy looks at the queue before it sleeps.
        let sleeping = self.hands.iter().filter(|hand| hand.idle.swap(false, Ordering::SeqCst));
        sleeping.take(hands).for_each(|hand| hand.thread.unpark());
        Pending(job)
    }
}

/// A copy on its way.
#[derive(Debug)]
#[must_use = "the host's bytes are lent until the copy is waited for"]
pub(crate) struct Pending(Arc<Job>);

impl Pending {
    /// Waits until every piece has been copied.
    pub(crate) fn wait(self) -> Result<()> {
        self.settle()
    }

    fn settle(&self) -> Result<()> {
        let job = &self.0;
        let is_busy = || job.busy.load(Ordering::Acquire) > 0;
        let began = Instant::now();
        while is_busy() && has_many_cores() && began.elapsed() < PATIENCE {
            (0..16).for_each(|_| std::hint::spin_loop());
        }
        let mut error = job.error.lock();
        while is_busy() {
            job.finished.wait(&mut error);
        }
        error.take().map_or(Ok(()), Err)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // Nobody is told of an error here; whoever wants to know has waited.
        let _ = self.settle();
    }
}

fn has_many_cores() -> bool {
    static MANY: OnceLock<bool> = OnceLock::new();
    *MANY.get_or_init(|| std::thread::available_parallelism().is_ok_and(|cores| cores.get() >= MANY_CORES))
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.queue.lock().closed = true;
        self.hands.iter().for_each(|hand| hand.thread.unpark());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The next job of a thread, which sleeps until there is one; `None` once there will be no more.
fn next(queue: &Mutex<Queue>, idle: &AtomicBool) -> Option<Arc<Job>> {
    loop {
        {
            let mut queue = queue.lock();
            if let Some(job) = queue.jobs.pop_front() {
                idle.store(false, Ordering::SeqCst);
                return Some(job);
            }
            if queue.closed {
                return None;
            }
            idle.store(true, Ordering::SeqCst);
        }
        std::thread::park();
    }
}

fn work(queue: &Mutex<Queue>, idle: &AtomicBool, gpu: &Gpu, mut blocks: Vec<Staging>) {
    while let Some(job) = next(queue, idle) {
        let result = gpu.bind().and_then(|()| match job.direction {
            Direction::Up => job.up(gpu, &mut blocks),
            Direction::Down => job.down(gpu, &mut blocks),
        });
        let mut error = job.error.lock();
        if let Err(failed) = result {
            // Nobody takes another piece of a copy that has failed.
            job.next.store(usize::MAX / LARGE_PAGE / 2, Ordering::Relaxed);
            error.get_or_insert(failed);
        }
        if job.busy.fetch_sub(1, Ordering::Release) == 1 {
            job.finished.notify_all();
        }
    }
}

impl Job {
    /// Offset and length of the next piece.
    fn take(&self) -> Option<(usize, usize)> {
        let piece = self.piece;
        let start =
            self.next.fetch_add(1, Ordering::Relaxed).saturating_mul(piece).saturating_add(self.origin);
        let end = (self.host + self.bytes).min(start.saturating_add(piece));
        let start = start.max(self.host);
        (start < end).then(|| (start - self.host, end - start))
    }

    /// Copies the host's bytes from an offset on.
    ///
    /// # Safety
    /// Whoever asked for the copy still lends them, and they reach that far.
    unsafe fn read(&self, mut at: usize, mut to: &mut [u8]) {
        while !to.is_empty() {
            let (start, left) = match &self.parts {
                None => (self.host + at, to.len()),
                Some((starts, each)) => (starts[at / each] + at % each, (each - at % each).min(to.len())),
            };
            let (now, later) = to.split_at_mut(left);
            // SAFETY: the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(start as *const u8, now.as_mut_ptr(), left) };
            (to, at) = (later, at + left);
        }
    }

    fn up(&self, gpu: &Gpu, blocks: &mut [Staging]) -> Result<()> {
        let mut turn = 0;
        while let Some((at, length)) = self.take() {
            let count = blocks.len();
            let block = &mut blocks[turn % count];
            turn += 1;
            block.done.wait()?;
            let memory = &mut block.memory.bytes_mut()[..length];
            // SAFETY: the caller of `Crew::copy` lends the host's bytes until every thread has finished; pieces do
            // not overlap. The block is not written again before its mark has passed.
            unsafe {
                self.read(at, memory);
                gpu.copy_up(memory.as_ptr(), self.device + at as u64, length, Lane::Up)?;
            }
            block.done.set(Lane::Up)?;
        }
        Ok(())
    }

    fn down(&self, gpu: &Gpu, blocks: &mut [Staging]) -> Result<()> {
        // Pieces on their way, oldest first: block, offset, length.
        let mut coming: VecDeque<(usize, usize, usize)> = VecDeque::new();
        let mut turn = 0;
        loop {
            let count = blocks.len();
            while coming.len() < count {
                let Some((at, length)) = self.take() else { break };
                let block = &mut blocks[turn % count];
                block.done.wait()?;
                let memory = block.memory.bytes_mut().as_mut_ptr();
                // SAFETY: the block holds a piece, and is read only after its mark has passed.
                unsafe { gpu.copy_down(self.device + at as u64, memory, length, Lane::Down)? };
                block.done.set(Lane::Down)?;
                coming.push_back((turn % count, at, length));
                turn += 1;
            }
            let Some((block, at, length)) = coming.pop_front() else { return Ok(()) };
            blocks[block].done.wait()?;
            let memory = &blocks[block].memory.bytes()[..length];
            // SAFETY: as in `up`, with the host's bytes lent for writing.
            unsafe {
                std::ptr::copy_nonoverlapping(memory.as_ptr(), (self.host + at) as *mut u8, length);
            }
        }
    }
}
