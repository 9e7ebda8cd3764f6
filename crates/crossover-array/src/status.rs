//! What a runtime has, what it did, and how much memory it takes.

use std::panic::Location;

use crossover_runtime::{Counts, DeviceProfile, Made, Profile, calibrate};

use crate::{Device, Error, Result, Simd, profiles, runtime::Runtime};

/// What a runtime did since it was made.
///
/// ```
/// use crossover_array::{Array, Runtime};
/// Array::arange(10_000).exp().eval()?;
/// let stats = Runtime::current().stats();
/// println!("{} kernels, {} copies, decisions: {:?}", stats.counts.launches, stats.counts.transfers, stats.decisions);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RuntimeStats {
    /// Kernels, copies, fallbacks.
    pub counts: Counts,
    /// How many kernels ran where and why, the host first: the names of reasons are those of
    /// [`Why::NAMES`](crossover_runtime::Why::NAMES). Kernels of plans too small to decide about are not counted.
    pub decisions: Vec<(Device, Vec<(&'static str, u64)>)>,
    /// How many times slower than usual each device is at the moment, the host first.
    pub slowdowns: Vec<(Device, f64)>,
}

pub(crate) fn named(device: crossover_runtime::Device) -> Device {
    device.0.checked_sub(1).map_or(Device::Cpu, Device::Cuda)
}

impl Runtime {
    /// What the runtime did since it was made.
    ///
    /// ```
    /// use crossover_array::{Array, Runtime};
    /// Array::arange(10).exp().eval()?;
    /// let stats = Runtime::current().stats();
    /// assert!(stats.counts.launches >= 1);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn stats(&self) -> RuntimeStats {
        let executor = self.executor();
        let devices = || executor.machine().devices();
        RuntimeStats {
            counts: executor.counts(),
            decisions: devices().map(|d| (named(d), executor.decisions(d))).collect(),
            slowdowns: devices().map(|d| (named(d), executor.router().slowdown(d))).collect(),
        }
    }

    /// What computes beside the host: `"cuda"`, or `"cpu"` where there is no accelerator.
    ///
    /// ```
    /// assert!(["cpu", "cuda"].contains(&crossover_array::Runtime::current().backend()));
    /// ```
    pub fn backend(&self) -> &'static str {
        if self.machine().is_host_only() { "cpu" } else { "cuda" }
    }

    /// Threads that kernels on the host may use.
    ///
    /// ```
    /// use crossover_array::Runtime;
    /// assert_eq!(Runtime::builder().threads(3).build()?.threads(), 3);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Vector instructions that kernels on the host use.
    ///
    /// ```
    /// use crossover_array::{Runtime, Simd};
    /// assert_eq!(Runtime::builder().simd(Simd::Scalar).build()?.simd(), Simd::Scalar);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn simd(&self) -> Simd {
        self.simd
    }

    /// Whether its host is this machine's processor, and not one made elsewhere.
    fn is_built(&self) -> bool {
        self.device.is_some()
    }

    /// How many accelerators the runtime knows, opened or not.
    ///
    /// ```
    /// use crossover_array::{Device, Runtime};
    /// let host = Runtime::builder().device(Device::Cpu).build()?;
    /// assert_eq!(host.device_count(), 0);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn device_count(&self) -> usize {
        self.machine().devices().count() - 1
    }

    /// Whether a device can be used. Opens it.
    ///
    /// ```
    /// use crossover_array::{Device, Runtime};
    /// let runtime = Runtime::current();
    /// assert!(runtime.is_available(Device::Cpu) && !runtime.is_available(Device::Cuda(999)));
    /// ```
    pub fn is_available(&self, device: Device) -> bool {
        crate::device::resolve(device, self.machine()).is_ok()
    }

    /// What the runtime believes about the machine: assumed until an accelerator is opened, then measured.
    ///
    /// ```
    /// let profile = crossover_array::Runtime::current().profile();
    /// assert!(profile.devices[0].launch_ns > 0.0);
    /// ```
    pub fn profile(&self) -> std::sync::Arc<Profile> {
        self.executor().router().profile()
    }

    /// What is known about the machine without measuring it at length: what is stored, what the short form finds where there are
    /// accelerators, or what is assumed. Opens accelerators.
    ///
    /// ```
    /// let profile = crossover_array::Runtime::current().known_profile();
    /// assert_eq!(profile.devices.len(), 1 + crossover_array::Runtime::current().device_count());
    /// ```
    pub fn known_profile(&self) -> std::sync::Arc<Profile> {
        let (machine, router) = (self.machine(), self.executor().router());
        let known =
            profiles::stored(machine, self.threads()).or_else(|| profiles::brief(machine, self.threads()));
        if let Some(profile) = known {
            router.believe(profile);
        }
        router.profile()
    }

    /// What a device was measured to do: by `crossover calibrate`, or at first use. A host that nobody measured is measured now, in the short form, in about a
    /// quarter of a second and 100 MB, and the result is kept for later runs. `None` for an accelerator before the first plan that may choose it, and for what cannot
    /// be measured.
    ///
    /// ```
    /// use crossover_array::{Device, Runtime};
    /// let host = Runtime::current().measured(Device::Cpu).expect("there is memory to measure");
    /// assert!(host.bandwidth.at(1e8) > 0.0);
    /// ```
    pub fn measured(&self, device: Device) -> Option<DeviceProfile> {
        let at = match device {
            Device::Cuda(ordinal) => ordinal + 1,
            Device::Auto | Device::Cpu => 0,
        };
        let profile = self.profile();
        match profile.made {
            Made::Assumed if at == 0 && self.is_built() => profiles::host(self.threads(), self.simd()),
            Made::Assumed => None,
            Made::Briefly | Made::Calibrated => profile.devices.get(at).cloned(),
        }
    }

    /// Measures the machine, believes the result and keeps it for later runs: what `crossover calibrate` does.
    ///
    /// `progress` is told what comes next and which share is done. Returns the profile and the file it was written to.
    ///
    /// ```no_run
    /// use crossover_array::{Effort, Runtime};
    /// let (profile, file) = Runtime::current().calibrate(Effort::Full, &mut |what, share| println!("{what} {share:.0}"))?;
    /// println!("{} devices, kept in {file:?}", profile.devices.len());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn calibrate(
        &self,
        effort: calibrate::Effort,
        progress: &mut dyn FnMut(&str, f64),
    ) -> Result<(Profile, Option<std::path::PathBuf>)> {
        let location = Location::caller();
        let wrap = |error| Error::new(error, location);
        let profile = profiles::measured(self.machine(), self.threads(), effort, progress).map_err(wrap)?;
        let path = profiles::path(&profile.machine);
        if let Some(path) = &path {
            profile.save(path).map_err(wrap)?;
        }
        self.executor().router().believe(profile.clone());
        Ok((profile, path))
    }
}
