//! A CUDA device as a backend of the runtime.
//!
//! Everything a plan queues goes to one stream in order: allocations, launches and frees. The host waits only for
//! bytes it asked for. A device that reports a sticky error is retired: every later call is refused with that reason,
//! and the executor computes on the host instead.

#![allow(unsafe_code)]

use std::{
    path::PathBuf,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use crossover_plan::kernel::Kernel;
use crossover_runtime::{
    Address, Backend, Block, Coming, DeviceMemory, Error, Executable, HostMemory, KernelRecord, Landing,
    Result, Sequence, Step, Stream, Streamed, Underway,
    memory::{Account, Limits},
    trace::Timing,
};
use parking_lot::Mutex;

use crate::{
    CompilerCounts, Gpu, KernelCache, MemoryUse,
    blas::Blas,
    blocks::Blocks,
    calls,
    compiler::Compiler,
    crew::Direction,
    kernel::{ComingKernel, CudaKernel},
    peer::Peers,
    queue::Lane,
    sequence::{CudaSequence, Sequences},
    stream,
    transfer::{SMALL, Transfers},
    underway::{Flight, Staged},
};

/// Where blocks of no bytes are.
const NOWHERE: u64 = 256;

/// The parts of a device that has been opened.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) gpu: Gpu,
    /// What generated kernels may use.
    limits: crossover_codegen::Limits,
    pub(crate) transfers: Transfers,
    peers: Peers,
    blocks: Blocks,
    pub(crate) compiler: Arc<Compiler>,
    /// Plans that repeat.
    pub(crate) sequences: Sequences,
    blas: OnceLock<crate::Result<Blas>>,
    pub(crate) libraries: calls::Libraries,
    /// Whether products in f32 may round their operands.
    pub(crate) tf32: bool,
    /// Whether ways to multiply are tried out.
    trials: bool,
    is_lost: AtomicBool,
    /// Why it is lost.
    reason: Mutex<String>,
}

impl Open {
    fn new(options: &CudaBackend) -> crate::Result<Open> {
        let (tf32, trials) = (options.tf32, options.trials);
        let (ordinal, folder, limits) = (options.ordinal, options.folder.clone(), options.limits);
        let gpu = Gpu::open(ordinal)?;
        gpu.limit(limits)?;
        let disk = folder.map(KernelCache::new);
        let compiler = Arc::new(Compiler::new(&gpu, disk));
        let (transfers, peers) =
            (Transfers::new(&gpu, crossover_runtime::Device(ordinal as usize + 1)), Peers::default());
        let blocks = Blocks::default();
        let (blas, is_lost, reason) = (OnceLock::new(), AtomicBool::new(false), Mutex::default());
        let libraries = calls::Libraries::default();
        let (limits, sequences) = (gpu.limits(), Sequences::default());
        Ok(Open {
            gpu,
            limits,
            transfers,
            peers,
            blocks,
            compiler,
            sequences,
            blas,
            libraries,
            tf32,
            trials,
            is_lost,
            reason,
        })
    }

    /// The library of matrix products, opened by the first.
    pub(crate) fn blas(&self) -> crate::Result<&Blas> {
        let open = || self.gpu.bind().and_then(|()| Blas::open(self.trials));
        self.blas.get_or_init(open).as_ref().map_err(crate::Error::clone)
    }

    fn error(&self, during: &'static str, reason: String) -> Error {
        Error::Device { device: self.gpu.name().to_string(), during, reason }
    }

    /// Refuses a retired device.
    pub(crate) fn check(&self, during: &'static str) -> Result<()> {
        if !self.is_lost.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(self.error(during, format!("it was retired after an earlier error: {}", self.reason.lock())))
    }

    /// The runtime's form of an error; a sticky one retires the device.
    pub(crate) fn failed(&self, during: &'static str, error: crate::Error) -> Error {
        if error.is_sticky() {
            *self.reason.lock() = error.to_string();
            self.is_lost.store(true, Ordering::Relaxed);
        }
        self.error(during, error.to_string())
    }

