//! How full the memory of devices is, who is told when it gets full, and what can be given back.

use std::panic::Location;

use crossover_runtime::{
    DeviceMemory,
    memory::{LeakReport, PressureEvent, Subscription},
};

use crate::{Device, Error, Result, device, runtime::Runtime, status::named};

impl Runtime {
    /// What the memory of each device is used for, the host first; devices that nobody has used yet are left out.
    ///
    /// ```
    /// use crossover_array::{Array, Device, Runtime};
    /// let x = Array::zeros::<f64>([1000]);
    /// x.eval()?;
    /// let (device, memory) = Runtime::current().memory_stats()[0];
    /// assert_eq!(device, Device::Cpu);
    /// assert!(memory.live >= 8000 && memory.reserved <= memory.budget && memory.peak >= memory.live);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn memory_stats(&self) -> Vec<(Device, DeviceMemory)> {
        let machine = self.machine();
        machine.devices().filter_map(|d| Some((named(d), machine.memory(d)?))).collect()
    }

    /// Whether an array of so many bytes could be made on a device now, without moving another to the host. Opens the device.
    ///
    /// Nothing is reserved; an array that does not fit makes room for itself, see `docs/memory.md`.
    ///
    /// ```
    /// use crossover_array::{Device, Runtime};
    /// let runtime = Runtime::builder().memory_budget(1 << 20).build()?;
    /// assert!(runtime.can_allocate(Device::Cpu, 1 << 16)?);
    /// assert!(!runtime.can_allocate(Device::Cpu, 1 << 30)?);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn can_allocate(&self, device: Device, bytes: u64) -> Result<bool> {
        let location = Location::caller();
        let target = device::resolve(device, self.machine()).map_err(|e| Error::new(e, location))?;
        Ok(self.machine().can_allocate(target, bytes))
    }

    /// Gives memory back that arrays have freed and that is kept for the next ones, on all devices that are in use. Waits for work
    /// that still uses it.
    ///
    /// ```
    /// use crossover_array::{Array, Runtime};
    /// let runtime = Runtime::builder().threads(1).build()?;
    /// runtime.scope(|| Array::zeros::<f64>([100_000]).eval().map(drop))?;
    /// runtime.trim()?;
    /// assert_eq!(runtime.memory_stats()[0].1.cached, 0);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn trim(&self) -> Result<()> {
        let location = Location::caller();
        let machine = self.machine();
        for device in machine.devices().filter(|&device| machine.memory(device).is_some()) {
            machine.trim(device).map_err(|e| Error::new(e, location))?;
        }
        Ok(())
    }

    /// Calls `callback` whenever the memory of a GPU gets near the end of its budget or away from it: at 70%, 85% and 95%, and five
    /// points below on the way down. Until the subscription is dropped.
    ///
    /// It is called by the thread whose evaluation changed the level, after a kernel, with no lock held: it may evaluate arrays,
    /// drop them, and ask for statistics.
    ///
    /// ```
    /// use crossover_array::Runtime;
    /// let watch = Runtime::current().on_pressure(|device, event| {
    ///     println!("{device} is at {:.0}% of its budget: {}", 100.0 * event.usage, event.to);
    /// });
    /// drop(watch);
    /// ```
    pub fn on_pressure(
        &self,
        callback: impl Fn(Device, PressureEvent) + Send + Sync + 'static,
    ) -> Subscription {
        self.machine().subscribe(move |device, event| callback(named(device), event))
    }

    /// GPUs on which arrays take more and more memory: whose lowest use has risen throughout the last five minutes.
    ///
    /// ```
    /// assert!(crossover_array::Runtime::current().leaks().is_empty());
    /// ```
    pub fn leaks(&self) -> Vec<(Device, LeakReport)> {
        let machine = self.machine();
        machine.devices().skip(1).filter_map(|d| Some((named(d), machine.leak(d)?))).collect()
    }
}
