//! A plan with the kernels that devices have made ready so far.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use crossover_plan::{Launch, Plan, Role, kernel::Kernel};
use smallvec::SmallVec;

use crate::{
    Backend, Coming, Device, Error, Executable, Result, Signature, outline, replay::Replay, route::Route,
    router, spans::Detailed, trace::Told,
};

/// A kernel on one device.
#[derive(Default)]
struct Slot {
    coming: OnceLock<Box<dyn Coming>>,
    ready: OnceLock<Arc<dyn Executable>>,
    /// Why the device will never run it.
    refused: OnceLock<Error>,
}

/// One kernel on every device.
type PerDevice = SmallVec<[Slot; 2]>;

/// A plan of one kernel, which reads inputs only and writes the only result.
pub(crate) struct Alone {
    /// The input of each load.
    pub inputs: SmallVec<[u32; 4]>,
    /// Bytes of the result.
    pub bytes: usize,
}

impl Alone {
    fn of(plan: &Plan) -> Option<Alone> {
        let ([launch], [output]) = (plan.launches.as_slice(), plan.outputs.as_slice()) else { return None };
        let input = |id: crossover_plan::kernel::BufferId| match plan.buffers[id.0 as usize].role {
            Role::Input(at) => Some(at),
            Role::Computed => None,
        };
        if !launch.kernel.writes().eq([*output]) || input(*output).is_some() {
            return None;
        }
        let inputs = launch.kernel.reads().map(input).collect::<Option<_>>()?;
        Some(Alone { inputs, bytes: plan.buffers[output.0 as usize].bytes() })
    }
}

/// A plan with the kernels that backends have made ready so far.
pub struct Prepared {
    plan: Plan,
    /// No other plan of the process has it.
    number: u64,
    alone: Option<Alone>,
    /// One per launch.
    slots: Vec<PerDevice>,
    /// One per device: whether all kernels have been begun there.
    begun: SmallVec<[AtomicBool; 2]>,
    signatures: Vec<Signature>,
    /// Where a launch and the next can be one call: that call on every device.
    folds: Vec<Option<(PerDevice, Signature)>>,
    /// Whether some kernel is a user's.
    patient: bool,
    replay: Replay,
    detailed: Detailed,
    told: Told,
    /// Where it ran, and why.
    pub(crate) route: Route,
    is_small: bool,
}

impl Prepared {
    pub(crate) fn new(plan: Plan, devices: usize, small: u64, route: Route) -> Prepared {
        let slots = || std::iter::repeat_with(Slot::default).take(devices).collect();
        let begun = std::iter::repeat_with(AtomicBool::default).take(devices).collect();
        let fold = |l: &Launch| l.fold.as_ref().map(|f| (slots(), Signature::new(&f.launch.kernel)));
        let folds = plan.launches.iter().map(fold).collect();
        let slots = plan.launches.iter().map(|_| slots()).collect();
        let signatures = plan.launches.iter().map(|l| Signature::new(&l.kernel)).collect();
        let patient = plan.launches.iter().any(|l| l.kernel.is_custom());
        let is_small = router::is_small(&plan, small);
        let (replay, detailed, told) = (Replay::default(), Detailed::default(), Told::default());
        let alone = Alone::of(&plan);
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Prepared {
            plan,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            alone,
            slots,
            begun,
            signatures,
            folds,
            patient,
            replay,
            detailed,
            told,
            route,
            is_small,
        }
    }

    /// Whether the plan waits for kernels that are being compiled, wherever it runs.
    pub(crate) fn is_patient(&self) -> bool {
        self.patient
    }