    /// As `failed`, for what another device may be able to do.
    pub(crate) fn refused(&self, during: &'static str, error: crate::Error) -> Error {
        match error {
            crate::Error::Driver { .. } => self.failed(during, error),
            other => Error::Unsupported { device: self.gpu.name().to_string(), what: other.to_string() },
        }
    }

    /// Memory for kernels, from what was freed last or from the pool, as far as the budget allows; cached memory is given back if
    /// there is too little.
    pub(crate) fn take(&self, bytes: usize) -> Result<u64> {
        let size = Blocks::size(bytes);
        if let Some(address) = self.blocks.take(bytes) {
            self.account(|account| account.reused(size as u64));
            return Ok(address);
        }
        self.take_counted(bytes, size, || self.gpu.take(size, Lane::Compute))
    }

    /// Counts an allocation and makes it.
    fn take_counted(&self, bytes: usize, size: usize, make: impl Fn() -> crate::Result<u64>) -> Result<u64> {
        let full = |error: &crate::Error| matches!(error, crate::Error::Driver { code: 2, .. });
        let failed = |error| self.failed("allocating", error);
        for again in [false, true] {
            if let Some(budget) = self.gpu.budget()
                && !budget.admit(&self.gpu, size, || self.empty()).map_err(failed)?
            {
                break;
            }
            match make() {
                Ok(address) => {
                    self.account(|account| account.made(size as u64));
                    return Ok(address);
                }
                Err(error) => {
                    self.account(|account| account.unmade(size as u64));
                    if !full(&error) {
                        return Err(failed(error));
                    }
                }
            }
            if !again {
                // Others may have taken what the budget would have allowed.
                self.empty();
                let _ = self.trim();
            }
        }
        let used = self.gpu.memory().unwrap_or_default();
        let room = self.gpu.budget().map_or(u64::MAX, |budget| budget.account.room());
        Err(Error::OutOfMemory {
            device: self.gpu.name().to_string(),
            requested: bytes as u64,
            free: used.free.min(room),
            reserved: used.reserved,
            largest: used.free.min(room),
        })
    }

    /// Memory that a copy from the host takes and fills.
    fn received(&self, bytes: usize, copy: impl Fn() -> crate::Result<u64>) -> Result<u64> {
        self.take_counted(bytes, Blocks::size(bytes), copy).map_err(|error| match error {
            Error::Device { device, reason, .. } => Error::Device { device, during: "copying to it", reason },
            other => other,
        })
    }

    fn account(&self, note: impl FnOnce(&Account)) {
        if let Some(budget) = self.gpu.budget() {
            note(&budget.account);
        }
    }

    /// Gives cached memory of the driver's pool back, once everything queued has passed.
    fn trim(&self) -> crate::Result<()> {
        self.gpu.wait_and_trim(self.gpu.budget().map_or(0, |budget| budget.kept(0)))
    }

    /// Gives the driver back what is kept beside its pool.
    fn empty(&self) {
        self.sequences.clear();
        for address in self.blocks.drain() {
            let _ = self.gpu.give(address, Lane::Compute);
        }
    }

    /// Takes memory back once kernels queued so far have passed.
    pub(crate) fn give(&self, address: u64, bytes: usize) {
        self.account(|account| account.kept(Blocks::size(bytes) as u64));
        if !self.blocks.keep(address, bytes) {
            // A retired device has nothing left to give back.
            let _ = self.gpu.give(address, Lane::Compute);
        }
    }
}

/// A CUDA device. Opened at its first use, so that naming one costs nothing.
///
/// ```
/// use crossover_cuda::CudaBackend;
/// use crossover_runtime::Backend;
/// let device = CudaBackend::new(0);
/// match device.open() {
///     Ok(()) => println!("{}", device.describe()),
///     Err(reason) => println!("computing on the CPU: {reason}"),
/// }
/// ```
#[derive(Debug)]
pub struct CudaBackend {
    ordinal: i32,
    name: String,
    folder: Option<PathBuf>,
    tf32: bool,
    trials: bool,
    limits: Limits,
    open: OnceLock<std::result::Result<Arc<Open>, crate::Error>>,
}

