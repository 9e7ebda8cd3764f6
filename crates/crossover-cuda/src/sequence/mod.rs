//! Plans that repeat, as CUDA graphs.
//!
//! The memory between kernels belongs to the sequence and stays where it is. Of generated kernels only those that touch what
//! comes in or goes out get new parameters before a launch, and only if it is elsewhere than the time before; sequences with
//! calls are noted once for each set of blocks. Launches follow one another on the lane of kernels, so a run never finds that
//! memory in use.

mod calls;
mod kernels;

use std::sync::{
    Arc, Weak,
    atomic::{AtomicU64, Ordering},
};

use crossover_core::Scalar;
use crossover_runtime::{Block, Error, Place, Result, Sequence, Step};
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::{backend::Open, queued};
use calls::Calls;
use kernels::Kernels;

/// Sequences of a device at most; the one that was used least recently makes room.
const MOST: usize = 64;
/// Memory between kernels is cut at multiples of this.
const ALIGNMENT: usize = 256;

/// The sequences of one device.
#[derive(Debug, Default)]
pub(crate) struct Sequences {
    list: Mutex<Vec<Weak<CudaSequence>>>,
    clock: AtomicU64,
}

impl Sequences {
    /// Takes sequences apart until there is room for another.
    fn make_room(&self, most: usize) {
        let mut list = self.list.lock();
        list.retain(|weak| weak.upgrade().is_some_and(|s| s.parts.lock().is_some()));
        while list.len() > most {
            let oldest = list.iter().enumerate().filter_map(|(i, weak)| Some((weak.upgrade()?, i)));
            let Some((sequence, at)) = oldest.min_by_key(|(s, _)| s.used.load(Ordering::Relaxed)) else {
                return;
            };
            list.swap_remove(at);
            drop(list);
            drop(sequence.parts.lock().take());
            list = self.list.lock();
        }
    }

    /// Gives the memory of all sequences back.
    pub(crate) fn clear(&self) {
        self.make_room(0);
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }
}

/// What a run names.
#[derive(Debug, Default, PartialEq)]
struct Run {
    given: SmallVec<[u64; 8]>,
    scalars: SmallVec<[Scalar; 8]>,
}

/// How a sequence is launched.
#[derive(Debug)]
enum Work {
    Kernels(Box<Kernels>),
    Calls(Calls),
}

/// What there is of a sequence that has not been taken apart.
#[derive(Debug)]
struct Parts {
    /// `None` once it is dropped.
    work: Option<Work>,
    /// Memory between kernels and their scratch memory: address and bytes.
    memory: (u64, usize),
    open: Arc<Open>,
}

impl Drop for Parts {
    fn drop(&mut self) {
        // Graphs before their memory, both in the order of the lane: what is queued passes first.
        self.work = None;
        if self.memory.1 > 0 {
            self.open.give(self.memory.0, self.memory.1);
        }
    }
}

/// Kernels made ready as one launch.
pub(crate) struct CudaSequence {
    parts: Mutex<Option<Parts>>,
    used: AtomicU64,
    open: Arc<Open>,
    /// Blocks that every run names.
    given: usize,
    /// What is launched, whose modules the graphs need and whose launches are counted. After the graphs.
    steps: Vec<Step>,
}

impl std::fmt::Debug for CudaSequence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CudaSequence({} kernels)", self.steps.len())
    }
}

impl CudaSequence {
    /// A sequence of what is queued on the lane of kernels, with `inside` bytes between; `None` if a step is anything else.
    pub(crate) fn new(open: &Arc<Open>, steps: &[Step], inside: usize) -> Result<Option<Arc<CudaSequence>>> {
        let Some(queued) = calls::queued(steps) else { return Ok(None) };
        // Kernels run one after the other, so the scratch memory of one is that of all.
        let scratch = queued.iter().map(|it| it.scratch()).max().unwrap_or(0);
        let start = inside.next_multiple_of(ALIGNMENT);
        let total = start + scratch;
        open.sequences.make_room(MOST - 1);
        let memory = if total > 0 { open.take(total)? } else { 0 };
        // Owns the memory from here on.
        let mut parts = Parts { work: None, memory: (memory, total), open: open.clone() };
        let scratch = memory + start as u64;
        parts.work = Some(match Kernels::new(steps, memory, scratch) {
            Some(kernels) => Work::Kernels(Box::new(kernels)),
            None => {
                let calls = Calls::new(&open.gpu, memory, scratch);
                Work::Calls(calls.map_err(|e| open.failed("making a sequence of kernels", e))?)
            }
        });
        let places = steps.iter().flat_map(|step| step.inputs.iter().chain(&step.outputs));
        let given =
            places.map(|place| if let Place::Given(i) = place { i + 1 } else { 0 }).max().unwrap_or(0);
        let sequence = Arc::new(CudaSequence {
            parts: Mutex::new(Some(parts)),
            used: AtomicU64::new(open.sequences.tick()),
            open: open.clone(),
            given,
            steps: steps.to_vec(),
        });
        open.sequences.list.lock().push(Arc::downgrade(&sequence));
        Ok(Some(sequence))
    }
}

impl Sequence for CudaSequence {
    fn run(&self, given: &[Block], scalars: &[Scalar]) -> Result<bool> {
        const DURING: &str = "running kernels together";
        let open = &self.open;
        open.check(DURING)?;
        open.gpu.bind().map_err(|e| open.failed(DURING, e))?;
        self.used.store(open.sequences.tick(), Ordering::Relaxed);
        let mut guard = self.parts.lock();
        let Some(work) = guard.as_mut().and_then(|parts| parts.work.as_mut()) else { return Ok(false) };
        if given.len() < self.given {
            let (count, needed) = (given.len(), self.given);
            return Err(Error::Internal(format!("a sequence of {needed} blocks was given {count}")));
        }
        let given = given.iter().map(|block| block.address.0).collect();
        let run = Run { given, scalars: scalars.iter().copied().collect() };
        let launched = match work {
            Work::Kernels(kernels) => kernels.launch(&open.gpu, run),
            Work::Calls(calls) => calls.launch(&open.gpu, &self.steps, run),
        };
        launched.map_err(|e| open.failed(DURING, e))?;
        for step in &self.steps {
            if let Some(it) = queued::of(&*step.executable) {
                it.launched();
            }
        }
        Ok(true)
    }
}
