//! Buffers: the same bytes, possibly on several devices at once.
//!
//! A buffer has one slot per device. A slot may hold memory, and its contents may be valid. Always:
//!
//! - at least one slot is valid once the buffer has been written;
//! - writing on one device makes every other slot invalid;
//! - bytes move only when a device needs contents that its slot does not hold, and then the source stays valid;
//! - memory of an accelerator may be taken away whenever the buffer is not pinned there, as long as contents stay valid somewhere;
//! - memory of the host is never taken away: slices of it are lent out.
//!
//! Contents are written once, by the kernel or the host data that the buffer was made for, before anybody else
//! can see the buffer; afterwards they never change.
//!
//! No lock is held while a device copies or allocates: whoever moves a buffer marks it, and others who need it moved wait.
#![allow(unsafe_code)]

mod overwrite;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
};

use parking_lot::{Condvar, Mutex, MutexGuard};
use smallvec::SmallVec;

use crate::{Address, Block, Device, Error, Machine, Result, trace};

/// Host memory that belongs to somebody else: a mapped file, or a device's driver.
pub(crate) type Owner = Arc<dyn AsRef<[u8]> + Send + Sync>;

#[derive(Default)]
struct Slot {
    block: Option<Block>,
    valid: bool,
    /// Who keeps the block alive, where it is not the backend's: it is never written and never given to the backend.
    owner: Option<Owner>,
}

impl Slot {
    /// Memory of the backend's, with valid contents.
    fn valid(block: Block) -> Slot {
        Slot { block: Some(block), valid: true, owner: None }
    }
}

type Slots = SmallVec<[Slot; 2]>;

struct State {
    slots: Slots,
    /// Whether somebody is moving the contents, or getting memory for them.
    moving: bool,
}

/// Bytes that may be on several devices.
pub struct Buffer {
    machine: Arc<Machine>,
    bytes: usize,
    state: Mutex<State>,
    moved: Condvar,
    /// Launches that are about to use memory of accelerators. Raised under the lock of the state.
    pins: AtomicU32,
    /// When an accelerator used it last, by the clock of the machine.
    used: AtomicU64,
    /// Whether it is listed as being on an accelerator.
    listed: AtomicBool,
    /// How often parts of it were overwritten on an accelerator since a kernel there used it.
    overwritten: AtomicU32,
    /// Where the host has valid contents, for those who look without the lock; 0 sends them to the slots, which know all.
    ///
    /// Set before the buffer is shared, or with the lock held; no longer set once the host's contents are not valid or lie elsewhere. Who has
    /// read an address may go on with it afterwards, as who has read it from the slot may: the host's memory stays as it is while
    /// the buffer is shared.
    home: AtomicU64,
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} bytes, valid on {:?})", self.bytes, self.valid_on())
    }
}

/// Keeps the memory of a buffer where it is.
#[derive(Debug)]
pub(crate) struct Pin {
    buffer: Arc<Buffer>,
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.buffer.pins.fetch_sub(1, Ordering::Release);
    }
}

/// Keeps the memory of a buffer where it is, for a neighbour who looks at it; made by [`Buffer::hold_on`].
#[derive(Debug)]
pub struct Hold {
    _pin: Option<Pin>,
}

/// What became of memory that was wanted elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// So many bytes are free.
    Gone(u64),
    /// It is in use, or being moved, or holds the only valid contents.
    Stays,
}

/// Ends a move, whatever becomes of it.
struct Moving<'a> {
    buffer: &'a Buffer,
}

impl<'a> Moving<'a> {
    /// Marks the buffer and lets go of its lock.
    fn begin(buffer: &'a Buffer, mut state: MutexGuard<'a, State>) -> Moving<'a> {
        state.moving = true;
        Moving { buffer }
    }
}

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        self.buffer.state.lock().moving = false;
        self.buffer.moved.notify_all();
    }
}

fn slots_of_several(devices: usize, device: Device, slot: Slot) -> Slots {
    let mut slots = Slots::new();
    slots.resize_with(devices, Slot::default);
    slots[device.0] = slot;
    slots
}

