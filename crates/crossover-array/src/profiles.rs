//! The machine profile that this user's runs share.

use std::{hash::Hasher as _, path::PathBuf, sync::Arc};

use crossover_runtime::{
    Device, Machine, Profile, Router, cache_folder,
    calibrate::{self, Effort},
};
use rustc_hash::FxHasher;

/// A router that assumes what devices can do until one is opened, and then believes what was measured on this machine.
pub(crate) fn router(machine: &Arc<Machine>, threads: usize) -> Router {
    let accelerators = machine.devices().count() - 1;
    let router = Router::new(machine.clone(), Profile::assumed(threads, accelerators));
    router.measured_by(Box::new(move |machine| stored(machine, threads).or_else(|| brief(machine, threads))))
}

/// A profile measured now, in the short form, and kept for later runs; `None` where there is nothing to choose between.
pub(crate) fn brief(machine: &Arc<Machine>, threads: usize) -> Option<Profile> {
    if machine.is_host_only() {
        return None;
    }
    // A device that fails here fails again where it is used, and is told so there.
    let profile = measured(machine, threads, Effort::Brief, &mut |_, _| {}).ok()?;
    if let Some(path) = path(&profile.machine) {
        // Where it cannot be kept it is measured again.
        if let Err(error) = profile.save(&path) {
            tracing::warn!(target: "crossover::place", %error, path = %path.display(), "the profile of this machine is not kept");
        }
    }
    Some(profile)
}

/// Measures the machine now.
pub(crate) fn measured(
    machine: &Arc<Machine>,
    threads: usize,
    effort: Effort,
    progress: &mut dyn FnMut(&str, f64),
) -> crossover_runtime::Result<Profile> {
    let mut profile = calibrate::machine(machine, threads, effort, progress)?;
    profile.machine = identity(machine, threads);
    Ok(profile)
}

/// The stored profile of this machine, if it was calibrated.
pub(crate) fn stored(machine: &Arc<Machine>, threads: usize) -> Option<Profile> {
    let name = identity(machine, threads);
    let path = path(&name)?;
    Profile::load(&path).ok().filter(|profile| profile.machine == name)
}

/// What a profile holds for: processor, threads, accelerators with their driver. Opens the first accelerator.
pub(crate) fn identity(machine: &Arc<Machine>, threads: usize) -> String {
    let mut name = format!("{}, {threads} threads", processor());
    let accelerators = machine.devices().count() - 1;
    if accelerators > 0 {
        name.push_str(&format!(", {accelerators} x {}", machine.backend(Device(1)).describe()));
    }
    name
}

/// The file of a machine's profile; `None` where nothing is kept.
pub(crate) fn path(identity: &str) -> Option<PathBuf> {
    let mut hasher = FxHasher::default();
    hasher.write(identity.as_bytes());
    cache_folder("profiles").map(|folder| folder.join(format!("{:016x}.json", hasher.finish())))
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or_else(|| std::env::consts::ARCH.to_string(), |(_, model)| model.trim().to_string())
}

#[cfg(test)]
mod tests {
    use crossover_cpu::CpuBackend;

    use super::*;

    #[test]
    fn a_profile_belongs_to_a_machine() {
        let machine = Machine::new(Arc::new(CpuBackend::new()), Vec::new()).unwrap();
        let (two, four) = (identity(&machine, 2), identity(&machine, 4));
        assert!(two.contains("2 threads") && two != four);
        if let (Some(a), Some(b)) = (path(&two), path(&four)) {
            assert!(a != b && a.extension().is_some_and(|e| e == "json"));
        }
    }
}
