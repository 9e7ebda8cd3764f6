//! The caller's runtime and device, on other threads.

use crate::{Device, Runtime, device, with_device};

/// What scopes of the caller say; `None` where it is in none.
#[derive(Clone)]
pub(super) struct Carried {
    runtime: Option<Runtime>,
    device: Option<Device>,
}

/// What this thread is in.
pub(super) fn carry() -> Carried {
    Carried { runtime: Runtime::scoped(), device: device::scoped() }
}

impl Carried {
    /// Runs a closure as if it were on the thread that this was taken from.
    #[inline]
    pub fn enter<T>(&self, body: impl FnOnce() -> T) -> T {
        match (&self.runtime, self.device) {
            (None, None) => body(),
            (Some(runtime), None) => runtime.scope(body),
            (None, Some(device)) => with_device(device, body),
            (Some(runtime), Some(device)) => runtime.scope(|| with_device(device, body)),
        }
    }
}