    /// Whether the bits of some kernel depend on who computes it.
    pub(crate) fn is_bounded(&self) -> bool {
        self.plan.launches.iter().any(|launch| outline::is_bounded(&launch.kernel))
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The number of the plan in this process.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// What there is to know about a plan of one kernel.
    pub(crate) fn alone(&self) -> Option<&Alone> {
        self.alone.as_ref()
    }

    /// A kernel that the host has made ready.
    pub(crate) fn at_home(&self, launch: usize) -> Option<&dyn Executable> {
        self.slots[launch][Device::HOST.0].ready.get().map(|ready| &**ready)
    }

    /// What is known about running the plan as one launch.
    pub(crate) fn replay(&self) -> &Replay {
        &self.replay
    }

    /// Which sessions have timed it.
    pub(crate) fn detailed(&self) -> &Detailed {
        &self.detailed
    }

    /// The numbers by which sessions know its kernels.
    pub(crate) fn told(&self) -> &Told {
        &self.told
    }

    /// A kernel that a device has made ready.
    pub(crate) fn ready(&self, launch: usize, device: usize) -> Option<Arc<dyn Executable>> {
        self.slots[launch][device].ready.get().cloned()
    }

    /// Whether the plan is too small to be moved from the host.
    pub(crate) fn is_small(&self) -> bool {
        self.is_small
    }

    /// Whether a device has said that it will never run a kernel.
    pub(crate) fn is_refused(&self, launch: usize, device: usize) -> bool {
        self.slots[launch][device].refused.get().is_some()
    }

    /// Whether a kernel could be launched on a device without waiting for it to be made.
    pub(crate) fn is_ready(&self, launch: usize, device: usize) -> bool {
        let slot = &self.slots[launch][device];
        let coming = || slot.coming.get().is_none_or(|coming| coming.is_ready());
        slot.ready.get().is_some() || slot.refused.get().is_some() || coming()
    }

    pub(crate) fn signature(&self, launch: usize) -> &Signature {
        &self.signatures[launch]
    }

    /// Starts to make all kernels ready on a device, so that they are made side by side.
    pub(crate) fn begin(&self, device: usize, backend: &dyn Backend) {
        if self.begun[device].load(Ordering::Relaxed) || self.begun[device].swap(true, Ordering::Relaxed) {
            return;
        }
        // What does the work of two comes first: it is wanted first.
        let folds = self.folds.iter().zip(&self.plan.launches).filter_map(|(fold, launch)| {
            Some((&fold.as_ref()?.0, &**launch.fold.as_ref()?)).map(|(slots, fold)| (slots, &fold.launch))
        });
        for (slots, launch) in folds.chain(self.slots.iter().zip(&self.plan.launches)) {
            let slot = &slots[device];
            if slot.ready.get().is_some() || slot.coming.get().is_some() {
                continue;
            }
            match backend.begin(&launch.kernel) {
                Ok(Some(coming)) => drop(slot.coming.set(coming)),
                Ok(None) => {}
                Err(error) => slot.refuse(&error),
            }
        }
    }

    /// A kernel on a device. Without `wait`, `None` if it is still being made ready.
    pub(crate) fn executable(
        &self,
        launch: usize,
        device: usize,
        backend: &dyn Backend,
        wait: bool,
    ) -> Result<Option<&dyn Executable>> {
        let slot = &self.slots[launch][device];
        if let Some(ready) = slot.ready.get() {
            return Ok(Some(&**ready));
        }
        if let Some(error) = slot.refused.get() {
            return Err(error.clone());
        }
        let kernel: &Kernel = &self.plan.launches[launch].kernel;
        let made = match slot.coming.get() {
            Some(coming) if !wait && !coming.is_ready() => return Ok(None),
            Some(coming) => coming.wait(),
            None => backend.prepare(kernel),
        };
        let made = made.inspect_err(|error| slot.refuse(error))?;
        Ok(Some(&**slot.ready.get_or_init(|| Arc::from(made))))
    }

    /// What does the work of a launch and the next, where the plan has it and the device can do it. Without `wait`, `None`
    /// if it is still being made ready.
    pub(crate) fn folded(
        &self,
        launch: usize,
        device: usize,
        backend: &dyn Backend,
        wait: bool,
    ) -> Option<(&Arc<dyn Executable>, &Signature)> {
        let (slots, signature) = self.folds[launch].as_ref()?;
        let slot = &slots[device];
        if slot.refused.get().is_some() {
            return None;
        }
        if slot.ready.get().is_none() {
            let fold = self.plan.launches[launch].fold.as_ref()?;
            let made = match slot.coming.get() {
                Some(coming) if !wait && !coming.is_ready() => return None,
                Some(coming) => coming.wait(),
                None => backend.prepare(&fold.launch.kernel),
            };
            match made {
                Ok(made) => drop(slot.ready.set(Arc::from(made))),
                // Two kernels do the same; only what may pass is tried again.
                Err(error) => slot.refuse(&error),
            }
        }
        slot.ready.get().map(|ready| (ready, signature))
    }

    /// The signature of what does the work of a launch and the next.
    pub(crate) fn fold_signature(&self, launch: usize) -> Option<&Signature> {
        self.folds[launch].as_ref().map(|(_, signature)| signature)
    }

    /// Whether what does the work of a launch and the next is still being made ready on a device.
    pub(crate) fn is_fold_coming(&self, launch: usize, device: usize) -> bool {
        let Some((slots, _)) = &self.folds[launch] else { return false };
        let slot = &slots[device];
        let open = slot.ready.get().is_none() && slot.refused.get().is_none();
        open && slot.coming.get().is_some_and(|coming| !coming.is_ready())
    }
}

impl Slot {
    /// Remembers that the device cannot run the kernel; other errors may pass.
    fn refuse(&self, error: &Error) {
        if matches!(error, Error::Unsupported { .. }) {
            let _ = self.refused.set(error.clone());
        }
    }
}
