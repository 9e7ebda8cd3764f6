//! One kernel of a run: where it goes, what it needs there, its launch, and what happens if that fails.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crossover_core::Scalar;
use crossover_plan::{Launch as PlannedLaunch, kernel::BufferId};
use smallvec::SmallVec;

use crate::{
    Buffer, Device, Error, Executable, Executor, Observed, Placement, Prepared, Result, Signature,
    buffer::Pin,
    executor::{Course, is_device_fault},
    outline::is_bounded,
    recent::Ran,
    spans::{self, When},
    trace::{self, Moment},
};

/// A run of a plan, between two of its kernels.
pub(crate) struct Run<'a> {
    pub executor: &'a Executor,
    pub course: &'a Course,
    pub prepared: &'a Prepared,
    pub scalars: &'a [Scalar],
    /// Whether a session wants to know when devices run each kernel.
    pub is_detailed: bool,
    /// The plan's buffers, as far as they exist by now.
    pub buffers: SmallVec<[Option<Arc<Buffer>>; 8]>,
}

/// A kernel that is ready on a device.
#[derive(Clone, Copy)]
struct Ready<'a> {
    device: Device,
    executable: &'a dyn Executable,
    signature: &'a Signature,
    launch: &'a PlannedLaunch,
    /// Its place in the plan; none if it does the work of two.
    at: Option<usize>,
    /// Its place, or that of the first of two.
    first: usize,
}

impl<'a> Run<'a> {
    /// Runs a launch of the plan; true if the next one is done with it.
    pub fn launch(&mut self, at: usize, launch: &'a PlannedLaunch) -> Result<bool> {
        let (executor, course, prepared) = (self.executor, self.course, self.prepared);
        let machine = executor.machine();
        let device = match (course.placement, &course.decision) {
            (Placement::On(device), _) => device,
            (Placement::RoundRobin, _) => Device(at % machine.devices().count()),
            (Placement::Auto, Some(decision)) => {
                executor.stats().decided(decision, at);
                decision.device(at)
            }
            (Placement::Host | Placement::Auto, _) => Device::HOST,
        };
        if device != Device::HOST {
            let both = course.decision.as_ref().is_none_or(|d| d.devices.get(at + 1) == d.devices.get(at));
            if both && self.launch_folded(device, at, launch)? {
                machine.tell(device);
                return Ok(true);
            }
            let done = self.launch_away(device, at, launch)?;
            machine.tell(device);
            if done {
                return Ok(false);
            }
        }
        let host = &**machine.backend(Device::HOST);
        let executable = prepared.executable(at, Device::HOST.0, host, true)?;
        let executable = executable.ok_or_else(|| {
            Error::Internal(format!("the host did not make kernel {at} ({}) ready", launch.name))
        })?;
        let signature = prepared.signature(at);
        self.launch_on(Ready {
            device: Device::HOST,
            executable,
            signature,
            launch,
            at: Some(at),
            first: at,
        })?;
        Ok(false)
    }

    /// Launches one kernel for this launch and the next, if the plan has one and the device can do it.
    fn launch_folded(&mut self, device: Device, at: usize, launch: &'a PlannedLaunch) -> Result<bool> {
        let Some(fold) = &launch.fold else { return Ok(false) };
        let is_zero = |slot: u16| self.scalars.get(slot as usize).is_some_and(|s| s.bits() == [0, 0]);
        if !fold.zero.is_none_or(is_zero) {
            return Ok(false);
        }
        let (executor, prepared) = (self.executor, self.prepared);
        let backend = &**executor.machine().backend(device);
        prepared.begin(device.0, backend);
        let wait = self.course.placement != Placement::Auto;
        let Some((executable, signature)) = prepared.folded(at, device.0, backend, wait) else {
            return Ok(false);
        };
        let fresh = self.unwritten(&fold.launch);
        let executable = &**executable;
        let ready = Ready { device, executable, signature, launch: &fold.launch, at: None, first: at };
        match self.launch_on(ready) {
            Ok(()) => Ok(true),
            Err(error) => {
                self.discard(&fresh);
                self.fall_back(device, &fold.launch, error)
            }
        }
    }

