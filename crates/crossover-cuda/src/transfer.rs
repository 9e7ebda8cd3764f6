//! Bytes between host and device, through page-locked memory.
//!
//! The device copies at the speed of the bus only from and to page-locked memory. Small copies go through a ring of
//! small blocks on the lane of kernels. Large ones are cut into pieces that a crew of threads moves through blocks of
//! their own, while the device copies the pieces before, on a lane of its own.
//!
//! An upload returns when the host's bytes have been read; a download when they have been written.

#![allow(unsafe_code)]

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use crossover_runtime::{
    Device, HostMemory,
    trace::{self, Moment, Queue, Timing},
};
use parking_lot::Mutex;

use crate::{
    Gpu, Pinned, Result,
    blocks::Blocks,
    crew::{Crew, Direction, Pending},
    landing::{Landed, Landings},
    queue::{Lane, Mark},
    timing::{Begun, Clock},
};

/// Largest copy that goes through the ring, and the size of its blocks.
pub(crate) const SMALL: usize = 64 << 10;
/// Blocks in the ring: so many small uploads may be on their way.
const RING: usize = 32;

/// One block of page-locked memory, and when the device is done with it.
#[derive(Debug)]
pub(crate) struct Staging {
    pub(crate) memory: Pinned,
    pub(crate) done: Mark,
}

impl Staging {
    pub(crate) fn new(gpu: &Gpu, bytes: usize) -> Result<Staging> {
        Ok(Staging { memory: gpu.pinned(bytes)?, done: gpu.mark()? })
    }
}

/// Uploads in flight: the ring, and whose turn it is.
#[derive(Debug, Default)]
struct Ring {
    blocks: Vec<Staging>,
    next: usize,
}

/// Page-locked memory that users have: where it starts, and its length.
type Ranges = Mutex<BTreeMap<usize, usize>>;

/// Page-locked memory that a user has.
#[derive(Debug)]
pub(crate) struct PinnedBlock {
    memory: Pinned,
    ranges: Arc<Ranges>,
}

impl HostMemory for PinnedBlock {
    fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.bytes_mut()
    }
}

impl Drop for PinnedBlock {
    fn drop(&mut self) {
        self.ranges.lock().remove(&(self.memory.bytes().as_ptr() as usize));
    }
}

/// The copies of one device.
#[derive(Debug)]
pub(crate) struct Transfers {
    gpu: Gpu,
    /// The device among those of the machine.
    device: Device,
    pub(crate) clock: Clock,
    /// The session that records, and the powers of two of bytes up and down of which it has timed a copy, as bits.
    timed: Mutex<(u64, [u64; 2])>,
    ranges: Arc<Ranges>,
    ring: Mutex<Ring>,
    /// For small downloads, one at a time.
    back: Mutex<Option<Staging>>,
    /// Each made by the first large copy that way; `None` where there is no page-locked memory to be had.
    up: OnceLock<Option<Crew>>,
    down: OnceLock<Option<Crew>>,
    landings: Arc<Landings>,
}

/// What a session that records is to be told of a copy once all of it has been queued.
pub(crate) struct Watch {
    asked: Moment,
    begun: Option<Begun>,
}

/// A copy that threads are making.
pub(crate) struct Copying {
    pending: Pending,
    lane: Lane,
    bytes: usize,
    watch: Option<Watch>,
}

impl Transfers {
    pub(crate) fn new(gpu: &Gpu, device: Device) -> Transfers {
        let (ring, back) = (Mutex::default(), Mutex::default());
        let (up, down) = (OnceLock::new(), OnceLock::new());
        let (clock, timed) = (Clock::default(), Mutex::default());
        let (ranges, landings) = (Arc::default(), Arc::default());
        Transfers { gpu: gpu.clone(), device, clock, timed, ranges, ring, back, up, down, landings }
    }

    /// Makes a copy on a lane, which a session that records is told about.
    fn watched(&self, lane: Lane, down: bool, bytes: usize, copy: impl FnOnce() -> Result<()>) -> Result<()> {
        let watch = self.watch(lane, down, bytes)?;
        copy()?;
        watch.map_or(Ok(()), |watch| self.seen(watch, lane, down, bytes))
    }

