//! What is done before an allocation fails: cached memory is given back, copies that another device has too are dropped, and
//! buffers that were used longest ago go to the host.
//!
//! No lock is held while a device copies or waits. Buffers that a launch is about to use are pinned and stay; buffers that
//! another thread is moving are left alone, so nobody waits for anybody who waits.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{Backend, Block, Device, Error, Machine, Result, buffer::Left};

use super::Level;

/// What was done to make room, since the machine was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reclaimed {
    /// Times that cached memory was given back because there was too little.
    pub trims: u64,
    /// Copies dropped that another device had too.
    pub evictions: u64,
    /// Buffers that went to the host.
    pub spills: u64,
    /// Bytes that went to the host.
    pub spilled: u64,
    /// Allocations that were made after room had been made for them.
    pub retries: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Tally {
    trims: AtomicU64,
    evictions: AtomicU64,
    spills: AtomicU64,
    spilled: AtomicU64,
    retries: AtomicU64,
}

impl Tally {
    pub fn read(&self) -> Reclaimed {
        Reclaimed {
            trims: self.trims.load(Relaxed),
            evictions: self.evictions.load(Relaxed),
            spills: self.spills.load(Relaxed),
            spilled: self.spilled.load(Relaxed),
            retries: self.retries.load(Relaxed),
        }
    }
}

/// Share of the budget that is freed at least when anything is: looking through the buffers of a device takes a while.
const AT_ONCE: u64 = 32;
/// Rounds of making room for one allocation: others may take what was freed.
const ROUNDS: usize = 16;
/// Share of the budget below which cleaning up stops: where the level High ends.
const CLEAN: f64 = 0.80;

/// Whether an error says that memory is full.
pub(crate) fn is_full(error: &Error) -> bool {
    matches!(error, Error::OutOfMemory { .. })
}

impl Machine {
    /// Memory of a device with undefined contents; room is made for it if need be.
    pub(crate) fn obtain(&self, device: Device, bytes: usize) -> Result<Block> {
        self.with_room(device, bytes, |backend| backend.allocate(bytes))
    }

    /// Memory of a device with a copy of host bytes; room is made for it if need be.
    pub(crate) fn receive(&self, device: Device, from: &[u8]) -> Result<Block> {
        self.with_room(device, from.len(), |backend| backend.receive(from))
    }

    /// As [`receive`](Machine::receive), of parts that lie apart.
    pub(crate) fn receive_parts(&self, device: Device, from: &[&[u8]]) -> Result<Block> {
        let bytes = from.iter().map(|part| part.len()).sum();
        self.with_room(device, bytes, |backend| backend.receive_parts(from))
    }

    /// What a backend makes in memory of so many bytes; room is made for it if need be.
    pub(crate) fn with_room<T>(
        &self,
        device: Device,
        bytes: usize,
        make: impl Fn(&dyn Backend) -> Result<T>,
    ) -> Result<T> {
        let backend = &**self.backend(device);
        match make(backend) {
            Ok(block) => {
                self.tidy(device);
                Ok(block)
            }
            Err(error) if device != Device::HOST && is_full(&error) => {
                self.after_making_room(device, bytes, error, make)
            }
            Err(error) => Err(error),
        }
    }

    #[cold]
    fn after_making_room<T>(
        &self,
        device: Device,
        bytes: usize,
        mut error: Error,
        make: impl Fn(&dyn Backend) -> Result<T>,
    ) -> Result<T> {
        for round in 0..ROUNDS {
            let freed =
                if round == 0 { self.give_back(device) } else { self.make_room(device, bytes as u64) };
            match make(&**self.backend(device)) {
                Ok(block) => {
                    self.tally.retries.fetch_add(1, Relaxed);
                    self.tidy(device);
                    return Ok(block);
                }
                Err(again) if is_full(&again) => error = again,
                Err(other) => return Err(other),
            }
            if round > 0 && !freed {
                break;
            }
        }
        if let Some(account) = self.backend(device).account() {
            account.refuse();
        }
        Err(error)
    }

