//! What a device must be able to do: hold bytes, move them, and run kernels.
//!
//! Backends see kernels and addresses, never arrays. All launches go through [`Launch::new`], which checks that
//! every address the kernel will touch lies inside the memory it is given; after that check a backend may index
//! without looking.
// Copies that are under way read and write memory that nobody here borrows.
#![allow(unsafe_code)]

use std::{
    any::Any,
    sync::Arc,
    time::{Duration, Instant},
};

use crossover_core::{DType, Scalar};
use crossover_plan::kernel::{Fused, Kernel, Load, Space, StepOp, Window};

use crate::{
    DeviceMemory, Error, KernelRecord, Result,
    memory::Account,
    replay::{Sequence, Step},
    stream::{Stream, Streamed},
    trace::Timing,
};

/// An address in the memory of one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address(pub u64);

/// Device memory as a backend hands it out; the buffer that owns it gives it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Where it starts; aligned to 64 bytes, or as its elements are where the memory is a mapped file's.
    pub address: Address,
    /// Usable bytes.
    pub bytes: usize,
}

/// A device with its own memory.
pub trait Backend: Send + Sync + 'static {
    /// Name for people: "CPU", "NVIDIA H200".
    fn name(&self) -> &str;
    /// What the device is, in one line; opens a device that is opened late.
    fn describe(&self) -> String {
        self.name().to_string()
    }
    /// Reserves memory with undefined contents.
    fn allocate(&self, bytes: usize) -> Result<Block>;
    /// Gives a block back. The caller guarantees that nothing uses it any more.
    fn free(&self, block: Block);
    /// Copies host bytes to the start of a block.
    fn upload(&self, from: &[u8], to: Block) -> Result<()>;
    /// Reserves memory with a copy of host bytes.
    fn receive(&self, from: &[u8]) -> Result<Block> {
        let block = self.allocate(from.len())?;
        match self.upload(from, block) {
            Ok(()) => Ok(block),
            Err(error) => {
                self.free(block);
                Err(error)
            }
        }
    }
    /// Reserves memory with a copy of host bytes that lie apart in parts of one length, one behind the other.
    fn receive_parts(&self, from: &[&[u8]]) -> Result<Block> {
        let block = self.allocate(from.iter().map(|part| part.len()).sum())?;
        let mut start = block.address.0;
        for part in from {
            if let Err(error) = self.upload(part, Block { address: Address(start), bytes: part.len() }) {
                self.free(block);
                return Err(error);
            }
            start += part.len() as u64;
        }
        Ok(block)
    }
    /// Starts to do what [`receive_parts`](Backend::receive_parts) does and does not wait for it. What is launched after the copy has been
    /// waited for comes after it. `None`, with nothing done, where that gains nothing.
    ///
    /// # Safety
    /// The host's bytes stay where and as they are until the copy has been waited for or dropped.
    unsafe fn begin_parts(&self, from: &[&[u8]]) -> Result<Option<(Block, Box<dyn Underway>)>> {
        let _ = from;
        Ok(None)
    }
    /// Copies the start of a block to host bytes.
    fn download(&self, from: Block, to: &mut [u8]) -> Result<()>;
    /// Starts to do what [`download`](Backend::download) does and does not wait for it. `None`, with nothing done, where that gains nothing.
    ///
    /// # Safety
    /// Nobody touches the host's bytes, and the block is not given back, until the copy has been waited for or dropped.
    unsafe fn begin_download(&self, from: Block, to: &mut [u8]) -> Result<Option<Box<dyn Underway>>> {
        let _ = (from, to);
        Ok(None)
    }
    /// Starts to copy a block to host memory that the device writes at the speed of the bus, and that it has at hand; `None`, with nothing
    /// done, where it has none. The block is not given back until the copy has been waited for or dropped.
    fn begin_landing(&self, from: Block) -> Result<Option<Box<dyn Landing>>> {
        let _ = from;
        Ok(None)
    }
    /// Copies bytes within the host's memory; both sides are equally long. Asked of the host only.
    fn copy(&self, from: &[u8], to: &mut [u8]) {
        to.copy_from_slice(from);
    }
    /// Copies the start of a block, of another device's or of this one's, to the start of one of this device's. False if the two
    /// cannot: then the host carries the bytes.
    fn copy_from(&self, source: &dyn Backend, from: Block, to: Block, bytes: usize) -> Result<bool> {
        let _ = (source, from, to, bytes);
        Ok(false)
    }
    /// The backend as its own type, for others of that type to copy from.
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        None
    }
    /// Host memory from which and to which the device copies at the speed of the bus; `None` where any memory is as good.
    /// Zeroed.
    fn pinned(&self, bytes: usize) -> Result<Option<Box<dyn HostMemory>>> {
        let _ = bytes;
        Ok(None)
    }
    /// Waits until everything queued has been done.
    fn finish(&self) -> Result<()> {
        Ok(())
    }
    /// Waits until everything on the device has been done, also what other libraries of the process have queued there.
    fn finish_all(&self) -> Result<()> {
        self.finish()
    }
    /// The handle of the queue of its kernels, for neighbours who put their own work in order with it; `None` where there is none.
    fn queue(&self) -> Result<Option<u64>> {
        Ok(None)
    }
    /// Runs work and says how long the device took for it, from when everything queued before was done until all of it is.
    fn measure(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
        self.finish()?;
        let start = Instant::now();
        work()?;
        self.finish()?;
        Ok(start.elapsed())
    }
    /// Runs work, and notes when the device begins and ends what it queues, without waiting for it. `None` where work is done
    /// when it returns.
    fn timed(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Arc<dyn Timing>>> {
        work()?;
        Ok(None)
    }
    /// How full its memory is; `None` where nobody counts. Opens nothing.
    fn memory(&self) -> Option<DeviceMemory> {
        None
    }
    /// Bytes that arrays hold now, and the most that they held at once; `None` where nobody counts. Takes nanoseconds.
    fn held(&self) -> Option<(u64, u64)> {
        self.account().map(|account| (account.live(), account.peak()))
    }
    /// Whether the device was lost, with everything on it. Opens nothing.
    fn is_lost(&self) -> bool {
        false
    }
    /// The account of its memory; `None` where nobody counts, or the device has not been opened.
    fn account(&self) -> Option<&Account> {
        None
    }
    /// Whether there is room for so many bytes of host memory that are no block of its; the error of an allocation if not. Asked of the
    /// host only.
    fn admit(&self, bytes: usize) -> Result<()> {
        let _ = bytes;
        Ok(())
    }
    /// Gives memory back that was freed and kept, once work that still uses it has passed.
    fn trim(&self) -> Result<()> {
        Ok(())
    }
    /// The kernels made ready so far, for people who want to know; empty where nothing is compiled.
    fn kernels(&self) -> Vec<KernelRecord> {
        Vec::new()
    }
    /// Whether blocks are host memory that the host may read and write through their address.
    fn is_host(&self) -> bool {
        false
    }
    /// Whether the device can be used, or why not: it is missing, or was lost. Opens a device that is opened late.
    fn check(&self) -> Result<()> {
        Ok(())
    }
    /// What the device leaves to the host for want of a library, one line each; opens a device that is opened late.
    fn missing(&self) -> Vec<String> {
        Vec::new()
    }
    /// Makes a kernel ready to run. Called once per plan; the result is cached with it.
    fn prepare(&self, kernel: &Kernel) -> Result<Box<dyn Executable>>;
    /// Starts to make a kernel ready without waiting for it; `None` where that takes no time worth speaking of.
    fn begin(&self, kernel: &Kernel) -> Result<Option<Box<dyn Coming>>> {
        let _ = kernel;
        Ok(None)
    }
    /// Runs a kernel that this backend has made ready from host memory to host memory, part by part, so that copies both
    /// ways and the kernel run side by side. `None`, with nothing done, where that cannot be.
    fn stream(&self, executable: &dyn Executable, work: Stream<'_>) -> Result<Option<Streamed>> {
        let _ = (executable, work);
        Ok(None)
    }
    /// Kernels that this backend has made ready, to be started together from now on; `inside` are the bytes of the
    /// memory between them. `None` where that cannot be or gains nothing.
    fn sequence(&self, steps: &[Step], inside: usize) -> Result<Option<Arc<dyn Sequence>>> {
        let _ = (steps, inside);
        Ok(None)
    }
}

