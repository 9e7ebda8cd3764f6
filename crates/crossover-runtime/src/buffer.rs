//! Buffers: the same bytes, possibly on several devices at once.
//!
//! A buffer has one slot per device. A slot may hold memory, and its contents may be valid. Always:
//!
//! - at least one slot is valid once the buffer has been written;
//! - writing on one device makes every other slot invalid;
//! - bytes move only when a device needs contents that its slot does not hold, and then the source stays valid.
//!
//! Contents are written once, by the kernel or the host data that the buffer was made for, before anybody else
//! can see the buffer; afterwards they never change.
#![allow(unsafe_code)]

use std::sync::Arc;

use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::{Address, Backend, Block, Error, Result, copy};

/// A device, by position in its [`Machine`]; the host is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Device(pub usize);

impl Device {
    /// The host.
    pub const HOST: Device = Device(0);
}

/// The devices that buffers can be on. The first is the host.
pub struct Machine {
    backends: Vec<Arc<dyn Backend>>,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.backends.iter().map(|b| b.name())).finish()
    }
}

impl Machine {
    /// A machine from its host backend and any number of accelerators.
    pub fn new(host: Arc<dyn Backend>, accelerators: Vec<Arc<dyn Backend>>) -> Result<Arc<Machine>> {
        if !host.is_host() {
            return Err(Error::Internal(format!("{} cannot be the host: its memory is not", host.name())));
        }
        let mut backends = vec![host];
        backends.extend(accelerators);
        Ok(Arc::new(Machine { backends }))
    }

    /// The backend of a device.
    pub fn backend(&self, device: Device) -> &Arc<dyn Backend> {
        &self.backends[device.0]
    }

    /// Whether there is nothing but the host.
    pub fn is_host_only(&self) -> bool {
        self.backends.len() == 1
    }

    /// All devices, the host first.
    pub fn devices(&self) -> impl Iterator<Item = Device> {
        (0..self.backends.len()).map(Device)
    }
}

/// Host memory that belongs to somebody else: a mapped file.
type Owner = Arc<dyn AsRef<[u8]> + Send + Sync>;

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

/// Bytes that may be on several devices.
pub struct Buffer {
    machine: Arc<Machine>,
    bytes: usize,
    slots: Mutex<SmallVec<[Slot; 2]>>,
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} bytes, valid on {:?})", self.bytes, self.valid_on())
    }
}

impl Buffer {
    /// Memory on one device whose contents the caller writes before sharing the buffer.
    pub(crate) fn uninitialised(
        machine: &Arc<Machine>,
        device: Device,
        bytes: usize,
    ) -> Result<(Buffer, Block)> {
        let block = machine.backend(device).allocate(bytes)?;
        let mut buffer = Buffer::placed(machine, device, block);
        buffer.bytes = bytes;
        Ok((buffer, block))
    }

    /// A buffer whose valid contents a device has.
    pub(crate) fn placed(machine: &Arc<Machine>, device: Device, block: Block) -> Buffer {
        let mut slots: SmallVec<[Slot; 2]> = SmallVec::new();
        slots.resize_with(machine.backends.len(), Slot::default);
        slots[device.0] = Slot::valid(block);
        Buffer { machine: machine.clone(), bytes: block.bytes, slots: Mutex::new(slots) }
    }

    /// Notes that a device has the contents in this block; gives it back if they are there already.
    pub(crate) fn place(&self, device: Device, block: Block) {
        let mut slots = self.slots.lock();
        let slot = &mut slots[device.0];
        if slot.block.is_some() {
            drop(slots);
            return self.machine.backend(device).free(block);
        }
        *slot = Slot::valid(block);
    }

