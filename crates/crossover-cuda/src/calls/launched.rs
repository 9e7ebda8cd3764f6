//! A whole kernel of the user's, made ready: addresses and tensor maps in, launches on the queue.

#![allow(unsafe_code)]

use std::{any::Any, ffi::c_void, sync::Arc};

use crossover_core::custom::{Argument, Grid, Part, TensorMap};
use crossover_runtime::{Executable, Launch, Result};
use smallvec::SmallVec;

use crate::{
    Gpu, Module,
    backend::Open,
    compiler::Compilation,
    maps::Encoded,
    queue::Function,
    queued::{self, Addresses, Queued},
};

/// One launch.
#[derive(Debug)]
pub(super) struct Entry {
    function: Function,
    /// Blocks, threads per block, bytes of shared memory per block.
    grid: ([u32; 3], [u32; 3], u32),
    arguments: Vec<Argument>,
}

impl Entry {
    pub(super) fn new(function: Function, grid: &Grid, multiprocessors: usize) -> Entry {
        let narrow = |all: [usize; 3]| all.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let (blocks, threads) = (narrow(grid.blocks_on(multiprocessors)), narrow(grid.threads()));
        let grid_of = (blocks, threads, grid.shared_bytes() as u32);
        Entry { function, grid: grid_of, arguments: grid.arguments().to_vec() }
    }
}

/// The kernel.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(super) open: Arc<Open>,
    pub(super) entries: Vec<Entry>,
    /// Where each operand starts in its block.
    pub(super) offsets: SmallVec<[u64; 4]>,
    /// Bytes of scratch memory.
    pub(super) scratch: usize,
    /// Bytes of the result to be zeroed first.
    pub(super) zeroed: usize,
    pub(super) compilation: Arc<Compilation>,
    /// Keeps the functions valid.
    pub(super) _module: Arc<Module>,
}

impl Launched {
    /// Queues one launch. `addresses` are those of the operands, of the result and, if there is any, of the scratch memory.
    fn start(&self, gpu: &Gpu, entry: &Entry, addresses: &[u64]) -> crate::Result<()> {
        if entry.grid.0.contains(&0) {
            return Ok(());
        }
        let count = self.offsets.len();
        let address = |map: &TensorMap| match map.part() {
            Part::Operand(i) => addresses[i],
            Part::Result => addresses[count],
            Part::Scratch(at) => addresses[count + 1] + at as u64,
        };
        let mut values: SmallVec<[u64; 16]> = SmallVec::from_slice(addresses);
        let mut maps: SmallVec<[Encoded; 4]> = SmallVec::new();
        for argument in &entry.arguments {
            match argument {
                Argument::Integer(value) => values.push(*value as u64),
                Argument::Float(value) => values.push(u64::from(value.to_bits())),
                Argument::Map(map) => maps.push(Encoded::new(map, address(map))?),
                _ => {}
            }
        }
        let mut values = values.iter_mut();
        let mut pointers: SmallVec<[*mut c_void; 16]> =
            values.by_ref().take(addresses.len()).map(|value| std::ptr::from_mut(value).cast()).collect();
        let mut maps = maps.iter_mut();
        for argument in &entry.arguments {
            let pointer = match argument {
                Argument::Map(_) => maps.next().map(|map| std::ptr::from_mut(map).cast()),
                _ => values.next().map(|value| std::ptr::from_mut(value).cast()),
            };
            pointers.extend(pointer);
        }
        // SAFETY: the compiler has checked that the entry point takes these parameters; blocks are at least as large as the
        // shapes that the user's kernel was told, and are given back on this lane. What the kernel does with them is the
        // user's affair: one that writes elsewhere does to the device what any CUDA program can.
        unsafe { gpu.start_shaped(entry.function, entry.grid, &mut pointers) }
    }
}

impl Queued for Launched {
    fn scratch(&self) -> usize {
        self.scratch
    }

    fn queue(&self, gpu: &Gpu, addresses: &Addresses<'_>) -> crate::Result<()> {
        let output = addresses.outputs[0];
        let mut all: SmallVec<[u64; 8]> =
            addresses.inputs.iter().zip(&self.offsets).map(|(start, at)| start + at).collect();
        all.push(output);
        if self.scratch > 0 {
            all.push(addresses.scratch);
        }
        gpu.zero(output, self.zeroed)?;
        self.entries.iter().try_for_each(|entry| self.start(gpu, entry, &all))
    }

    fn launched(&self) {
        self.compilation.launched();
    }
}

impl Executable for Launched {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        queued::run(&self.open, "running a custom kernel", self, launch)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}
