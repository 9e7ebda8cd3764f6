//! How busy the machine is.

use crossover_array::{GpuLoad, Runtime};

/// How busy the machine is at a moment; `None` where the system does not say.
///
/// ```
/// use crossover_profile::metrics::MachineLoad;
/// let load = MachineLoad::look();
/// if let Some((used, all)) = load.memory {
///     assert!(used <= all);
///     println!("{} of {} MiB, {} GPUs", used >> 20, all >> 20, load.gpus.len());
/// }
/// // Nothing was looked at.
/// assert_eq!(MachineLoad::default().cpu, None);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MachineLoad {
    /// Share of all cores that worked.
    pub cpu: Option<f64>,
    /// Bytes of host memory in use, and all there are.
    pub memory: Option<(u64, u64)>,
    /// Every NVIDIA GPU, in the order of their slots.
    pub gpus: Vec<GpuLoad>,
}

impl MachineLoad {
    /// Looks now. The first look takes 50 ms.
    ///
    /// ```
    /// let load = crossover_profile::metrics::MachineLoad::look();
    /// assert!(load.cpu.is_none_or(|busy| (0.0..=1.0).contains(&busy)));
    /// ```
    pub fn look() -> MachineLoad {
        let now = Runtime::current().utilization();
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        MachineLoad { cpu: now.cpu, memory: memory(&text), gpus: now.gpus.unwrap_or_default() }
    }
}

/// Bytes in use and all, from the text of `/proc/meminfo`.
fn memory(text: &str) -> Option<(u64, u64)> {
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    };
    let total = of("MemTotal")?;
    Some((total.saturating_sub(of("MemAvailable")?), total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_the_host_is_read() {
        let text = "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    400 kB\n";
        assert_eq!(memory(text), Some((600 * 1024, 1000 * 1024)));
        assert_eq!(memory("nothing"), None);
    }
}