impl Buffer {
    /// Every call of a known plan makes one: it is written where it stays, not copied there.
    #[inline]
    fn new(machine: &Arc<Machine>, bytes: usize, device: Device, slot: Slot) -> Arc<Buffer> {
        let home = match slot.block {
            Some(block) if device == Device::HOST && slot.valid && block.bytes == bytes => block.address.0,
            _ => 0,
        };
        let slots = match machine.backends.len() {
            1 => Slots::from_buf_and_len([slot, Slot::default()], 1),
            several => slots_of_several(several, device, slot),
        };
        Arc::new(Buffer {
            machine: machine.clone(),
            bytes,
            state: Mutex::new(State { slots, moving: false }),
            moved: Condvar::new(),
            pins: AtomicU32::new(0),
            used: AtomicU64::new(0),
            listed: AtomicBool::new(false),
            overwritten: AtomicU32::new(0),
            home: AtomicU64::new(home),
        })
    }

    /// Memory on one device whose contents the caller writes before sharing the buffer, and before it drops the pin.
    pub(crate) fn uninitialised(
        machine: &Arc<Machine>,
        device: Device,
        bytes: usize,
    ) -> Result<(Arc<Buffer>, Block, Option<Pin>)> {
        let block = machine.obtain(device, bytes)?;
        let buffer = Buffer::new(machine, bytes, device, Slot::valid(block));
        if device == Device::HOST {
            return Ok((buffer, block, None));
        }
        buffer.pins.store(1, Ordering::Relaxed);
        buffer.list(device);
        Ok((buffer.clone(), block, Some(Pin { buffer })))
    }

    /// A buffer whose valid contents a device has.
    pub(crate) fn placed(machine: &Arc<Machine>, device: Device, block: Block) -> Arc<Buffer> {
        let buffer = Buffer::new(machine, block.bytes, device, Slot::valid(block));
        if device != Device::HOST {
            buffer.list(device);
        }
        buffer
    }

    /// Notes that a device has the contents in this block; gives it back if they are there already.
    pub(crate) fn place(self: &Arc<Self>, device: Device, block: Block) {
        let mut state = self.state.lock();
        let slot = &mut state.slots[device.0];
        if slot.block.is_some() {
            drop(state);
            return self.machine.backend(device).free(block);
        }
        *slot = Slot::valid(block);
        drop(state);
        self.list(device);
    }

    /// Lists the buffer as being on an accelerator, so that room can be made there.
    fn list(self: &Arc<Self>, device: Device) {
        self.used.store(self.machine.tick(), Ordering::Relaxed);
        self.listed.store(true, Ordering::Relaxed);
        self.machine.residents[device.0].add(self);
    }

    /// Takes the buffer off all lists.
    fn unlist(&self) {
        if self.listed.load(Ordering::Relaxed) && self.listed.swap(false, Ordering::Relaxed) {
            self.machine.residents[1..].iter().for_each(|residents| residents.remove(self));
        }
    }

    /// The buffer, to be changed, if nobody else has it.
    pub fn exclusive(this: &mut Arc<Buffer>) -> Option<&mut Buffer> {
        if Arc::strong_count(this) > 1 {
            return None;
        }
        // Being listed is a weak reference. Somebody who makes room may hold a strong one for a moment: then it is shared.
        this.unlist();
        if Arc::get_mut(this).is_none() {
            for device in this.valid_on().into_iter().filter(|&device| device != Device::HOST) {
                this.list(device);
            }
            return None;
        }
        Arc::get_mut(this)
    }

