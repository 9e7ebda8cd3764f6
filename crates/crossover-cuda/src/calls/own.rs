//! Programs that are compiled and loaded: addresses in, launches on the queue.

#![allow(unsafe_code)]

use std::{any::Any, ffi::c_void, sync::Arc};

use crossover_runtime::{Executable, Launch, Result};
use smallvec::SmallVec;

use super::program::{Cell, Program};
use crate::{
    Gpu, Module,
    backend::Open,
    compiler::Compilation,
    queue::Function,
    queued::{self, Addresses, Queued},
};

/// One launch.
#[derive(Debug)]
struct Entry {
    function: Function,
    blocks: u32,
    threads: u32,
    early: bool,
    cells: Vec<Cell>,
}

/// Steps of programs that are ready to be queued.
#[derive(Debug)]
pub(crate) struct Ready {
    entries: Vec<Entry>,
    /// Bytes of scratch; programs of one call use the same, one after another.
    pub(crate) scratch: usize,
    /// Where launches are counted.
    compilations: Vec<Arc<Compilation>>,
    /// Keeps the functions of the entries valid.
    _modules: Vec<Arc<Module>>,
}

impl Ready {
    /// Waits for the compilations.
    pub(crate) fn new(programs: &[(Program, Arc<Compilation>)]) -> crate::Result<Ready> {
        let (mut entries, mut modules, mut scratch) = (Vec::new(), Vec::new(), 0);
        for (program, compilation) in programs {
            let module = compilation.wait()?;
            for step in &program.steps {
                entries.push(Entry {
                    function: module.function(step.entry)?,
                    blocks: step.blocks,
                    threads: step.threads,
                    early: step.early,
                    cells: step.cells.clone(),
                });
            }
            scratch = scratch.max(program.scratch);
            modules.push(module);
        }
        let compilations = programs.iter().map(|(_, compilation)| compilation.clone()).collect();
        Ok(Ready { entries, scratch, compilations, _modules: modules })
    }

    /// Queues the launches of a range of steps.
    ///
    /// # Safety
    /// Addresses of inputs, of the result and of the scratch lead to the blocks that the programs were made for.
    pub(crate) unsafe fn queue(
        &self,
        gpu: &Gpu,
        range: std::ops::Range<usize>,
        inputs: &[u64],
        output: u64,
        scratch: u64,
    ) -> crate::Result<()> {
        let mut addresses: SmallVec<[u64; 24]> = SmallVec::new();
        let mut pointers: SmallVec<[*mut c_void; 24]> = SmallVec::new();
        for entry in &self.entries[range] {
            addresses.clear();
            pointers.clear();
            addresses.extend(entry.cells.iter().map(|cell| match cell {
                Cell::Input(i, at) => inputs[*i] + at,
                Cell::Output(at) => output + at,
                Cell::Scratch(at) => scratch + at,
                Cell::Value(_) => 0,
            }));
            for (cell, address) in entry.cells.iter().zip(&mut addresses) {
                pointers.push(match cell {
                    // The driver reads parameters only.
                    Cell::Value(words) => words.as_ptr().cast_mut().cast(),
                    _ => std::ptr::from_mut(address).cast(),
                });
            }
            // SAFETY: the cells follow the parameters of the entry point; the caller's contract for addresses, and
            // blocks are given back on this lane. What starts early waits for the launch before.
            unsafe {
                if entry.early {
                    let grid = (entry.blocks, entry.threads, 0);
                    gpu.start_early(entry.function, grid, &mut pointers)?;
                } else {
                    gpu.start(entry.function, entry.blocks, entry.threads, &mut pointers)?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// A call of our own kernels, made ready.
#[derive(Debug)]
pub(crate) struct OwnCall {
    open: Arc<Open>,
    ready: Ready,
}

impl OwnCall {
    pub(super) fn new(open: &Arc<Open>, programs: &[(Program, Arc<Compilation>)]) -> crate::Result<OwnCall> {
        Ok(OwnCall { open: open.clone(), ready: Ready::new(programs)? })
    }
}

impl Queued for OwnCall {
    fn scratch(&self) -> usize {
        self.ready.scratch
    }

    fn queue(&self, gpu: &Gpu, addresses: &Addresses<'_>) -> crate::Result<()> {
        let Addresses { inputs, outputs, scratch, .. } = *addresses;
        // SAFETY: the launch was checked against the call, so every element lies inside its block; indices are clamped or
        // looked at before they are used.
        unsafe { self.ready.queue(gpu, 0..self.ready.len(), inputs, outputs[0], scratch) }
    }

    fn launched(&self) {
        self.ready.compilations.iter().for_each(|compilation| compilation.launched());
    }
}

impl Executable for OwnCall {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        queued::run(&self.open, "running a call", self, launch)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}
