//! `--require`: what a deployment needs of its machine, and what to do where that is missing.

use std::path::Path;

use clap::ValueEnum;
use crossover::Simd;
use serde::Serialize;

use super::gpu::Gpu;

/// Something that may be required.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Requirement {
    /// A GPU that arrays can be computed on
    Gpu,
    /// The compiler of GPU kernels
    Nvrtc,
    /// 256-bit vectors with fused multiply-add
    Avx2,
    /// 512-bit vectors
    Avx512,
    /// 128-bit vectors of aarch64
    Neon,
    /// Machine code for large kernels
    Code,
    /// A folder that keeps compiled GPU kernels
    Cache,
}

/// Whether a requirement is met.
#[derive(Debug, Serialize)]
pub struct Answer {
    pub name: String,
    pub ok: bool,
    /// What was found, or what is missing and the remedy.
    pub detail: String,
}

impl Requirement {
    /// Looks for it.
    pub fn answer(self, gpu: &Gpu) -> Answer {
        let found = match self {
            Requirement::Gpu if gpu.used => Ok(gpu.devices.join(", ")),
            Requirement::Gpu => Err(format!(
                "{}; install the NVIDIA driver, or pass the device into the container",
                gpu.reason
            )),
            Requirement::Nvrtc => nvrtc(),
            Requirement::Avx2 => vectors(Simd::Avx2),
            Requirement::Avx512 => vectors(Simd::Avx512),
            Requirement::Neon => vectors(Simd::Neon),
            Requirement::Code => code(),
            Requirement::Cache => crossover_cuda::KernelCache::usual_folder().map_or_else(
                || {
                    Err("CROSSOVER_CACHE is off, or neither it nor HOME is set; name a folder in it"
                        .to_owned())
                },
                |folder| is_writable(&folder),
            ),
        };
        let (ok, detail) = match found {
            Ok(detail) => (true, detail),
            Err(detail) => (false, detail),
        };
        Answer { name: self.name(), ok, detail }
    }

    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

fn nvrtc() -> Result<String, String> {
    let remedy =
        "install a CUDA toolkit or the package nvidia-cuda-nvrtc, or name the file in CROSSOVER_NVRTC";
    match crossover_cuda::Nvrtc::open() {
        Ok(nvrtc) => {
            let (major, minor) = nvrtc.version();
            Ok(format!("version {major}.{minor}, {}", nvrtc.location()))
        }
        Err(error) => Err(format!("{error}; {remedy}")),
    }
}

fn vectors(level: Simd) -> Result<String, String> {
    if level.is_available() {
        return Ok(format!("{level} is available"));
    }
    let has = Simd::available().map(Simd::name).collect::<Vec<_>>().join(", ");
    Err(format!(
        "the processor, or the virtual machine around it, has no {level} (it has: {has}); results are the same, \
         speed is not: choose another machine type"
    ))
}

fn code() -> Result<String, String> {
    match Simd::detect() {
        level if level.makes_code() => Ok("made for large kernels".to_owned()),
        Simd::Avx512 => {
            Err("the system refuses executable memory; allow it for this process (SELinux: execmem)"
                .to_owned())
        }
        level => Err(format!(
            "machine code needs AVX-512, and the processor has {level}; choose another machine type"
        )),
    }
}

/// Whether files can be made in a folder, or in the nearest one above that exists.
fn is_writable(folder: &Path) -> Result<String, String> {
    let existing = folder.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(Path::new("/"));
    let probe = existing.join(format!(".crossover-doctor-{}", std::process::id()));
    match std::fs::write(&probe, "") {
        Ok(()) => {
            // A file that stays behind does no harm, and there is nothing better to do about it.
            let _ = std::fs::remove_file(&probe);
            Ok(format!("{} is writable", folder.display()))
        }
        Err(error) => Err(format!(
            "{} cannot be written ({error}); name a folder that can in CROSSOVER_CACHE; without one, kernels are \
             compiled anew in every process",
            folder.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_below_a_file_cannot_be_written() {
        let file = std::env::temp_dir().join(format!("crossover-require-{}", std::process::id()));
        assert!(is_writable(&std::env::temp_dir().join("crossover-not-there/yet")).is_ok());
        std::fs::create_dir_all(&file).expect("the temporary folder is writable");
        let mut locked = std::fs::metadata(&file).expect("it was made").permissions();
        locked.set_readonly(true);
        std::fs::set_permissions(&file, locked.clone()).expect("it is ours");
        // The superuser writes anywhere; everyone else is told.
        let answer = is_writable(&file);
        let may = std::fs::write(file.join("probe"), "").is_ok();
        assert_eq!(answer.is_ok(), may, "{answer:?}");
        #[expect(clippy::permissions_set_readonly_false, reason = "to remove it again")]
        locked.set_readonly(false);
        std::fs::set_permissions(&file, locked).expect("it is ours");
        std::fs::remove_dir_all(&file).expect("it is ours");
    }

    #[test]
    fn vectors_are_required_by_what_the_processor_has() {
        assert!(vectors(Simd::Scalar).is_ok());
        for level in [Simd::Avx2, Simd::Avx512, Simd::Neon] {
            assert_eq!(vectors(level).is_ok(), level.is_available());
        }
        let foreign = if cfg!(target_arch = "aarch64") { Simd::Avx2 } else { Simd::Neon };
        assert!(vectors(foreign).is_err_and(|why| why.contains("scalar")));
    }
}
