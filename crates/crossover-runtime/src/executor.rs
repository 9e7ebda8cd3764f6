//! Runs plans: finds or makes the plan of a graph, places its kernels, moves what they need, and launches them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crossover_core::{Graph, Scalar};
use crossover_plan::{Options, Plan, Role, kernel::BufferId};
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::{
    Buffer, Counts, Decision, Device, Error, Machine, Placement, Prepared, Profile, Recording, Result,
    Router, Wanted, Why,
    cache::PlanCache,
    counts::Stats,
    fork, interrupt,
    launch::Run,
    recent::Recent,
    trace::{self, Kind},
};

/// Evaluates graphs on a machine.
pub struct Executor {
    id: u64,
    machine: Arc<Machine>,
    options: Options,
    placement: Placement,
    router: Router,
    cache: PlanCache,
    stats: Stats,
    recent: Recent,
}

/// One buffer per output of a graph.
pub type Outputs = SmallVec<[Arc<Buffer>; 1]>;

/// How one run of a plan is to go.
pub(crate) struct Course {
    pub placement: Placement,
    /// Under [`Placement::Auto`], unless everything stays on the host.
    pub decision: Option<Arc<Decision>>,
    /// Whether kernels are timed.
    pub timed: bool,
    /// What happened, if somebody wants to know.
    pub seen: Option<Mutex<Vec<Observed>>>,
}

impl Course {
    fn new(placement: Placement) -> Course {
        Course { placement, decision: None, timed: false, seen: None }
    }

    /// A device could not do what it was chosen for: the decision is forgotten, if there was one.
    pub fn regret(&self, prepared: &Prepared) {
        if self.decision.is_some() {
            prepared.route.forget();
        }
    }

    /// The accelerator that all kernels run on, if there is one and nobody wants to know how long each takes.
    pub(crate) fn only_device(&self) -> Option<Device> {
        let device = match (self.placement, &self.decision) {
            _ if self.timed => None,
            (Placement::On(device), _) => Some(device),
            (Placement::Auto, Some(decision)) => decision.only_device(),
            _ => None,
        };
        device.filter(|&device| device != Device::HOST)
    }
}

/// What one kernel of an analysed run did.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// Which kernel of the plan.
    pub kernel: usize,
    /// Where it ran.
    pub device: Device,
    /// Bytes that were copied for it, and how long that took.
    pub moved: u64,
    /// How long the copies took.
    pub moving: Duration,
    /// How long it ran.
    pub took: Duration,
}

impl Executor {
    /// An executor with an empty plan cache of bounded size, which assumes what devices can do until it has seen it.
    pub fn new(machine: Arc<Machine>, options: Options, placement: Placement) -> Executor {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let profile = Profile::assumed(threads, machine.devices().count() - 1);
        let router = Router::new(machine.clone(), profile);
        Executor::with_router(machine, options, placement, router)
    }

    /// An executor with a router of its own.
    pub fn with_router(
        machine: Arc<Machine>,
        options: Options,
        placement: Placement,
        router: Router,
    ) -> Executor {
        fork::watch();
        static MADE: AtomicU64 = AtomicU64::new(0);
        Executor {
            id: MADE.fetch_add(1, Ordering::Relaxed),
            stats: Stats::new(machine.devices().count()),
            machine,
            options,
            placement,
            router,
            cache: PlanCache::new(PLAN_CACHE),
            recent: Recent::default(),
        }
    }

    /// A number that no other executor of the process has, or will have.
    ///
    /// ```
    /// use crossover_runtime::{Executor, Machine, Placement, sim::{Clock, SimHost, SimOptions}};
    /// # use std::sync::Arc;
    /// let host = Arc::new(SimHost::hollow(SimOptions::default(), Clock::default()));
    /// let machine = Machine::new(host, Vec::new())?;
    /// let one = Executor::new(machine.clone(), Default::default(), Placement::Host);
    /// assert_ne!(one.id(), Executor::new(machine, Default::default(), Placement::Host).id());
    /// # Ok::<(), crossover_runtime::Error>(())
    /// ```
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The devices.
    pub fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Where kernels run unless a call says otherwise.
    pub fn placement(&self) -> Placement {
        self.placement
    }

    /// What decides under [`Placement::Auto`].
    pub fn router(&self) -> &Router {
        &self.router
    }

