//! How busy the processor and the GPUs are.

use std::time::{Duration, Instant};

use crossover_cuda::GpuLoad;
use parking_lot::Mutex;

use crate::runtime::Runtime;

/// How busy the machine is, from [`Runtime::utilization`].
///
/// ```
/// let now = crossover_array::Runtime::current().utilization();
/// println!("{:?} cores of this process", now.process);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Utilization {
    /// Share of all cores that worked, for whatever program; `None` where the system does not say.
    pub cpu: Option<f64>,
    /// Cores that worked for this process: 2.5 is two and a half.
    pub process: Option<f64>,
    /// What each NVIDIA GPU of the machine does, in the order of their slots, or why that is not known.
    pub gpus: Result<Vec<GpuLoad>, crossover_runtime::Error>,
}

/// Time that cores have worked, in ticks of the system.
#[derive(Debug, Clone, Copy)]
struct Sample {
    at: Instant,
    busy: u64,
    all: u64,
    process: u64,
}

/// Ticks per second, on every Linux.
const TICKS: f64 = 100.0;
/// Time over which the first call looks.
const FIRST: Duration = Duration::from_millis(50);

impl Sample {
    fn take() -> Option<Sample> {
        let (busy, all) = whole(&std::fs::read_to_string("/proc/stat").ok()?)?;
        let process = own(&std::fs::read_to_string("/proc/self/stat").ok()?)?;
        Some(Sample { at: Instant::now(), busy, all, process })
    }

    /// Share of all cores, and cores of this process, since an earlier sample.
    fn since(&self, earlier: &Sample) -> Option<(f64, f64)> {
        let all = self.all.checked_sub(earlier.all).filter(|&ticks| ticks > 0)?;
        let seconds = (self.at - earlier.at).as_secs_f64();
        let busy = self.busy.saturating_sub(earlier.busy) as f64 / all as f64;
        let process = self.process.saturating_sub(earlier.process) as f64 / TICKS / seconds;
        Some((busy.min(1.0), process))
    }
}

/// Ticks in which some core worked, and all ticks: the first line of `/proc/stat`.
fn whole(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    // user, nice, system, idle, waiting for disks, interrupts…; what guests use is in the first two already.
    let ticks: Vec<u64> = line.split_whitespace().take(8).filter_map(|n| n.parse().ok()).collect();
    let all: u64 = ticks.iter().sum();
    let idle = ticks.get(3)? + ticks.get(4).unwrap_or(&0);
    Some((all - idle, all))
}

/// Ticks of this process: user and system time in `/proc/self/stat`.
fn own(text: &str) -> Option<u64> {
    // The name of the program may hold anything, but nothing after it holds a bracket.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

/// Looks at the time since it looked last; a moment, the first time.
pub(crate) fn processor() -> Option<(f64, f64)> {
    /// What was seen last, and the shares that followed from it.
    type Last = (Sample, Option<(f64, f64)>);
    static LAST: Mutex<Option<Last>> = Mutex::new(None);
    let mut last = LAST.lock();
    let (earlier, known) = match *last {
        Some(found) => found,
        None => {
            let first = Sample::take()?;
            std::thread::sleep(FIRST);
            (first, None)
        }
    };
    let now = Sample::take()?;
    // Ticks are long: who asks too often is told what was so a moment ago.
    if now.at - earlier.at < FIRST && known.is_some() {
        return known;
    }
    let found = now.since(&earlier).or(known);
    *last = Some((now, found));
    found
}

impl Runtime {
    /// How busy the processor is since the last call (the first looks for 50 ms), and what the GPUs do at the moment.
    ///
    /// ```
    /// let now = crossover_array::Runtime::current().utilization();
    /// if let Some(cpu) = now.cpu {
    ///     assert!((0.0..=1.0).contains(&cpu));
    /// }
    /// match now.gpus {
    ///     Ok(gpus) => gpus.iter().for_each(|gpu| println!("{}: {:.0}%", gpu.name, 100.0 * gpu.busy)),
    ///     Err(reason) => println!("{reason}"),
    /// }
    /// ```
    pub fn utilization(&self) -> Utilization {
        let found = processor();
        let gpus = crossover_cuda::gpu_loads().map_err(|error| crossover_runtime::Error::NoDevice {
            device: "cuda".to_string(),
            reason: error.to_string(),
        });
        Utilization { cpu: found.map(|f| f.0), process: found.map(|f| f.1), gpus }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_system_are_read() {
        let text = "cpu  100 0 50 800 50 0 0 0 7 7\ncpu0 1 2 3 4\n";
        assert_eq!(whole(text), Some((150, 1000)));
        assert_eq!(whole("intr 5"), None);
        let text = "42 (a (odd) name) S 1 42 42 0 -1 4194304 1 0 0 0 17 4 0 0 20 0 1 0 5 1 1";
        assert_eq!(own(text), Some(21));
    }

    #[test]
    fn shares_follow_from_two_samples() {
        let at = Instant::now();
        let first = Sample { at, busy: 100, all: 1000, process: 10 };
        let then = Sample { at: at + Duration::from_secs(2), busy: 250, all: 1400, process: 310 };
        let (all, own) = then.since(&first).unwrap();
        assert_eq!((all, own), (0.375, 1.5));
        assert_eq!(first.since(&first), None);
    }
}