    /// Launches on an accelerator; false if the host has to do it, which computes the same bits.
    fn launch_away(&mut self, device: Device, at: usize, launch: &'a PlannedLaunch) -> Result<bool> {
        let (executor, course, prepared) = (self.executor, self.course, self.prepared);
        let backend = &**executor.machine().backend(device);
        prepared.begin(device.0, backend);
        // Nobody waits for a compiler unless bytes would have to come back from the device.
        let on_host = |id: BufferId| {
            self.buffers[id.0 as usize].as_ref().is_none_or(|buffer| buffer.is_valid_on(Device::HOST))
        };
        // A plan with a user's kernel always waits: the host may compute other bits, and where things run must not depend on
        // how quick a compiler is.
        let patient = course.placement != Placement::Auto || executor.is_patient(prepared);
        let wait = patient || !launch.kernel.reads().all(on_host);
        let executable = match prepared.executable(at, device.0, backend, wait) {
            Ok(Some(executable)) => executable,
            Ok(None) => {
                executor.stats().postponed(1);
                return Ok(false);
            }
            Err(error) => {
                course.regret(prepared);
                return self.fall_back(device, launch, error);
            }
        };
        let fresh = self.unwritten(launch);
        let signature = prepared.signature(at);
        let ready = Ready { device, executable, signature, launch, at: Some(at), first: at };
        let mut launched = self.launch_on(ready);
        for again in 0..2 {
            let Err(error @ Error::OutOfMemory { requested, .. }) = &launched else { break };
            self.discard(&fresh);
            // Room was made for every operand; what a kernel takes for itself has to be asked for here. After that it is cut.
            tracing::debug!(target: "crossover::memory", kernel = %launch.name, %error, "does not fit");
            if again == 1 || !executor.machine().make_room(device, *requested) {
                let cut = match self.must_stay(launch) {
                    true => Ok(false),
                    false => {
                        executor.launch_in_parts(device, prepared, launch, &mut self.buffers, self.scalars)
                    }
                };
                match cut {
                    Ok(true) => return Ok(true),
                    Ok(false) => {}
                    Err(error) => launched = Err(error),
                }
                break;
            }
            launched = self.launch_on(ready);
        }
        match launched {
            Ok(()) => Ok(true),
            Err(error) => {
                self.discard(&fresh);
                course.regret(prepared);
                self.fall_back(device, launch, error)
            }
        }
    }

    /// What a launch would be the first to write.
    fn unwritten(&self, launch: &PlannedLaunch) -> SmallVec<[BufferId; 4]> {
        launch.kernel.writes().filter(|id| self.buffers[id.0 as usize].is_none()).collect()
    }

    /// Gives up what a launch that failed was the first to write.
    fn discard(&mut self, fresh: &[BufferId]) {
        fresh.iter().for_each(|id| self.buffers[id.0 as usize] = None);
    }

    /// Whether nothing but the plan may decide where and how a kernel runs, since its bits depend on it.
    fn must_stay(&self, launch: &PlannedLaunch) -> bool {
        self.executor.is_pinned(self.prepared) && is_bounded(&launch.kernel)
    }

    /// False, for the host's turn, if a device cannot run a kernel or has just failed; other errors stay errors.
    fn fall_back(&self, device: Device, launch: &PlannedLaunch, error: Error) -> Result<bool> {
        // What a device can never do it does nowhere in this process; what it could not do now is an error where bits are pinned.
        let pinned = !matches!(error, Error::Unsupported { .. }) && self.must_stay(launch);
        if pinned || !is_device_fault(&error) {
            return Err(error);
        }
        self.executor.stats().fell_back();
        let device = self.executor.machine().backend(device).name();
        trace::note("fallback", || format!("{} on {device}: {error}", launch.name));
        tracing::warn!(target: "crossover::fallback", kernel = %launch.name, device, %error, "the host takes over");
        Ok(false)
    }