    /// Gives cached memory of a device back.
    fn give_back(&self, device: Device) -> bool {
        self.tally.trims.fetch_add(1, Relaxed);
        // A device that cannot wait any more has failed; whoever uses it next is told.
        self.backend(device).trim().is_ok()
    }

    /// Frees memory of a device for an allocation that failed; false if there is nothing left to free.
    pub(crate) fn make_room(&self, device: Device, bytes: u64) -> bool {
        let Some(account) = self.backend(device).account() else { return false };
        let short = bytes.saturating_sub(account.room());
        // Where there should be room and is not, memory is in pieces: as much again has to go.
        let wanted = if short == 0 { bytes } else { short };
        // Nothing that was freed makes room for what could never be had.
        if bytes > account.most() {
            return false;
        }
        let wanted = wanted.max((account.budget() / AT_ONCE).min(account.live()));
        let freed = self.evict(device, wanted);
        let freed = if freed < wanted { freed + self.spill(device, wanted - freed) } else { freed };
        if freed > 0 {
            let _ = self.backend(device).trim();
        }
        freed > 0
    }

    /// Cleans up if an allocation has just crossed the beginning of [`Level::High`].
    #[inline]
    pub(crate) fn tidy(&self, device: Device) {
        if device != Device::HOST
            && let Some(account) = self.backend(device).account()
            && account.take_alarm()
        {
            self.clean_up(device);
        }
    }

    #[cold]
    fn clean_up(&self, device: Device) {
        let Some(account) = self.backend(device).account() else { return };
        self.give_back(device);
        let over = account.usage() - CLEAN;
        if account.level() >= Level::High && over > 0.0 {
            let bytes = (over * account.budget() as f64) as u64;
            if self.evict(device, bytes) > 0 {
                self.give_back(device);
            }
        }
        account.judge();
    }

    /// Drops copies that are valid elsewhere too, and memory without valid contents; the bytes freed.
    fn evict(&self, device: Device, wanted: u64) -> u64 {
        let mut freed = 0;
        for buffer in self.residents[device.0].oldest_first() {
            if freed >= wanted {
                break;
            }
            if let Left::Gone(bytes) = buffer.evict(device) {
                freed += bytes;
                self.tally.evictions.fetch_add(1, Relaxed);
                tracing::debug!(target: "crossover::memory", bytes, device = device.0, "evicted");
            }
        }
        freed
    }

    /// Moves buffers to the host; the bytes freed.
    fn spill(&self, device: Device, wanted: u64) -> u64 {
        let mut freed = 0;
        for buffer in self.residents[device.0].oldest_first() {
            if freed >= wanted {
                break;
            }
            match buffer.spill(device) {
                Ok(Left::Gone(bytes)) => {
                    freed += bytes;
                    self.tally.spills.fetch_add(1, Relaxed);
                    self.tally.spilled.fetch_add(bytes, Relaxed);
                    tracing::debug!(target: "crossover::memory", bytes, device = device.0, "spilled");
                }
                Ok(Left::Stays) => {}
                Err(error) => {
                    tracing::debug!(target: "crossover::memory", %error, "the host has no room for a spill");
                    // A smaller one may fit.
                    if !is_full(&error) {
                        break;
                    }
                }
            }
        }
        freed
    }

    /// Whether an allocation would succeed, if need be after cached memory and copies that the host has too have been given up.
    /// Nobody reserves it.
    pub fn can_allocate(&self, device: Device, bytes: u64) -> bool {
        let backend = self.backend(device);
        let Some(account) = backend.account() else {
            return backend.memory().is_none_or(|memory| bytes <= memory.available());
        };
        let spare = || -> u64 {
            let all = self.residents[device.0].oldest_first();
            all.iter().map(|buffer| buffer.spare_on(device)).sum()
        };
        bytes <= account.room() || bytes <= account.room().saturating_add(spare())
    }

    /// Gives cached memory of a device back to it.
    pub fn trim(&self, device: Device) -> Result<()> {
        self.tally.trims.fetch_add(1, Relaxed);
        self.backend(device).trim()?;
        if let Some(account) = self.backend(device).account() {
            account.judge();
        }
        Ok(())
    }
}