    /// Begins to watch a copy on a lane, if a session records.
    fn watch(&self, lane: Lane, down: bool, bytes: usize) -> Result<Option<Watch>> {
        if !trace::is_on() {
            return Ok(None);
        }
        let asked = Moment::now();
        let timed = self.is_timed(down, bytes);
        let begun = timed.then(|| self.clock.begin(&self.gpu, lane)).transpose()?;
        Ok(Some(Watch { asked, begun }))
    }

    /// Ends to watch a copy that has been queued.
    fn seen(&self, Watch { asked, begun }: Watch, lane: Lane, down: bool, bytes: usize) -> Result<()> {
        match begun {
            Some(begun) => self.noted(asked, lane, down, bytes, begun),
            None => {
                self.told(asked, lane, down, bytes, None);
                Ok(())
            }
        }
    }

    /// Whether a session that records has a copy timed: a long one, the first that way of about as many bytes, and any that is cheap to
    /// time.
    fn is_timed(&self, down: bool, bytes: usize) -> bool {
        /// Takes 160 µs at the rate of the fastest link to a host.
        const LONG: usize = 8 << 20;
        if bytes >= LONG {
            return true;
        }
        let bit = 1u64 << bytes.max(1).ilog2();
        let session = trace::session();
        let mut seen = self.timed.lock();
        if seen.0 != session {
            *seen = (session, [0; 2]);
        }
        let known = &mut seen.1[usize::from(down)];
        if *known & bit == 0 {
            *known |= bit;
            trace::spend(trace::TIMED);
            return true;
        }
        trace::affords(trace::TIMED)
    }

    /// Tells a session about a copy that has been queued on a lane since a moment.
    pub(crate) fn noted(
        &self,
        asked: Moment,
        lane: Lane,
        down: bool,
        bytes: usize,
        begun: Begun,
    ) -> Result<()> {
        self.told(asked, lane, down, bytes, Some(begun.end()?));
        Ok(())
    }

    fn told(&self, asked: Moment, lane: Lane, down: bool, bytes: usize, timing: Option<Arc<dyn Timing>>) {
        let way = if down { (self.device, Device::HOST) } else { (Device::HOST, self.device) };
        let queue = Queue { device: self.device, purpose: lane.purpose() };
        trace::transfer(asked, bytes as u64, way, Some((queue, timing)));
    }

    /// Page-locked memory for a user.
    pub(crate) fn pinned(&self, bytes: usize) -> Result<PinnedBlock> {
        let memory = self.gpu.pinned(bytes)?;
        self.ranges.lock().insert(memory.bytes().as_ptr() as usize, bytes);
        Ok(PinnedBlock { memory, ranges: self.ranges.clone() })
    }

    /// Whether bytes lie in page-locked memory that a user has.
    fn is_pinned(&self, bytes: &[u8]) -> bool {
        let start = bytes.as_ptr() as usize;
        let ranges = self.ranges.lock();
        let before = ranges.range(..=start).next_back();
        before.is_some_and(|(&from, &length)| start + bytes.len() <= from + length)
    }

