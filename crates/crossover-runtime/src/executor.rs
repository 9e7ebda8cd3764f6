//! Runs plans: finds or makes the plan of a graph, places its kernels, moves what they need, and launches them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use crossover_core::{Graph, Scalar};
use crossover_plan::{Launch as PlannedLaunch, Options, Plan, Role, kernel::BufferId};
use smallvec::SmallVec;

use crate::{
    Buffer, Device, Error, Executable, Machine, Placement, Prepared, Result, Signature,
    cache::PlanCache,
    place,
    trace::{Span, Trace},
};

/// Counters since the executor was made.
#[derive(Debug, Default)]
pub struct Stats {
    launches: AtomicU64,
    transfers: AtomicU64,
    transferred: AtomicU64,
    fallbacks: AtomicU64,
    postponed: AtomicU64,
    replayed: AtomicU64,
    planned: AtomicU64,
}

/// A reading of [`Stats`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Kernels launched.
    pub launches: u64,
    /// Copies between devices.
    pub transfers: u64,
    /// Bytes copied between devices.
    pub transferred: u64,
    /// Kernels that a device could not run and the host did.
    pub fallbacks: u64,
    /// Kernels that the host ran because their device was still making them ready.
    pub postponed: u64,
    /// Kernels among those launched that were started together with the others of their plan.
    pub replayed: u64,
    /// Plans made because none was cached.
    pub planned: u64,
}

/// Evaluates graphs on a machine.
pub struct Executor {
    machine: Arc<Machine>,
    options: Options,
    placement: Placement,
    cache: PlanCache,
    stats: Stats,
    trace: Trace,
}

impl Executor {
    /// An executor with an empty plan cache of bounded size.
    pub fn new(machine: Arc<Machine>, options: Options, placement: Placement) -> Executor {
        Executor {
            machine,
            options,
            placement,
            cache: PlanCache::new(PLAN_CACHE),
            stats: Stats::default(),
            trace: Trace::default(),
        }
    }

    /// The devices.
    pub fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Where kernels run unless an evaluation says otherwise.
    pub(crate) fn placement(&self) -> Placement {
        self.placement
    }

    /// Spans of what ran; off until switched on.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Number of cached plans, which never exceeds a fixed bound.
    pub fn cached_plans(&self) -> usize {
        self.cache.len()
    }

