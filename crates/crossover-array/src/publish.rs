//! What a process computes, for `crossover top` in another one.
//!
//! A runtime with the setting `profiling` writes a small JSON file twice a second, `PID-N.json` in the folder `processes` beside the compiled
//! kernels, N being the number of the runtime; each replaces the one before as a whole. Nothing is written otherwise. Files of processes that have ended are removed by whoever
//! reads the folder.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use crossover_runtime::{Executor, cache_folder, memory::Level};
use miniserde::{Deserialize, Serialize, json};

use crate::{Alert, load, monitor::PERIOD, runtime::Runtime, status};

/// Kernels told of.
const KERNELS: usize = 16;
/// What files of this form say they are.
const VERSION: u32 = 2;

/// What a process with the setting `profiling` did, from [`processes`].
///
/// ```
/// for process in crossover_array::processes() {
///     println!("{} ({}): {} kernels, {}", process.program, process.pid, process.launches, process.to_json());
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessStats {
    /// The form of the file.
    pub version: u32,
    /// Number of the process.
    pub pid: u32,
    /// Number of the runtime in that process, from 0.
    pub runtime: u32,
    /// The program's file.
    pub program: String,
    /// When this was written, in milliseconds since 1970.
    pub written: u64,
    /// Cores that worked for it; `None` where the system does not say.
    pub cores: Option<f64>,
    /// Kernels launched.
    pub launches: u64,
    /// Copies between devices.
    pub transfers: u64,
    /// Bytes copied between devices.
    pub transferred: u64,
    /// Kernels that a device could not run and the host did.
    pub fallbacks: u64,
    /// Kernels that the host ran because their device was still making them ready.
    pub postponed: u64,
    /// Nanoseconds of kernels that were timed after a choice between devices.
    pub judged: u64,
    /// Nanoseconds of those beyond the prediction for the best other device, copies included.
    pub regret: u64,
    /// Devices that were lost.
    pub lost: Vec<String>,
    /// What holds at the moment that somebody should know about.
    pub alerts: Vec<ProcessAlert>,
    /// Memory of each device in use, the host first.
    pub memory: Vec<ProcessMemory>,
    /// Kernels by device and reason; reasons that never occurred are left out.
    pub decisions: Vec<ProcessDecision>,
    /// The kernels that ran last, the latest at the end.
    pub kernels: Vec<ProcessKernel>,
}

/// Memory of a device, in bytes.
///
/// ```
/// for memory in crossover_array::processes().iter().flat_map(|process| &process.memory) {
///     println!("{}: {} of {} bytes", memory.device, memory.live, memory.budget);
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessMemory {
    /// The device.
    pub device: String,
    /// Held by arrays.
    pub live: u64,
    /// Freed by them and kept.
    pub cached: u64,
    /// Taken by other programs.
    pub others: u64,
    /// What is left of the budget.
    pub free: u64,
    /// Most that the process may take.
    pub budget: u64,
    /// All there is.
    pub total: u64,
    /// Share of the budget that is taken, by the process and by others.
    pub usage: f64,
    /// How near the end is: normal, elevated, high or critical.
    pub level: String,
    /// The same as a number, from 0 to 3.
    pub severity: u32,
    /// Most that arrays held at once.
    pub peak: u64,
    /// Bytes per second by which the least that arrays hold has grown for five minutes; 0 if it has not.
    pub leak: f64,
}

/// Something that somebody should know about.
///
/// ```
/// for process in crossover_array::processes() {
///     process.alerts.iter().for_each(|alert| println!("{alert:?}"));
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessAlert {
    /// What it is about, by [`AlertKind::name`](crate::AlertKind::name).
    pub kind: String,
    /// The device; empty if it is about the whole process.
    pub device: String,
    /// What was seen, and what to do.
    pub text: String,
}