impl CudaBackend {
    /// The device with this number, counted as the driver does.
    pub fn new(ordinal: i32) -> CudaBackend {
        let (name, folder) = (format!("CUDA device {ordinal}"), KernelCache::usual_folder());
        let tf32 = std::env::var_os("CROSSOVER_TF32").is_some_and(|value| value == "1");
        let trials = std::env::var_os("CROSSOVER_MATMUL_TRIALS").is_none_or(|value| value != "0");
        let limits = Limits::default();
        CudaBackend { ordinal, name, folder, tf32, trials, limits, open: OnceLock::new() }
    }

    /// Keeps compiled kernels in this folder, or nowhere. Before the device is opened.
    pub fn cache(mut self, folder: Option<PathBuf>) -> CudaBackend {
        self.folder = folder;
        self
    }

    /// Whether products in f32 may round their operands to TF32, 10 bits of significand, which is several times as fast.
    /// Off unless `CROSSOVER_TF32=1`: f32 is exact. Before the device is opened.
    pub fn tf32(mut self, allowed: bool) -> CudaBackend {
        self.tf32 = allowed;
        self
    }

    /// Whether ways to multiply matrices of a new size are tried out, for some milliseconds: the fastest may be another one in
    /// the next run, with other bits. On unless `CROSSOVER_MATMUL_TRIALS=0`. Before the device is opened.
    pub fn matmul_trials(mut self, allowed: bool) -> CudaBackend {
        self.trials = allowed;
        self
    }

    /// How much of the device's memory may be used. Before the device is opened.
    pub fn limits(mut self, limits: Limits) -> CudaBackend {
        self.limits = limits;
        self
    }

    /// How many devices the kernel driver shows, looking at files alone: no library is loaded.
    pub fn visible() -> usize {
        // The control device is there whenever the kernel driver is; without it there is nothing to count.
        if std::fs::metadata("/dev/nvidiactl").is_err() {
            // The Windows subsystem for Linux has one device for all GPUs.
            return std::fs::metadata("/dev/dxg").is_ok() as usize;
        }
        let is_gpu = |name: &str| {
            name.strip_prefix("nvidia")
                .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        let entries = std::fs::read_dir("/dev").into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_name().to_str().is_some_and(is_gpu)).count()
    }

    fn opened(&self) -> std::result::Result<&Arc<Open>, &crate::Error> {
        self.open.get_or_init(|| Open::new(self).map(Arc::new)).as_ref()
    }

    fn device(&self, during: &'static str) -> Result<&Arc<Open>> {
        let open = self.opened().map_err(|error| Error::Device {
            device: self.name.clone(),
            during: "opening it",
            reason: error.to_string(),
        })?;
        open.check(during)?;
        Ok(open)
    }

    /// Memory of the kernels' lane with a copy of these bytes.
    fn receive_small(&self, open: &Open, from: &[u8]) -> Result<Block> {
        let address = open.take(from.len())?;
        if let Err(error) = open.transfers.upload(from, address) {
            open.give(address, from.len());
            return Err(open.failed("copying to it", error));
        }
        Ok(Block { address: Address(address), bytes: from.len() })
    }

    /// Opens the device now, or says why it cannot be used.
    pub fn open(&self) -> crate::Result<()> {
        self.opened().map(drop).map_err(crate::Error::clone)
    }

    /// The device, for events and copies of its own.
    pub fn gpu(&self) -> crate::Result<&Gpu> {
        self.opened().map(|open| &open.gpu).map_err(crate::Error::clone)
    }

    /// Bytes in use and free.
    pub fn memory(&self) -> crate::Result<MemoryUse> {
        self.gpu()?.memory()
    }

