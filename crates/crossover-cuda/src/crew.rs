//! Threads that move large copies through page-locked memory, piece by piece.
//!
//! One thread fills memory more slowly than the bus takes it, so several work on one copy. Each has blocks of its own:
//! while the device copies one, the thread fills or empties another. Threads are started once and sleep between copies. They are no part of the pool that computes: a copy waits while it holds a buffer, and a pool that steals
//! work could run into the same buffer.

#![allow(unsafe_code)]

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::{Condvar, Mutex};

use crate::{Error, Gpu, Result, queue::Lane, transfer::Staging};

/// Bytes of a piece on its way up.
const PIECE: usize = 1 << 20;
/// Bytes of a large page, and of a piece on its way down: fresh memory takes longer to enter than to fill, and no two
/// threads should enter the same page.
const LARGE_PAGE: usize = 2 << 20;

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To the device.
    Up,
    /// From the device.
    Down,
}

impl Direction {
    /// Bytes of a piece.
    fn piece(self) -> usize {
        match self {
            Direction::Up => PIECE,
            Direction::Down => LARGE_PAGE,
        }
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
    /// The next piece that nobody has taken.
    next: AtomicUsize,
    state: Mutex<State>,
    finished: Condvar,
}

#[derive(Debug)]
struct State {
    /// Threads that have not finished yet.
    busy: usize,
    error: Option<Error>,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<Arc<Job>>,
    closed: bool,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
}

/// The threads of one device.
#[derive(Debug)]
pub(crate) struct Crew {
    direction: Direction,
    shared: Arc<Shared>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Crew {
    /// Starts the threads, each with its blocks, for copies in one direction.
    pub(crate) fn new(gpu: &Gpu, direction: Direction) -> Result<Crew> {
        let count = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, direction.most());
        let mut crew = Crew { direction, shared: Arc::new(Shared::default()), threads: Vec::new() };
        for i in 0..count {
            let blocks = (0..direction.blocks())
                .map(|_| Staging::new(gpu, direction.piece()))
                .collect::<Result<Vec<Staging>>>()?;
            let (shared, gpu) = (crew.shared.clone(), gpu.clone());
            let body = move || work(&shared, &gpu, blocks);
            let started = std::thread::Builder::new().name(format!("crossover-copy-{i}")).spawn(body);
            crew.threads.push(started.map_err(|e| Error::Thread { why: e.to_string() })?);
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
        let origin = match self.direction {
            Direction::Up => host,
            Direction::Down => host / LARGE_PAGE * LARGE_PAGE,
        };
        self.put(host, None, origin, device, bytes)
    }

    /// Copies parts of one length to one place on the device, one behind the other.
    ///
    /// The caller borrows the host's bytes for the whole call.
    pub(crate) fn gather(&self, parts: &[&[u8]], device: u64) -> Result<()> {
        let each = parts.first().map_or(0, |part| part.len());
        if self.direction == Direction::Down || parts.iter().any(|part| part.len() != each) {
            return Err(Error::Thread { why: "parts of one length are gathered on their way up".into() });
        }
        let starts: Vec<usize> = parts.iter().map(|part| part.as_ptr() as usize).collect();
        let bytes = each * starts.len();
        self.put(0, Some((starts, each)), 0, device, bytes).wait()
    }

    fn put(
        &self,
        host: usize,
        parts: Option<(Vec<usize>, usize)>,
        origin: usize,
        device: u64,
        bytes: usize,
    ) -> Pending {
        let direction = self.direction;
        let pieces = (host - origin + bytes).div_ceil(direction.piece());
        let hands = self.threads.len().min(pieces);
        let job = Arc::new(Job {
            direction,
            host,
            parts,
            device,
            bytes,
            origin,
            next: AtomicUsize::new(0),
            state: Mutex::new(State { busy: hands, error: None }),
            finished: Condvar::new(),
        });
        {
            let mut queue = self.shared.queue.lock();
            queue.jobs.extend(std::iter::repeat_n(job.clone(), hands));
        }
        self.shared.arrived.notify_all();
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
        let mut state = self.0.state.lock();
        while state.busy > 0 {
            self.0.finished.wait(&mut state);
        }
        state.error.take().map_or(Ok(()), Err)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // Nobody is told of an error here; whoever wants to know has waited.
        let _ = self.settle();
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.shared.queue.lock().closed = true;
        self.shared.arrived.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn work(shared: &Shared, gpu: &Gpu, mut blocks: Vec<Staging>) {
    loop {
        let job = {
            let mut queue = shared.queue.lock();
            loop {
                if let Some(job) = queue.jobs.pop_front() {
                    break job;
                }
                if queue.closed {
                    return;
                }
                shared.arrived.wait(&mut queue);
            }
        };
        let result = gpu.bind().and_then(|()| match job.direction {
            Direction::Up => job.up(gpu, &mut blocks),
            Direction::Down => job.down(gpu, &mut blocks),
        });
        let mut state = job.state.lock();
        state.busy -= 1;
        if let Err(error) = result {
            // Nobody takes another piece of a copy that has failed.
            job.next.store(usize::MAX / LARGE_PAGE / 2, Ordering::Relaxed);
            state.error.get_or_insert(error);
        }
        if state.busy == 0 {
            job.finished.notify_all();
        }
    }
}

impl Job {
    /// Offset and length of the next piece.
    fn take(&self) -> Option<(usize, usize)> {
        let piece = self.direction.piece();
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