    /// A buffer on the host, filled by `fill`. The slice may hold anything before.
    pub fn from_fill(
        machine: &Arc<Machine>,
        bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<Arc<Buffer>> {
        let (buffer, block, _) = Buffer::uninitialised(machine, Device::HOST, bytes)?;
        if bytes > 0 {
            // SAFETY: the host backend hands out `bytes` writable bytes at this address (Backend::allocate), and
            // nobody else has seen the buffer. Memory fresh from the pool is initialised as far as the backend is
            // concerned: it never hands out pages the system has not zeroed or a former owner has not written.
            fill(unsafe { std::slice::from_raw_parts_mut(block.address.0 as *mut u8, bytes) });
        }
        Ok(buffer)
    }

    /// A buffer on the host with a copy of these bytes.
    pub fn from_bytes(machine: &Arc<Machine>, bytes: &[u8]) -> Result<Arc<Buffer>> {
        Buffer::from_fill(machine, bytes.len(), |to| {
            machine.backend(Device::HOST).copy(bytes, to);
        })
    }

    /// A buffer on a device with a copy of host bytes that lie apart in parts of one length, one behind the other.
    pub(crate) fn from_parts(machine: &Arc<Machine>, device: Device, parts: &[&[u8]]) -> Result<Arc<Buffer>> {
        if parts.windows(2).any(|pair| pair[0].len() != pair[1].len()) {
            return Err(Error::Internal("parts of several lengths".to_string()));
        }
        Ok(Buffer::placed(machine, device, machine.receive_parts(device, parts)?))
    }

    /// A buffer on the host whose bytes stay where they are and belong to `owner`: a mapped file.
    ///
    /// `None` if they are not aligned for elements of `align` bytes. The bytes are only read; a caller who wants to
    /// change the buffer in place gets a copy.
    pub fn from_owner(
        machine: &Arc<Machine>,
        owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
        align: usize,
    ) -> Option<Arc<Buffer>> {
        // The borrow of the owner's contents lasts as long as the owner is held here: until the buffer is dropped or
        // has memory of its own.
        let bytes = (*owner).as_ref();
        let block = Block { address: Address(bytes.as_ptr() as u64), bytes: bytes.len() };
        if !block.address.0.is_multiple_of(align as u64) {
            return None;
        }
        let slot = Slot { block: Some(block), valid: true, owner: Some(owner) };
        Some(Buffer::new(machine, block.bytes, Device::HOST, slot))
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The machine whose devices the buffer can be on.
    pub fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Devices that hold valid contents.
    pub fn valid_on(&self) -> SmallVec<[Device; 2]> {
        let state = self.state.lock();
        (0..state.slots.len()).filter(|&d| state.slots[d].valid).map(Device).collect()
    }

    /// Devices that hold valid contents, one bit each.
    pub(crate) fn valid_mask(&self) -> u32 {
        let state = self.state.lock();
        let bit = |(device, slot): (usize, &Slot)| u32::from(slot.valid) << device;
        state.slots.iter().enumerate().fold(0, |mask, entry| mask | bit(entry))
    }

    /// Whether contents on a device are valid.
    pub fn is_valid_on(&self, device: Device) -> bool {
        self.state.lock().slots[device.0].valid
    }

    /// The host's memory, if its contents are valid.
    #[inline]
    pub(crate) fn at_home(&self) -> Option<Block> {
        match self.home.load(Ordering::Acquire) {
            0 => self.at_home_by_slot(),
            address => Some(Block { address: Address(address), bytes: self.bytes }),
        }
    }

    #[cold]
    fn at_home_by_slot(&self) -> Option<Block> {
        let state = self.state.lock();
        let slot = &state.slots[Device::HOST.0];
        slot.block.filter(|_| slot.valid)
    }

    /// When an accelerator used it last.
    pub(crate) fn last_use(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// The state, once nobody moves the contents.
    fn settled(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        while state.moving {
            self.moved.wait(&mut state);
        }
        state
    }

    fn pin(&self, device: Device, wanted: bool) {
        if wanted && device != Device::HOST {
            self.pins.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn pinned(self: &Arc<Self>, device: Device) -> Option<Pin> {
        if device == Device::HOST {
            return None;
        }
        self.used.store(self.machine.tick(), Ordering::Relaxed);
        self.overwritten.store(0, Ordering::Relaxed);
        Some(Pin { buffer: self.clone() })
    }

    /// The memory of one device, for a kernel that is about to write all of it; it stays there as long as the pin lives.
    pub(crate) fn for_writing(self: &Arc<Self>, device: Device) -> Result<(Block, Option<Pin>)> {
        let block = self.writable(device, true)?;
        if device != Device::HOST {
            self.list(device);
        }
        Ok((block, self.pinned(device)))
    }

    fn writable(&self, device: Device, pin: bool) -> Result<Block> {
        let state = self.settled();
        let slot = &state.slots[device.0];
        let known = slot.block.filter(|_| slot.owner.is_none());
        let moving = Moving::begin(self, state);
        let block = match known {
            Some(block) => block,
            None => self.machine.obtain(device, self.bytes)?,
        };
        let mut state = self.state.lock();
        for slot in state.slots.iter_mut() {
            slot.valid = false;
        }
        state.slots[device.0] = Slot::valid(block);
        let home = if device == Device::HOST { block.address.0 } else { 0 };
        self.home.store(home, Ordering::Release);
        self.pin(device, pin);
        drop(state);
        drop(moving);
        Ok(block)
    }

    /// Valid contents on a device, copied there if they are not yet; the flag says whether anything moved.
    pub fn on(self: &Arc<Self>, device: Device) -> Result<(Block, bool)> {
        let (block, moved) = self.fetch(device, false)?;
        self.arrived(device, moved);
        Ok((block, moved))
    }

    /// As [`on`](Buffer::on), for a neighbour: the memory stays there as long as the hold lives.
    ///
    /// ```
    /// use crossover_runtime::{Buffer, Device, Machine, sim::{Clock, SimHost, SimOptions}};
    /// # use std::sync::Arc;
    /// let host = Arc::new(SimHost::hollow(SimOptions::default(), Clock::default()));
    /// let machine = Machine::new(host, Vec::new())?;
    /// let (block, _hold) = Buffer::from_bytes(&machine, &[1, 2, 3])?.hold_on(Device::HOST)?;
    /// assert_eq!(block.bytes, 3);
    /// # Ok::<(), crossover_runtime::Error>(())
    /// ```
    pub fn hold_on(self: &Arc<Self>, device: Device) -> Result<(Block, Hold)> {
        let (block, _, pin) = self.held_on(device)?;
        Ok((block, Hold { _pin: pin }))
    }

    /// A buffer on an accelerator with a copy of memory there that is a neighbour's; the copy is complete when this returns.
    ///
    /// The caller guarantees that the memory is the device's, readable, and that what the neighbour has queued to write it is in order
    /// before the device's own [queue](crate::Backend::queue).
    pub fn from_neighbour(machine: &Arc<Machine>, device: Device, from: Block) -> Result<Arc<Buffer>> {
        let (buffer, block, _pin) = Buffer::uninitialised(machine, device, from.bytes)?;
        let backend = machine.backend(device);
        if from.bytes > 0 && !backend.copy_from(&**backend, from, block, from.bytes)? {
            let what = "copies of other libraries' memory".to_string();
            return Err(Error::Unsupported { device: backend.name().to_string(), what });
        }
        backend.finish()?;
        Ok(buffer)
    }

    /// As [`on`](Buffer::on), for a launch: the memory stays there as long as the pin lives.
    pub(crate) fn held_on(self: &Arc<Self>, device: Device) -> Result<(Block, bool, Option<Pin>)> {
        let (block, moved) = self.fetch(device, true)?;
        self.arrived(device, moved);
        Ok((block, moved, self.pinned(device)))
    }

    /// Lists a buffer that has come to an accelerator, or that was there unlisted.
    fn arrived(self: &Arc<Self>, device: Device, moved: bool) {
        if device != Device::HOST && (moved || !self.listed.load(Ordering::Relaxed)) {
            self.list(device);
        }
    }

    fn fetch(&self, device: Device, pin: bool) -> Result<(Block, bool)> {
        let mut state = self.state.lock();
        loop {
            if let (Some(block), true) = (state.slots[device.0].block, state.slots[device.0].valid) {
                self.pin(device, pin);
                return Ok((block, false));
            }
            if !state.moving {
                break;
            }
            self.moved.wait(&mut state);
        }
        let source = state.slots.iter().position(|s| s.valid).ok_or_else(|| Error::Device {
            device: self.machine.backend(device).name().to_string(),
            during: "reading a buffer",
            reason: "its only copy was on a device that failed".to_string(),
        })?;
        let from = state.slots[source].block;
        let from = from.ok_or_else(|| Error::Internal("a valid slot without memory".to_string()))?;
        let slot = &state.slots[device.0];
        let known = slot.block.filter(|_| slot.owner.is_none());
        // From here on the memory stays where it is: who makes room leaves alone what moves.
        let moving = Moving::begin(self, state);
        let to = self.brought(Device(source), from, device, known)?;
        let mut state = self.state.lock();
        state.slots[device.0] = Slot::valid(to);
        self.pin(device, pin);
        drop(state);
        drop(moving);
        Ok((to, true))
    }

    /// Memory of a device with the contents.
    fn brought(&self, source: Device, from: Block, device: Device, known: Option<Block>) -> Result<Block> {
        if self.bytes > 0 && self.machine.backend(source).is_host() && known.is_none() {
            // SAFETY: a valid slot of a host backend is `bytes` initialised bytes, which nobody frees while the buffer is marked
            // as moving.
            let bytes = unsafe { std::slice::from_raw_parts(from.address.0 as *const u8, self.bytes) };
            return self.machine.receive(device, bytes);
        }
        let to = match known {
            Some(block) => block,
            None => self.machine.obtain(device, self.bytes)?,
        };
        if let Err(error) = self.copy(source, from, device, to) {
            if known.is_none() {
                self.machine.backend(device).free(to);
            }
            return Err(error);
        }
        Ok(to)
    }

    fn copy(&self, source: Device, from: Block, device: Device, to: Block) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        let (origin, target) = (self.machine.backend(source), self.machine.backend(device));
        if origin.is_host() {
            // SAFETY: a valid slot of a host backend is `bytes` initialised bytes, which nobody frees while the buffer is marked
            // as moving.
            let bytes = unsafe { std::slice::from_raw_parts(from.address.0 as *const u8, self.bytes) };
            return target.upload(bytes, to);
        }
        if target.is_host() {
            // SAFETY: `to` was allocated by the host backend with at least `bytes` bytes, and only this call has it.
            let bytes = unsafe { std::slice::from_raw_parts_mut(to.address.0 as *mut u8, self.bytes) };
            let _span = trace::span(trace::Kind::Wait, "read from a device");
            return origin.download(from, bytes);
        }
        if target.copy_from(&**origin, from, to, self.bytes)? {
            return Ok(());
        }
        // The host's budget counts what passes through it.
        let host = self.machine.backend(Device::HOST);
        let staging = host.allocate(self.bytes)?;
        // SAFETY: the host backend hands out `bytes` writable bytes, and only this call has them.
        let bytes = unsafe { std::slice::from_raw_parts_mut(staging.address.0 as *mut u8, self.bytes) };
        let copied = origin.download(from, bytes).and_then(|()| target.upload(bytes, to));
        host.free(staging);
        copied
    }

    /// Gives up memory of an accelerator that is not needed: contents are valid elsewhere too, or not valid there.
    pub(crate) fn evict(&self, device: Device) -> Left {
        let Some(mut state) = self.state.try_lock() else { return Left::Stays };
        if !self.is_spare(&state, device) {
            return Left::Stays;
        }
        let Some(block) = std::mem::take(&mut state.slots[device.0]).block else { return Left::Stays };
        // Under the lock: whoever brings it back lists it afterwards.
        self.machine.residents[device.0].remove(self);
        drop(state);
        self.machine.backend(device).free(block);
        Left::Gone(block.bytes as u64)
    }

    /// Bytes that [`evict`](Buffer::evict) would free.
    pub(crate) fn spare_on(&self, device: Device) -> u64 {
        let Some(state) = self.state.try_lock() else { return 0 };
        if self.is_spare(&state, device) { self.bytes as u64 } else { 0 }
    }

    fn is_spare(&self, state: &State, device: Device) -> bool {
        let free = !state.moving && self.pins.load(Ordering::Acquire) == 0;
        let elsewhere = || state.slots.iter().enumerate().any(|(d, slot)| d != device.0 && slot.valid);
        free && state.slots[device.0].block.is_some() && elsewhere()
    }

    /// Moves the contents from an accelerator to the host.
    pub(crate) fn spill(&self, device: Device) -> Result<Left> {
        let Some(state) = self.state.try_lock() else { return Ok(Left::Stays) };
        if state.moving || self.pins.load(Ordering::Acquire) > 0 || !state.slots[device.0].valid {
            return Ok(Left::Stays);
        }
        let Some(from) = state.slots[device.0].block else { return Ok(Left::Stays) };
        let host = &state.slots[Device::HOST.0];
        let (valid, known) = (host.valid, host.block.filter(|_| host.owner.is_none()));
        let moving = Moving::begin(self, state);
        if !valid {
            let to = self.brought(device, from, Device::HOST, known)?;
            self.state.lock().slots[Device::HOST.0] = Slot::valid(to);
        }
        let mut state = self.state.lock();
        if self.pins.load(Ordering::Acquire) > 0 {
            // Somebody found it here meanwhile, and is about to use it.
            return Ok(Left::Stays);
        }
        state.slots[device.0] = Slot::default();
        self.machine.residents[device.0].remove(self);
        drop(state);
        drop(moving);
        self.machine.backend(device).free(from);
        Ok(Left::Gone(from.bytes as u64))
    }

    /// The contents on the host, fetched if they are not there yet.
    pub fn host_bytes(&self) -> Result<&[u8]> {
        let (block, _) = self.fetch(Device::HOST, false)?;
        if self.bytes == 0 {
            return Ok(&[]);
        }
        // SAFETY: host blocks are readable for `bytes` bytes and live as long as the buffer; contents never change
        // once the buffer is shared, so no writer can overlap this borrow.
        Ok(unsafe { std::slice::from_raw_parts(block.address.0 as *const u8, self.bytes) })
    }

    /// Copies the contents to memory of the caller's, from wherever they are; `to` is as long as the buffer.
    ///
    /// What is on a device alone stays there alone: a caller who wants the bytes once needs no copy on the host.
    pub fn read_into(&self, to: &mut [u8]) -> Result<()> {
        if to.len() != self.bytes {
            return Err(Error::Internal(format!("{} bytes for a buffer of {}", to.len(), self.bytes)));
        }
        let state = self.state.lock();
        let find = |(d, slot): (usize, &Slot)| Some((d, slot.block.filter(|_| slot.valid)?));
        match state.slots.iter().enumerate().find_map(find) {
            Some((device, block)) if device != Device::HOST.0 && self.bytes > 0 => {
                self.pin(Device(device), true);
                drop(state);
                let _span = trace::span(trace::Kind::Wait, "read from a device");
                let copied = self.machine.backends[device].download(block, to);
                self.pins.fetch_sub(1, Ordering::Release);
                copied
            }
            _ => {
                drop(state);
                self.machine.backend(Device::HOST).copy(self.host_bytes()?, to);
                Ok(())
            }
        }
    }

    /// Copies a block of a device into a range of the host's memory, of which this caller is the only writer: the buffer has not
    /// been shared yet.
    pub(crate) fn write_from(
        &self,
        device: Device,
        from: Block,
        bytes: std::ops::Range<usize>,
    ) -> Result<()> {
        let host = self.state.lock().slots[Device::HOST.0].block;
        let host = host.filter(|block| bytes.end <= block.bytes && bytes.len() <= from.bytes);
        let host = host.ok_or_else(|| Error::Internal("a part outside of its result".to_string()))?;
        if bytes.is_empty() {
            return Ok(());
        }
        let start = host.address.0 as usize + bytes.start;
        // SAFETY: the range lies inside the host's block, which stays while the buffer lives; nobody else has seen these bytes,
        // since a launch writes its results before anybody reads them.
        let to = unsafe { std::slice::from_raw_parts_mut(start as *mut u8, bytes.len()) };
        self.machine.backend(device).download(from, to)
    }

    /// Notes that the host has the contents in this memory, unless it has them already or somebody brings them there.
    pub(crate) fn landed(&self, owner: Owner) {
        let bytes = (*owner).as_ref();
        let block = Block { address: Address(bytes.as_ptr() as u64), bytes: bytes.len() };
        let mut state = self.state.lock();
        let free = !state.moving && state.slots[Device::HOST.0].block.is_none();
        if free && block.bytes == self.bytes {
            state.slots[Device::HOST.0] = Slot { block: Some(block), valid: true, owner: Some(owner) };
        }
    }

    /// Notes that the host has the contents in this block of its own; gives it back as [`landed`](Buffer::landed) does.
    pub(crate) fn came_home(&self, block: Block) {
        let mut state = self.state.lock();
        if !state.moving && state.slots[Device::HOST.0].block.is_none() {
            state.slots[Device::HOST.0] = Slot::valid(block);
            return;
        }
        drop(state);
        self.machine.backend(Device::HOST).free(block);
    }

    /// The accelerator whose memory alone has the contents, with that memory, which stays as long as the pin lives.
    pub(crate) fn away(self: &Arc<Self>) -> Option<(Device, Block, Pin)> {
        let state = self.state.lock();
        if state.moving || state.slots[Device::HOST.0].block.is_some() {
            return None;
        }
        let at = state.slots.iter().position(|slot| slot.valid)?;
        let block = state.slots[at].block?;
        self.pin(Device(at), true);
        drop(state);
        Some((Device(at), block, self.pinned(Device(at))?))
    }

    /// Brings the contents to a device and gives up every other copy.
    ///
    /// ```
    /// use crossover_runtime::{Buffer, Device, Machine, sim::{Clock, SimDevice, SimHost, SimOptions}};
    /// # use std::sync::Arc;
    /// let (clock, options) = (Clock::default(), SimOptions::default());
    /// let gpu = Arc::new(SimDevice::hollow(options.clone(), clock.clone()));
    /// let machine = Machine::new(Arc::new(SimHost::hollow(options, clock)), vec![gpu])?;
    /// let mut buffer = Buffer::from_bytes(&machine, &[1, 2, 3])?;
    /// Buffer::exclusive(&mut buffer).expect("nobody else has it").keep_on(Device(1))?;
    /// assert_eq!(buffer.valid_on().as_slice(), [Device(1)]);
    /// # Ok::<(), crossover_runtime::Error>(())
    /// ```
    pub fn keep_on(&mut self, device: Device) -> Result<()> {
        self.fetch(device, false)?;
        if device != Device::HOST {
            *self.home.get_mut() = 0;
        }
        for (at, slot) in self.state.get_mut().slots.iter_mut().enumerate() {
            if at == device.0 {
                continue;
            }
            let Slot { block, owner, .. } = std::mem::take(slot);
            if let (Some(block), None) = (block, owner) {
                self.machine.backends[at].free(block);
            }
        }
        Ok(())
    }

    /// The contents on the host, to be changed in place; copies elsewhere are given up.
    pub fn host_bytes_mut(&mut self) -> Result<&mut [u8]> {
        self.fetch(Device::HOST, false)?;
        self.own()?;
        let block = self.writable(Device::HOST, false)?;
        for (device, slot) in self.state.get_mut().slots.iter_mut().enumerate().skip(1) {
            if let Some(block) = std::mem::take(slot).block {
                self.machine.backends[device].free(block);
            }
        }
        if self.bytes == 0 {
            return Ok(&mut []);
        }
        // SAFETY: host blocks are writable for `bytes` bytes, and `&mut self` means nobody else has the buffer.
        Ok(unsafe { std::slice::from_raw_parts_mut(block.address.0 as *mut u8, self.bytes) })
    }

    /// Copies valid contents of the host that belong to somebody else into memory of our own.
    fn own(&mut self) -> Result<()> {
        let slot = &mut self.state.get_mut().slots[Device::HOST.0];
        let Some(owner) = &slot.owner else { return Ok(()) };
        let backend = self.machine.backend(Device::HOST);
        let block = backend.allocate(self.bytes)?;
        if let Err(error) = backend.upload((**owner).as_ref(), block) {
            backend.free(block);
            return Err(error);
        }
        *slot = Slot::valid(block);
        *self.home.get_mut() = block.address.0;
        Ok(())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.unlist();
        for (device, slot) in self.state.get_mut().slots.iter().enumerate() {
            if let (Some(block), None) = (slot.block, &slot.owner) {
                self.machine.backends[device].free(block);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Backend, Executable,
        memory::Account,
        sim::{Clock, SimDevice, SimHost, SimOptions},
    };

    type Hook = Box<dyn FnOnce() + Send>;

    /// A device in the middle of whose next copy to the host something happens.
    struct Hooked {
        inner: SimDevice,
        hook: Mutex<Option<Hook>>,
    }

    impl Backend for Hooked {
        fn name(&self) -> &str {
            "hooked"
        }
        fn allocate(&self, bytes: usize) -> Result<Block> {
            self.inner.allocate(bytes)
        }
        fn free(&self, block: Block) {
            self.inner.free(block);
        }
        fn upload(&self, from: &[u8], to: Block) -> Result<()> {
            self.inner.upload(from, to)
        }
        fn download(&self, from: Block, to: &mut [u8]) -> Result<()> {
            let hook = self.hook.lock().take();
            hook.into_iter().for_each(|hook| hook());
            self.inner.download(from, to)
        }
        fn account(&self) -> Option<&Account> {
            self.inner.account()
        }
        fn prepare(&self, kernel: &crossover_plan::kernel::Kernel) -> Result<Box<dyn Executable>> {
            self.inner.prepare(kernel)
        }
    }

    const DEVICE: Device = Device(1);

    fn hooked() -> (Arc<Hooked>, Arc<Machine>) {
        let (clock, options) = (Clock::default(), SimOptions::default());
        let inner = SimDevice::hollow(options.clone(), clock.clone());
        let device = Arc::new(Hooked { inner, hook: Mutex::default() });
        let host = Arc::new(SimHost::hollow(options, clock));
        (device.clone(), Machine::new(host, vec![device]).unwrap())
    }

    #[test]
    fn a_buffer_that_is_used_while_it_is_spilled_stays() {
        let (device, machine) = hooked();
        let (buffer, block, pin) = Buffer::uninitialised(&machine, DEVICE, 1000).unwrap();
        assert_eq!(buffer.spill(DEVICE).unwrap(), Left::Stays, "a launch is about to use it");
        assert_eq!(buffer.evict(DEVICE), Left::Stays);
        drop(pin);
        let (shared, held) = (buffer.clone(), Arc::new(Mutex::new(None)));
        let to = held.clone();
        *device.hook.lock() = Some(Box::new(move || *to.lock() = Some(shared.held_on(DEVICE).unwrap())));
        assert_eq!(buffer.spill(DEVICE).unwrap(), Left::Stays, "it was found there meanwhile");
        assert_eq!(held.lock().as_ref().map(|(found, ..)| *found), Some(block));
        assert_eq!(device.inner.used(), 1000);
        *held.lock() = None;
        assert_eq!(buffer.evict(DEVICE), Left::Gone(1000), "the host has it too now");
        assert_eq!((device.inner.used(), buffer.valid_on().as_slice()), (0, [Device::HOST].as_slice()));
    }

    #[test]
    fn whoever_needs_a_buffer_that_moves_waits_and_finds_it() {
        let (device, machine) = hooked();
        let (buffer, _, pin) = Buffer::uninitialised(&machine, DEVICE, 1000).unwrap();
        drop(pin);
        let (shared, waiting) = (buffer.clone(), Arc::new(Mutex::new(None)));
        let to = waiting.clone();
        *device.hook.lock() = Some(Box::new(move || {
            *to.lock() = Some(std::thread::spawn(move || shared.host_bytes().map(<[u8]>::len)));
            std::thread::sleep(std::time::Duration::from_millis(20));
        }));
        assert_eq!(buffer.spill(DEVICE).unwrap(), Left::Gone(1000));
        let thread = waiting.lock().take().unwrap();
        assert_eq!(thread.join().unwrap().unwrap(), 1000);
        assert!(device.hook.lock().is_none(), "one copy served both");
    }

    #[test]
    fn a_listed_buffer_that_nobody_shares_can_be_changed() {
        let (device, machine) = hooked();
        let mut buffer = Buffer::from_bytes(&machine, &[7; 100]).unwrap();
        buffer.on(DEVICE).unwrap();
        let other = buffer.clone();
        assert!(Buffer::exclusive(&mut buffer).is_none());
        drop(other);
        Buffer::exclusive(&mut buffer).unwrap().host_bytes_mut().unwrap()[3] = 1;
        assert_eq!((device.inner.used(), buffer.valid_on().as_slice()), (0, [Device::HOST].as_slice()));
    }

    #[test]
    fn without_the_lock_the_host_has_what_the_slot_says() {
        let (_, machine) = hooked();
        let same = |buffer: &Buffer| {
            assert_eq!(buffer.at_home(), buffer.at_home_by_slot());
            buffer.at_home().map(|block| block.address)
        };
        let mut buffer = Buffer::from_bytes(&machine, &[7; 100]).unwrap();
        let first = same(&buffer);
        assert!(first.is_some());
        buffer.on(DEVICE).unwrap();
        assert_eq!(same(&buffer), first, "a copy elsewhere changes nothing here");
        drop(buffer.for_writing(DEVICE).unwrap());
        assert_eq!(same(&buffer), None, "a device has written");
        buffer.host_bytes().unwrap();
        assert!(same(&buffer).is_some(), "it has come home");
        Buffer::exclusive(&mut buffer).unwrap().keep_on(DEVICE).unwrap();
        assert_eq!(same(&buffer), None, "the host's memory is gone");
        Buffer::exclusive(&mut buffer).unwrap().host_bytes_mut().unwrap()[0] = 1;
        assert!(same(&buffer).is_some());
        let (away, ..) = Buffer::uninitialised(&machine, DEVICE, 8).unwrap();
        assert_eq!(same(&away), None);
        let owner: Owner = Arc::new(vec![1u8; 64]);
        let mut lent = Buffer::from_owner(&machine, owner, 1).unwrap();
        let theirs = same(&lent);
        Buffer::exclusive(&mut lent).unwrap().host_bytes_mut().unwrap()[0] = 2;
        assert_ne!(same(&lent), theirs, "what is changed is a copy");
        assert!(same(&Buffer::from_bytes(&machine, &[]).unwrap()).is_some());
    }
}