/// How many kernels ran where, for one reason.
///
/// ```
/// for process in crossover_array::processes() {
///     process.decisions.iter().for_each(|decision| println!("{decision:?}"));
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessDecision {
    /// The device.
    pub device: String,
    /// The reason, by its short name.
    pub reason: String,
    /// Kernels.
    pub kernels: u64,
}

/// A kernel that ran.
///
/// ```
/// for process in crossover_array::processes() {
///     process.kernels.iter().for_each(|kernel| println!("{kernel:?}"));
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessKernel {
    /// Its name: the operations inside.
    pub name: String,
    /// Where it ran.
    pub device: String,
    /// Why there; empty where nothing was to be decided.
    pub reason: String,
    /// Microseconds that the host spent on it.
    pub micros: f64,
    /// Milliseconds ago.
    pub age: u64,
    /// Bytes it reads and writes.
    pub bytes: u64,
}

impl ProcessStats {
    /// One JSON object.
    pub fn to_json(&self) -> String {
        json::to_string(self)
    }

    fn of(executor: &Executor, alerts: &[Alert], runtime: u32) -> ProcessStats {
        let counts = executor.counts();
        let machine = executor.machine();
        let name = |device| status::named(device).to_string();
        let memory = machine.devices().filter_map(|device| {
            let memory = machine.memory(device)?;
            Some(ProcessMemory {
                device: name(device),
                live: memory.live,
                cached: memory.cached,
                others: memory.external,
                free: memory.free,
                budget: memory.budget,
                total: memory.total,
                usage: memory.usage,
                level: memory.level.to_string(),
                severity: match memory.level {
                    Level::Normal => 0,
                    Level::Elevated => 1,
                    Level::High => 2,
                    Level::Critical => 3,
                },
                peak: memory.peak,
                leak: if device.0 > 0 { machine.leak(device).map_or(0.0, |leak| leak.rate) } else { 0.0 },
            })
        });
        let alerts = alerts.iter().map(|alert| ProcessAlert {
            kind: alert.kind.name().to_string(),
            device: alert.device.map_or_else(String::new, |device| device.to_string()),
            text: alert.text.clone(),
        });
        let lost = machine.devices().filter(|&device| machine.backend(device).is_lost()).map(name);
        let decisions = machine.devices().flat_map(|device| {
            let taken = executor.decisions(device).into_iter().filter(|(_, kernels)| *kernels > 0);
            let device = name(device);
            taken.map(move |(reason, kernels)| ProcessDecision {
                device: device.clone(),
                reason: reason.to_string(),
                kernels,
            })
        });
        let kernels = executor.recent().latest(KERNELS).into_iter().map(|ran| ProcessKernel {
            name: ran.name,
            device: name(ran.device),
            reason: ran.why.to_string(),
            micros: ran.took.as_nanos() as f64 / 1e3,
            age: ran.start.elapsed().as_millis() as u64,
            bytes: ran.bytes,
        });
        ProcessStats {
            version: VERSION,
            pid: std::process::id(),
            runtime,
            program: std::env::current_exe()
                .map_or_else(|_| "?".to_string(), |path| path.display().to_string()),
            written: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_millis() as u64),
            cores: load::processor().map(|found| found.1),
            launches: counts.launches,
            transfers: counts.transfers,
            transferred: counts.transferred,
            fallbacks: counts.fallbacks,
            postponed: counts.postponed,
            judged: counts.judged,
            regret: counts.regret,
            lost: lost.collect(),
            alerts: alerts.collect(),
            memory: memory.collect(),
            decisions: decisions.collect(),
            kernels: kernels.collect(),
        }
    }

    /// Writes the file, whole or not at all.
    fn write(&self, folder: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        let fresh = self.file(folder).with_extension("tmp");
        std::fs::write(&fresh, self.to_json())?;
        std::fs::rename(fresh, self.file(folder))
    }

    fn file(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}-{}.json", self.pid, self.runtime))
    }
}

fn folder() -> Option<PathBuf> {
    cache_folder("processes")
}