/// A copy that a device has been asked for. Dropped, it is waited for.
pub trait Underway: Send {
    /// Waits until all bytes are there.
    fn wait(self: Box<Self>) -> Result<()>;
}

/// A copy into host memory of the device's. Dropped, it is waited for.
pub trait Landing: Send {
    /// The memory, once all bytes are there; whoever drops it gives it back.
    fn wait(self: Box<Self>) -> Result<Arc<dyn AsRef<[u8]> + Send + Sync>>;
}

/// Host memory that belongs to a device's driver.
pub trait HostMemory: Send + Sync {
    /// The bytes.
    fn bytes(&self) -> &[u8];
    /// The bytes, to be written.
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// A kernel that is being made ready.
pub trait Coming: Send + Sync {
    /// Whether waiting would take no time.
    fn is_ready(&self) -> bool;
    /// The kernel, once it is ready.
    fn wait(&self) -> Result<Box<dyn Executable>>;
}

/// A kernel made ready by a backend.
pub trait Executable: Send + Sync {
    /// Runs it to completion, or queues it in order behind everything queued before.
    fn run(&self, launch: &Launch<'_>) -> Result<()>;
    /// As [`run`](Executable::run), of operands whose first axis is a list of blocks that lie apart: entries of equal size, one list per
    /// operand, which the caller has checked. False, with nothing done, where that cannot be.
    fn run_apart(&self, inputs: &[&[Block]], output: Block) -> Result<bool> {
        let _ = (inputs, output);
        Ok(false)
    }
    /// The kernel as the backend that made it knows it, for [`Backend::sequence`]; `None` if it is only ever run.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}

/// The arguments of one run, checked against the kernel.
#[derive(Debug)]
pub struct Launch<'a> {
    inputs: &'a [Block],
    outputs: &'a [Block],
    scalars: &'a [Scalar],
}

impl<'a> Launch<'a> {
    /// Checks arity, lengths and scalar dtypes.
    ///
    /// `inputs` has one block per load (or operand), `outputs` one per store (or the one output), `scalars` all
    /// host scalars of the plan.
    pub fn new(
        kernel: &Kernel,
        inputs: &'a [Block],
        outputs: &'a [Block],
        scalars: &'a [Scalar],
    ) -> Result<Launch<'a>> {
        Signature::new(kernel).launch(inputs, outputs, scalars)
    }

