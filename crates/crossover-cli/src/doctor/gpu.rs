//! Whether there is a GPU, and why it is not used.
//!
//! Files say what should be there; the library itself says whether it can be used.

use std::path::{Path, PathBuf};

use serde::Serialize;

/// The state of GPU computing on this machine.
#[derive(Serialize)]
pub struct Gpu {
    /// Whether arrays can be computed on one.
    pub used: bool,
    /// Names of NVIDIA devices, as the library describes them or, where it cannot use them, as the kernel driver does.
    pub devices: Vec<String>,
    /// Version of the kernel driver, as it describes itself.
    pub driver: Option<String>,
    /// The user-space driver library, where one was found.
    pub libcuda: Option<String>,
    /// Where arrays are computed, or why not on a GPU, and the remedy.
    pub reason: String,
    /// What GPUs leave to the CPU for want of a CUDA library, and why.
    pub gaps: Vec<String>,
}

/// Looks for NVIDIA devices and their driver.
pub fn probe() -> Gpu {
    let devices = devices(Path::new("/proc/driver/nvidia/gpus"));
    let driver = std::fs::read_to_string("/proc/driver/nvidia/version").ok().and_then(|text| {
        text.lines().next().map(|line| line.trim_start_matches("NVRM version: ").trim().to_owned())
    });
    let libcuda = libcuda();
    let gpus = crossover::gpus();
    let usable: Vec<String> = gpus.iter().filter_map(|(_, found)| found.clone().ok()).collect();
    let refused =
        gpus.iter().find_map(|(device, found)| Some(format!("{device}: {}", found.as_ref().err()?)));
    let reason = match (&refused, devices.len(), &libcuda) {
        _ if !usable.is_empty() => {
            "arrays are computed there where it pays; CROSSOVER_DEVICE=cpu keeps everything on the CPU".to_owned()
        }
        (Some(refused), _, _) => format!("{refused}; everything runs on the CPU"),
        (None, 0, None) => {
            "no NVIDIA driver was found (no libcuda, no device); everything runs on the CPU".to_owned()
        }
        (None, 0, Some(_)) => {
            "a driver library was found, but no device; everything runs on the CPU".to_owned()
        }
        (None, _, _) => {
            "a device was found, but /dev/nvidiactl is missing or CROSSOVER_DEVICE=cpu; everything runs on the CPU"
                .to_owned()
        }
    };
    let used = !usable.is_empty();
    let devices = if used { usable } else { devices };
    let gaps = crossover::gpu_gaps().into_iter().map(|(device, why)| format!("{device} {why}")).collect();
    Gpu { used, devices, driver, libcuda: libcuda.map(|path| path.display().to_string()), reason, gaps }
}

impl Gpu {
    /// One line for the head of other reports.
    pub fn line(&self) -> String {
        match self.devices.first() {
            Some(name) if self.used => format!("{name}: used where it pays"),
            Some(name) => format!("{name} is here, but not used (crossover doctor says more)"),
            None => "no GPU: no NVIDIA driver was found; everything runs on the CPU".to_owned(),
        }
    }
}

/// One folder per device, with its name in a file.
fn devices(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("information")).ok())
        .map(|text| {
            let model = text.lines().find_map(|line| line.strip_prefix("Model:"));
            model.map_or_else(|| "NVIDIA GPU".to_owned(), |name| name.trim().to_owned())
        })
        .collect();
    names.sort();
    names
}

/// The driver library in the places the dynamic loader looks.
fn libcuda() -> Option<PathBuf> {
    let from_environment = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let usual = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        "/usr/lib/wsl/lib",
    ];
    std::env::split_paths(&from_environment)
        .chain(usual.iter().map(PathBuf::from))
        .map(|folder| folder.join("libcuda.so.1"))
        .find(|path| path.exists())
}
