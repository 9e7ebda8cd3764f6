//! Where arrays are computed and where they are.

use std::{cell::Cell, fmt, panic::Location, str::FromStr, sync::Arc};

use crossover_runtime::{Machine, trace};

use crate::{Array, Error, Result, eval, node::State, runtime::Runtime};

/// A device, or the choice of one.
///
/// ```
/// use crossover_array::Device;
/// assert_eq!("cuda:1".parse(), Ok(Device::Cuda(1)));
/// assert_eq!(Device::Cuda(0).to_string(), "cuda:0");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Device {
    /// Each kernel where the whole expression is expected to end soonest, from what was measured on this machine.
    #[default]
    Auto,
    /// The host.
    Cpu,
    /// An NVIDIA GPU, by its number.
    Cuda(usize),
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Auto => f.write_str("auto"),
            Device::Cpu => f.write_str("cpu"),
            Device::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
        }
    }
}

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Device, String> {
        match text.trim() {
            "auto" => Ok(Device::Auto),
            "cpu" => Ok(Device::Cpu),
            "cuda" => Ok(Device::Cuda(0)),
            other => other
                .strip_prefix("cuda:")
                .and_then(|ordinal| ordinal.parse().ok())
                .map(Device::Cuda)
                .ok_or_else(|| format!("{other:?} is not a device; there are auto, cpu, cuda and cuda:N")),
        }
    }
}

thread_local! {
    static SCOPE: Cell<Option<Device>> = const { Cell::new(None) };
}

/// The device of the innermost [`with_device`] on this thread.
pub(crate) fn scoped() -> Option<Device> {
    SCOPE.get()
}

/// Runs a closure in which this thread evaluates on a device.
///
/// It is evaluation that counts, not where an expression was written: ask for the result, or
/// [`eval`](Array::eval) it, inside. What the device cannot do is done by the host, with the same bits. A device that
/// does not exist is an error of the evaluation.
///
/// ```
/// use crossover_array::{Array, Device, with_device};
/// let x = Array::linspace(0.0, 1.0, 5);
/// let sum = with_device(Device::Cpu, || x.exp().sum(()).item::<f64>())?;
/// assert!(sum > 8.0);
/// let missing = with_device(Device::Cuda(999), || x.exp().to_vec::<f64>());
/// assert!(missing.unwrap_err().to_string().starts_with("there is no device cuda:999"));
/// # Ok::<(), crossover_array::Error>(())
/// ```
pub fn with_device<T>(device: Device, body: impl FnOnce() -> T) -> T {
    struct Leave(Option<Device>);
    impl Drop for Leave {
        fn drop(&mut self) {
            SCOPE.set(self.0);
        }
    }
    let _leave = Leave(SCOPE.replace(Some(device)));
    body()
}

/// The device of the innermost [`with_device`] on this thread; [`Device::Auto`] outside of all.
///
/// ```
/// use crossover_array::{Device, current_device, with_device};
/// assert_eq!(current_device(), Device::Auto);
/// assert_eq!(with_device(Device::Cpu, current_device), Device::Cpu);
/// ```
pub fn current_device() -> Device {
    scoped().unwrap_or_default()
}

/// The machine's number of a device that must be there.
pub(crate) fn resolve(
    device: Device,
    machine: &Arc<Machine>,
) -> crossover_runtime::Result<crossover_runtime::Device> {
    let Device::Cuda(ordinal) = device else { return Ok(crossover_runtime::Device::HOST) };
    let missing = |reason: String| crossover_runtime::Error::NoDevice { device: device.to_string(), reason };
    let count = machine.devices().count() - 1;
    if ordinal >= count {
        return Err(missing(match count {
            0 => "no NVIDIA device is visible; `crossover doctor` says more".to_string(),
            1 => "the machine has one GPU, cuda:0".to_string(),
            _ => format!("the machine has {count} GPUs, cuda:0 to cuda:{}", count - 1),
        }));
    }
    let found = crossover_runtime::Device(ordinal + 1);
    match machine.backend(found).check() {
        Ok(()) => Ok(found),
        Err(crossover_runtime::Error::Device { reason, .. }) => Err(missing(reason)),
        Err(error) => Err(error),
    }
}

