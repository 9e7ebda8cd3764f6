//! Generated kernels as nodes of a graph, whose parameters are changed one by one.

#![allow(unsafe_code)]

use std::ffi::c_void;

use crossover_runtime::{Place, Step};
use smallvec::SmallVec;

use super::Run;
use crate::{
    Gpu,
    graph::{Grid, KernelGraph},
    kernel::{Cell, CudaKernel},
    launch::register,
    queue::Function,
};

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

/// The kernels of a sequence.
#[derive(Debug)]
pub(super) struct Kernels {
    /// Made by the first run, which knows where everything is.
    graph: Option<KernelGraph>,
    /// Of the last run.
    last: Run,
    nodes: Vec<Node>,
}

impl Kernels {
    /// The nodes of steps that are all generated kernels; `None` if one is anything else. Memory of the sequence starts at
    /// `inside`, scratch memory at `scratch`.
    pub(super) fn new(steps: &[Step], inside: u64, scratch: u64) -> Option<Kernels> {
        let mut nodes = Vec::new();
        for step in steps {
            let kernel = step.executable.as_any()?.downcast_ref::<CudaKernel>()?;
            let at = |place: Place, bytes: u64| match place {
                Place::Given(i) => Parameter::Given(i, bytes),
                Place::Inside(start) => Parameter::Fixed(inside + start as u64 + bytes),
            };
            for entry in &kernel.entries {
                let parameter = |cell: &Cell| match *cell {
                    Cell::Input(i, bytes) => at(step.inputs[i], bytes),
                    Cell::Output(i, bytes) => at(step.outputs[i], bytes),
                    Cell::Scratch(bytes) => Parameter::Fixed(scratch + bytes),
                    Cell::Scalar(slot, dtype) => Parameter::Scalar(slot, dtype),
                    Cell::Fixed(value) => Parameter::Fixed(value),
                };
                let parameters = entry.cells.iter().map(parameter).collect();
                nodes.push(Node { function: entry.function, grid: entry.grid, parameters });
            }
        }
        Some(Kernels { graph: None, last: Run::default(), nodes })
    }

    pub(super) fn launch(&mut self, gpu: &Gpu, run: Run) -> crate::Result<()> {
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
                let mut graph = KernelGraph::new(gpu)?;
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