    /// The threads for one way: copies up and down run side by side.
    pub(crate) fn crew(&self, direction: Direction) -> Option<&Crew> {
        let crew = match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        };
        crew.get_or_init(|| Crew::new(&self.gpu, direction).ok()).as_ref()
    }

    /// Copies to memory that is in use on the lane of kernels.
    pub(crate) fn upload(&self, from: &[u8], to: u64) -> Result<()> {
        self.gpu.bind()?;
        if from.len() <= SMALL {
            return self.watched(Lane::Compute, false, from.len(), || self.upload_small(from, to));
        }
        // The memory may have belonged to a kernel that is still running.
        let mark = self.gpu.mark()?;
        mark.set(Lane::Compute)?;
        mark.hold(Lane::Up)?;
        self.upload_large(from, to)
    }

    /// Copies to fresh memory; kernels that run meanwhile are not waited for.
    pub(crate) fn receive(&self, from: &[u8]) -> Result<u64> {
        self.gpu.bind()?;
        // The size that the block has when it is kept for reuse.
        let to = self.gpu.take(Blocks::size(from.len()), Lane::Up)?;
        self.upload_large(from, to).map(|()| to).inspect_err(|_| {
            let _ = self.gpu.give(to, Lane::Up);
        })
    }

    /// As `receive`, of parts of one length that lie apart.
    pub(crate) fn receive_parts(&self, from: &[&[u8]]) -> Result<u64> {
        self.gpu.bind()?;
        let bytes: usize = from.iter().map(|part| part.len()).sum();
        let to = self.gpu.take(Blocks::size(bytes), Lane::Up)?;
        let sent = self.watched(Lane::Up, false, bytes, || match self.crew(Direction::Up) {
            Some(crew) => crew.gather(from, to),
            None => {
                let mut at = to;
                for part in from {
                    // SAFETY: both sides have the bytes; the lane is waited for before the borrow ends.
                    unsafe { self.gpu.copy_up(part.as_ptr(), at, part.len(), Lane::Up)? };
                    at += part.len() as u64;
                }
                self.gpu.finish(Lane::Up)
            }
        });
        sent.and_then(|()| self.kernels_after(Lane::Up)).map(|()| to).inspect_err(|_| {
            let _ = self.gpu.give(to, Lane::Up);
        })
    }

    /// Starts to do what `receive_parts` does, with memory that is there; `None` without threads for it.
    ///
    /// # Safety
    /// The host's bytes stay where and as they are until the copy is over.
    pub(crate) unsafe fn begin_parts(&self, from: &[&[u8]], to: u64) -> Result<Option<Copying>> {
        let Some(crew) = self.crew(Direction::Up) else { return Ok(None) };
        let (lane, bytes) = (Lane::Up, from.iter().map(|part| part.len()).sum());
        let watch = self.watch(lane, false, bytes)?;
        Ok(Some(Copying { pending: crew.begin_gather(from, to)?, lane, bytes, watch }))
    }

    /// Starts to do what `download` does; `None` without threads for it.
    ///
    /// # Safety
    /// Nobody touches the host's bytes until the copy is over.
    pub(crate) unsafe fn begin_download(&self, from: u64, to: &mut [u8]) -> Result<Option<Copying>> {
        let Some(crew) = self.crew(Direction::Down) else { return Ok(None) };
        let (lane, bytes) = (Lane::Down, to.len());
        self.after_kernels(lane)?;
        let watch = self.watch(lane, true, bytes)?;
        let pending = crew.begin(to.as_mut_ptr() as usize, from, bytes);
        Ok(Some(Copying { pending, lane, bytes, watch }))
    }

    /// Waits for a copy that threads make. What kernels do from here on comes after one to the device.
    pub(crate) fn finish(&self, copying: Copying) -> Result<()> {
        let Copying { pending, lane, bytes, watch } = copying;
        let copied = pending.wait();
        if lane == Lane::Up {
            // Also after one that has failed: its memory is given back on the lane of kernels.
            self.kernels_after(lane)?;
        }
        copied?;
        watch.map_or(Ok(()), |watch| self.seen(watch, lane, lane == Lane::Down, bytes))
    }

    /// Starts to copy what kernels queued so far leave in memory to page-locked memory; `None` if none is at hand. The mark has passed
    /// when it is there.
    pub(crate) fn begin_landing(&self, from: u64, bytes: usize) -> Result<Option<(Landed, Mark)>> {
        if bytes <= SMALL {
            return Ok(None);
        }
        self.gpu.bind()?;
        let Some(mut landed) = self.landings.take(&self.gpu, bytes) else { return Ok(None) };
        self.after_kernels(Lane::Down)?;
        let (to, mark) = (landed.start(), self.gpu.mark()?);
        // SAFETY: the memory has the bytes, and its owner below does not let go of it before the mark has passed.
        let copied = self
            .watched(Lane::Down, true, bytes, || unsafe { self.gpu.copy_down(from, to, bytes, Lane::Down) });
        if let Err(error) = copied.and_then(|()| mark.set(Lane::Down)) {
            // The copy may have been queued all the same.
            let _ = self.gpu.finish(Lane::Down);
            return Err(error);
        }
        Ok(Some((landed, mark)))
    }

    /// Gives page-locked memory back that no result is in.
    pub(crate) fn empty(&self) {
        self.landings.empty();
    }

    /// Lets a lane come after what kernels have been queued so far.
    fn after_kernels(&self, lane: Lane) -> Result<()> {
        self.gpu.bind()?;
        let mark = self.gpu.mark()?;
        mark.set(Lane::Compute)?;
        mark.hold(lane)
    }

    /// Lets kernels from now on come after what is queued on a lane.
    fn kernels_after(&self, lane: Lane) -> Result<()> {
        let mark = self.gpu.mark()?;
        mark.set(lane)?;
        mark.hold(Lane::Compute)
    }

    fn upload_small(&self, from: &[u8], to: u64) -> Result<()> {
        let mut ring = self.ring.lock();
        let at = ring.next % RING;
        ring.next += 1;
        while ring.blocks.len() <= at {
            ring.blocks.push(Staging::new(&self.gpu, SMALL)?);
        }
        let block = &mut ring.blocks[at];
        block.done.wait()?;
        block.memory.bytes_mut()[..from.len()].copy_from_slice(from);
        // SAFETY: the block is at least as long and is not written again before `done` has passed.
        unsafe { self.gpu.copy_up(block.memory.bytes().as_ptr(), to, from.len(), Lane::Compute)? };
        block.done.set(Lane::Compute)
    }

    fn upload_large(&self, from: &[u8], to: u64) -> Result<()> {
        self.watched(Lane::Up, false, from.len(), || self.send(from, to))?;
        self.kernels_after(Lane::Up)
    }

    fn send(&self, from: &[u8], to: u64) -> Result<()> {
        match self.crew(Direction::Up).filter(|_| !self.is_pinned(from)) {
            Some(crew) => crew.copy(from.as_ptr() as usize, to, from.len()),
            None => {
                // SAFETY: both sides have the bytes; the lane is waited for before the borrow ends.
                unsafe { self.gpu.copy_up(from.as_ptr(), to, from.len(), Lane::Up)? };
                self.gpu.finish(Lane::Up)
            }
        }
    }

    /// Starts to copy a part of something large, on the lane up; kernels are not told. All of it is queued on the lane when the
    /// answer has been waited for, or now if there is none.
    ///
    /// # Safety
    /// The bytes stay as they are until the lane has passed.
    pub(crate) unsafe fn upload_part(&self, from: &[u8], to: u64) -> Result<Option<Pending>> {
        match self.crew(Direction::Up).filter(|_| !self.is_pinned(from)) {
            Some(crew) => Ok(Some(crew.begin_part(from.as_ptr() as usize, to, from.len()))),
            None => {
                // SAFETY: both sides have the bytes, and the caller keeps the host's.
                unsafe { self.gpu.copy_up(from.as_ptr(), to, from.len(), Lane::Up)? };
                Ok(None)
            }
        }
    }

    /// Copies what kernels queued so far leave in memory.
    pub(crate) fn download(&self, from: u64, to: &mut [u8]) -> Result<()> {
        self.gpu.bind()?;
        if to.len() <= SMALL {
            return self.download_small(from, to);
        }
        let mark = self.gpu.mark()?;
        mark.set(Lane::Compute)?;
        mark.hold(Lane::Down)?;
        self.watched(Lane::Down, true, to.len(), || self.fetch(from, to))
        // The memory may be given back on the lane of kernels, where nothing else waits for this lane; the host has.
    }

    fn download_small(&self, from: u64, to: &mut [u8]) -> Result<()> {
        let mut back = self.back.lock();
        if back.is_none() {
            *back = Some(Staging::new(&self.gpu, SMALL)?);
        }
        let Some(block) = back.as_mut() else { return Ok(()) };
        let memory = block.memory.bytes_mut().as_mut_ptr();
        // SAFETY: the block is at least as long, and is read only after the wait below.
        let copy = || unsafe { self.gpu.copy_down(from, memory, to.len(), Lane::Compute) };
        self.watched(Lane::Compute, true, to.len(), copy)?;
        block.done.set(Lane::Compute)?;
        block.done.wait()?;
        to.copy_from_slice(&block.memory.bytes()[..to.len()]);
        Ok(())
    }

    /// Copies on the lane down, and waits.
    fn fetch(&self, from: u64, to: &mut [u8]) -> Result<()> {
        match self.crew(Direction::Down) {
            Some(crew) => crew.copy(to.as_mut_ptr() as usize, from, to.len()),
            None => {
                // SAFETY: both sides have the bytes; the lane is waited for before the borrow ends.
                unsafe { self.gpu.copy_down(from, to.as_mut_ptr(), to.len(), Lane::Down)? };
                self.gpu.finish(Lane::Down)
            }
        }
    }
}
