//! A fused kernel that is compiled and loaded: addresses and scalars in, launches on the queue.

#![allow(unsafe_code)]

use std::{any::Any, ffi::c_void, sync::Arc};

use crossover_codegen::{Argument, Source};
use crossover_core::{DType, Scalar};
use crossover_plan::kernel::Fused;
use crossover_runtime::{Coming, Executable, Launch, Result};
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::{
    Gpu, Module,
    backend::Open,
    compiler::Compilation,
    launch::register,
    queue::Function,
    queued::{self, Addresses, Queued},
    stream::Pointwise,
};

/// One parameter of an entry point.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cell {
    /// Bytes behind the start of an input's block.
    Input(usize, u64),
    /// Bytes behind the start of an output's block.
    Output(usize, u64),
    /// Bytes behind the start of the scratch memory.
    Scratch(u64),
    /// A host scalar in the register form of a dtype.
    Scalar(usize, DType),
    /// The same at every launch.
    Fixed(u64),
}

/// One launch of an entry point.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) function: Function,
    /// Blocks, threads per block, bytes of shared memory per block.
    pub(crate) grid: (u32, u32, u32),
    pub(crate) cells: Vec<Cell>,
}

/// Scratch memory up to which it is worth keeping what never changes.
const KEPT: usize = 1 << 20;

/// What a kernel computes from nothing but its own text, such as a table: once is enough.
#[derive(Debug)]
struct Prologue {
    entries: usize,
    memory: Mutex<Option<u64>>,
}

impl Prologue {
    fn new(entries: &[Entry], scratch: usize) -> Prologue {
        let varies = |cell: &Cell| !matches!(cell, Cell::Scratch(_) | Cell::Fixed(_));
        let same = entries.iter().take_while(|entry| !entry.cells.iter().any(varies)).count();
        Prologue { entries: if scratch <= KEPT { same } else { 0 }, memory: Mutex::new(None) }
    }
}

/// A kernel made ready.
#[derive(Debug)]
pub(crate) struct CudaKernel {
    open: Arc<Open>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) scratch: usize,
    /// The entry points, from the first, that compute the same at every launch, and the scratch memory that holds it.
    prologue: Prologue,
    /// How it is run on parts, if it can be.
    pub(crate) pointwise: Option<Pointwise>,
    /// Where launches are counted.
    compilation: Arc<Compilation>,
    /// Keeps the functions of the entries valid.
    _module: Arc<Module>,
}

/// A kernel on its way through the compiler.
#[derive(Debug)]
pub(crate) struct ComingKernel {
    pub(crate) open: Arc<Open>,
    pub(crate) kernel: Fused,
    pub(crate) source: Source,
    pub(crate) compilation: Arc<Compilation>,
}

impl Coming for ComingKernel {
    fn is_ready(&self) -> bool {
        self.compilation.is_done()
    }

    fn wait(&self) -> Result<Box<dyn Executable>> {
        let made = (self.compilation.wait()).and_then(|module| {
            CudaKernel::new(&self.open, &self.kernel, &self.source, &self.compilation, module)
        });
        match made {
            Ok(kernel) => Ok(Box::new(kernel)),
            Err(error) => Err(self.open.refused("making a kernel ready", error)),
        }
    }
}

impl CudaKernel {
    fn new(
        open: &Arc<Open>,
        kernel: &Fused,
        source: &Source,
        compilation: &Arc<Compilation>,
        module: Arc<Module>,
    ) -> crate::Result<CudaKernel> {
        let mut entries = Vec::with_capacity(source.launches.len());
        for launch in &source.launches {
            if launch.blocks == 0 {
                continue;
            }
            let cell = |argument: &Argument| match *argument {
                Argument::Load(i) => {
                    let load = &kernel.loads[i as usize];
                    Cell::Input(i as usize, (load.window.offset * load.dtype.size()) as u64)
                }
                Argument::Store(i) => {
                    let store = &kernel.stores[i as usize];
                    Cell::Output(i as usize, (store.window.offset * store.dtype.size()) as u64)
                }
                Argument::Scratch(at) => Cell::Scratch(at as u64),
                Argument::Scalar(slot, dtype) => Cell::Scalar(slot as usize, dtype),
                // Little-endian: the lower half of the cell is the 32-bit value.
                Argument::Index(value) if source.wide => Cell::Fixed(value as u64),
                Argument::Index(value) => Cell::Fixed(value as i32 as u32 as u64),
            };
            let function = module.function(&launch.entry)?;
            // Kernels stride over the grid, so a grid that was cut still covers everything.
            let mut blocks = u32::try_from(launch.blocks).unwrap_or(i32::MAX as u32);
            if launch.shared > 0 {
                open.gpu.allow_shared(function, launch.shared)?;
                // Such blocks fill a multiprocessor and have much to set up.
                blocks = blocks.min(open.gpu.multiprocessors().max(1) as u32);
            }
            entries.push(Entry {
                function,
                grid: (blocks, launch.threads, launch.shared as u32),
                cells: launch.arguments.iter().map(cell).collect(),
            });
        }
        let (open, compilation) = (open.clone(), compilation.clone());
        let pointwise = Pointwise::new(kernel, &entries);
        let prologue = Prologue::new(&entries, source.scratch);
        let scratch = source.scratch;
        Ok(CudaKernel { open, entries, scratch, prologue, pointwise, compilation, _module: module })
    }