    /// The kernels that ran last; off until switched on.
    pub fn recent(&self) -> &Recent {
        &self.recent
    }

    /// Number of cached plans, which never exceeds a fixed bound.
    pub fn cached_plans(&self) -> usize {
        self.cache.len()
    }

    /// Counters since the executor was made.
    pub fn counts(&self) -> Counts {
        self.stats.read(self.machine.reclaimed())
    }

    /// How many kernels ran on a device under [`Placement::Auto`] for which reason, by [`Why::NAMES`].
    pub fn decisions(&self, device: Device) -> Vec<(&'static str, u64)> {
        self.stats.decisions(device)
    }

    /// What counts what it does.
    pub(crate) fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The plan of a graph, from the cache or made now.
    pub fn prepare(&self, graph: &Graph) -> Result<Arc<Prepared>> {
        fork::check()?;
        if let Some(found) = self.cache.get(graph) {
            return Ok(found);
        }
        self.stats.planned();
        let start = Instant::now();
        let _span = trace::span(Kind::Plan, "plan");
        let plan = Plan::new(graph, self.options)?;
        tracing::debug!(
            target: "crossover::plan",
            nodes = graph.nodes().len(),
            kernels = plan.launches.len(),
            micros = start.elapsed().as_micros() as u64,
            "planned"
        );
        let (devices, small) = (self.machine.devices().count(), self.router.small());
        let prepared = Arc::new(Prepared::new(plan, devices, small, self.router.route(graph)));
        self.cache.insert(graph.clone(), prepared.clone());
        Ok(prepared)
    }

    /// Evaluates a verified graph: one buffer per output, row-major without gaps.
    pub fn evaluate(&self, graph: &Graph, inputs: &[Arc<Buffer>]) -> Result<Outputs> {
        self.evaluate_at(self.placement, graph, inputs)
    }

    /// Evaluates a verified graph with a placement of its own.
    pub fn evaluate_at(
        &self,
        placement: Placement,
        graph: &Graph,
        inputs: &[Arc<Buffer>],
    ) -> Result<Outputs> {
        self.evaluate_for(placement, Wanted::Anywhere, graph, inputs)
    }

    /// Evaluates a verified graph for somebody, with a placement of its own.
    pub fn evaluate_for(
        &self,
        placement: Placement,
        wanted: Wanted,
        graph: &Graph,
        inputs: &[Arc<Buffer>],
    ) -> Result<Outputs> {
        let prepared = self.prepare(graph)?;
        self.run_for(placement, wanted, &prepared, inputs, graph.scalars())
    }

    /// Runs a prepared plan.
    pub fn run(&self, prepared: &Prepared, inputs: &[Arc<Buffer>], scalars: &[Scalar]) -> Result<Outputs> {
        self.run_at(self.placement, prepared, inputs, scalars)
    }

    /// Runs a prepared plan with a placement of its own.
    pub fn run_at(
        &self,
        placement: Placement,
        prepared: &Prepared,
        inputs: &[Arc<Buffer>],
        scalars: &[Scalar],
    ) -> Result<Outputs> {
        self.run_for(placement, Wanted::Anywhere, prepared, inputs, scalars)
    }

    /// Runs a prepared plan for somebody, with a placement of its own.
    pub fn run_for(
        &self,
        placement: Placement,
        wanted: Wanted,
        prepared: &Prepared,
        inputs: &[Arc<Buffer>],
        scalars: &[Scalar],
    ) -> Result<Outputs> {
        if let Some(done) = self.run_alone(placement, prepared, inputs, scalars) {
            return done;
        }
        let _span = trace::span(Kind::Evaluation, trace::EVALUATE);
        let course = self.course(placement, prepared, inputs, wanted);
        self.follow(&course, prepared, inputs, scalars)
    }

    /// Runs a prepared plan for a host that wants the first output in memory of its own, and notes how long all of that took since
    /// `start`. The flag says whether the bytes are there.
    pub(crate) fn run_into(
        &self,
        placement: Placement,
        prepared: &Prepared,
        inputs: &[Arc<Buffer>],
        scalars: &[Scalar],
        to: &mut [u8],
        start: Option<Instant>,
    ) -> Result<(Outputs, bool)> {
        let _span = trace::span(Kind::Evaluation, trace::EVALUATE);
        let course = self.course(placement, prepared, inputs, Wanted::Copied);
        let outputs = self.follow(&course, prepared, inputs, scalars)?;
        let written = outputs.first().is_some_and(|output| output.bytes() == to.len());
        if written {
            outputs[0].read_into(to)?;
        }
        // Timed kernels of accelerators wait for one another, which others do not.
        if let (Some(decision), Some(start)) = (&course.decision, start)
            && written
            && (!course.timed || decision.only_device() == Some(Device::HOST))
        {
            self.router.observe_whole(&prepared.route, decision, start.elapsed());
        }
        Ok((outputs, written))
    }