    /// The same launch on blocks of equal size elsewhere.
    pub(crate) fn moved_to<'b>(&self, inputs: &'b [Block], outputs: &'b [Block]) -> Launch<'b>
    where
        'a: 'b,
    {
        Launch { inputs, outputs, scalars: self.scalars }
    }

    /// One block per load or operand.
    pub fn inputs(&self) -> &'a [Block] {
        self.inputs
    }

    /// One block per store, or the output of a call.
    pub fn outputs(&self) -> &'a [Block] {
        self.outputs
    }

    /// Host scalars of the plan.
    pub fn scalars(&self) -> &'a [Scalar] {
        self.scalars
    }
}

/// What a kernel asks of its arguments; made once per plan.
#[derive(Debug, Clone)]
pub struct Signature {
    /// Bytes each input must have at least.
    inputs: Vec<usize>,
    /// Bytes each output must have at least.
    outputs: Vec<usize>,
    /// Slots of host scalars, with the dtype they are held in.
    scalars: Vec<(u16, DType)>,
}

impl Signature {
    /// The signature of a kernel.
    pub fn new(kernel: &Kernel) -> Signature {
        match kernel {
            Kernel::Fused(k) => Signature {
                inputs: k.loads.iter().map(|l| load_bytes(k, l)).collect(),
                outputs: k.stores.iter().map(|s| window_bytes(&k.space, &s.window, s.dtype)).collect(),
                scalars: scalar_slots(k),
            },
            Kernel::Call(c) => Signature {
                inputs: c.operands.iter().map(|o| o.layout.extent().1 * o.dtype.size()).collect(),
                outputs: vec![c.layout.extent().1 * c.dtype.size()],
                scalars: Vec::new(),
            },
        }
    }