    /// Queues the kernel on `count` of its `points` points, whose operands and results start at these addresses.
    ///
    /// # Safety
    /// The kernel is pointwise, and so many points lie behind the addresses.
    pub(crate) unsafe fn queue_part(
        &self,
        inputs: &[u64],
        output: u64,
        count: usize,
        points: usize,
        scalars: &[Scalar],
    ) -> crate::Result<()> {
        for entry in &self.entries {
            let value = |cell: &Cell| match *cell {
                Cell::Input(i, at) => [inputs[i] + at, 0],
                Cell::Output(_, at) => [output + at, 0],
                Cell::Scratch(at) => [at, 0],
                Cell::Scalar(slot, dtype) => register(scalars[slot], dtype),
                // The one number is that of points.
                Cell::Fixed(_) => [count as u64, 0],
            };
            let mut values: SmallVec<[[u64; 2]; 24]> = entry.cells.iter().map(value).collect();
            let mut pointers: SmallVec<[*mut c_void; 24]> =
                values.iter_mut().map(|value| value.as_mut_ptr().cast()).collect();
            let (blocks, threads, shared) = entry.grid;
            let blocks = (u64::from(blocks) * count as u64).div_ceil(points.max(1) as u64).max(1) as u32;
            // SAFETY: the cells follow the parameters of the generated entry point, any grid will do, and the caller
            // knows that the points are there. Generated entry points wait for the launch before.
            unsafe { self.open.gpu.start_early(entry.function, (blocks, threads, shared), &mut pointers)? };
        }
        Ok(())
    }

    fn start(&self, gpu: &Gpu, entries: &[Entry], addresses: &Addresses<'_>) -> crate::Result<()> {
        let mut values: SmallVec<[[u64; 2]; 24]> = SmallVec::new();
        let mut pointers: SmallVec<[*mut c_void; 24]> = SmallVec::new();
        for entry in entries {
            values.clear();
            pointers.clear();
            values.extend(entry.cells.iter().map(|cell| match *cell {
                Cell::Input(i, at) => [addresses.inputs[i] + at, 0],
                Cell::Output(i, at) => [addresses.outputs[i] + at, 0],
                Cell::Scratch(at) => [addresses.scratch + at, 0],
                Cell::Scalar(slot, dtype) => register(addresses.scalars[slot], dtype),
                Cell::Fixed(value) => [value, 0],
            }));
            pointers.extend(values.iter_mut().map(|value| value.as_mut_ptr().cast::<c_void>()));
            // SAFETY: the cells follow the parameters of the generated entry point; the launch was checked against
            // the kernel, so every address it touches lies inside its blocks; blocks are given back on this lane.
            // Generated entry points wait for the launch before.
            unsafe { gpu.start_early(entry.function, entry.grid, &mut pointers)? };
        }
        Ok(())
    }
}

impl CudaKernel {
    /// Runs it with what its prologue has left; the first time, after the prologue.
    fn run_rest(&self, launch: &Launch<'_>) -> Result<()> {
        const DURING: &str = "running a kernel";
        let open = &self.open;
        open.check(DURING)?;
        open.gpu.bind().map_err(|e| open.failed(DURING, e))?;
        let inputs: SmallVec<[u64; 8]> = launch.inputs().iter().map(|block| block.address.0).collect();
        let outputs: SmallVec<[u64; 4]> = launch.outputs().iter().map(|block| block.address.0).collect();
        let (first, rest) = self.entries.split_at(self.prologue.entries);
        let start = |entries: &[Entry], scratch: u64| {
            let scalars = launch.scalars();
            let addresses = Addresses { inputs: &inputs, outputs: &outputs, scratch, scalars };
            self.start(&open.gpu, entries, &addresses)
        };
        // Held until everything is queued: whoever comes next finds the prologue before them on the lane.
        let mut memory = self.prologue.memory.lock();
        let scratch = match *memory {
            Some(scratch) => scratch,
            None => {
                let scratch = open.take(self.scratch)?;
                if let Err(error) = start(first, scratch) {
                    open.give(scratch, self.scratch);
                    return Err(open.failed(DURING, error));
                }
                *memory.insert(scratch)
            }
        };
        let queued = start(rest, scratch);
        self.compilation.launched();
        queued.map_err(|e| open.failed(DURING, e))
    }
}

impl Drop for CudaKernel {
    fn drop(&mut self) {
        if let Some(scratch) = self.prologue.memory.get_mut().take() {
            // In the order of the lane: launches that read it come first.
            self.open.give(scratch, self.scratch);
        }
    }
}

impl Queued for CudaKernel {
    fn scratch(&self) -> usize {
        self.scratch
    }

    fn queue(&self, gpu: &Gpu, addresses: &Addresses<'_>) -> crate::Result<()> {
        self.start(gpu, &self.entries, addresses)
    }

    fn launched(&self) {
        self.compilation.launched();
    }
}

impl Executable for CudaKernel {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        if self.prologue.entries > 0 && self.scratch > 0 {
            return self.run_rest(launch);
        }
        queued::run(&self.open, "running a kernel", self, launch)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}
