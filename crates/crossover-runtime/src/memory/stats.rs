//! What there is to know about the memory of a device.

use super::Level;

/// What the memory of a device is used for, in bytes.
///
/// ```
/// use crossover_runtime::DeviceMemory;
/// let stats = DeviceMemory { live: 75, reserved: 100, peak: 90, peak_reserved: 100, ..DeviceMemory::default() };
/// assert_eq!((stats.fragmentation(), stats.available()), (0.25, 0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DeviceMemory {
    /// Held by arrays and by kernels at work.
    pub live: u64,
    /// Freed by them and kept for the next, or freed and still in use by work that is queued.
    pub cached: u64,
    /// Live and cached together.
    pub reserved: u64,
    /// Taken by other programs, and by the driver itself.
    pub external: u64,
    /// Most that this process may take.
    pub budget: u64,
    /// What is left of the budget: neither reserved nor taken by others.
    pub free: u64,
    /// All there is.
    pub total: u64,
    /// Most that was live at once.
    pub peak: u64,
    /// Most that was reserved at once.
    pub peak_reserved: u64,
    /// The largest block that can be had without moving anything, as far as that is known.
    pub largest: u64,
    /// Allocations served from memory that was reserved already.
    pub hits: u64,
    /// Allocations that took fresh memory.
    pub misses: u64,
    /// Allocations that the budget did not allow, before room was made for them or instead of them.
    pub refused: u64,
    /// Share of the budget that is taken, by us and by others.
    pub usage: f64,
    /// How near the end is.
    pub level: Level,
}

impl DeviceMemory {
    /// What another allocation can take.
    ///
    /// ```
    /// use crossover_runtime::DeviceMemory;
    /// let stats = DeviceMemory { free: 100, cached: 20, ..DeviceMemory::default() };
    /// assert_eq!(stats.available(), 120);
    /// ```
    pub fn available(&self) -> u64 {
        self.free + self.cached
    }

    /// What other programs take.
    ///
    /// ```
    /// use crossover_runtime::DeviceMemory;
    /// assert_eq!(DeviceMemory { external: 7, ..DeviceMemory::default() }.others(), 7);
    /// ```
    pub fn others(&self) -> u64 {
        self.external
    }

    /// The share of what is reserved that no array holds, from 0 to 1: what a pool cannot hand out for lack of a fitting block lies in there. See
    /// [`idle_share`].
    pub fn fragmentation(&self) -> f64 {
        idle_share(self.live, self.reserved)
    }

    /// The same of the most that was live and the most that was reserved, which need not have been at one moment.
    ///
    /// ```
    /// use crossover_runtime::DeviceMemory;
    /// let stats = DeviceMemory { peak: 90, peak_reserved: 100, ..DeviceMemory::default() };
    /// assert!((stats.peak_fragmentation() - 0.1).abs() < 1e-12);
    /// ```
    pub fn peak_fragmentation(&self) -> f64 {
        idle_share(self.peak, self.peak_reserved)
    }

    /// Share of allocations that took no fresh memory.
    ///
    /// ```
    /// use crossover_runtime::DeviceMemory;
    /// let stats = DeviceMemory { hits: 3, misses: 1, ..DeviceMemory::default() };
    /// assert_eq!(stats.hit_rate(), 0.75);
    /// ```
    pub fn hit_rate(&self) -> f64 {
        let all = self.hits + self.misses;
        if all == 0 { 0.0 } else { self.hits as f64 / all as f64 }
    }
}

/// Fragmentation, wherever it is told: the share of so many reserved bytes that are not among so many live ones; 0 where nothing is reserved.
///
/// ```
/// use crossover_runtime::idle_share;
/// assert_eq!((idle_share(60, 80), idle_share(0, 80), idle_share(0, 0)), (0.25, 1.0, 0.0));
/// ```
pub fn idle_share(live: u64, reserved: u64) -> f64 {
    if reserved == 0 { 0.0 } else { reserved.saturating_sub(live) as f64 / reserved as f64 }
}
