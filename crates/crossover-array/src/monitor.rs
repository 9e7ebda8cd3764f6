//! Watches a runtime: twice a second its rules look at it, and whoever wants to know is told.
//!
//! One thread per runtime, started by the first who asks and gone with the runtime. Callbacks are called one after the other in the
//! order of what happened, with no lock held: they may evaluate arrays, subscribe and ask for alerts. A callback that panics is told of in the
//! log, and the others are called.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crossover_runtime::{
    Executor,
    memory::{Level, Subscription},
};
use parking_lot::Mutex;

use crate::{
    alerts::{Alert, DeviceLook, Look, Rules, Totals},
    publish,
    runtime::Runtime,
    status::named,
};

/// Time between two looks.
pub(crate) const PERIOD: Duration = Duration::from_millis(500);

type Callback = Arc<dyn Fn(&Alert) + Send + Sync>;
type Callbacks = Arc<Mutex<Vec<(u64, Callback)>>>;

/// What is known about a runtime, and who is told.
pub(crate) struct Monitor {
    made: Instant,
    rules: Mutex<Rules>,
    callbacks: Callbacks,
    next: AtomicU64,
    /// Changes that nobody has been told of yet, in order.
    news: Mutex<Vec<Alert>>,
    /// Whether somebody is telling.
    telling: AtomicBool,
    /// The highest level of each device since the last look, for pressure comes and goes between two looks.
    highest: Arc<Mutex<Vec<Level>>>,
    pressure: OnceLock<Subscription>,
    started: AtomicBool,
    /// Where the runtime is published, and its number there.
    published: OnceLock<(PathBuf, u32)>,
}

impl Default for Monitor {
    fn default() -> Monitor {
        Monitor {
            made: Instant::now(),
            rules: Mutex::default(),
            callbacks: Arc::default(),
            next: AtomicU64::new(0),
            news: Mutex::default(),
            telling: AtomicBool::new(false),
            highest: Arc::default(),
            pressure: OnceLock::new(),
            started: AtomicBool::new(false),
            published: OnceLock::new(),
        }
    }
}

/// Ends a subscription to alerts when it is dropped.
///
/// ```
/// use crossover_array::Runtime;
/// let watch = Runtime::current().on_alert(|alert| println!("{alert}"));
/// drop(watch); // no more calls
/// ```
#[must_use = "the subscription ends when this is dropped"]
pub struct AlertWatch {
    callbacks: Callbacks,
    number: u64,
}

impl fmt::Debug for AlertWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlertWatch({})", self.number)
    }
}

impl Drop for AlertWatch {
    fn drop(&mut self) {
        // Dropped after the lock: what a callback owns may have a `Drop` of its own.
        let mut list = self.callbacks.lock();
        let gone = list.iter().position(|(number, _)| *number == self.number).map(|at| list.remove(at));
        drop(list);
        drop(gone);
    }
}

impl Monitor {
    /// Looks at a runtime now, and tells whoever wants to know what has changed.
    pub fn look(&self, executor: &Executor) {
        let seen = self.seen(executor);
        {
            let mut rules = self.rules.lock();
            let changes = rules.step(&seen);
            // Under the same lock, so that news are in the order of looks.
            self.news.lock().extend(changes);
        }
        self.tell();
    }

    /// The alerts that held at the last look.
    pub fn active(&self) -> Vec<Alert> {
        self.rules.lock().active().to_vec()
    }

    fn seen(&self, executor: &Executor) -> Look {
        let (machine, counts) = (executor.machine(), executor.counts());
        let mut highest = self.highest.lock();
        highest.resize(machine.devices().count(), Level::Normal);
        let highest: Vec<Level> = highest.iter_mut().map(std::mem::take).collect();
        let devices = machine.devices().zip(highest).filter_map(|(device, highest)| {
            let (memory, lost) = (machine.memory(device), machine.backend(device).is_lost());
            if memory.is_none() && !lost {
                return None;
            }
            let memory = memory.unwrap_or_default();
            Some(DeviceLook {
                device: named(device),
                level: highest.max(memory.level),
                usage: memory.usage,
                leak: if device.0 > 0 { machine.leak(device) } else { None },
                lost,
            })
        });
        let totals = Totals { fallbacks: counts.fallbacks, judged: counts.judged, regret: counts.regret };
        Look { at: self.made.elapsed(), devices: devices.collect(), totals }
    }

