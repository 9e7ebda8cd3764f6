//! Which machine, system and program a time belongs to.

use crossover_array::{Device, Runtime};
use serde::{Deserialize, Serialize};

use crate::gather;

/// Where a run was measured, as far as it decides how long things take.
///
/// ```
/// use crossover_profile::bench::Fingerprint;
/// assert!(Fingerprint::here(None).threads >= 1);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The processor's name.
    pub cpu: String,
    /// Threads that kernels may use.
    pub threads: usize,
    /// Vector instructions in use.
    #[serde(default)]
    pub simd: String,
    /// Bytes of host memory; 0 where nobody knows.
    #[serde(default)]
    pub memory: u64,
    /// GPUs that can be used, by name.
    #[serde(default)]
    pub gpus: Vec<String>,
    /// Operating system and architecture, with the kernel's version where it is known.
    #[serde(default)]
    pub os: String,
    /// `release` or `debug`.
    #[serde(default)]
    pub build: String,
    /// The version of crossover.
    #[serde(default)]
    pub crossover: String,
    /// The commit that the program was built from, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// Something that is not the same on two machines.
///
/// ```
/// use crossover_profile::bench::Fingerprint;
/// let here = Fingerprint::here(None);
/// let there = Fingerprint { threads: here.threads + 1, ..here.clone() };
/// assert_eq!(here.differences(&there).len(), 1);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What differs.
    pub what: &'static str,
    /// On the first.
    pub a: String,
    /// On the second.
    pub b: String,
    /// Whether times cannot be compared then.
    pub serious: bool,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} and {}", self.what, self.a, self.b)
    }
}

impl Fingerprint {
    /// Of this process on this machine, with the threads and the vector instructions that the current runtime was told to use. Opens GPUs to learn their names.
    ///
    /// ```
    /// use crossover_profile::bench::Fingerprint;
    /// let here = Fingerprint::here(Some("0123456789ab"));
    /// assert!(here.threads > 0 && here.differences(&here).is_empty());
    /// ```
    pub fn here(commit: Option<&str>) -> Fingerprint {
        let runtime = Runtime::current();
        let used = |device| runtime.is_available(device);
        let gpus = crossover_array::gpus().into_iter();
        let gpus = gpus.filter(|(device, _)| *device != Device::Cpu && used(*device));
        Fingerprint {
            cpu: gather::processor(),
            threads: runtime.threads(),
            simd: runtime.simd().to_string(),
            memory: gather::memory(),
            gpus: gpus.filter_map(|(_, name)| name.ok()).collect(),
            os: system(),
            build: if cfg!(debug_assertions) { "debug" } else { "release" }.to_string(),
            crossover: env!("CARGO_PKG_VERSION").to_string(),
            commit: commit.filter(|commit| *commit != "unknown").map(str::to_string),
        }
    }

    /// What is not the same elsewhere, what matters most first. Versions and commits are not looked at: they are what people
    /// compare.
    ///
    /// ```
    /// use crossover_profile::bench::Fingerprint;
    /// let a = Fingerprint { cpu: "one".into(), threads: 2, ..Fingerprint::default() };
    /// let b = Fingerprint { cpu: "other".into(), ..a.clone() };
    /// let differences = a.differences(&b);
    /// assert_eq!(differences[0].to_string(), "processor: one and other");
    /// assert!(differences[0].serious);
    /// ```
    pub fn differences(&self, other: &Fingerprint) -> Vec<Difference> {
        let gpus = |of: &Fingerprint| {
            if of.gpus.is_empty() { "none".to_string() } else { of.gpus.join(", ") }
        };
        let gib = |of: &Fingerprint| format!("{:.0} GiB", of.memory as f64 / f64::from(1 << 30));
        let members = [
            ("processor", self.cpu.clone(), other.cpu.clone(), true),
            ("threads", self.threads.to_string(), other.threads.to_string(), true),
            ("vector instructions", self.simd.clone(), other.simd.clone(), true),
            ("GPU", gpus(self), gpus(other), true),
            ("build", self.build.clone(), other.build.clone(), true),
            ("memory", gib(self), gib(other), false),
            ("system", self.os.clone(), other.os.clone(), false),
        ];
        let differ = members.into_iter().filter(|(_, a, b, _)| a != b);
        differ.map(|(what, a, b, serious)| Difference { what, a, b, serious }).collect()
    }
}

fn system() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let (os, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("{os} {} {architecture}", release.trim()).replace("  ", " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_instructions_are_those_of_the_runtime() {
        use crossover_array::Simd;
        let narrow = Runtime::builder()
            .threads(1)
            .simd(Simd::Scalar)
            .device(Device::Cpu)
            .build()
            .expect("it can be made");
        let wide = Runtime::builder().threads(3).device(Device::Cpu).build().expect("it can be made");
        let [narrow, wide] = [narrow, wide].map(|runtime| runtime.scope(|| Fingerprint::here(None)));
        assert_eq!((narrow.threads, wide.threads), (1, 3));
        assert_eq!(narrow.simd, Simd::Scalar.to_string());
        let serious: Vec<&str> =
            narrow.differences(&wide).iter().filter(|found| found.serious).map(|found| found.what).collect();
        assert!(serious.contains(&"threads"), "{serious:?}");
        assert_eq!(serious.contains(&"vector instructions"), Simd::detect() != Simd::Scalar);
    }

    #[test]
    fn only_what_decides_times_is_serious() {
        let here = Fingerprint::here(None);
        let newer = Fingerprint { crossover: "9.9.9".into(), commit: Some("abc".into()), ..here.clone() };
        assert!(here.differences(&newer).is_empty());
        let system = Fingerprint { os: "plan9".into(), ..here.clone() };
        assert_eq!(here.differences(&system).iter().filter(|d| d.serious).count(), 0);
        let gpu = Fingerprint { gpus: vec!["another".into()], ..here.clone() };
        assert!(here.differences(&gpu)[0].serious);
    }
}
