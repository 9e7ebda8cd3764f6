//! Plans that repeat, as one launch.
//!
//! A plan of several small kernels costs the host more than the device: every kernel is a call of the driver. The third
//! time such a plan runs on one device, its kernels are handed to the backend as a [`Sequence`]: what lies between them
//! has fixed memory that belongs to the sequence, and a run names only what comes in and what goes out.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU32, Ordering},
};

use crossover_core::Scalar;
use crossover_plan::{
    Plan, Role,
    kernel::{BufferId, Kernel},
};
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::{
    Address, Block, Buffer, Device, Executable, Executor, Placement, Prepared, Result,
    arena::{self, Life},
    buffer::Pin,
    executor::Course,
    spans,
    trace::{self, Moment, Told},
};

/// Runs of a plan, one kernel after the other, before it is made a sequence.
const WARM: u32 = 2;
/// Kernels of a sequence at most.
const KERNELS: usize = 512;
/// Bytes that generated kernels move on average, up to which launching them is worth speeding up.
const SMALL: u64 = 4 << 20;
/// The same for plans with calls, each of which costs the host more, and their arithmetic operations on average.
const SMALL_CALLS: (u64, u64) = (32 << 20, 20_000_000_000);
/// Bytes between kernels of a sequence at most: they are held as long as it is.
const INSIDE: usize = 64 << 20;

/// Where an operand or a result of a [`Step`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a block that every run names anew, by position.
    Given(usize),
    /// In memory of the sequence, so many bytes behind its start.
    Inside(usize),
}

/// One kernel of a sequence.
#[derive(Clone)]
pub struct Step {
    /// What runs.
    pub executable: Arc<dyn Executable>,
    /// Where its inputs are, one per load.
    pub inputs: Vec<Place>,
    /// Where its outputs are, one per store.
    pub outputs: Vec<Place>,
}

/// Kernels that a backend starts together, in order.
pub trait Sequence: Send + Sync {
    /// Queues all of them behind everything queued before. False if the backend has taken the sequence apart to make
    /// room for others, and nothing was queued.
    ///
    /// Blocks are as large as those the steps were checked against.
    fn run(&self, given: &[Block], scalars: &[Scalar]) -> Result<bool>;
}

/// Whether a plan gains by being one launch.
fn is_worth_it(plan: &Plan) -> bool {
    let count = plan.launches.len();
    if !(2..=KERNELS).contains(&count) {
        return false;
    }
    let calls = plan.launches.iter().any(|l| matches!(l.kernel, Kernel::Call(_)));
    let cost = plan.cost();
    let (moved, flops) = (cost.moved() / count as u64, cost.flops / count as u64);
    if calls { moved <= SMALL_CALLS.0 && flops <= SMALL_CALLS.1 } else { moved <= SMALL }
}

/// One kernel of a chain.
struct Link {
    /// Its place in the plan.
    at: usize,
    /// Whether it does the work of the next one too.
    folded: bool,
}

/// A plan as a sequence of one device.
struct Chain {
    sequence: Arc<dyn Sequence>,
    links: Vec<Link>,
    /// Buffers that every run names.
    given: Vec<BufferId>,
    /// Host scalars that must be 0.
    zeros: Vec<u16>,
    /// The numbers by which sessions know its kernels.
    told: Told,
}

impl Chain {
    fn allows(&self, scalars: &[Scalar]) -> bool {
        self.zeros.iter().all(|&slot| is_zero(scalars, slot))
    }
}

fn is_zero(scalars: &[Scalar], slot: u16) -> bool {
    scalars.get(slot as usize).is_some_and(|scalar| scalar.bits() == [0, 0])
}

/// Where buffers of a plan are, as steps come to them.
struct Places<'a> {
    plan: &'a Plan,
    given: Vec<BufferId>,
    lives: Vec<Life>,
    /// By buffer; memory of the sequence by position among the lives.
    found: Vec<Option<Place>>,
}