    /// Checks arguments; see [`Launch::new`].
    pub fn launch<'a>(
        &self,
        inputs: &'a [Block],
        outputs: &'a [Block],
        scalars: &'a [Scalar],
    ) -> Result<Launch<'a>> {
        check("input", &self.inputs, inputs)?;
        check("output", &self.outputs, outputs)?;
        self.check_scalars(scalars)?;
        Ok(Launch { inputs, outputs, scalars })
    }

    /// Checks that the host scalars of a kernel are there, with the dtypes it wants.
    pub(crate) fn check_scalars(&self, scalars: &[Scalar]) -> Result<()> {
        for &(slot, dtype) in &self.scalars {
            match scalars.get(slot as usize) {
                Some(value) if value.dtype().compute() == dtype => {}
                Some(value) => {
                    let what = format!("scalar {slot} is {}, the kernel wants {dtype}", value.dtype());
                    return Err(Error::Internal(what));
                }
                None => {
                    return Err(Error::Internal(format!("scalar {slot} of {} is missing", scalars.len())));
                }
            }
        }
        Ok(())
    }
}

/// Bytes a load must have; the key of a random step is two words, and what is looked up has all its entries.
fn load_bytes(kernel: &Fused, load: &Load) -> usize {
    let position = kernel.loads.iter().position(|l| std::ptr::eq(l, load));
    let is_key = kernel
        .steps
        .iter()
        .any(|s| matches!(s.op, StepOp::Random { key, .. } if Some(key as usize) == position));
    if is_key {
        return (load.window.offset + 2) * load.dtype.size();
    }
    // The window of a load that is looked up is that of its first entry.
    let entries = kernel.steps.iter().find_map(|s| match s.op {
        StepOp::Take { from, stride, length, .. } if Some(from as usize) == position => {
            Some(stride * length.saturating_sub(1))
        }
        _ => None,
    });
    match window_bytes(&kernel.space, &load.window, load.dtype) {
        0 => 0,
        bytes => bytes + entries.unwrap_or(0) * load.dtype.size(),
    }
}

fn scalar_slots(kernel: &Fused) -> Vec<(u16, DType)> {
    kernel
        .steps
        .iter()
        .filter_map(|s| if let StepOp::Scalar(slot) = s.op { Some((slot, s.dtype)) } else { None })
        .collect()
}

/// Bytes a window spans. Only an empty axis that it varies along makes it empty: a reduced value of an empty row is
/// still one value.
fn window_bytes(space: &Space, window: &Window, dtype: DType) -> usize {
    let mut last = window.offset;
    for (&n, &stride) in space.dims().iter().zip(&window.strides) {
        match n {
            0 if stride != 0 => return 0,
            0 => {}
            _ => last += ((n as isize - 1) * stride).max(0) as usize,
        }
    }
    (last + 1) * dtype.size()
}

fn check(what: &str, needed: &[usize], blocks: &[Block]) -> Result<()> {
    if needed.len() != blocks.len() {
        return Err(Error::Internal(format!("{} {what}s for a kernel with {}", blocks.len(), needed.len())));
    }
    for (i, (&bytes, block)) in needed.iter().zip(blocks).enumerate() {
        if block.bytes < bytes {
            return Err(Error::Internal(format!(
                "{what} {i} has {} bytes, the kernel touches {bytes}",
                block.bytes
            )));
        }
    }
    Ok(())
}