/// The GPUs that the current runtime knows, each with what it is or why it cannot be used. Opens them.
///
/// ```
/// for (device, found) in crossover_array::gpus() {
///     match found {
///         Ok(name) => println!("{device} is {name}"),
///         Err(reason) => println!("{device} is not used: {reason}"),
///     }
/// }
/// ```
pub fn gpus() -> Vec<(Device, Result<String, String>)> {
    let runtime = Runtime::current();
    let machine = runtime.machine();
    let report = |device: crossover_runtime::Device| {
        let backend = machine.backend(device);
        let found = match backend.check() {
            Ok(()) => Ok(backend.describe()),
            Err(crossover_runtime::Error::Device { reason, .. }) => Err(reason),
            Err(error) => Err(error.to_string()),
        };
        (Device::Cuda(device.0 - 1), found)
    };
    machine.devices().skip(1).map(report).collect()
}

/// What the GPUs of the current runtime leave to the CPU for want of a CUDA library, with the reason. Opens them and
/// their libraries.
///
/// ```
/// for (device, reason) in crossover_array::gpu_gaps() {
///     println!("{device} works {reason}");
/// }
/// ```
pub fn gpu_gaps() -> Vec<(Device, String)> {
    let runtime = Runtime::current();
    let machine = runtime.machine();
    let gaps = |device: crossover_runtime::Device| {
        let missing = machine.backend(device).missing();
        missing.into_iter().map(move |reason| (Device::Cuda(device.0 - 1), reason))
    };
    machine.devices().skip(1).flat_map(gaps).collect()
}

impl Array {
    /// The array with its bytes on a device too: what is pending is computed there, what exists is copied.
    ///
    /// The copy at the source stays valid, so nothing moves twice. [`Device::Auto`] computes what is pending where
    /// it likes.
    ///
    /// ```
    /// use crossover_array::{Array, Device};
    /// let x = Array::from([1.0f32, 2.0]).to_device(Device::Cpu)?;
    /// assert_eq!(x.device(), Device::Cpu);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn to_device(&self, device: Device) -> Result<Array> {
        let location = Location::caller();
        let _asked = trace::asked(location);
        let wrap = |error| Error::new(error, location);
        self.check()?;
        let runtime = Runtime::current();
        let target = resolve(device, runtime.machine()).map_err(wrap)?;
        let held = with_device(device, || eval::node(&self.version()))?;
        let buffer = runtime.adopt(held.clone(), location)?;
        if device != Device::Auto {
            buffer.on(target).map_err(wrap)?;
            runtime.machine().tell(target);
        }
        if Arc::ptr_eq(&held, &buffer) {
            return Ok(self.clone());
        }
        let whole = Array::from_buffer(buffer, self.version().ty.clone(), location);
        Ok(self.view().map_or(whole.clone(), |layout| whole.with_layout(layout.clone())))
    }

    /// Where the array's bytes are: a GPU if there is a copy, else the host; [`Device::Auto`] if nothing is computed
    /// yet.
    ///
    /// ```
    /// use crossover_array::{Array, Device};
    /// let x = Array::from([1.0f32, 2.0]);
    /// assert_eq!((x.device(), x.exp().device()), (Device::Cpu, Device::Auto));
    /// ```
    pub fn device(&self) -> Device {
        match &*self.version().state() {
            State::Ready(buffer) => match buffer.valid_on().last() {
                Some(device) if device.0 > 0 => Device::Cuda(device.0 - 1),
                _ => Device::Cpu,
            },
            _ => Device::Auto,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_spelled_and_read_alike() {
        for device in [Device::Auto, Device::Cpu, Device::Cuda(0), Device::Cuda(17)] {
            assert_eq!(device.to_string().parse(), Ok(device));
        }
        assert_eq!("cuda".parse(), Ok(Device::Cuda(0)));
        for wrong in ["gpu", "cuda:", "cuda:x", "cuda:-1", "CPU "] {
            let error = wrong.parse::<Device>().unwrap_err();
            assert!(error.contains("cuda:N"), "{error}");
        }
    }

    #[test]
    fn scopes_nest_and_end_with_a_panic_too() {
        assert_eq!(scoped(), None);
        with_device(Device::Cpu, || {
            with_device(Device::Cuda(3), || assert_eq!(scoped(), Some(Device::Cuda(3))));
            assert_eq!(scoped(), Some(Device::Cpu));
            let left = std::panic::catch_unwind(|| with_device(Device::Auto, || panic!("on purpose")));
            assert!(left.is_err());
            assert_eq!(scoped(), Some(Device::Cpu));
        });
        assert_eq!(scoped(), None);
    }
}