impl<'a> Places<'a> {
    fn new(plan: &'a Plan) -> Places<'a> {
        Places { plan, given: Vec::new(), lives: Vec::new(), found: vec![None; plan.buffers.len()] }
    }

    fn find(&mut self, id: BufferId, step: usize) -> Place {
        let found = &mut self.found[id.0 as usize];
        if let Some(place) = *found {
            if let Place::Inside(at) = place {
                self.lives[at].until(step);
            }
            return place;
        }
        let buffer = &self.plan.buffers[id.0 as usize];
        *found.insert(if buffer.role != Role::Computed || self.plan.outputs.contains(&id) {
            self.given.push(id);
            Place::Given(self.given.len() - 1)
        } else {
            self.lives.push(Life::new(buffer.bytes(), step));
            Place::Inside(self.lives.len() - 1)
        })
    }
}

/// What is known about replaying a plan.
#[derive(Default)]
pub(crate) struct Replay {
    worth: OnceLock<bool>,
    /// One per device.
    tracks: OnceLock<Vec<Track>>,
}

/// A plan on one device.
#[derive(Default)]
struct Track {
    /// Runs so far; `NEVER` if the device makes no sequence of it.
    runs: AtomicU32,
    chain: Mutex<Option<Arc<Chain>>>,
}

const NEVER: u32 = u32::MAX;

impl Executor {
    /// Runs a plan as a sequence, if it is worth one and has run often enough; false if nothing was done.
    pub(crate) fn replay(
        &self,
        device: Device,
        course: &Course,
        prepared: &Prepared,
        buffers: &mut [Option<Arc<Buffer>>],
        scalars: &[Scalar],
    ) -> Result<bool> {
        let replay = prepared.replay();
        if !*replay.worth.get_or_init(|| is_worth_it(prepared.plan())) {
            return Ok(false);
        }
        // Events are of kernels.
        if tracing::enabled!(target: "crossover::launch", tracing::Level::TRACE) {
            return Ok(false);
        }
        let start = trace::is_on().then(Moment::now);
        let devices = self.machine().devices().count();
        let tracks =
            replay.tracks.get_or_init(|| std::iter::repeat_with(Track::default).take(devices).collect());
        let track = &tracks[device.0];
        let runs = track.runs.load(Ordering::Relaxed);
        if runs < WARM {
            track.runs.store(runs + 1, Ordering::Relaxed);
        }
        if runs < WARM || runs == NEVER {
            return Ok(false);
        }
        let known = track.chain.lock().clone();
        let chain = match known {
            Some(chain) => chain,
            None => match self.chain(device, prepared, scalars) {
                Some(Some(made)) => track.chain.lock().get_or_insert(Arc::new(made)).clone(),
                // A kernel is still on its way.
                Some(None) => return Ok(false),
                None => {
                    track.runs.store(NEVER, Ordering::Relaxed);
                    return Ok(false);
                }
            },
        };
        if !chain.allows(scalars) {
            return Ok(false);
        }
        match self.run_chain(device, &chain, prepared, buffers, scalars) {
            Ok(true) => {
                if let Some(start) = start {
                    self.record(start, device, course, &chain, prepared);
                }
                Ok(true)
            }
            Ok(false) => {
                // Others were used more recently; it may come back.
                *track.chain.lock() = None;
                track.runs.store(0, Ordering::Relaxed);
                Ok(false)
            }
            Err(error) => {
                // One by one they find out for themselves what cannot be done, and where it can.
                tracing::debug!(target: "crossover::replay", %error, "a sequence did not run");
                *track.chain.lock() = None;
                track.runs.store(NEVER, Ordering::Relaxed);
                Ok(false)
            }
        }
    }

    /// Whether a session times the kernels of the next run of a plan. Those of a sequence cannot be told apart, so it is not replayed then.
    pub(crate) fn is_detailed(&self, course: &Course, prepared: &Prepared) -> bool {
        let is_home = match (course.placement, &course.decision) {
            _ if self.machine().is_host_only() => true,
            (Placement::Host, _) | (Placement::Auto, None) => true,
            (Placement::On(device), _) => device == Device::HOST,
            (Placement::RoundRobin, _) => false,
            (Placement::Auto, Some(decision)) => decision.only_device() == Some(Device::HOST),
        };
        if is_home {
            return false;
        }
        let worth = prepared.replay().worth.get_or_init(|| is_worth_it(prepared.plan()));
        prepared.detailed().is_next(prepared.plan(), course.only_device(), *worth)
    }

    /// Tells sessions about the kernels of a chain that was queued since a moment.
    fn record(&self, start: Moment, device: Device, course: &Course, chain: &Chain, prepared: &Prepared) {
        let described = |link: &Link| {
            let (launch, plan) = (&prepared.plan().launches[link.at], (prepared.number(), link.at));
            if link.folded { spans::folded(launch, plan) } else { spans::described(launch, plan) }
        };
        let first = chain.told.number(|| chain.links.iter().map(described).collect());
        trace::chain(start, first, device, spans::held(self.machine(), device), course.decision.clone());
        trace::look(self.machine(), start);
    }

