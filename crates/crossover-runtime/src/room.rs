//! Host memory for values of the caller's own: what does not fit is an error, where `Vec` would end the process.

use crate::{Device, Error, Machine, Result};

impl Machine {
    /// An empty vector with room for `count` values, in host memory that no device counts.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use crossover_runtime::{Error, Machine, sim::{Clock, SimHost, SimOptions}};
    /// let machine = Machine::new(Arc::new(SimHost::hollow(SimOptions::default(), Clock::default())), Vec::new())?;
    /// assert!(machine.room::<f32>(1000)?.capacity() >= 1000);
    /// assert!(matches!(machine.room::<f32>(1 << 60), Err(Error::OutOfMemory { requested, .. }) if requested == 4 << 60));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn room<T>(&self, count: usize) -> Result<Vec<T>> {
        let bytes = count.saturating_mul(size_of::<T>());
        self.admit(bytes)?;
        let mut out = Vec::new();
        out.try_reserve_exact(count).map_err(|_| self.no_room(bytes))?;
        Ok(out)
    }

    /// Whether the host has room for so many bytes that no device counts.
    pub fn admit(&self, bytes: usize) -> Result<()> {
        if isize::try_from(bytes).is_err() {
            return Err(self.no_room(bytes));
        }
        self.backend(Device::HOST).admit(bytes)
    }

    /// The error of host memory that the system refuses to give.
    pub fn no_room(&self, bytes: usize) -> Error {
        let host = self.backend(Device::HOST);
        let memory = host.memory().unwrap_or_default();
        Error::OutOfMemory {
            device: host.name().to_string(),
            requested: bytes as u64,
            free: memory.available(),
            reserved: memory.reserved,
            largest: memory.available(),
        }
    }
}
