//! A simulated accelerator: memory of its own that the host cannot touch, costs in virtual time, and faults on
//! request.
//!
//! Addresses it hands out are not host addresses: whoever forgets a transfer reads nothing, and is told so.
//! Kernels are executed by another backend on memory that only the simulation can reach, so results are real.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use crossover_plan::kernel::Kernel;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::{Address, Backend, Block, Error, Executable, Launch, Result};

/// What the device is like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimOptions {
    /// Bytes of device memory.
    pub capacity: usize,
    /// Nanoseconds to start a kernel.
    pub launch_ns: u64,
    /// Nanoseconds to start a copy.
    pub copy_ns: u64,
    /// Bytes per nanosecond between host and device.
    pub copy_rate: u64,
    /// Bytes per nanosecond between two such devices; `None` if their bytes go through the host.
    pub peer_rate: Option<u64>,
}

impl Default for SimOptions {
    fn default() -> SimOptions {
        SimOptions {
            capacity: 1 << 30,
            launch_ns: 3_600,
            copy_ns: 9_000,
            copy_rate: 55,
            peer_rate: Some(200),
        }
    }
}

/// Something that is to go wrong once, counted from now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The k-th allocation (from 0) fails.
    Allocation(u64),
    /// The k-th copy fails.
    Copy(u64),
    /// The k-th kernel fails before it writes anything.
    Kernel(u64),
}

#[derive(Debug, Default)]
struct Memory {
    blocks: FxHashMap<u64, Block>,
    used: usize,
    next: u64,
}

struct State {
    inner: Arc<dyn Backend>,
    options: SimOptions,
    memory: Mutex<Memory>,
    faults: Mutex<Vec<Fault>>,
    clock_ns: AtomicU64,
    peer_copies: AtomicU64,
    lost: AtomicBool,
}

/// The simulated accelerator.
#[derive(Clone)]
pub struct SimDevice {
    state: Arc<State>,
}

/// Where simulated addresses start: far outside anything a host maps.
const BASE: u64 = 0xD000_0000_0000_0000;

impl SimDevice {
    /// A device that computes with `inner`, which must be a host backend.
    pub fn new(inner: Arc<dyn Backend>, options: SimOptions) -> SimDevice {
        SimDevice {
            state: Arc::new(State {
                inner,
                options,
                memory: Mutex::new(Memory { next: BASE, ..Memory::default() }),
                faults: Mutex::new(Vec::new()),
                clock_ns: AtomicU64::new(0),
                peer_copies: AtomicU64::new(0),
                lost: AtomicBool::new(false),
            }),
        }
    }

    /// Plans a fault.
    pub fn inject(&self, fault: Fault) {
        self.state.faults.lock().push(fault);
    }

    /// Everything fails from now on, and all contents are gone.
    pub fn lose(&self) {
        self.state.lost.store(true, Ordering::SeqCst);
    }

    /// Virtual nanoseconds spent so far.
    pub fn clock_ns(&self) -> u64 {
        self.state.clock_ns.load(Ordering::Relaxed)
    }

    /// Copies that came straight from another such device.
    pub fn peer_copies(&self) -> u64 {
        self.state.peer_copies.load(Ordering::Relaxed)
    }

    /// Bytes allocated now.
    pub fn used(&self) -> usize {
        self.state.memory.lock().used
    }
}

impl State {
    fn failure(&self, during: &'static str, reason: &str) -> Error {
        Error::Device { device: "simulated".to_string(), during, reason: reason.to_string() }
    }

    fn check_lost(&self, during: &'static str) -> Result<()> {
        if self.lost.load(Ordering::SeqCst) {
            Err(self.failure(during, "the device was lost"))
        } else {
            Ok(())
        }
    }

    /// Counts down the faults of one kind; true when one is due.
    fn due(&self, pick: impl Fn(&mut Fault) -> Option<&mut u64>) -> bool {
        let mut hit = false;
        self.faults.lock().retain_mut(|fault| match pick(fault) {
            Some(0) => {
                hit = true;
                false
            }
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        });
        hit
    }