    /// Asks the backend for a sequence. `Some(None)` if a kernel is not ready yet, `None` if there will be none.
    #[allow(clippy::option_option)]
    fn chain(&self, device: Device, prepared: &Prepared, scalars: &[Scalar]) -> Option<Option<Chain>> {
        let plan = prepared.plan();
        let backend = &**self.machine().backend(device);
        let (mut steps, mut links) = (Vec::with_capacity(plan.launches.len()), Vec::new());
        let (mut places, mut zeros) = (Places::new(plan), Vec::new());
        let mut at = 0;
        while at < plan.launches.len() {
            let fold = plan.launches[at].fold.as_ref();
            let fold = fold.filter(|fold| fold.zero.is_none_or(|slot| is_zero(scalars, slot)));
            if fold.is_some() && prepared.is_fold_coming(at, device.0) {
                return Some(None);
            }
            let both = fold.and_then(|fold| Some((fold, prepared.folded(at, device.0, backend, false)?)));
            let (executable, launch, signature) = match &both {
                Some((fold, (executable, signature))) => (Arc::clone(executable), &fold.launch, *signature),
                None => match prepared.ready(at, device.0) {
                    Some(executable) => (executable, &plan.launches[at], prepared.signature(at)),
                    None => return Some(None),
                },
            };
            zeros.extend(both.as_ref().and_then(|(fold, _)| fold.zero));
            // Checked once, against the smallest blocks that a run may name.
            let blocks = |ids: &mut dyn Iterator<Item = BufferId>| -> Vec<Block> {
                let bytes = |id: BufferId| plan.buffers[id.0 as usize].bytes();
                ids.map(|id| Block { address: Address(0), bytes: bytes(id) }).collect()
            };
            let kernel = &launch.kernel;
            signature.launch(&blocks(&mut kernel.reads()), &blocks(&mut kernel.writes()), scalars).ok()?;
            let inputs = kernel.reads().map(|id| places.find(id, steps.len())).collect();
            let outputs = kernel.writes().map(|id| places.find(id, steps.len())).collect();
            steps.push(Step { executable, inputs, outputs });
            links.push(Link { at, folded: both.is_some() });
            at += 1 + usize::from(both.is_some());
        }
        let (starts, bytes) = arena::arrange(&places.lives);
        if bytes > INSIDE {
            return None;
        }
        for place in steps.iter_mut().flat_map(|step| step.inputs.iter_mut().chain(&mut step.outputs)) {
            if let Place::Inside(life) = place {
                *place = Place::Inside(starts[*life]);
            }
        }
        let sequence = backend.sequence(&steps, bytes).ok().flatten()?;
        Some(Some(Chain { sequence, links, given: places.given, zeros, told: Told::default() }))
    }

    fn run_chain(
        &self,
        device: Device,
        chain: &Chain,
        prepared: &Prepared,
        buffers: &mut [Option<Arc<Buffer>>],
        scalars: &[Scalar],
    ) -> Result<bool> {
        for link in &chain.links {
            let folded = if link.folded { prepared.fold_signature(link.at) } else { None };
            folded.unwrap_or_else(|| prepared.signature(link.at)).check_scalars(scalars)?;
        }
        let mut blocks: SmallVec<[Block; 8]> = SmallVec::new();
        let mut made: SmallVec<[(BufferId, Arc<Buffer>); 2]> = SmallVec::new();
        let mut pins: SmallVec<[Option<Pin>; 8]> = SmallVec::new();
        for &id in &chain.given {
            let block = match &buffers[id.0 as usize] {
                Some(buffer) => {
                    let (block, moved, pin) = buffer.held_on(device)?;
                    pins.push(pin);
                    if moved {
                        self.note_transfer(device, buffer);
                    }
                    block
                }
                None => {
                    let bytes = prepared.plan().buffers[id.0 as usize].bytes();
                    let (buffer, block, pin) = Buffer::uninitialised(self.machine(), device, bytes)?;
                    pins.push(pin);
                    made.push((id, buffer));
                    block
                }
            };
            blocks.push(block);
        }
        if !chain.sequence.run(&blocks, scalars)? {
            return Ok(false);
        }
        for (id, buffer) in made {
            buffers[id.0 as usize] = Some(buffer);
        }
        drop(pins);
        self.stats().replayed(chain.links.len());
        self.machine().tell(device);
        Ok(true)
    }
}