    /// Counters since the executor was made.
    pub fn counts(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            launches: read(&self.stats.launches),
            transfers: read(&self.stats.transfers),
            transferred: read(&self.stats.transferred),
            fallbacks: read(&self.stats.fallbacks),
            postponed: read(&self.stats.postponed),
            replayed: read(&self.stats.replayed),
            planned: read(&self.stats.planned),
        }
    }

    /// The plan of a graph, from the cache or made now.
    pub fn prepare(&self, graph: &Graph) -> Result<Arc<Prepared>> {
        if let Some(found) = self.cache.get(graph) {
            return Ok(found);
        }
        self.stats.planned.fetch_add(1, Ordering::Relaxed);
        let start = Instant::now();
        let plan = Plan::new(graph, self.options)?;
        tracing::debug!(
            target: "crossover::plan",
            nodes = graph.nodes().len(),
            kernels = plan.launches.len(),
            micros = start.elapsed().as_micros() as u64,
            "planned"
        );
        let prepared = Arc::new(Prepared::new(plan, self.machine.devices().count()));
        self.cache.insert(graph.clone(), prepared.clone());
        Ok(prepared)
    }

    /// Evaluates a verified graph: one buffer per output, row-major without gaps.
    pub fn evaluate(&self, graph: &Graph, inputs: &[Arc<Buffer>]) -> Result<SmallVec<[Arc<Buffer>; 1]>> {
        self.evaluate_at(self.placement, graph, inputs)
    }

    /// Evaluates a verified graph with a placement of its own.
    pub fn evaluate_at(
        &self,
        placement: Placement,
        graph: &Graph,
        inputs: &[Arc<Buffer>],
    ) -> Result<SmallVec<[Arc<Buffer>; 1]>> {
        let prepared = self.prepare(graph)?;
        self.run_at(placement, &prepared, inputs, graph.scalars())
    }

    /// Runs a prepared plan.
    pub fn run(
        &self,
        prepared: &Prepared,
        inputs: &[Arc<Buffer>],
        scalars: &[Scalar],
    ) -> Result<SmallVec<[Arc<Buffer>; 1]>> {
        self.run_at(self.placement, prepared, inputs, scalars)
    }

    /// Runs a prepared plan with a placement of its own.
    pub fn run_at(
        &self,
        placement: Placement,
        prepared: &Prepared,
        inputs: &[Arc<Buffer>],
        scalars: &[Scalar],
    ) -> Result<SmallVec<[Arc<Buffer>; 1]>> {
        // Without accelerators there is nothing to decide.
        let placement = if placement == Placement::Auto && self.machine.is_host_only() {
            Placement::Host
        } else {
            placement
        };
        let plan = prepared.plan();
        let mut buffers: SmallVec<[Option<Arc<Buffer>>; 8]> = SmallVec::with_capacity(plan.buffers.len());
        for buffer in &plan.buffers {
            buffers.push(match buffer.role {
                Role::Computed => None,
                Role::Input(i) => Some(input(inputs, i as usize, buffer.bytes())?),
            });
        }
        if placement != Placement::Host && self.replay(placement, prepared, &mut buffers, scalars)? {
            return plan.outputs.iter().map(|id| self.written(plan, *id, &mut buffers).cloned()).collect();
        }
        let mut done = false;
        for (at, launch) in plan.launches.iter().enumerate() {
            // A launch may have done the work of the next one too.
            done = !done && self.launch(placement, prepared, at, launch, &mut buffers, scalars)?;
            for freed in &launch.free {
                buffers[freed.0 as usize] = None;
            }
        }
        plan.outputs.iter().map(|id| self.written(plan, *id, &mut buffers).cloned()).collect()
    }

    /// A buffer with its contents; an empty one no kernel has written.
    fn written<'b>(
        &self,
        plan: &Plan,
        id: BufferId,
        buffers: &'b mut [Option<Arc<Buffer>>],
    ) -> Result<&'b Arc<Buffer>> {
        match &mut buffers[id.0 as usize] {
            Some(buffer) => Ok(buffer),
            None if plan.buffers[id.0 as usize].bytes() > 0 => {
                Err(Error::Internal(format!("buffer {} is read before it is written", id.0)))
            }
            empty => Ok(empty.insert(Buffer::from_bytes(&self.machine, &[])?)),
        }
    }

    /// Runs a launch; true if the next one is done with it.
    fn launch(
        &self,
        placement: Placement,
        prepared: &Prepared,
        at: usize,
        launch: &PlannedLaunch,
        buffers: &mut [Option<Arc<Buffer>>],
        scalars: &[Scalar],
    ) -> Result<bool> {
        let device = match placement {
            Placement::Host => Device::HOST,
            Placement::On(device) => device,
            Placement::RoundRobin => Device(at % self.machine.devices().count()),
            Placement::Auto => self.choose(launch, buffers),
        };
        if device != Device::HOST {
            if self.launch_folded(device, prepared, at, launch, buffers, scalars)? {
                return Ok(true);
            }
            if self.launch_away(device, placement, prepared, at, launch, buffers, scalars)? {
                return Ok(false);
            }
        }
        let host = &**self.machine.backend(Device::HOST);
        let executable = prepared.executable(at, Device::HOST.0, host, true)?;
        let executable = executable.ok_or_else(|| {
            Error::Internal(format!("the host did not make kernel {at} ({}) ready", launch.name))
        })?;
        let signature = prepared.signature(at);
        self.launch_on(Device::HOST, executable, prepared, signature, launch, buffers, scalars)?;
        Ok(false)
    }

    /// Launches one call for this launch and the next, if the plan has one and the device can do it.
    fn launch_folded(
        &self,
        device: Device,
        prepared: &Prepared,
        at: usize,
        launch: &PlannedLaunch,
        buffers: &mut [Option<Arc<Buffer>>],
        scalars: &[Scalar],
    ) -> Result<bool> {
        let Some(fold) = &launch.fold else { return Ok(false) };
        let is_zero = |slot: u16| scalars.get(slot as usize).is_some_and(|s| s.bits() == [0, 0]);
        if !fold.zero.is_none_or(is_zero) {
            return Ok(false);
        }
        let backend = &**self.machine.backend(device);
        let Some((executable, signature)) = prepared.folded(at, device.0, backend) else {
            return Ok(false);
        };
        let fresh: SmallVec<[BufferId; 1]> =
            fold.launch.kernel.writes().filter(|id| buffers[id.0 as usize].is_none()).collect();
        match self.launch_on(device, executable, prepared, signature, &fold.launch, buffers, scalars) {
            Ok(()) => Ok(true),
            Err(error) => {
                for id in fresh {
                    buffers[id.0 as usize] = None;
                }
                self.fall_back(device, &fold.launch, error)
            }
        }
    }

    /// Counts a copy to a device.
    pub(crate) fn note_transfer(&self, device: Device, buffer: &Buffer) {
        self.stats.transfers.fetch_add(1, Ordering::Relaxed);
        self.stats.transferred.fetch_add(buffer.bytes() as u64, Ordering::Relaxed);
        let device = self.machine.backend(device).name();
        tracing::debug!(target: "crossover::transfer", bytes = buffer.bytes(), device, "moved");
    }

    /// Counts kernels that were started together.
    pub(crate) fn note_replay(&self, kernels: usize) {
        self.stats.launches.fetch_add(kernels as u64, Ordering::Relaxed);
        self.stats.replayed.fetch_add(kernels as u64, Ordering::Relaxed);
    }

    /// Counts a kernel that was launched elsewhere.
    pub(crate) fn note_launch(&self) {
        self.stats.launches.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn choose(&self, launch: &PlannedLaunch, buffers: &[Option<Arc<Buffer>>]) -> Device {
        let reads: SmallVec<[&Buffer; 8]> =
            launch.kernel.reads().filter_map(|id| buffers[id.0 as usize].as_deref()).collect();
        place::choose(&self.machine, &launch.cost, &reads)
    }

    /// Launches on an accelerator; false if the host has to do it, which computes the same bits.
    #[allow(clippy::too_many_arguments)]
    fn launch_away(
        &self,
        device: Device,
        placement: Placement,
        prepared: &Prepared,
        at: usize,
        launch: &PlannedLaunch,
        buffers: &mut [Option<Arc<Buffer>>],
        scalars: &[Scalar],
    ) -> Result<bool> {
        let backend = &**self.machine.backend(device);
        prepared.begin(device.0, backend);
        // Nobody waits for a compiler unless bytes would have to come back from the device.
        let on_host = |id: BufferId| {
            buffers[id.0 as usize].as_ref().is_none_or(|buffer| buffer.is_valid_on(Device::HOST))
        };
        // A plan with a user's kernel always waits: the host may compute other bits, and where things run must not depend on
        // how quick a compiler is.
        let patient = placement != Placement::Auto || prepared.is_patient();
        let wait = patient || !launch.kernel.reads().all(on_host);
        let executable = match prepared.executable(at, device.0, backend, wait) {
            Ok(Some(executable)) => executable,
            Ok(None) => {
                self.stats.postponed.fetch_add(1, Ordering::Relaxed);
                return Ok(false);
            }
            Err(error) => return self.fall_back(device, launch, error),
        };
        // What this launch is the first to write.
        let fresh: SmallVec<[BufferId; 4]> =
            launch.kernel.writes().filter(|id| buffers[id.0 as usize].is_none()).collect();
        let signature = prepared.signature(at);
        match self.launch_on(device, executable, prepared, signature, launch, buffers, scalars) {
            Ok(()) => Ok(true),
            Err(error) => {
                for id in fresh {
                    buffers[id.0 as usize] = None;
                }
                self.fall_back(device, launch, error)
            }
        }
    }

    /// False, for the host's turn, if a device cannot run a kernel or has just failed; other errors stay errors.
    fn fall_back(&self, device: Device, launch: &PlannedLaunch, error: Error) -> Result<bool> {
        if !is_device_fault(&error) {
            return Err(error);
        }
        self.stats.fallbacks.fetch_add(1, Ordering::Relaxed);
        let device = self.machine.backend(device).name();
        tracing::warn!(target: "crossover::fallback", kernel = %launch.name, device, %error, "the host takes over");
        Ok(false)
    }

    #[allow(clippy::too_many_arguments)]
    fn launch_on(
        &self,
        device: Device,
        executable: &dyn Executable,
        prepared: &Prepared,
        signature: &Signature,
        launch: &PlannedLaunch,
        buffers: &mut [Option<Arc<Buffer>>],
        scalars: &[Scalar],
    ) -> Result<()> {
        let mut inputs: SmallVec<[_; 8]> = SmallVec::new();
        for id in launch.kernel.reads() {
            let buffer = self.written(prepared.plan(), id, buffers)?;
            let (block, moved) = buffer.on(device)?;
            if moved {
                self.note_transfer(device, buffer);
            }
            inputs.push(block);
        }
        let mut outputs: SmallVec<[_; 4]> = SmallVec::new();
        for id in launch.kernel.writes() {
            outputs.push(self.writable(prepared, id, device, buffers)?);
        }
        let arguments = signature.launch(&inputs, &outputs, scalars)?;
        self.stats.launches.fetch_add(1, Ordering::Relaxed);
        let logs = tracing::enabled!(target: "crossover::launch", tracing::Level::TRACE);
        if !self.trace.is_on() && !logs {
            return executable.run(&arguments);
        }
        let start = Instant::now();
        executable.run(&arguments)?;
        tracing::trace!(
            target: "crossover::launch",
            kernel = %launch.name,
            device = self.machine.backend(device).name(),
            bytes = launch.cost.read + launch.cost.written,
            micros = start.elapsed().as_micros() as u64,
            "ran"
        );
        if !self.trace.is_on() {
            return Ok(());
        }
        self.trace.record(Span {
            name: launch.name.clone(),
            device,
            start,
            duration: start.elapsed(),
            bytes: launch.cost.read + launch.cost.written,
            flops: launch.cost.flops,
        });
        Ok(())
    }

    /// Memory for an output; several kernels may write parts of one buffer.
    fn writable(
        &self,
        prepared: &Prepared,
        id: BufferId,
        device: Device,
        buffers: &mut [Option<Arc<Buffer>>],
    ) -> Result<crate::Block> {
        let entry = &mut buffers[id.0 as usize];
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
                let bytes = prepared.plan().buffers[id.0 as usize].bytes();
                let (buffer, block) = Buffer::uninitialised(&self.machine, device, bytes)?;
                *entry = Some(Arc::new(buffer));
                Ok(block)
            }
        }
    }
}

/// Plans kept at most; a plan is a few kilobytes.
const PLAN_CACHE: usize = 1024;

fn input(inputs: &[Arc<Buffer>], index: usize, bytes: usize) -> Result<Arc<Buffer>> {
    match inputs.get(index) {
        Some(buffer) if buffer.bytes() >= bytes => Ok(buffer.clone()),
        Some(buffer) => Err(Error::Internal(format!(
            "input {index} has {} bytes, the graph reads {bytes}",
            buffer.bytes()
        ))),
        None => Err(Error::Internal(format!("input {index} of {} is missing", inputs.len()))),
    }
}

pub(crate) fn is_device_fault(error: &Error) -> bool {
    matches!(error, Error::Device { .. } | Error::OutOfMemory { .. } | Error::Unsupported { .. })
}
