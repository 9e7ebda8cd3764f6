//! Whether there is a GPU, and why it is not used.
//!
//! Looks only at files: loading a driver library runs foreign code, which a diagnosis should not depend on.

use std::path::{Path, PathBuf};

use serde::Serialize;

/// The state of GPU computing on this machine.
#[derive(Serialize)]
pub struct Gpu {
    /// Whether arrays are computed on it. Never, in this version.
    pub used: bool,
    /// Names of NVIDIA devices that the kernel driver reports.
    pub devices: Vec<String>,
    /// Version of the kernel driver, as it describes itself.
    pub driver: Option<String>,
    /// The user-space driver library, where one was found.
    pub libcuda: Option<String>,
    /// Why it is not used.
    pub reason: String,
}

/// What this version can do with a GPU.
const THIS_VERSION: &str = "this version computes on the CPU; `crossover-gpu-proof` compares its generated CUDA kernels \
     with the CPU bit for bit, and the backend that runs them comes with the next release";

/// Looks for NVIDIA devices and their driver.
pub fn probe() -> Gpu {
    let devices = devices(Path::new("/proc/driver/nvidia/gpus"));
    let driver = std::fs::read_to_string("/proc/driver/nvidia/version").ok().and_then(|text| {
        text.lines().next().map(|line| line.trim_start_matches("NVRM version: ").trim().to_owned())
    });
    let libcuda = libcuda();
    let found = match (devices.len(), &libcuda) {
        (0, None) => "no NVIDIA driver was found (no libcuda, no device)",
        (0, Some(_)) => "a driver library was found, but no device",
        (_, None) => "a device was found, but no driver library (libcuda.so.1)",
        (_, Some(_)) => "a device and its driver were found",
    };
    let reason = format!("{found}; {THIS_VERSION}");
    Gpu { used: false, devices, driver, libcuda: libcuda.map(|path| path.display().to_string()), reason }
}

impl Gpu {
    /// One line for the head of other reports.
    pub fn line(&self) -> String {
        match self.devices.first() {
            Some(name) => {
                format!("{name} is here, but this version computes on the CPU (crossover doctor says more)")
            }
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
