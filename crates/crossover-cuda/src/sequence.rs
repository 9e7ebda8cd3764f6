//! Plans that repeat, as CUDA graphs.
//!
//! The memory between kernels belongs to the sequence and stays where it is, so only kernels that touch what comes in
//! or goes out get new parameters before a launch, and only if it is elsewhere than the time before. Launches of one graph
//! follow one another on the lane of kernels, so a run never finds that memory in use.

#![allow(unsafe_code)]

use std::{
    ffi::c_void,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use crossover_core::Scalar;
use crossover_runtime::{Block, Error, Place, Result, Sequence, Step};
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::{
    backend::Open,
    graph::{Grid, KernelGraph},
    kernel::{Cell, CudaKernel},
    launch::register,
    queue::Function,
};

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

/// One parameter of a kernel.
#[derive(Debug, Clone, Copy)]
enum Parameter {
    /// Bytes behind the start of a block that every run names.
    Given(usize, u64),
    /// A host scalar.
    Scalar(usize, crossover_core::DType),
    /// The same at every launch.
    Fixed(u64),
}

/// A kernel of the graph.
#[derive(Debug)]
struct Node {
    function: Function,
    grid: Grid,
    parameters: Vec<Parameter>,
}

impl Node {
    /// Whether the parameters differ between two runs.
    fn differs(&self, before: &Run, now: &Run) -> bool {
        self.parameters.iter().any(|parameter| match *parameter {
            Parameter::Given(i, _) => before.given[i] != now.given[i],
            Parameter::Scalar(slot, _) => before.scalars[slot] != now.scalars[slot],
            Parameter::Fixed(_) => false,
        })
    }

    fn values(&self, run: &Run) -> SmallVec<[[u64; 2]; 24]> {
        let value = |parameter: &Parameter| match *parameter {
            Parameter::Given(i, at) => [run.given[i] + at, 0],
            Parameter::Scalar(slot, dtype) => register(run.scalars[slot], dtype),
            Parameter::Fixed(value) => [value, 0],
        };
        self.parameters.iter().map(value).collect()
    }
}

fn pointers(values: &mut [[u64; 2]]) -> SmallVec<[*mut c_void; 24]> {
    values.iter_mut().map(|value| value.as_mut_ptr().cast()).collect()
}

/// What a run names.
#[derive(Debug, Default, PartialEq)]
struct Run {
    given: SmallVec<[u64; 8]>,
    scalars: SmallVec<[Scalar; 8]>,
}

/// What there is of a sequence that has not been taken apart.
#[derive(Debug)]
struct Parts {
    /// Made by the first run, which knows where everything is. Before the kernels, whose modules it needs.
    graph: Option<KernelGraph>,
    /// Of the last run.
    last: Run,
    nodes: Vec<Node>,
    /// Memory between kernels: address and bytes.
    memory: (u64, usize),
    open: Arc<Open>,
}

impl Drop for Parts {
    fn drop(&mut self) {
        // The graph before its memory, both in the order of the lane: what is queued passes first.
        self.graph = None;
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
    /// The kernels, whose modules the graph needs and whose launches are counted. After the graph.
    steps: Vec<Step>,
}

impl std::fmt::Debug for CudaSequence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CudaSequence({} kernels)", self.steps.len())
    }
}

fn kernel(step: &Step) -> Option<&CudaKernel> {
    step.executable.as_any()?.downcast_ref::<CudaKernel>()
}