/// Publishes a runtime for as long as it lives.
pub(crate) fn begin(runtime: &Runtime) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let Some(folder) = folder() else { return };
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    runtime.monitor().publish(runtime.shared_executor(), folder, number);
}

/// Writes what a runtime does into a folder; the file, if that worked.
pub(crate) fn write(executor: &Executor, alerts: &[Alert], folder: &Path, number: u32) -> Option<PathBuf> {
    let stats = ProcessStats::of(executor, alerts, number);
    match stats.write(folder) {
        Ok(()) => Some(stats.file(folder)),
        Err(error) => {
            tracing::warn!(target: "crossover::top", %error, folder = %folder.display(), "not published");
            None
        }
    }
}

impl Runtime {
    /// What this runtime did, in the form that `crossover top` and `crossover metrics` read. Looks for alerts at once.
    ///
    /// ```
    /// use crossover_array::{Array, Runtime};
    /// let runtime = Runtime::builder().threads(1).build()?;
    /// runtime.scope(|| Array::arange(10).exp().eval().map(drop))?;
    /// let stats = runtime.process_stats();
    /// assert_eq!((stats.launches, stats.pid), (1, std::process::id()));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn process_stats(&self) -> ProcessStats {
        ProcessStats::of(self.executor(), &self.alerts(), 0)
    }
}

/// The processes of this user's that have the setting `profiling`, by number.
///
/// ```
/// for process in crossover_array::processes() {
///     println!("{} has launched {} kernels", process.pid, process.launches);
/// }
/// ```
pub fn processes() -> Vec<ProcessStats> {
    folder().map_or_else(Vec::new, |folder| read(&folder))
}

fn read(folder: &Path) -> Vec<ProcessStats> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "json"));
    let mut found: Vec<ProcessStats> = files
        .filter_map(|path| {
            let stats: ProcessStats = json::from_str(&std::fs::read_to_string(&path).ok()?).ok()?;
            if !is_alive(&stats) {
                let _ = std::fs::remove_file(&path);
                return None;
            }
            (stats.version == VERSION).then_some(stats)
        })
        .collect();
    found.sort_by_key(|stats| (stats.pid, stats.runtime));
    found
}

/// Whether a process still writes: a number may belong to another one by now, so the file must be fresh.
fn is_alive(stats: &ProcessStats) -> bool {
    const STALE: u64 = 20 * PERIOD.as_millis() as u64;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_millis() as u64);
    let exists = !Path::new("/proc/self").exists() || Path::new(&format!("/proc/{}", stats.pid)).exists();
    exists && now.saturating_sub(stats.written) < STALE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Array;

    #[test]
    fn what_is_written_is_read_and_the_dead_are_removed() {
        let runtime = Runtime::builder().threads(1).device(crate::Device::Cpu).build().unwrap();
        runtime.executor().recent().set(true);
        let x = Array::from([0.5f32; 1000]);
        runtime.scope(|| x.exp().eval().map(drop)).unwrap();
        let mut stats = ProcessStats::of(runtime.executor(), &[], 0);
        assert_eq!((stats.launches, stats.memory[0].device.as_str()), (1, "cpu"));
        assert_eq!((stats.kernels.len(), stats.kernels[0].device.as_str()), (1, "cpu"));
        assert!(stats.kernels[0].name.contains("exp"), "{}", stats.kernels[0].name);
        // Fractions that any reader of decimals finds again.
        (stats.cores, stats.kernels[0].micros) = (Some(0.5), 2.25);
        let folder = std::env::temp_dir().join(format!("crossover-processes-{}", std::process::id()));
        stats.write(&folder).unwrap();
        let ended = ProcessStats { pid: u32::MAX - 1, written: 0, ..stats.clone() };
        ended.write(&folder).unwrap();
        std::fs::write(folder.join("7.json"), "not JSON").unwrap();
        assert_eq!(read(&folder), [stats]);
        assert!(!ended.file(&folder).exists());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