    /// Waits for everything queued.
    pub fn synchronise(&self) -> Result<()> {
        const DURING: &str = "waiting for kernels";
        let open = self.device(DURING)?;
        let finished = open.gpu.finish(Lane::Up).and_then(|()| open.gpu.finish(Lane::Compute));
        finished.map_err(|error| open.failed(DURING, error))
    }

    /// CUDA's libraries with whether each can be used, and why not; opens all of them.
    pub fn libraries(&self) -> crate::Result<Vec<(&'static str, crate::Result<()>)>> {
        self.opened().map(|open| open.library_reasons()).map_err(crate::Error::clone)
    }

    /// What the compiler and its cache did since the device was opened.
    pub fn compiler(&self) -> CompilerCounts {
        self.opened().map(|open| open.compiler.counts()).unwrap_or_default()
    }
}

impl Backend for CudaBackend {
    fn name(&self) -> &str {
        match self.open.get() {
            Some(Ok(open)) => open.gpu.name(),
            _ => &self.name,
        }
    }

    fn describe(&self) -> String {
        match self.opened() {
            Err(reason) => format!("{}: {reason}", self.name),
            Ok(open) => {
                let (gpu, version) = (&open.gpu, open.gpu.driver_version());
                format!(
                    "{} ({}, {} multiprocessors, {:.0} GiB, driver for CUDA {}.{})",
                    gpu.name(),
                    gpu.architecture(),
                    gpu.multiprocessors(),
                    gpu.total_memory() as f64 / f64::from(1 << 30),
                    version / 1000,
                    version % 1000 / 10
                )
            }
        }
    }

    fn check(&self) -> Result<()> {
        self.device("opening it").map(drop)
    }

    fn missing(&self) -> Vec<String> {
        let lacks = |(name, state): (&str, crate::Result<()>)| {
            state.err().map(|reason| format!("without {name}: {reason}; the CPU does that work"))
        };
        self.libraries().map_or_else(|_| Vec::new(), |all| all.into_iter().filter_map(lacks).collect())
    }

    fn allocate(&self, bytes: usize) -> Result<Block> {
        let open = self.device("allocating")?;
        let address = if bytes == 0 { NOWHERE } else { open.take(bytes)? };
        Ok(Block { address: Address(address), bytes })
    }

    fn free(&self, block: Block) {
        // A forked child has no device to give anything to.
        let there = block.bytes > 0 && !crossover_runtime::is_forked();
        if let (Some(Ok(open)), true) = (self.open.get(), there) {
            open.give(block.address.0, block.bytes);
        }
    }

    fn is_lost(&self) -> bool {
        self.open
            .get()
            .is_some_and(|open| open.as_ref().is_ok_and(|open| open.is_lost.load(Ordering::Relaxed)))
    }