    fn launch_on(&mut self, ready: Ready<'_>) -> Result<()> {
        let (executor, course, prepared) = (self.executor, self.course, self.prepared);
        let Ready { device, executable, signature, launch, at, first } = ready;
        let machine = executor.machine();
        let timed = at.filter(|_| course.timed);
        let mut inputs: SmallVec<[_; 8]> = SmallVec::new();
        // Memory of operands and results stays where it is until the kernel is on its way.
        let mut pins: SmallVec<[Option<Pin>; 8]> = SmallVec::new();
        let (mut arrived, mut moving) = (0, Duration::ZERO);
        for id in launch.kernel.reads() {
            let buffer = executor.written(prepared.plan(), id, &mut self.buffers)?;
            let (block, moved, pin) = match (timed, &course.seen) {
                (Some(_), Some(_)) if !buffer.is_valid_on(device) => {
                    let mut got = None;
                    let mut fetch = || buffer.held_on(device).map(|found| got = Some(found));
                    let away = buffer.valid_on().last().copied().unwrap_or(device).max(device);
                    moving += machine.backend(away).measure(&mut fetch)?;
                    got.ok_or_else(|| Error::Internal("a copy that was not made".to_string()))?
                }
                _ => buffer.held_on(device)?,
            };
            pins.push(pin);
            if moved {
                arrived += buffer.bytes() as u64;
                executor.note_transfer(device, buffer);
            }
            inputs.push(block);
        }
        let mut outputs: SmallVec<[_; 4]> = SmallVec::new();
        for id in launch.kernel.writes() {
            let (block, pin) = self.writable(id, device)?;
            outputs.push(block);
            pins.push(pin);
        }
        let arguments = signature.launch(&inputs, &outputs, self.scalars)?;
        executor.stats().launched();
        let decision = at.and_then(|at| Some((course.decision.as_ref()?, at)));
        let run = || match timed {
            None => executable.run(&arguments),
            Some(at) => {
                let took = machine.backend(device).measure(&mut || executable.run(&arguments))?;
                executor.router().observe(&prepared.route, prepared.plan(), at, device, took);
                if let Some((decision, at)) = decision {
                    executor.stats().judge(decision, at, took);
                }
                if let Some(seen) = &course.seen {
                    seen.lock().push(Observed { kernel: at, device, moved: arrived, moving, took });
                }
                Ok(())
            }
        };
        let is_recording = trace::is_on();
        let logs = tracing::enabled!(target: "crossover::launch", tracing::Level::TRACE);
        if !is_recording && !logs && !executor.recent().is_on() {
            return run();
        }
        let start = Moment::now();
        // A look at the system's clock is not free.
        let began = (logs || executor.recent().is_on()).then(Instant::now);
        let when = match is_recording {
            true => spans::run(machine, device, self.is_detailed, &mut || run())?,
            false => run().map(|()| When::Over)?,
        };
        if let Some(began) = began.filter(|_| executor.recent().is_on()) {
            let why = decision.map_or("", |(decision, at)| decision.why(at).name());
            let (name, took) = (launch.name.clone(), began.elapsed());
            let bytes = launch.cost.read + launch.cost.written;
            executor.recent().note(Ran { name, device, why, start: began, took, bytes });
        }
        tracing::trace!(
            target: "crossover::launch",
            kernel = %launch.name,
            device = machine.backend(device).name(),
            bytes = launch.cost.read + launch.cost.written,
            micros = began.map_or(0, |began| began.elapsed().as_micros() as u64),
            "ran"
        );
        if is_recording {
            let (decision, which) = (decision.map(|(made, _)| made.clone()), (prepared, first, at.is_none()));
            spans::launched(machine, which, (start, device, when), decision, arrived);
        }
        Ok(())
    }

    /// Memory for an output; several kernels may write parts of one buffer.
    fn writable(&mut self, id: BufferId, device: Device) -> Result<(crate::Block, Option<Pin>)> {
        let entry = &mut self.buffers[id.0 as usize];
        match entry {
            Some(buffer) => {
                // Parts written so far must be here before the buffer is valid here alone.
                let partly_written = !buffer.valid_on().is_empty();
                if partly_written {
                    buffer.on(device)?;
                }
                buffer.for_writing(device)
            }
            None => {
                let bytes = self.prepared.plan().buffers[id.0 as usize].bytes();
                let (buffer, block, pin) = Buffer::uninitialised(self.executor.machine(), device, bytes)?;
                *entry = Some(buffer);
                Ok((block, pin))
            }
        }
    }
}
