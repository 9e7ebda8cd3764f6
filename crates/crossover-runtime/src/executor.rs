//! Runs plans: finds or makes the plan of a graph, places its kernels, moves what they need, and launches them.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use crossover_core::{Graph, Scalar};
use crossover_plan::{Launch as PlannedLaunch, Options, Plan, Role, kernel::BufferId};
use smallvec::SmallVec;

use crate::{
    Buffer, Device, Error, Executable, Machine, Result, Signature,
    cache::PlanCache,
    trace::{Span, Trace},
};

/// Where kernels run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    /// Everything on the host.
    #[default]
    Host,
    /// Everything on one device, falling back to the host for what it cannot do.
    On(Device),
    /// Kernel i of a plan on device i modulo the number of devices: every edge of a plan crosses devices, which is
    /// what coherence tests want.
    RoundRobin,
}

/// Counters since the executor was made.
#[derive(Debug, Default)]
pub struct Stats {
    launches: AtomicU64,
    transfers: AtomicU64,
    transferred: AtomicU64,
    fallbacks: AtomicU64,
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
    /// Plans made because none was cached.
    pub planned: u64,
}

/// A kernel as each device has made it ready, if it has.
type PerDevice = SmallVec<[OnceLock<Box<dyn Executable>>; 2]>;

/// A plan with the kernels that backends have made ready so far.
pub struct Prepared {
    plan: Plan,
    /// One per launch.
    executables: Vec<PerDevice>,
    signatures: Vec<Signature>,
}

impl Prepared {
    fn new(plan: Plan, devices: usize) -> Prepared {
        let slots = || std::iter::repeat_with(OnceLock::new).take(devices).collect();
        let executables = plan.launches.iter().map(|_| slots()).collect();
        let signatures = plan.launches.iter().map(|l| Signature::new(&l.kernel)).collect();
        Prepared { plan, executables, signatures }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
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
        let prepared = self.prepare(graph)?;
        self.run(&prepared, inputs, graph.scalars())
    }

    /// Runs a prepared plan.
    pub fn run(
        &self,
        prepared: &Prepared,
        inputs: &[Arc<Buffer>],
        scalars: &[Scalar],
    ) -> Result<SmallVec<[Arc<Buffer>; 1]>> {
        let plan = &prepared.plan;
        let mut buffers: SmallVec<[Option<Arc<Buffer>>; 8]> = SmallVec::with_capacity(plan.buffers.len());
        for buffer in &plan.buffers {
            buffers.push(match buffer.role {
                Role::Computed => None,
                Role::Input(i) => Some(input(inputs, i as usize, buffer.bytes())?),
            });
        }
        for (at, launch) in plan.launches.iter().enumerate() {
            self.launch(prepared, at, launch, &mut buffers, scalars)?;
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

    fn launch(
        &self,
        prepared: &Prepared,
        at: usize,
        launch: &PlannedLaunch,
        buffers: &mut [Option<Arc<Buffer>>],
        scalars: &[Scalar],
    ) -> Result<()> {
        let device = match self.placement {
            Placement::Host => Device::HOST,
            Placement::On(device) => device,
            Placement::RoundRobin => Device(at % self.machine.devices().count()),
        };
        match self.launch_on(device, prepared, at, launch, buffers, scalars) {
            Err(error) if device != Device::HOST && is_device_fault(&error) => {
                // A device that cannot run this kernel, or has just failed: the host computes the same bits.
                self.stats.fallbacks.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(
                    target: "crossover::fallback",
                    kernel = %launch.name,
                    device = self.machine.backend(device).name(),
                    %error,
                    "the host takes over"
                );
                for written in launch.kernel.writes() {
                    if let Some(buffer) = &buffers[written.0 as usize] {
                        buffer.invalidate(device);
                    }
                }
                self.launch_on(Device::HOST, prepared, at, launch, buffers, scalars)
            }
            done => done,
        }
    }

    fn launch_on(
        &self,
        device: Device,
        prepared: &Prepared,
        at: usize,
        launch: &PlannedLaunch,
        buffers: &mut [Option<Arc<Buffer>>],
        scalars: &[Scalar],
    ) -> Result<()> {
        let slot = &prepared.executables[at][device.0];
        let executable = match slot.get() {
            Some(ready) => ready,
            None => {
                let made = self.machine.backend(device).prepare(&launch.kernel)?;
                slot.get_or_init(|| made)
            }
        };
        let mut inputs: SmallVec<[_; 8]> = SmallVec::new();
        for id in launch.kernel.reads() {
            let buffer = self.written(&prepared.plan, id, buffers)?;
            let (block, moved) = buffer.on(device)?;
            if moved {
                self.stats.transfers.fetch_add(1, Ordering::Relaxed);
                self.stats.transferred.fetch_add(buffer.bytes() as u64, Ordering::Relaxed);
                let device = self.machine.backend(device).name();
                tracing::debug!(target: "crossover::transfer", bytes = buffer.bytes(), device, "moved");
            }
            inputs.push(block);
        }
        let mut outputs: SmallVec<[_; 4]> = SmallVec::new();
        for id in launch.kernel.writes() {
            outputs.push(self.writable(prepared, id, device, buffers)?);
        }
        let arguments = prepared.signatures[at].launch(&inputs, &outputs, scalars)?;
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
                let bytes = prepared.plan.buffers[id.0 as usize].bytes();
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

fn is_device_fault(error: &Error) -> bool {
    matches!(error, Error::Device { .. } | Error::OutOfMemory { .. } | Error::Unsupported { .. })
}