    fn inner_block(&self, block: Block) -> Result<Block> {
        let memory = self.memory.lock();
        memory.blocks.get(&block.address.0).copied().ok_or_else(|| {
            Error::Internal(format!("{:#x} is not an address of the simulated device", block.address.0))
        })
    }

    fn copied(&self, bytes: usize, rate: u64) -> Result<()> {
        self.check_lost("copying")?;
        if self.due(|f| if let Fault::Copy(k) = f { Some(k) } else { None }) {
            return Err(self.failure("copying", "injected fault"));
        }
        let ns = self.options.copy_ns + bytes as u64 / rate.max(1);
        self.clock_ns.fetch_add(ns, Ordering::Relaxed);
        Ok(())
    }
}

impl Backend for SimDevice {
    fn name(&self) -> &str {
        "simulated"
    }

    fn allocate(&self, bytes: usize) -> Result<Block> {
        let state = &self.state;
        state.check_lost("allocating")?;
        let full = |used: usize| Error::OutOfMemory {
            device: "simulated".to_string(),
            requested: bytes as u64,
            free: (state.options.capacity - used) as u64,
            reserved: used as u64,
        };
        let mut memory = state.memory.lock();
        if state.due(|f| if let Fault::Allocation(k) = f { Some(k) } else { None }) {
            return Err(full(memory.used));
        }
        if bytes > state.options.capacity - memory.used {
            return Err(full(memory.used));
        }
        let inner = state.inner.allocate(bytes)?;
        let address = memory.next;
        memory.next += (bytes as u64).next_multiple_of(64).max(64);
        memory.blocks.insert(address, inner);
        memory.used += bytes;
        Ok(Block { address: Address(address), bytes })
    }

    fn free(&self, block: Block) {
        let mut memory = self.state.memory.lock();
        if let Some(inner) = memory.blocks.remove(&block.address.0) {
            memory.used -= block.bytes;
            self.state.inner.free(inner);
        }
    }

    fn upload(&self, from: &[u8], to: Block) -> Result<()> {
        self.state.copied(from.len(), self.state.options.copy_rate)?;
        self.state.inner.upload(from, self.state.inner_block(to)?)
    }

    fn download(&self, from: Block, to: &mut [u8]) -> Result<()> {
        self.state.copied(to.len(), self.state.options.copy_rate)?;
        self.state.inner.download(self.state.inner_block(from)?, to)
    }

    fn copy_from(&self, source: &dyn Backend, from: Block, to: Block, bytes: usize) -> Result<bool> {
        let source = source.as_any().and_then(|any| any.downcast_ref::<SimDevice>());
        let (Some(source), Some(rate)) = (source, self.state.options.peer_rate) else { return Ok(false) };
        source.state.check_lost("copying")?;
        self.state.copied(bytes, rate)?;
        let mut moved = vec![0; bytes];
        source.state.inner.download(source.state.inner_block(from)?, &mut moved)?;
        self.state.inner.upload(&moved, self.state.inner_block(to)?)?;
        self.state.peer_copies.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn prepare(&self, kernel: &Kernel) -> Result<Box<dyn Executable>> {
        self.state.check_lost("preparing a kernel")?;
        let inner = self.state.inner.prepare(kernel)?;
        Ok(Box::new(SimKernel { state: self.state.clone(), inner }))
    }
}

struct SimKernel {
    state: Arc<State>,
    inner: Box<dyn Executable>,
}

impl Executable for SimKernel {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        self.state.check_lost("running a kernel")?;
        if self.state.due(|f| if let Fault::Kernel(k) = f { Some(k) } else { None }) {
            return Err(self.state.failure("running a kernel", "injected fault"));
        }
        let translate = |blocks: &[Block]| -> Result<SmallVec<[Block; 8]>> {
            blocks.iter().map(|b| self.state.inner_block(*b)).collect()
        };
        let (inputs, outputs) = (translate(launch.inputs())?, translate(launch.outputs())?);
        self.state.clock_ns.fetch_add(self.state.options.launch_ns, Ordering::Relaxed);
        self.inner.run(&launch.moved_to(&inputs, &outputs))
    }
}