    fn timed(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Arc<dyn Timing>>> {
        let open = self.device("timing")?;
        let failed = |error| open.failed("timing", error);
        let begun = open.transfers.clock.begin(&open.gpu, Lane::Compute).map_err(failed)?;
        work()?;
        begun.end().map(Some).map_err(failed)
    }

    fn upload(&self, from: &[u8], to: Block) -> Result<()> {
        const DURING: &str = "copying to it";
        let open = self.device(DURING)?;
        if from.len() > to.bytes {
            let what = format!("an upload of {} bytes into a block of {}", from.len(), to.bytes);
            return Err(Error::Internal(what));
        }
        if from.is_empty() {
            return Ok(());
        }
        open.transfers.upload(from, to.address.0).map_err(|error| open.failed(DURING, error))
    }

    fn receive(&self, from: &[u8]) -> Result<Block> {
        const DURING: &str = "copying to it";
        let open = self.device(DURING)?;
        let address = match from.len() {
            0 => NOWHERE,
            // Small ones are in order with kernels anyway, and their memory is at hand.
            small if small <= SMALL => return self.receive_small(open, from),
            large => open.received(large, || open.transfers.receive(from))?,
        };
        Ok(Block { address: Address(address), bytes: from.len() })
    }

    fn receive_parts(&self, from: &[&[u8]]) -> Result<Block> {
        let open = self.device("copying to it")?;
        let bytes = from.iter().map(|part| part.len()).sum();
        let address = match bytes {
            0 => NOWHERE,
            small if small <= SMALL => return self.receive_small(open, &from.concat()),
            large => open.received(large, || open.transfers.receive_parts(from))?,
        };
        Ok(Block { address: Address(address), bytes })
    }

    unsafe fn begin_parts(&self, from: &[&[u8]]) -> Result<Option<(Block, Box<dyn Underway>)>> {
        const DURING: &str = "copying to it";
        let open = self.device(DURING)?;
        let bytes: usize = from.iter().map(|part| part.len()).sum();
        if bytes <= SMALL || open.transfers.crew(Direction::Up).is_none() {
            return Ok(None);
        }
        let size = Blocks::size(bytes);
        let address = open.received(bytes, || open.gpu.take(size, Lane::Up))?;
        // SAFETY: the caller's contract.
        match unsafe { open.transfers.begin_parts(from, address) } {
            Ok(Some(copying)) => {
                let block = Block { address: Address(address), bytes };
                Ok(Some((
                    block,
                    Box::new(Staged { open: open.clone(), copying: Some(copying), during: DURING }),
                )))
            }
            none => {
                open.give(address, bytes);
                none.map(|_| None).map_err(|error| open.failed(DURING, error))
            }
        }
    }

    unsafe fn begin_download(&self, from: Block, to: &mut [u8]) -> Result<Option<Box<dyn Underway>>> {
        const DURING: &str = "copying from it";
        let open = self.device(DURING)?;
        if to.len() <= SMALL || to.len() > from.bytes {
            return Ok(None);
        }
        // SAFETY: the caller's contract.
        let begun = unsafe { open.transfers.begin_download(from.address.0, to) };
        let begun = begun.map_err(|error| open.failed(DURING, error))?;
        let made = |copying| Staged { open: open.clone(), copying: Some(copying), during: DURING };
        Ok(begun.map(|copying| Box::new(made(copying)) as Box<dyn Underway>))
    }

    fn begin_landing(&self, from: Block) -> Result<Option<Box<dyn Landing>>> {
        const DURING: &str = "copying from it";
        let open = self.device(DURING)?;
        let begun = open.transfers.begin_landing(from.address.0, from.bytes);
        let begun = begun.map_err(|error| open.failed(DURING, error))?;
        Ok(begun.map(|(landed, mark)| {
            Box::new(Flight { open: open.clone(), landed: Some(landed), mark }) as Box<dyn Landing>
        }))
    }

    fn download(&self, from: Block, to: &mut [u8]) -> Result<()> {
        const DURING: &str = "copying from it";
        let open = self.device(DURING)?;
        if to.len() > from.bytes {
            let what = format!("a download of {} bytes from a block of {}", to.len(), from.bytes);
            return Err(Error::Internal(what));
        }
        if to.is_empty() {
            return Ok(());
        }
        open.transfers.download(from.address.0, to).map_err(|error| open.failed(DURING, error))
    }

    fn copy_from(&self, source: &dyn Backend, from: Block, to: Block, bytes: usize) -> Result<bool> {
        const DURING: &str = "copying from another block";
        let Some(source) = source.as_any().and_then(|any| any.downcast_ref::<CudaBackend>()) else {
            return Ok(false);
        };
        let (there, here) = (source.device(DURING)?, self.device(DURING)?);
        if bytes > from.bytes || bytes > to.bytes {
            let what =
                format!("a copy of {bytes} bytes from a block of {} to one of {}", from.bytes, to.bytes);
            return Err(Error::Internal(what));
        }
        if bytes > 0 && Arc::ptr_eq(there, here) {
            let copied = here.gpu.copy_within(from.address.0, to.address.0, bytes);
            copied.map_err(|error| here.failed(DURING, error))?;
        } else if bytes > 0 {
            let (from, to) = ((&there.gpu, from.address.0), (&here.gpu, to.address.0));
            here.peers.copy(from, to, bytes).map_err(|error| here.failed(DURING, error))?;
        }
        Ok(true)
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn pinned(&self, bytes: usize) -> Result<Option<Box<dyn HostMemory>>> {
        const DURING: &str = "reserving page-locked memory";
        let open = self.device(DURING)?;
        match open.transfers.pinned(bytes) {
            Ok(block) => Ok(Some(Box::new(block))),
            Err(error) => Err(open.failed(DURING, error)),
        }
    }

    fn finish(&self) -> Result<()> {
        self.synchronise()
    }

    fn finish_all(&self) -> Result<()> {
        const DURING: &str = "waiting for it";
        let open = self.device(DURING)?;
        open.gpu.synchronise_all().map_err(|error| open.failed(DURING, error))
    }

    fn queue(&self) -> Result<Option<u64>> {
        let open = self.device("naming its stream")?;
        Ok(Some(open.gpu.stream(Lane::Compute) as u64))
    }

    fn memory(&self) -> Option<DeviceMemory> {
        let Some(Ok(open)) = self.open.get() else { return None };
        let budget = open.gpu.budget()?;
        let used = budget.settle(&open.gpu).ok()?;
        Some(budget.account.stats(used.free + used.reserved.saturating_sub(used.live)))
    }

    fn account(&self) -> Option<&Account> {
        let Some(Ok(open)) = self.open.get() else { return None };
        open.gpu.budget().map(|budget| &budget.account)
    }

    fn trim(&self) -> Result<()> {
        const DURING: &str = "giving memory back";
        let open = self.device(DURING)?;
        open.empty();
        open.transfers.empty();
        let trimmed = open.trim();
        let settled = open.gpu.budget().map_or(Ok(()), |budget| budget.settle(&open.gpu).map(drop));
        trimmed.and(settled).map_err(|error| open.failed(DURING, error))
    }

    fn kernels(&self) -> Vec<KernelRecord> {
        match self.open.get() {
            Some(Ok(open)) => open.compiler.records(),
            _ => Vec::new(),
        }
    }

    fn begin(&self, kernel: &Kernel) -> Result<Option<Box<dyn Coming>>> {
        let open = self.device("making a kernel ready")?;
        let fused = match kernel {
            Kernel::Fused(fused) => fused,
            Kernel::Call(call) => return calls::begin(open, call),
        };
        let source = crossover_codegen::fused_within(fused, open.limits);
        let compilation = open.compiler.begin(&source.text);
        Ok(Some(Box::new(ComingKernel { open: open.clone(), kernel: fused.clone(), source, compilation })))
    }

    fn stream(&self, executable: &dyn Executable, mut work: Stream<'_>) -> Result<Option<Streamed>> {
        let open = self.device("running a kernel from host memory to host memory")?;
        let kernel = executable.as_any().and_then(|any| any.downcast_ref::<CudaKernel>());
        match kernel.and_then(|kernel| Some((kernel, kernel.pointwise.as_ref()?))) {
            Some((kernel, pointwise)) => stream::run(open, kernel, pointwise, &mut work),
            None => Ok(None),
        }
    }

    fn sequence(&self, steps: &[Step], inside: usize) -> Result<Option<Arc<dyn Sequence>>> {
        let made = CudaSequence::new(self.device("making a sequence of kernels")?, steps, inside)?;
        Ok(made.map(|sequence| sequence as Arc<dyn Sequence>))
    }

    fn prepare(&self, kernel: &Kernel) -> Result<Box<dyn Executable>> {
        match (self.begin(kernel)?, kernel) {
            (Some(coming), _) => coming.wait(),
            (None, Kernel::Call(call)) => calls::prepare(self.device("preparing a call")?, call),
            (None, Kernel::Fused(_)) => {
                Err(Error::Internal("a fused kernel that nobody compiles".to_string()))
            }
        }
    }
}