impl CudaSequence {
    /// A sequence of fused kernels; `None` if a step is anything else.
    pub(crate) fn new(
        open: &Arc<Open>,
        steps: &[Step],
        inside: &[usize],
    ) -> Result<Option<Arc<CudaSequence>>> {
        let mut total = 0;
        let mut reserve = |bytes: usize| {
            let at = total as u64;
            total += bytes.next_multiple_of(ALIGNMENT);
            at
        };
        let places: Vec<u64> = inside.iter().map(|&bytes| reserve(bytes)).collect();
        let mut kernels = Vec::with_capacity(steps.len());
        for step in steps {
            let Some(kernel) = kernel(step) else { return Ok(None) };
            kernels.push((kernel, step, reserve(kernel.scratch)));
        }
        open.sequences.make_room(MOST - 1);
        let memory = if total > 0 { open.take(total)? } else { 0 };
        let mut nodes = Vec::new();
        for (kernel, step, scratch) in kernels {
            let at = |place: Place, bytes: u64| match place {
                Place::Given(i) => Parameter::Given(i, bytes),
                Place::Inside(i) => Parameter::Fixed(memory + places[i] + bytes),
            };
            for entry in &kernel.entries {
                let parameter = |cell: &Cell| match *cell {
                    Cell::Input(i, bytes) => at(step.inputs[i], bytes),
                    Cell::Output(i, bytes) => at(step.outputs[i], bytes),
                    Cell::Scratch(bytes) => Parameter::Fixed(memory + scratch + bytes),
                    Cell::Scalar(slot, dtype) => Parameter::Scalar(slot, dtype),
                    Cell::Fixed(value) => Parameter::Fixed(value),
                };
                let parameters = entry.cells.iter().map(parameter).collect();
                nodes.push(Node { function: entry.function, grid: entry.grid, parameters });
            }
        }
        let (memory, last) = ((memory, total), Run::default());
        let parts = Parts { graph: None, last, nodes, memory, open: open.clone() };
        let sequence = Arc::new(CudaSequence {
            parts: Mutex::new(Some(parts)),
            used: AtomicU64::new(open.sequences.tick()),
            open: open.clone(),
            steps: steps.to_vec(),
        });
        open.sequences.list.lock().push(Arc::downgrade(&sequence));
        Ok(Some(sequence))
    }
}

impl Parts {
    fn launch(&mut self, run: Run) -> crate::Result<()> {
        match &mut self.graph {
            Some(graph) => {
                for (at, node) in self.nodes.iter().enumerate() {
                    if !node.differs(&self.last, &run) {
                        continue;
                    }
                    let mut values = node.values(&run);
                    let mut pointers = pointers(&mut values);
                    // SAFETY: the parameters follow those of the generated entry point, as when it was added.
                    if let Err(error) = unsafe { graph.change(at, node.function, node.grid, &mut pointers) } {
                        // Some kernels have been changed: the next run starts from nothing.
                        self.graph = None;
                        return Err(error);
                    }
                }
            }
            None => {
                let mut graph = KernelGraph::new(&self.open.gpu)?;
                for node in &self.nodes {
                    let mut values = node.values(&run);
                    let mut pointers = pointers(&mut values);
                    // SAFETY: the parameters follow those of the generated entry point; the sequence holds the kernels,
                    // and with them their modules, longer than the graph.
                    unsafe { graph.add(node.function, node.grid, &mut pointers)? };
                }
                graph.finish()?;
                self.graph = Some(graph);
            }
        }
        self.last = run;
        let Some(graph) = &mut self.graph else { return Ok(()) };
        // SAFETY: the executor checked every kernel against blocks of the sizes that runs name; memory between kernels
        // has the sizes it was asked for; all of it is given back on this lane.
        unsafe { graph.launch() }
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
        let Some(parts) = guard.as_mut() else { return Ok(false) };
        let missing = |(what, i): (&str, usize)| Error::Internal(format!("a sequence without {what} {i}"));
        for parameter in parts.nodes.iter().flat_map(|node| &node.parameters) {
            match *parameter {
                Parameter::Given(i, _) if i >= given.len() => return Err(missing(("block", i))),
                Parameter::Scalar(i, _) if i >= scalars.len() => return Err(missing(("scalar", i))),
                _ => {}
            }
        }
        let given = given.iter().map(|block| block.address.0).collect();
        let run = Run { given, scalars: scalars.iter().copied().collect() };
        parts.launch(run).map_err(|e| open.failed(DURING, e))?;
        for kernel in self.steps.iter().filter_map(kernel) {
            kernel.launched();
        }
        Ok(true)
    }
}
