//! Copies between two GPUs: straight from one memory to the other where the machine allows it, else through
//! page-locked memory of the host, piece by piece, both buses busy at once.
//!
//! Nothing waits on the host for a straight copy. Events put it in order: it begins when kernels of the source have written the
//! bytes and kernels of the target have left the memory; kernels of the target that come later wait for it, and so does
//! whoever gives the source's memory back.

#![allow(unsafe_code)]

use cudarc::driver::{result, sys};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::{
    Gpu, Result,
    driver::driver,
    queue::{Lane, Mark},
    transfer::Staging,
};

/// Bytes of a piece that goes through the host.
const PIECE: usize = 4 << 20;
/// Pieces on their way: one comes down while the other goes up.
const BLOCKS: usize = 2;

/// What a device knows about the others, as the target of copies.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    /// Whether this device reads the memory of another, by the driver's number.
    reachable: Mutex<FxHashMap<sys::CUdevice, bool>>,
    /// Page-locked memory for pieces, of the source's; made by the first copy that needs it.
    staging: Mutex<FxHashMap<sys::CUdevice, Vec<Staging>>>,
}

impl Peers {
    /// Queues a copy from another device, or makes it through the host.
    pub(crate) fn copy(
        &self,
        (from, source): (&Gpu, u64),
        (to, target): (&Gpu, u64),
        bytes: usize,
    ) -> Result<()> {
        // The bytes may still be on their way to the source, and the target's memory in use.
        from.bind()?;
        let written = from.mark()?;
        written.set(Lane::Compute)?;
        to.bind()?;
        let left = to.mark()?;
        left.set(Lane::Compute)?;
        left.hold(Lane::Up)?;
        if self.reaches(from, to) {
            written.hold_at(to, Lane::Up)?;
            // SAFETY: both blocks have the bytes, and marks keep them until the copy has passed.
            unsafe { to.copy_peer((from, source), target, bytes)? };
            let copied = to.mark()?;
            copied.set(Lane::Up)?;
            copied.hold(Lane::Compute)?;
            // Memory of the source is given back on its lane of kernels.
            from.bind()?;
            return copied.hold_at(from, Lane::Compute);
        }
        from.bind()?;
        written.hold(Lane::Down)?;
        self.staged((from, source), (to, target), bytes)
    }

    /// Whether a device can read another's memory, asked for and allowed once.
    fn reaches(&self, from: &Gpu, to: &Gpu) -> bool {
        *self.reachable.lock().entry(from.shared.device).or_insert_with(|| allow(from, to).unwrap_or(false))
    }

    fn staged(&self, (from, source): (&Gpu, u64), (to, target): (&Gpu, u64), bytes: usize) -> Result<()> {
        let mut all = self.staging.lock();
        let blocks = all.entry(from.shared.device).or_default();
        while blocks.len() < BLOCKS {
            blocks.push(Staging::new(from, PIECE)?);
        }
        to.bind()?;
        let gone = (0..BLOCKS).map(|_| to.mark()).collect::<Result<Vec<Mark>>>()?;
        for (turn, at) in (0..bytes).step_by(PIECE).enumerate() {
            let (length, block) = (PIECE.min(bytes - at), &mut blocks[turn % BLOCKS]);
            let (gone, memory) = (&gone[turn % BLOCKS], block.memory.bytes_mut().as_mut_ptr());
            gone.wait()?;
            from.bind()?;
            // SAFETY: the block holds a piece; nothing writes to it before `gone` has passed, and the target reads it after
            // `done`.
            unsafe { from.copy_down(source + at as u64, memory, length, Lane::Down)? };
            block.done.set(Lane::Down)?;
            to.bind()?;
            block.done.hold_at(to, Lane::Up)?;
            // SAFETY: as above.
            unsafe { to.copy_up(memory, target + at as u64, length, Lane::Up)? };
            gone.set(Lane::Up)?;
        }
        let copied = to.mark()?;
        copied.set(Lane::Up)?;
        copied.hold(Lane::Compute)?;
        // The blocks are free for the next copy, and the source's memory has been read.
        copied.wait()
    }
}

/// Lets a device read another's pool; false if the machine cannot do that.
fn allow(from: &Gpu, to: &Gpu) -> Result<bool> {
    let mut can = 0;
    // SAFETY: both handles come from the driver.
    unsafe { sys::cuDeviceCanAccessPeer(&mut can, to.shared.device, from.shared.device) }
        .result()
        .map_err(driver("cuDeviceCanAccessPeer"))?;
    if can == 0 {
        return Ok(false);
    }
    let location = sys::CUmemLocation {
        type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
        id: to.shared.device,
    };
    let access =
        sys::CUmemAccessDesc { location, flags: sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    // SAFETY: the pool is the source's, which lives as long as the device; one description is passed.
    unsafe { sys::cuMemPoolSetAccess(from.pool()?, &access, 1) }
        .result()
        .map_err(driver("cuMemPoolSetAccess"))?;
    Ok(true)
}

impl Gpu {
    /// Queues a copy from another device's memory on the lane of copies to this one.
    ///
    /// # Safety
    /// Both sides have that many bytes, and stay until the copy has passed.
    unsafe fn copy_peer(&self, (from, source): (&Gpu, u64), target: u64, bytes: usize) -> Result<()> {
        let (here, there) = (self.shared.context, from.shared.context);
        // SAFETY: the caller's contract.
        unsafe { result::memcpy_peer_async(here, target, there, source, bytes, self.shared.up) }
            .map_err(driver("cuMemcpyPeerAsync"))
    }
}

impl Mark {
    /// Makes what is queued on a lane of another device from here on wait for the mark.
    fn hold_at(&self, gpu: &Gpu, lane: Lane) -> Result<()> {
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: event and stream are valid; the driver takes them from different devices.
        unsafe { result::stream::wait_event(gpu.lane(lane), self.event, flags) }
            .map_err(driver("cuStreamWaitEvent"))
    }
}
