//! The budget of a device: every allocation is counted before the driver is asked, and the driver says now and then what its pool
//! really holds and what others take.
//!
//! The pool keeps freed memory. An allocation may be served from that or make the pool grow, and only the driver knows; so it counts
//! as growth until the driver has been asked. Near a mark just as much cached memory is given back as makes sure that the pool
//! stays inside the budget even if it grows.

use crossover_runtime::memory::{Account, Admission, Growth, Limits};

use crate::{Gpu, MemoryUse, Result, queue::Lane};

/// The driver grows its pool by blocks of this size.
const GRAIN: u64 = 32 << 20;
/// Allocations between two looks at what others take.
const LOOK: u64 = 256;

/// The account of a device, and how its memory grows.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) account: Account,
    growth: Growth,
}

impl Budget {
    pub(crate) fn new(gpu: &Gpu, limits: Limits) -> Budget {
        let total = gpu.total_memory();
        // A budget of a few grains is counted in smaller ones, at the risk of one grain too many.
        let grain = GRAIN.min(limits.limit.of(total) / 4);
        Budget { account: Account::new(total, limits).with_grain(grain), growth: limits.growth }
    }

    /// Takes all of the budget once, so that the pool has it.
    pub(crate) fn reserve(&self, gpu: &Gpu) -> Result<()> {
        if self.growth == Growth::OnDemand {
            return Ok(());
        }
        let seen = self.settle(gpu)?;
        // The pool is the process's: it may have some of it already.
        let bytes = (self.in_advance().saturating_sub(seen.reserved) / GRAIN * GRAIN) as usize;
        let address = match gpu.take(bytes.max(1), Lane::Compute) {
            Ok(address) => address,
            // Others have it already: what there is will be taken as it is needed.
            Err(crate::Error::Driver { code: 2, .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        gpu.give(address, Lane::Compute)?;
        gpu.finish(Lane::Compute)
    }

    /// Bytes that are taken in advance: all but one block of the driver's, by which the pool grows when what is free in it lies in pieces.
    fn in_advance(&self) -> u64 {
        self.account.most().saturating_sub(GRAIN)
    }

    /// Bytes that the pool keeps when it is to keep so many: all, if they were reserved.
    pub(crate) fn kept(&self, bytes: u64) -> u64 {
        match self.growth {
            Growth::OnDemand => bytes,
            Growth::Reserved => bytes.max(self.in_advance()),
        }
    }

    /// Asks the driver what is held and what others take.
    pub(crate) fn settle(&self, gpu: &Gpu) -> Result<MemoryUse> {
        let mut seen = MemoryUse::default();
        self.account.settle(|| {
            seen = gpu.memory()?;
            let external = seen.total.saturating_sub(seen.free + seen.reserved);
            // What was reserved in advance is cached for nobody else: only what is live counts.
            let held = match self.growth {
                Growth::OnDemand => seen.reserved,
                Growth::Reserved => self.account.live().min(seen.reserved),
            };
            Ok::<_, crate::Error>((held, external))
        })?;
        self.account.audit(seen.reserved);
        if self.growth == Growth::Reserved && seen.reserved > self.in_advance() {
            // It has grown by that block: the next time it must be able to again.
            gpu.trim_to(self.in_advance())?;
        }
        Ok(seen)
    }

    /// Counts an allocation before it is made; false if the budget does not allow it, whatever is given back. `empty` gives back
    /// what is kept outside the driver's pool.
    pub(crate) fn admit(&self, gpu: &Gpu, bytes: usize, empty: impl FnOnce()) -> Result<bool> {
        let bytes = bytes as u64;
        let is_due = self.account.asked() % LOOK == LOOK - 1;
        if !is_due && self.account.ask(bytes) == Admission::Granted {
            return Ok(true);
        }
        self.admit_slowly(gpu, bytes, empty)
    }

    #[cold]
    fn admit_slowly(&self, gpu: &Gpu, bytes: u64, empty: impl FnOnce()) -> Result<bool> {
        self.settle(gpu)?;
        let granted = || self.account.ask_settled(bytes) == Admission::Granted;
        if granted() {
            return Ok(true);
        }
        if bytes > self.account.most() {
            return Ok(false);
        }
        let rest = self.account.most().saturating_sub(bytes.next_multiple_of(GRAIN));
        let rest = self.kept(rest);
        gpu.trim_to(rest)?;
        self.settle(gpu)?;
        if granted() {
            return Ok(true);
        }
        // Freed memory counts until work that uses it has passed.
        empty();
        gpu.wait_and_trim(rest)?;
        self.settle(gpu)?;
        Ok(granted())
    }
}