    /// A buffer on the host, filled by `fill`. The slice may hold anything before.
    pub fn from_fill(
        machine: &Arc<Machine>,
        bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<Arc<Buffer>> {
        let (buffer, block) = Buffer::uninitialised(machine, Device::HOST, bytes)?;
        if bytes > 0 {
            // SAFETY: the host backend hands out `bytes` writable bytes at this address (Backend::allocate), and
            // nobody else has seen the buffer. Memory fresh from the pool is initialised as far as the backend is
            // concerned: it never hands out pages the system has not zeroed or a former owner has not written.
            fill(unsafe { std::slice::from_raw_parts_mut(block.address.0 as *mut u8, bytes) });
        }
        Ok(Arc::new(buffer))
    }

    /// A buffer on the host with a copy of these bytes.
    pub fn from_bytes(machine: &Arc<Machine>, bytes: &[u8]) -> Result<Arc<Buffer>> {
        Buffer::from_fill(machine, bytes.len(), |to| copy::copy(bytes, to))
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
        let mut slots: SmallVec<[Slot; 2]> = SmallVec::new();
        slots.resize_with(machine.backends.len(), Slot::default);
        slots[Device::HOST.0] = Slot { block: Some(block), valid: true, owner: Some(owner) };
        Some(Arc::new(Buffer { machine: machine.clone(), bytes: block.bytes, slots: Mutex::new(slots) }))
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
        let slots = self.slots.lock();
        (0..slots.len()).filter(|&d| slots[d].valid).map(Device).collect()
    }

    /// Devices that hold valid contents, one bit each.
    pub(crate) fn valid_mask(&self) -> u32 {
        let slots = self.slots.lock();
        slots.iter().enumerate().fold(0, |mask, (device, slot)| mask | (u32::from(slot.valid) << device))
    }

    /// The memory of one device, for a kernel that is about to write all of it.
    pub(crate) fn for_writing(&self, device: Device) -> Result<Block> {
        let mut slots = self.slots.lock();
        let slot = &slots[device.0];
        let block = match slot.block {
            Some(block) if slot.owner.is_none() => block,
            _ => self.machine.backend(device).allocate(self.bytes)?,
        };
        for slot in slots.iter_mut() {
            slot.valid = false;
        }
        slots[device.0] = Slot::valid(block);
        Ok(block)
    }

    /// Valid contents on a device, copied there if they are not yet; the flag says whether anything moved.
    pub fn on(&self, device: Device) -> Result<(Block, bool)> {
        let mut slots = self.slots.lock();
        if let (Some(block), true) = (slots[device.0].block, slots[device.0].valid) {
            return Ok((block, false));
        }
        let source = slots.iter().position(|s| s.valid).ok_or_else(|| Error::Device {
            device: self.machine.backend(device).name().to_string(),
            during: "reading a buffer",
            reason: "its only copy was on a device that failed".to_string(),
        })?;
        let from =
            slots[source].block.ok_or_else(|| Error::Internal("a valid slot without memory".to_string()))?;
        let target = self.machine.backend(device);
        let slot = &slots[device.0];
        if self.bytes > 0 && self.machine.backends[source].is_host() && slot.block.is_none() {
            // SAFETY: a valid slot of a host backend is `bytes` initialised bytes, alive while the slot lock is held.
            let bytes = unsafe { std::slice::from_raw_parts(from.address.0 as *const u8, self.bytes) };
            let to = target.receive(bytes)?;
            slots[device.0] = Slot::valid(to);
            return Ok((to, true));
        }
        let (to, fresh) = match slot.block {
            Some(block) if slot.owner.is_none() => (block, false),
            _ => (target.allocate(self.bytes)?, true),
        };
        if let Err(error) = self.copy(Device(source), from, device, to) {
            if fresh {
                target.free(to);
            }
            return Err(error);
        }
        slots[device.0] = Slot::valid(to);
        Ok((to, true))
    }

    fn copy(&self, source: Device, from: Block, device: Device, to: Block) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        let (origin, target) = (self.machine.backend(source), self.machine.backend(device));
        if origin.is_host() {
            // SAFETY: a valid slot of a host backend is `bytes` initialised bytes, alive while the slot lock is held.
            let bytes = unsafe { std::slice::from_raw_parts(from.address.0 as *const u8, self.bytes) };
            return target.upload(bytes, to);
        }
        if target.is_host() {
            // SAFETY: `to` was allocated by the host backend with at least `bytes` bytes, and only this call has it.
            let bytes = unsafe { std::slice::from_raw_parts_mut(to.address.0 as *mut u8, self.bytes) };
            return origin.download(from, bytes);
        }
        if target.copy_from(&**origin, from, to, self.bytes)? {
            return Ok(());
        }
        let mut staging = vec![0; self.bytes];
        origin.download(from, &mut staging)?;
        target.upload(&staging, to)
    }

    /// The contents on the host, fetched if they are not there yet.
    pub fn host_bytes(&self) -> Result<&[u8]> {
        let (block, _) = self.on(Device::HOST)?;
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
        let slots = self.slots.lock();
        let away =
            slots.iter().enumerate().find_map(|(d, slot)| Some((d, slot.block.filter(|_| slot.valid)?)));
        match away {
            Some((device, block)) if device != Device::HOST.0 && self.bytes > 0 => {
                self.machine.backends[device].download(block, to)
            }
            _ => {
                drop(slots);
                copy::copy(self.host_bytes()?, to);
                Ok(())
            }
        }
    }

    /// The contents on the host, to be changed in place; copies elsewhere become invalid.
    pub fn host_bytes_mut(&mut self) -> Result<&mut [u8]> {
        self.on(Device::HOST)?;
        self.own()?;
        let block = self.for_writing(Device::HOST)?;
        if self.bytes == 0 {
            return Ok(&mut []);
        }
        // SAFETY: host blocks are writable for `bytes` bytes, and `&mut self` means nobody else has the buffer.
        Ok(unsafe { std::slice::from_raw_parts_mut(block.address.0 as *mut u8, self.bytes) })
    }

    /// Copies valid contents of the host that belong to somebody else into memory of our own.
    fn own(&mut self) -> Result<()> {
        let slot = &mut self.slots.get_mut()[Device::HOST.0];
        let Some(owner) = &slot.owner else { return Ok(()) };
        let backend = self.machine.backend(Device::HOST);
        let block = backend.allocate(self.bytes)?;
        if let Err(error) = backend.upload((**owner).as_ref(), block) {
            backend.free(block);
            return Err(error);
        }
        *slot = Slot::valid(block);
        Ok(())
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
    /// Arc::get_mut(&mut buffer).expect("nobody else has it").keep_on(Device(1))?;
    /// assert_eq!(buffer.valid_on().as_slice(), [Device(1)]);
    /// # Ok::<(), crossover_runtime::Error>(())
    /// ```
    pub fn keep_on(&mut self, device: Device) -> Result<()> {
        self.on(device)?;
        for (at, slot) in self.slots.get_mut().iter_mut().enumerate() {
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

    /// Whether contents on a device are valid.
    pub fn is_valid_on(&self, device: Device) -> bool {
        self.slots.lock()[device.0].valid
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        for (device, slot) in self.slots.get_mut().iter().enumerate() {
            if let (Some(block), None) = (slot.block, &slot.owner) {
                self.machine.backends[device].free(block);
            }
        }
    }
}
