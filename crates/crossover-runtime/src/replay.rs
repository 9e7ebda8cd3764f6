//! Plans that repeat, as one launch.
//!
//! A plan of several small fused kernels costs the host more than the device: every kernel is a call of the driver. The
//! third time such a plan runs on one device, its kernels are handed to the backend as a [`Sequence`]: what lies between
//! them has fixed memory that belongs to the sequence, and a run names only what comes in and what goes out.

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

use crate::{Address, Block, Buffer, Device, Executable, Executor, Prepared, Result, buffer::Pin, trace};

/// Runs of a plan, one kernel after the other, before it is made a sequence.
const WARM: u32 = 2;
/// Kernels of a sequence at most.
const KERNELS: usize = 512;
/// Bytes that kernels move on average, up to which launching them is worth speeding up.
const SMALL: u64 = 4 << 20;
/// Bytes between kernels of a sequence at most: they are held as long as it is.
const INSIDE: usize = 8 << 20;

/// Where an operand or a result of a [`Step`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a block that every run names anew, by position.
    Given(usize),
    /// In memory of the sequence, by position among the sizes that it was made with.
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

/// The steps of a plan without its kernels.
#[derive(Debug)]
struct Chain {
    /// Buffers that every run names.
    given: Vec<BufferId>,
    /// Sizes of the buffers in between.
    inside: Vec<usize>,
    /// Inputs and outputs of each launch.
    places: Vec<(Vec<Place>, Vec<Place>)>,
}

impl Chain {
    /// What a plan is as a chain, or `None` for one that gains nothing: short, large, or with calls.
    fn new(plan: &Plan) -> Option<Chain> {
        let count = plan.launches.len();
        let moved: u64 = plan.launches.iter().map(|l| l.cost.read + l.cost.written).sum();
        if !(2..=KERNELS).contains(&count) || moved / count as u64 > SMALL {
            return None;
        }
        if plan.launches.iter().any(|l| l.fold.is_some() || matches!(l.kernel, Kernel::Call(_))) {
            return None;
        }
        let mut chain = Chain { given: Vec::new(), inside: Vec::new(), places: Vec::new() };
        let mut places: Vec<Option<Place>> = vec![None; plan.buffers.len()];
        let mut place = |id: BufferId, chain: &mut Chain| {
            let buffer = &plan.buffers[id.0 as usize];
            *places[id.0 as usize].get_or_insert_with(|| {
                if buffer.role != Role::Computed || plan.outputs.contains(&id) {
                    chain.given.push(id);
                    Place::Given(chain.given.len() - 1)
                } else {
                    chain.inside.push(buffer.bytes());
                    Place::Inside(chain.inside.len() - 1)
                }
            })
        };
        for launch in &plan.launches {
            let inputs: Vec<Place> = launch.kernel.reads().map(|id| place(id, &mut chain)).collect();
            let outputs = launch.kernel.writes().map(|id| place(id, &mut chain)).collect();
            chain.places.push((inputs, outputs));
        }
        (chain.inside.iter().sum::<usize>() <= INSIDE).then_some(chain)
    }
}

/// What is known about replaying a plan.
#[derive(Default)]
pub(crate) struct Replay {
    chain: OnceLock<Option<Chain>>,
    /// One per device.
    tracks: OnceLock<Vec<Track>>,
}

/// A plan on one device.
#[derive(Default)]
struct Track {
    /// Runs so far; `NEVER` if the device makes no sequence of it.
    runs: AtomicU32,
    sequence: Mutex<Option<Arc<dyn Sequence>>>,
}

const NEVER: u32 = u32::MAX;

impl Executor {
    /// Runs a plan as a sequence, if it is worth one and has run often enough; false if nothing was done.
    pub(crate) fn replay(
        &self,
        device: Device,
        prepared: &Prepared,
        buffers: &mut [Option<Arc<Buffer>>],
        scalars: &[Scalar],
    ) -> Result<bool> {
        let replay = prepared.replay();
        let Some(chain) = replay.chain.get_or_init(|| Chain::new(prepared.plan())) else {
            return Ok(false);
        };
        // Spans and events are of kernels.
        let logs = tracing::enabled!(target: "crossover::launch", tracing::Level::TRACE);
        if trace::is_on() || logs {
            return Ok(false);
        }
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
        let known = track.sequence.lock().clone();
        let sequence = match known {
            Some(sequence) => sequence,
            None => match self.sequence(device, prepared, chain, scalars) {
                Some(Some(made)) => track.sequence.lock().get_or_insert(made).clone(),
                // A kernel is still on its way.
                Some(None) => return Ok(false),
                None => {
                    track.runs.store(NEVER, Ordering::Relaxed);
                    return Ok(false);
                }
            },
        };
        match self.run_sequence(device, &*sequence, prepared, chain, buffers, scalars) {
            Ok(true) => Ok(true),
            Ok(false) => {
                // Others were used more recently; it may come back.
                *track.sequence.lock() = None;
                track.runs.store(0, Ordering::Relaxed);
                Ok(false)
            }
            Err(error) => {
                // One by one they find out for themselves what cannot be done, and where it can.
                tracing::debug!(target: "crossover::replay", %error, "a sequence did not run");
                track.runs.store(NEVER, Ordering::Relaxed);
                Ok(false)
            }
        }
    }

    /// Asks the backend for a sequence. `Some(None)` if a kernel is not ready yet, `None` if there will be none.
    #[allow(clippy::option_option)]
    fn sequence(
        &self,
        device: Device,
        prepared: &Prepared,
        chain: &Chain,
        scalars: &[Scalar],
    ) -> Option<Option<Arc<dyn Sequence>>> {
        let plan = prepared.plan();
        let backend = &**self.machine().backend(device);
        let mut steps = Vec::with_capacity(chain.places.len());
        for (at, (inputs, outputs)) in chain.places.iter().enumerate() {
            let Some(executable) = prepared.ready(at, device.0) else { return Some(None) };
            // Checked once, against the smallest blocks that a run may name.
            let blocks = |ids: &mut dyn Iterator<Item = BufferId>| -> Vec<Block> {
                let bytes = |id: BufferId| plan.buffers[id.0 as usize].bytes();
                ids.map(|id| Block { address: Address(0), bytes: bytes(id) }).collect()
            };
            let kernel = &plan.launches[at].kernel;
            let (reads, writes) = (blocks(&mut kernel.reads()), blocks(&mut kernel.writes()));
            prepared.signature(at).launch(&reads, &writes, scalars).ok()?;
            steps.push(Step { executable, inputs: inputs.clone(), outputs: outputs.clone() });
        }
        backend.sequence(&steps, &chain.inside).ok().flatten().map(Some)
    }

    fn run_sequence(
        &self,
        device: Device,
        sequence: &dyn Sequence,
        prepared: &Prepared,
        chain: &Chain,
        buffers: &mut [Option<Arc<Buffer>>],
        scalars: &[Scalar],
    ) -> Result<bool> {
        for at in 0..chain.places.len() {
            prepared.signature(at).check_scalars(scalars)?;
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
        if !sequence.run(&blocks, scalars)? {
            return Ok(false);
        }
        for (id, buffer) in made {
            buffers[id.0 as usize] = Some(buffer);
        }
        drop(pins);
        self.stats().replayed(chain.places.len());
        self.machine().tell(device);
        Ok(true)
    }
}
