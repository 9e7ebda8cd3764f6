//! Runs plans: finds or makes the plan of a graph, places its kernels, moves what they need, and launches them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crossover_core::{Graph, Scalar};
use crossover_plan::{Launch as PlannedLaunch, Options, Plan, Role, kernel::BufferId};
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::{
    Buffer, Decision, Device, Error, Executable, Machine, Placement, Prepared, Profile, Recording, Result,
    Router, Signature, Wanted, Why,
    buffer::Pin,
    cache::PlanCache,
    fork,
    memory::Reclaimed,
    outline::is_bounded,
    recent::{Ran, Recent},
    spans,
    trace::{self, Kind, Moment},
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
    split: AtomicU64,
    parts: AtomicU64,
    judged: AtomicU64,
    regret: AtomicU64,
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
    /// Kernels that ran in parts because their operands did not fit together.
    pub split: u64,
    /// Parts that they ran in.
    pub parts: u64,
    /// Nanoseconds of kernels that were timed after a choice between devices.
    pub judged: u64,
    /// Nanoseconds of those beyond what was predicted for the best device, where that is more than a quarter and 20 µs.
    pub regret: u64,
    /// What was done to make room on devices.
    pub reclaimed: Reclaimed,
}

/// Evaluates graphs on a machine.
pub struct Executor {
    id: u64,
    machine: Arc<Machine>,
    options: Options,
    placement: Placement,
    router: Router,
    cache: PlanCache,
    stats: Stats,
    /// Kernels that ran on each device for each reason.
    decisions: Vec<[AtomicU64; Why::NAMES.len()]>,
    recent: Recent,
}

/// One buffer per output of a graph.
pub type Outputs = SmallVec<[Arc<Buffer>; 1]>;

/// How one run of a plan is to go.
struct Course {
    placement: Placement,
    /// Under [`Placement::Auto`], unless everything stays on the host.
    decision: Option<Arc<Decision>>,
    /// Whether kernels are timed.
    timed: bool,
    /// What happened, if somebody wants to know.
    seen: Option<Mutex<Vec<Observed>>>,
}

impl Course {
    fn new(placement: Placement) -> Course {
        Course { placement, decision: None, timed: false, seen: None }
    }

    /// A device could not do what it was chosen for: the decision is forgotten, if there was one.
    fn regret(&self, prepared: &Prepared) {
        if self.decision.is_some() {
            prepared.route.forget();
        }
    }

    /// The accelerator that all kernels run on, if there is one and nobody wants to know how long each takes.
    fn only_device(&self) -> Option<Device> {
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
        let decisions = machine.devices().map(|_| Default::default()).collect();
        Executor {
            id: MADE.fetch_add(1, Ordering::Relaxed),
            machine,
            options,
            placement,
            router,
            decisions,
            cache: PlanCache::new(PLAN_CACHE),
            stats: Stats::default(),
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
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            launches: read(&self.stats.launches),
            transfers: read(&self.stats.transfers),
            transferred: read(&self.stats.transferred),
            fallbacks: read(&self.stats.fallbacks),
            postponed: read(&self.stats.postponed),
            replayed: read(&self.stats.replayed),
            planned: read(&self.stats.planned),
            split: read(&self.stats.split),
            parts: read(&self.stats.parts),
            judged: read(&self.stats.judged),
            regret: read(&self.stats.regret),
            reclaimed: self.machine.reclaimed(),
        }
    }

    /// How many kernels ran on a device under [`Placement::Auto`] for which reason, by [`Why::NAMES`].
    pub fn decisions(&self, device: Device) -> Vec<(&'static str, u64)> {
        let counts = self.decisions[device.0].iter().map(|count| count.load(Ordering::Relaxed));
        Why::NAMES.into_iter().zip(counts).collect()
    }

