//! NVRTC for the kernel compile tests: the CUDA compiler as a Python wheel, which needs no GPU and no driver.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::venv::Venv;

/// Where the wheel is installed; git ignores it.
const FOLDER: &str = ".venv-nvrtc";
/// The oldest CUDA that is supported: kernels it accepts are accepted by later ones.
const WHEEL: &str = "nvidia-cuda-nvrtc==13.0.88";

/// A usable `libnvrtc`.
pub struct Nvrtc {
    library: PathBuf,
}

impl Nvrtc {
    /// The one named by `CROSSOVER_NVRTC`, else the wheel, installed when missing (about 90 MB).
    pub fn find() -> Result<Self> {
        if let Some(library) = std::env::var_os("CROSSOVER_NVRTC") {
            return Ok(Self { library: library.into() });
        }
        let packages = Venv::with(FOLDER, &[WHEEL])?.packages()?;
        let library = newest(&packages.join("nvidia"))
            .with_context(|| format!("{WHEEL} is installed but holds no libnvrtc.so"))?;
        Ok(Self { library })
    }

    /// The environment a test run needs.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        vec![("CROSSOVER_NVRTC", self.library.clone().into_os_string())]
    }
}

/// `nvidia/cu13/lib/libnvrtc.so.13`, whatever the version in the path.
fn newest(nvidia: &Path) -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(nvidia)
        .ok()?
        .flatten()
        .filter_map(|entry| std::fs::read_dir(entry.path().join("lib")).ok())
        .flat_map(|folder| folder.flatten().map(|entry| entry.path()))
        .filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libnvrtc.so."))
        })
        .collect();
    found.sort();
    found.pop()
}
