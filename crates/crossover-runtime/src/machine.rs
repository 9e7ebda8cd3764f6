//! The devices that buffers can be on, and who owns their memory together.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::{
    Backend, DeviceMemory, Error, Result,
    memory::{LeakReport, LeakWatch, PressureEvent, Reclaimed, Residents, Subscribers, Subscription, Tally},
};

/// A device, by position in its [`Machine`]; the host is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Device(pub usize);

impl Device {
    /// The host.
    pub const HOST: Device = Device(0);
}

/// The devices that buffers can be on. The first is the host.
pub struct Machine {
    pub(crate) backends: Vec<Arc<dyn Backend>>,
    /// Buffers on each device.
    pub(crate) residents: Vec<Residents>,
    pub(crate) subscribers: Subscribers,
    pub(crate) tally: Tally,
    /// Counts uses of buffers on accelerators, so that the oldest can be told.
    clock: AtomicU64,
    /// What was in use on each device over time.
    watches: Vec<Mutex<LeakWatch>>,
    made: Instant,
}

/// Uses of buffers on accelerators between two looks at what is in use.
const LOOK: u64 = 64;

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
        let residents = backends.iter().map(|_| Residents::default()).collect();
        let watches = backends.iter().map(|_| Mutex::default()).collect();
        Ok(Arc::new(Machine {
            backends,
            residents,
            subscribers: Subscribers::default(),
            tally: Tally::default(),
            clock: AtomicU64::new(0),
            watches,
            made: Instant::now(),
        }))
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

    pub(crate) fn tick(&self) -> u64 {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        if now % LOOK == LOOK - 1 {
            let at = self.made.elapsed();
            self.devices().skip(1).for_each(|device| self.watch(device, at));
        }
        now
    }

    /// Notes what is in use on a device at a moment, since any fixed one; uses of buffers do that by themselves.
    pub fn watch(&self, device: Device, at: Duration) {
        // Whoever comes while another notes has nothing to add.
        if let (Some(account), Some(mut watch)) =
            (self.backend(device).account(), self.watches[device.0].try_lock())
        {
            watch.note(at, account.live());
        }
    }

    /// What looks like memory that is never given back on a device, over the last five minutes.
    pub fn leak(&self, device: Device) -> Option<LeakReport> {
        self.watches[device.0].lock().report()
    }

    /// How full the memory of a device is; `None` if it has not been opened.
    pub fn memory(&self, device: Device) -> Option<DeviceMemory> {
        self.backend(device).memory()
    }

    /// What was done so far to make room.
    pub fn reclaimed(&self) -> Reclaimed {
        self.tally.read()
    }

    /// Calls `callback` whenever the memory of a device gets near its end or away from it, until the subscription is dropped.
    ///
    /// It is called by the thread whose evaluation changed the level, after a kernel, with no lock held.
    pub fn subscribe(
        &self,
        callback: impl Fn(Device, PressureEvent) + Send + Sync + 'static,
    ) -> Subscription {
        self.subscribers.subscribe(Arc::new(callback))
    }

    /// Tells subscribers what has changed on a device, after cleaning up if that is due: kernels take memory too. Nothing may be
    /// locked.
    #[inline]
    pub fn tell(&self, device: Device) {
        if let Some(account) = self.backends[device.0].account()
            && account.has_news()
        {
            self.tidy(device);
            self.subscribers.tell(device, || account.take_events());
        }
    }
}