    /// The plan of a graph, from the cache or made now.
    pub fn prepare(&self, graph: &Graph) -> Result<Arc<Prepared>> {
        fork::check()?;
        if let Some(found) = self.cache.get(graph) {
            return Ok(found);
        }
        self.stats.planned.fetch_add(1, Ordering::Relaxed);
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
        let _span = trace::span(Kind::Evaluation, "evaluate");
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
        let _span = trace::span(Kind::Evaluation, "evaluate");
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
        if let Some(device) = course.only_device()
            && self.replay(device, prepared, &mut buffers, scalars)?
        {
            if let Some(decision) = &course.decision {
                (0..decision.kernels()).for_each(|at| self.note_decision(decision, at));
            }
            return plan.outputs.iter().map(|id| self.written(plan, *id, &mut buffers).cloned()).collect();
        }
        let mut done = false;
        for (at, launch) in plan.launches.iter().enumerate() {
            // A launch may have done the work of the next one too.
            done = !done && self.launch(course, prepared, at, launch, &mut buffers, scalars)?;
            for freed in &launch.free {
                buffers[freed.0 as usize] = None;
            }
        }
        plan.outputs.iter().map(|id| self.written(plan, *id, &mut buffers).cloned()).collect()
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
            self.stats.postponed.fetch_add(waiting as u64, Ordering::Relaxed);
            return Course::new(Placement::Host);
        }
        let timed = prepared.route.is_timed(wanted) || decision.is_trial();
        Course { placement: Placement::Auto, decision: Some(decision), timed, seen: None }
    }

    /// Whether a plan waits for compilers, because what runs where must not depend on how quick they are: a user's kernel may have
    /// other bits on the host, and so have calls, where bits are promised.
    fn is_patient(&self, prepared: &Prepared) -> bool {
        prepared.is_patient() || (self.is_pinned(prepared) && prepared.is_bounded())
    }

    /// Whether calls of a plan must stay where a rule or a recording has put them.
    fn is_pinned(&self, prepared: &Prepared) -> bool {
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

    /// Runs a launch; true if the next one is done with it.
    fn launch(
        &self,
        course: &Course,
        prepared: &Prepared,
        at: usize,
        launch: &PlannedLaunch,
        buffers: &mut [Option<Arc<Buffer>>],
        scalars: &[Scalar],
    ) -> Result<bool> {
        let device = match (course.placement, &course.decision) {
            (Placement::On(device), _) => device,
            (Placement::RoundRobin, _) => Device(at % self.machine.devices().count()),
            (Placement::Auto, Some(decision)) => {
                self.note_decision(decision, at);
                decision.device(at)
            }
            (Placement::Host | Placement::Auto, _) => Device::HOST,
        };
        if device != Device::HOST {
            let both = course.decision.as_ref().is_none_or(|d| d.devices.get(at + 1) == d.devices.get(at));
            if both && self.launch_folded(device, course, prepared, at, launch, buffers, scalars)? {
                self.machine.tell(device);
                return Ok(true);
            }
            let done = self.launch_away(device, course, prepared, at, launch, buffers, scalars)?;
            self.machine.tell(device);
            if done {
                return Ok(false);
            }
        }
        let host = &**self.machine.backend(Device::HOST);
        let executable = prepared.executable(at, Device::HOST.0, host, true)?;
        let executable = executable.ok_or_else(|| {
            Error::Internal(format!("the host did not make kernel {at} ({}) ready", launch.name))
        })?;
        let signature = prepared.signature(at);
        let on = Some((course, at));
        self.launch_on(Device::HOST, executable, prepared, signature, launch, buffers, scalars, on)?;
        Ok(false)
    }

    /// Launches one kernel for this launch and the next, if the plan has one and the device can do it.
    #[allow(clippy::too_many_arguments)]
    fn launch_folded(
        &self,
        device: Device,
        course: &Course,
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
        prepared.begin(device.0, backend);
        let wait = course.placement != Placement::Auto;
        let Some((executable, signature)) = prepared.folded(at, device.0, backend, wait) else {
            return Ok(false);
        };
        let fresh: SmallVec<[BufferId; 1]> =
            fold.launch.kernel.writes().filter(|id| buffers[id.0 as usize].is_none()).collect();
        match self.launch_on(device, executable, prepared, signature, &fold.launch, buffers, scalars, None) {
            Ok(()) => Ok(true),
            Err(error) => {
                for id in fresh {
                    buffers[id.0 as usize] = None;
                }
                self.fall_back(device, &fold.launch, error, prepared)
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

    /// Counts where a kernel ran, and why.
    pub(crate) fn note_decision(&self, decision: &Decision, at: usize) {
        let why = decision.why(at).index();
        self.decisions[decision.device(at).0][why].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts kernels that were started together.
    pub(crate) fn note_replay(&self, kernels: usize) {
        self.stats.launches.fetch_add(kernels as u64, Ordering::Relaxed);
        self.stats.replayed.fetch_add(kernels as u64, Ordering::Relaxed);
    }

    /// Counts what a kernel took, and what it took beyond the prediction for the best device. Runs that are there to learn are not
    /// judged: they are meant to be slower.
    fn judge(&self, course: &Course, at: usize, took: Duration) {
        /// Differences below it are noise of the clock and of other programs.
        const LEAST: f64 = 20_000.0;
        let Some(decision) = course.decision.as_ref().filter(|decision| !decision.is_trial()) else { return };
        let times = decision.times_ns(at).iter().copied().filter(|time| time.is_finite() && *time > 0.0);
        if times.clone().count() < 2 {
            return;
        }
        let (best, took) = (times.fold(f64::INFINITY, f64::min), took.as_nanos() as f64);
        self.stats.judged.fetch_add(took as u64, Ordering::Relaxed);
        let lost = took - best;
        if lost > LEAST && lost > best / 4.0 {
            self.stats.regret.fetch_add(lost as u64, Ordering::Relaxed);
        }
    }

    /// Counts a kernel that was launched elsewhere.
    pub(crate) fn note_launch(&self) {
        self.stats.launches.fetch_add(1, Ordering::Relaxed);
    }

    /// Launches on an accelerator; false if the host has to do it, which computes the same bits.
    #[allow(clippy::too_many_arguments)]
    fn launch_away(
        &self,
        device: Device,
        course: &Course,
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
        let patient = course.placement != Placement::Auto || self.is_patient(prepared);
        let wait = patient || !launch.kernel.reads().all(on_host);
        let executable = match prepared.executable(at, device.0, backend, wait) {
            Ok(Some(executable)) => executable,
            Ok(None) => {
                self.stats.postponed.fetch_add(1, Ordering::Relaxed);
                return Ok(false);
            }
            Err(error) => {
                course.regret(prepared);
                return self.fall_back(device, launch, error, prepared);
            }
        };
        // What this launch is the first to write.
        let fresh: SmallVec<[BufferId; 4]> =
            launch.kernel.writes().filter(|id| buffers[id.0 as usize].is_none()).collect();
        let signature = prepared.signature(at);
        let on = Some((course, at));
        let mut launched =
            self.launch_on(device, executable, prepared, signature, launch, buffers, scalars, on);
        for again in 0..2 {
            let Err(error @ Error::OutOfMemory { requested, .. }) = &launched else { break };
            fresh.iter().for_each(|id| buffers[id.0 as usize] = None);
            // Room was made for every operand; what a kernel takes for itself has to be asked for here. After that it is cut.
            tracing::debug!(target: "crossover::memory", kernel = %launch.name, %error, "does not fit");
            if again == 1 || !self.machine.make_room(device, *requested) {
                let cut = match self.must_stay(prepared, launch) {
                    true => Ok(false),
                    false => self.launch_in_parts(device, prepared, launch, buffers, scalars),
                };
                match cut {
                    Ok(true) => return Ok(true),
                    Ok(false) => {}
                    Err(error) => launched = Err(error),
                }
                break;
            }
            launched = self.launch_on(device, executable, prepared, signature, launch, buffers, scalars, on);
        }
        match launched {
            Ok(()) => Ok(true),
            Err(error) => {
                fresh.iter().for_each(|id| buffers[id.0 as usize] = None);
                course.regret(prepared);
                self.fall_back(device, launch, error, prepared)
            }
        }
    }

    /// Whether nothing but the plan may decide where and how a kernel runs, since its bits depend on it.
    fn must_stay(&self, prepared: &Prepared, launch: &PlannedLaunch) -> bool {
        self.is_pinned(prepared) && is_bounded(&launch.kernel)
    }

    /// Counts a kernel that ran in parts.
    pub(crate) fn note_split(&self, launch: &PlannedLaunch, parts: u64) {
        self.stats.launches.fetch_add(parts, Ordering::Relaxed);
        self.stats.split.fetch_add(1, Ordering::Relaxed);
        self.stats.parts.fetch_add(parts, Ordering::Relaxed);
        tracing::debug!(target: "crossover::memory", kernel = %launch.name, parts, "ran in parts");
    }

    /// False, for the host's turn, if a device cannot run a kernel or has just failed; other errors stay errors.
    fn fall_back(
        &self,
        device: Device,
        launch: &PlannedLaunch,
        error: Error,
        prepared: &Prepared,
    ) -> Result<bool> {
        // What a device can never do it does nowhere in this process; what it could not do now is an error where bits are pinned.
        let pinned = !matches!(error, Error::Unsupported { .. }) && self.must_stay(prepared, launch);
        if pinned || !is_device_fault(&error) {
            return Err(error);
        }
        self.stats.fallbacks.fetch_add(1, Ordering::Relaxed);
        let device = self.machine.backend(device).name();
        trace::note("fallback", || format!("{} on {device}: {error}", launch.name));
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
        on: Option<(&Course, usize)>,
    ) -> Result<()> {
        let timed = on.filter(|(course, _)| course.timed);
        let mut inputs: SmallVec<[_; 8]> = SmallVec::new();
        // Memory of operands and results stays where it is until the kernel is on its way.
        let mut pins: SmallVec<[Option<Pin>; 8]> = SmallVec::new();
        let (mut arrived, mut moving) = (0, Duration::ZERO);
        for id in launch.kernel.reads() {
            let buffer = self.written(prepared.plan(), id, buffers)?;
            let (block, moved, pin) = match timed {
                Some((Course { seen: Some(_), .. }, _)) if !buffer.is_valid_on(device) => {
                    let mut got = None;
                    let mut fetch = || buffer.held_on(device).map(|found| got = Some(found));
                    let away = buffer.valid_on().last().copied().unwrap_or(device).max(device);
                    moving += self.machine.backend(away).measure(&mut fetch)?;
                    got.ok_or_else(|| Error::Internal("a copy that was not made".to_string()))?
                }
                _ => buffer.held_on(device)?,
            };
            pins.push(pin);
            if moved {
                arrived += buffer.bytes() as u64;
                self.note_transfer(device, buffer);
            }
            inputs.push(block);
        }
        let mut outputs: SmallVec<[_; 4]> = SmallVec::new();
        for id in launch.kernel.writes() {
            let (block, pin) = self.writable(prepared, id, device, buffers)?;
            outputs.push(block);
            pins.push(pin);
        }
        let arguments = signature.launch(&inputs, &outputs, scalars)?;
        self.stats.launches.fetch_add(1, Ordering::Relaxed);
        let logs = tracing::enabled!(target: "crossover::launch", tracing::Level::TRACE);
        let run = || match timed {
            None => executable.run(&arguments),
            Some((course, at)) => {
                let took = self.machine.backend(device).measure(&mut || executable.run(&arguments))?;
                self.router.observe(&prepared.route, prepared.plan(), at, device, took);
                self.judge(course, at, took);
                if let Some(seen) = &course.seen {
                    seen.lock().push(Observed { kernel: at, device, moved: arrived, moving, took });
                }
                Ok(())
            }
        };
        let is_recording = trace::is_on();
        if !is_recording && !logs && !self.recent.is_on() {
            return run();
        }
        let (start, began) = (Moment::now(), Instant::now());
        let timing = if is_recording {
            self.machine.backend(device).timed(&mut || run())?
        } else {
            run().map(|()| None)?
        };
        if self.recent.is_on() {
            let decided = on.and_then(|(course, at)| Some((course.decision.as_ref()?, at)));
            let why = decided.map_or("", |(decision, at)| decision.why(at).name());
            let (name, took) = (launch.name.clone(), began.elapsed());
            let bytes = launch.cost.read + launch.cost.written;
            self.recent.note(Ran { name, device, why, start: began, took, bytes });
        }
        tracing::trace!(
            target: "crossover::launch",
            kernel = %launch.name,
            device = self.machine.backend(device).name(),
            bytes = launch.cost.read + launch.cost.written,
            micros = began.elapsed().as_micros() as u64,
            "ran"
        );
        if is_recording {
            let decision = on.and_then(|(course, at)| course.decision.clone().map(|made| (made, at)));
            let started = spans::Started { start, launch, device, decision, moved: arrived };
            spans::kernel(&self.machine, started, vec![timing]);
            trace::look(&self.machine);
        }
        Ok(())
    }

    /// Memory for an output; several kernels may write parts of one buffer.
    fn writable(
        &self,
        prepared: &Prepared,
        id: BufferId,
        device: Device,
        buffers: &mut [Option<Arc<Buffer>>],
    ) -> Result<(crate::Block, Option<Pin>)> {
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
                let (buffer, block, pin) = Buffer::uninitialised(&self.machine, device, bytes)?;
                *entry = Some(buffer);
                Ok((block, pin))
            }
        }
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