    /// Runs a prepared plan as [`run_for`](Executor::run_for) does, with every kernel and copy timed.
    pub fn analyse(
        &self,
        placement: Placement,
        wanted: Wanted,
        prepared: &Prepared,
        inputs: &[Arc<Buffer>],
        scalars: &[Scalar],
    ) -> Result<(Outputs, Vec<Observed>)> {
        let mut course = self.course(placement, prepared, inputs, wanted);
        (course.timed, course.seen) = (true, Some(Mutex::default()));
        let outputs = self.follow(&course, prepared, inputs, scalars)?;
        Ok((outputs, course.seen.map(Mutex::into_inner).unwrap_or_default()))
    }

    fn follow(
        &self,
        course: &Course,
        prepared: &Prepared,
        inputs: &[Arc<Buffer>],
        scalars: &[Scalar],
    ) -> Result<Outputs> {
        fork::check()?;
        let plan = prepared.plan();
        let mut buffers: SmallVec<[Option<Arc<Buffer>>; 8]> = SmallVec::with_capacity(plan.buffers.len());
        for buffer in &plan.buffers {
            buffers.push(match buffer.role {
                Role::Computed => None,
                Role::Input(i) => Some(input(inputs, i as usize, buffer.bytes())?),
            });
        }
        let is_detailed = trace::is_on() && self.is_detailed(course, prepared);
        if let Some(device) = course.only_device()
            && !is_detailed
            && self.replay(device, course, prepared, &mut buffers, scalars)?
        {
            if let Some(decision) = &course.decision {
                (0..decision.kernels()).for_each(|at| self.stats.decided(decision, at));
            }
            return plan.outputs.iter().map(|id| self.written(plan, *id, &mut buffers).cloned()).collect();
        }
        let (mut run, mut done) =
            (Run { executor: self, course, prepared, scalars, is_detailed, buffers }, false);
        for (at, launch) in plan.launches.iter().enumerate() {
            interrupt::check()?;
            // A launch may have done the work of the next one too.
            done = !done && run.launch(at, launch)?;
            for freed in &launch.free {
                run.buffers[freed.0 as usize] = None;
            }
        }
        plan.outputs.iter().map(|id| self.written(plan, *id, &mut run.buffers).cloned()).collect()
    }

    /// How a plan runs.
    fn course(
        &self,
        placement: Placement,
        prepared: &Prepared,
        inputs: &[Arc<Buffer>],
        wanted: Wanted,
    ) -> Course {
        match placement {
            // Without accelerators there is nothing to decide.
            Placement::Auto if self.machine.is_host_only() => Course::new(Placement::Host),
            Placement::Auto => self.decided(prepared, inputs, wanted),
            told => Course::new(told),
        }
    }

    /// How a plan runs under [`Placement::Auto`].
    fn decided(&self, prepared: &Prepared, inputs: &[Arc<Buffer>], wanted: Wanted) -> Course {
        if stays_home(prepared, inputs) {
            return Course::new(Placement::Host);
        }
        let decision = self.decide(prepared, inputs, wanted);
        let mut waiting = 0;
        for device in self.machine.devices().skip(1).filter(|&device| decision.uses(device)) {
            prepared.begin(device.0, &**self.machine.backend(device));
            let is_late = |at: &usize| decision.device(*at) == device && !prepared.is_ready(*at, device.0);
            waiting += (0..decision.kernels()).filter(is_late).count();
        }
        // Half a plan on a device whose other half is being compiled would wait for the compiler in the middle.
        if waiting > 0 && are_on_host(inputs) && !self.is_patient(prepared) {
            self.stats.postponed(waiting);
            return Course::new(Placement::Host);
        }
        let timed = prepared.route.is_timed(wanted) || decision.is_trial();
        Course { placement: Placement::Auto, decision: Some(decision), timed, seen: None }
    }