    /// Calls back about all news. Whoever comes while another tells leaves it to that one, which keeps the order.
    fn tell(&self) {
        struct Done<'a>(&'a AtomicBool);
        impl Drop for Done<'_> {
            fn drop(&mut self) {
                self.0.store(false, Ordering::Release);
            }
        }
        while !self.news.lock().is_empty() {
            if self.telling.swap(true, Ordering::Acquire) {
                return;
            }
            let _done = Done(&self.telling);
            let news = std::mem::take(&mut *self.news.lock());
            for alert in news {
                tracing::warn!(target: "crossover::alert", kind = %alert.kind, active = alert.active, text = %alert.text, "alert");
                let callbacks: Vec<Callback> = self.callbacks.lock().iter().map(|(_, c)| c.clone()).collect();
                for callback in callbacks {
                    if catch_unwind(AssertUnwindSafe(|| callback(&alert))).is_err() {
                        tracing::error!(target: "crossover::alert", kind = %alert.kind, "a callback panicked");
                    }
                }
            }
        }
    }

    /// Looks at the runtime from now on.
    fn start(self: &Arc<Monitor>, executor: &Arc<Executor>) {
        if self.started.swap(true, Ordering::AcqRel) {
            return;
        }
        self.listen(executor);
        let (monitor, executor): (Weak<Monitor>, Weak<Executor>) =
            (Arc::downgrade(self), Arc::downgrade(executor));
        let body = move || {
            let (mut written, mut is_refused) = (None, false);
            while let (Some(monitor), Some(executor)) = (monitor.upgrade(), executor.upgrade()) {
                monitor.look(&executor);
                if let Some((folder, number)) = monitor.published.get()
                    && !is_refused
                {
                    // A folder that cannot be written now will not be later; one warning is enough.
                    let file = publish::write(&executor, &monitor.active(), folder, *number);
                    is_refused = file.is_none();
                    written = file.or(written);
                }
                // Neither is kept alive while nobody looks.
                drop((monitor, executor));
                std::thread::sleep(PERIOD);
            }
            if let Some(file) = written {
                let _ = std::fs::remove_file(file);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("crossover-monitor".to_string()).spawn(body) {
            self.started.store(false, Ordering::Release);
            tracing::warn!(target: "crossover::alert", %error, "nobody watches this runtime");
        }
    }

    fn listen(&self, executor: &Executor) {
        let highest = self.highest.clone();
        self.pressure.get_or_init(|| {
            executor.machine().subscribe(move |device, event| {
                let mut highest = highest.lock();
                if highest.len() <= device.0 {
                    highest.resize(device.0 + 1, Level::Normal);
                }
                highest[device.0] = highest[device.0].max(event.to);
            })
        });
    }

    /// Publishes the runtime in a folder, twice a second.
    pub fn publish(self: &Arc<Monitor>, executor: &Arc<Executor>, folder: PathBuf, number: u32) {
        let _ = self.published.set((folder, number));
        self.start(executor);
    }
}

impl Runtime {
    /// Calls `callback` when an alert begins and when it is over: memory pressure, a leak, regret, fallbacks, a lost device. Until what is returned
    /// is dropped.
    ///
    /// A thread of the runtime's own looks twice a second. No lock is held meanwhile: the callback may evaluate arrays, drop them and
    /// ask for statistics. The same rules feed `crossover top` and the rules file of `crossover metrics --rules`.
    ///
    /// ```
    /// use crossover_array::Runtime;
    /// let watch = Runtime::current().on_alert(|alert| eprintln!("{alert}"));
    /// drop(watch);
    /// ```
    pub fn on_alert(&self, callback: impl Fn(&Alert) + Send + Sync + 'static) -> AlertWatch {
        let monitor = self.monitor();
        let number = monitor.next.fetch_add(1, Ordering::Relaxed);
        monitor.callbacks.lock().push((number, Arc::new(callback)));
        monitor.start(self.shared_executor());
        AlertWatch { callbacks: monitor.callbacks.clone(), number }
    }

    /// The alerts that hold now. Looks at once, and whoever watches is told what has changed.
    ///
    /// ```
    /// use crossover_array::Runtime;
    /// assert!(Runtime::builder().threads(1).build()?.alerts().is_empty());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn alerts(&self) -> Vec<Alert> {
        let monitor = self.monitor();
        monitor.listen(self.executor());
        monitor.look(self.executor());
        monitor.active()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AlertKind, Array};

    fn runtime() -> Runtime {
        Runtime::builder().threads(1).device(crate::Device::Cpu).memory_budget(100 << 20).build().unwrap()
    }

    #[test]
    fn callbacks_may_do_anything_and_one_that_panics_harms_nobody() {
        let runtime = runtime();
        let told = Arc::new(Mutex::new(Vec::new()));
        let _panics = runtime.on_alert(|_| panic!("this panic belongs to a test"));
        let (list, inner) = (told.clone(), runtime.clone());
        let watch = runtime.on_alert(move |alert| {
            // Evaluates, subscribes and asks again, on the runtime that is telling.
            let sum = inner.scope(|| Array::arange(5).sum(()).item::<i64>()).unwrap();
            drop(inner.on_alert(|_| {}));
            inner.alerts();
            list.lock().push((alert.kind, alert.active, sum));
        });
        let big = runtime.scope(|| {
            let big = Array::zeros::<u8>([93_000_000]);
            big.eval().unwrap();
            big
        });
        let wait_for = |count: usize| {
            let start = Instant::now();
            while told.lock().len() < count && start.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(5));
            }
            told.lock().clone()
        };
        assert_eq!(wait_for(1), [(AlertKind::Pressure, true, 10)]);
        drop(big);
        runtime.trim().unwrap();
        assert_eq!(wait_for(2)[1], (AlertKind::Pressure, false, 10));
        drop(watch);
    }

    #[test]
    fn the_thread_ends_with_the_runtime() {
        let runtime = runtime();
        let _watch = runtime.on_alert(|_| {});
        let executor = Arc::downgrade(runtime.shared_executor());
        drop(runtime);
        let start = Instant::now();
        while executor.upgrade().is_some() && start.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(executor.upgrade().is_none());
    }
}
