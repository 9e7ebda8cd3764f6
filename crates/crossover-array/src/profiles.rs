//! The machine profile that this user's runs share.

use std::{collections::HashMap, hash::Hasher as _, path::PathBuf, sync::Arc};

use crossover_cpu::{CpuBackend, Simd};
use crossover_runtime::{
    Device, DeviceProfile, Machine, Profile, Router, cache_folder,
    calibrate::{self, Effort},
};
use parking_lot::Mutex;
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
    keep(&profile);
    Some(profile)
}

/// Keeps a profile for later runs; where it cannot be kept it is measured again.
fn keep(profile: &Profile) {
    if let Some(path) = path(&profile.machine)
        && let Err(error) = profile.save(&path)
    {
        tracing::warn!(target: "crossover::place", %error, path = %path.display(), "the profile of this machine is not kept");
    }
}

/// What this machine's processor was measured to do with so many threads and these instructions: as kept, else measured now, on memory of its own so that no
/// runtime's account shows it. Once per process.
pub(crate) fn host(threads: usize, simd: Simd) -> Option<DeviceProfile> {
    type Known = Option<HashMap<(usize, Simd), Option<DeviceProfile>>>;
    static KNOWN: Mutex<Known> = Mutex::new(None);
    // Whoever else asks meanwhile waits: two that measure at once would both be wrong.
    let mut known = KNOWN.lock();
    let entry = known.get_or_insert_default().entry((threads, simd));
    entry.or_insert_with(|| measured_host(threads, simd)).clone()
}

fn measured_host(threads: usize, simd: Simd) -> Option<DeviceProfile> {
    let cpu = CpuBackend::builder().threads(threads).simd(simd).build().ok()?;
    let machine = Machine::new(Arc::new(cpu), Vec::new()).ok()?;
    let name = host_identity(&machine, threads, simd);
    let kept = path(&name).and_then(|path| Profile::load(&path).ok()).filter(|kept| kept.machine == name);
    let profile = match kept {
        Some(kept) => kept,
        None => {
            let made = calibrate::machine(&machine, threads, Effort::Brief, &mut |_, _| {}).ok()?;
            let profile = Profile { machine: name, ..made };
            keep(&profile);
            profile
        }
    };
    profile.devices.into_iter().next()
}

/// What a profile of the processor alone holds for. Narrower instructions and code that is not optimised are other machines.
fn host_identity(machine: &Arc<Machine>, threads: usize, simd: Simd) -> String {
    let mut name = identity(machine, threads);
    if simd != Simd::detect() {
        name.push_str(&format!(", {simd}"));
    }
    if cfg!(debug_assertions) {
        name.push_str(", not optimised");
    }
    name
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
    use super::*;

    #[test]
    fn a_host_is_measured_once_and_narrower_instructions_are_another() {
        let first = host(1, Simd::Scalar).expect("it can be measured");
        assert!(first.bandwidth.points().len() == 3 && first.bandwidth.at(1e8) > 0.0);
        assert_eq!(host(1, Simd::Scalar), Some(first), "not measured again");
        let machine = Machine::new(Arc::new(CpuBackend::new()), Vec::new()).unwrap();
        let names = [Simd::Scalar, Simd::detect()].map(|simd| host_identity(&machine, 1, simd));
        assert_eq!(names[0] == names[1], Simd::detect() == Simd::Scalar, "{names:?}");
    }

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