    /// Whether a plan waits for compilers, because what runs where must not depend on how quick they are: a user's kernel may have
    /// other bits on the host, and so have calls, where bits are promised.
    pub(crate) fn is_patient(&self, prepared: &Prepared) -> bool {
        prepared.is_patient() || (self.is_pinned(prepared) && prepared.is_bounded())
    }

    /// Whether calls of a plan must stay where a rule or a recording has put them.
    pub(crate) fn is_pinned(&self, prepared: &Prepared) -> bool {
        self.router.is_deterministic() || prepared.route.is_fixed()
    }

    /// Where the plans that are still in memory ran last.
    pub fn recorded(&self) -> Recording {
        let mut recording = Recording::default();
        self.cache.each(|graph, prepared| {
            recording.note(graph, prepared.route.latest(prepared.plan().launches.len()));
        });
        recording
    }

    /// Where the kernels of a plan run if its inputs lie as they do now, and why. Opens the devices it relies on.
    pub fn decide(&self, prepared: &Prepared, inputs: &[Arc<Buffer>], wanted: Wanted) -> Arc<Decision> {
        let refused = |at: usize, device: Device| prepared.is_refused(at, device.0);
        self.router.decide(&prepared.route, prepared.plan(), &refused, inputs, wanted)
    }

    /// The decision that a placement amounts to.
    pub fn decision_for(
        &self,
        placement: Placement,
        prepared: &Prepared,
        inputs: &[Arc<Buffer>],
        wanted: Wanted,
    ) -> Arc<Decision> {
        let (device, why) = match placement {
            Placement::Auto if self.machine.is_host_only() => (Device::HOST, Why::Alone),
            Placement::Auto if stays_home(prepared, inputs) => (Device::HOST, Why::Trivial),
            Placement::Auto => return self.decide(prepared, inputs, wanted),
            Placement::On(device) => (device, Why::Told),
            Placement::Host | Placement::RoundRobin => (Device::HOST, Why::Told),
        };
        let times = self.router.predicted(&prepared.route, prepared.plan());
        let (kernels, count) = (prepared.plan().launches.len(), self.machine.devices().count());
        Arc::new(Decision::uniform(kernels, device, times, count, why))
    }

    /// A buffer on a device with a copy of host bytes that lie apart in parts of one length, one behind the other. They go there
    /// without being put together first.
    ///
    /// ```
    /// use crossover_runtime::{Device, Executor, Machine, Placement, sim::{Clock, SimHost, SimOptions}};
    /// # use std::sync::Arc;
    /// let host = Arc::new(SimHost::hollow(SimOptions::default(), Clock::default()));
    /// let executor = Executor::new(Machine::new(host, Vec::new())?, Default::default(), Placement::Host);
    /// let buffer = executor.send(Device::HOST, &[&[1, 2], &[3, 4]])?;
    /// assert_eq!(buffer.bytes(), 4);
    /// # Ok::<(), crossover_runtime::Error>(())
    /// ```
    pub fn send(&self, device: Device, parts: &[&[u8]]) -> Result<Arc<Buffer>> {
        let buffer = Buffer::from_parts(&self.machine, device, parts)?;
        self.note_transfer(device, &buffer);
        Ok(buffer)
    }

    /// A buffer with its contents; an empty one no kernel has written.
    pub(crate) fn written<'b>(
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

    /// Counts a copy to a device.
    pub(crate) fn note_transfer(&self, device: Device, buffer: &Buffer) {
        self.note_moved(device, buffer.bytes());
    }

    /// Counts a copy of so many bytes to a device.
    pub(crate) fn note_moved(&self, device: Device, bytes: usize) {
        self.stats.moved(bytes);
        let device = self.machine.backend(device).name();
        tracing::debug!(target: "crossover::transfer", bytes, device, "moved");
    }
}

fn are_on_host(inputs: &[Arc<Buffer>]) -> bool {
    inputs.iter().all(|buffer| buffer.is_valid_on(Device::HOST))
}

/// Whether a plan is too small to think about: it stays with its operands on the host, unless a recording says otherwise.
pub(crate) fn stays_home(prepared: &Prepared, inputs: &[Arc<Buffer>]) -> bool {
    prepared.is_small() && !prepared.route.is_fixed() && are_on_host(inputs)
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
