//! The processor and the memory, as the operating system describes them.
//!
//! Read from `/proc` and `/sys`, which exist on Linux; elsewhere what cannot be found is left out.

use std::{fs, num::NonZero, path::Path};

use crossover::{Runtime, Simd};
use serde::Serialize;

/// The processor.
#[derive(Serialize)]
pub struct Cpu {
    pub model: String,
    pub architecture: &'static str,
    /// Threads that compute.
    pub threads: usize,
    /// Logical processors that this process may use.
    pub processors: usize,
    /// Physical cores of the machine.
    pub cores: Option<usize>,
    pub simd: String,
    pub simd_available: Vec<String>,
    /// Whether large kernels become machine code of their own.
    pub machine_code: bool,
    /// Caches of the first core, innermost first.
    pub caches: Vec<Cache>,
}

/// One cache.
#[derive(Serialize)]
pub struct Cache {
    pub level: u32,
    pub bytes: u64,
    /// Logical processors that share it.
    pub shared_by: usize,
}

/// Memory in bytes.
#[derive(Serialize)]
pub struct Memory {
    pub total: Option<u64>,
    pub available: Option<u64>,
    /// What the container may use, where there is such a limit.
    pub container_limit: Option<u64>,
}

/// Describes the processor.
pub fn cpu() -> Cpu {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    Cpu {
        model: field(&info, "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        architecture: std::env::consts::ARCH,
        threads: threads(),
        processors: processors(),
        cores: cores(&info),
        simd: simd().to_string(),
        simd_available: Simd::available().map(|level| level.to_string()).collect(),
        machine_code: simd().makes_code(),
        caches: caches(Path::new("/sys/devices/system/cpu/cpu0/cache")),
    }
}

/// Threads that compute, as settings and the processor have it.
pub fn threads() -> usize {
    in_effect("threads").and_then(|value| value.parse().ok()).unwrap_or_else(processors)
}

/// Vector instructions that compute, as settings and the processor have it.
pub fn simd() -> Simd {
    let spelled = |level: &Simd| level.name().to_lowercase().replace('-', "");
    let chosen = in_effect("simd").and_then(|value| Simd::available().find(|level| spelled(level) == value));
    chosen.unwrap_or_else(Simd::detect)
}

/// The value of a setting of the runtime that computes; `None` where nobody says.
fn in_effect(name: &str) -> Option<String> {
    let settings = Runtime::current().settings();
    settings.into_iter().find(|setting| setting.name == name).map(|setting| setting.value)
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// The first `name : value` line.
fn field(info: &str, name: &str) -> Option<String> {
    let (_, value) = info.lines().filter_map(|l| l.split_once(':')).find(|(key, _)| key.trim() == name)?;
    Some(value.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Distinct pairs of package and core.
fn cores(info: &str) -> Option<usize> {
    let mut seen = std::collections::BTreeSet::new();
    for processor in info.split("\n\n") {
        if let (Some(package), Some(core)) = (field(processor, "physical id"), field(processor, "core id")) {
            seen.insert((package, core));
        }
    }
    (!seen.is_empty()).then_some(seen.len())
}

fn caches(folder: &Path) -> Vec<Cache> {
    let read = |index: usize, name: &str| {
        let text = fs::read_to_string(folder.join(format!("index{index}")).join(name)).ok()?;
        Some(text.trim().to_owned())
    };
    (0..8)
        .filter(|&i| read(i, "type").is_some_and(|kind| kind != "Instruction"))
        .filter_map(|i| {
            Some(Cache {
                level: read(i, "level")?.parse().ok()?,
                bytes: size(&read(i, "size")?)?,
                shared_by: members(&read(i, "shared_cpu_list")?),
            })
        })
        .collect()
}

/// Sizes as the kernel writes them: `48K`, `32M`.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok().map(|n| n * unit)
}

/// How many numbers a list such as `0-3,8` holds.
fn members(list: &str) -> usize {
    list.split(',')
        .filter_map(|part| match part.split_once('-') {
            Some((first, last)) => Some(last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?)? + 1),
            None => part.parse::<usize>().ok().map(|_| 1),
        })
        .sum()
}

/// Describes the memory.
pub fn memory() -> Memory {
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kibibytes =
        |name: &str| field(&info, name)?.trim_end_matches(" kB").parse::<u64>().ok().map(|k| k << 10);
    let total = kibibytes("MemTotal");
    let limit = container_limit().filter(|&limit| total.is_none_or(|total| limit < total));
    Memory { total, available: kibibytes("MemAvailable"), container_limit: limit }
}

/// The smallest limit on the way from this process's control group to the root.
fn container_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        // Version 2 has one line without controllers; version 1 names the memory controller.
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            c if c.split(',').any(|c| c == "memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        let folder = Path::new(root).join(path.trim_start_matches('/'));
        for ancestor in folder.ancestors().take_while(|a| a.starts_with(root)) {
            // Version 2 writes `max` where there is no limit; that does not parse, and is none.
            if let Some(limit) =
                fs::read_to_string(ancestor.join(file)).ok().and_then(|t| t.trim().parse().ok())
            {
                limits.push(limit);
            }
        }
    }
    limits.into_iter().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_lists_are_read_as_the_kernel_writes_them() {
        assert_eq!(size("48K"), Some(48 << 10));
        assert_eq!(size("32M"), Some(32 << 20));
        assert_eq!(size("32X"), None);
        assert_eq!(members("0-3,8"), 5);
        assert_eq!(members("0"), 1);
        assert_eq!(members("3-1"), 0);
    }

    #[test]
    fn cores_are_counted_once_however_many_threads_they_have() {
        let info =
            "physical id : 0\ncore id : 0\n\nphysical id : 0\ncore id : 0\n\nphysical id : 0\ncore id : 1\n";
        assert_eq!(cores(info), Some(2));
        assert_eq!(cores(""), None);
        assert_eq!(field("model name\t: Some  CPU \n", "model name").as_deref(), Some("Some CPU"));
    }
}
