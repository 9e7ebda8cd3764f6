//! A simulated machine: an accelerator with memory of its own that the host cannot touch, a host that is timed alike, costs in
//! virtual time, and faults on request.
//!
//! Addresses that the accelerator hands out are not host addresses: whoever forgets a transfer reads nothing, and is told so.
//! Kernels are executed by another backend on memory that only the simulation can reach, so results are real; a *hollow* device
//! computes nothing and only takes the time, for sizes that no test could fill.
#![allow(unsafe_code)]

use std::{
    collections::{BTreeMap, VecDeque},
    hash::{Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crossover_plan::{
    Work,
    kernel::{CallOp, Kernel},
};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use crate::{
    Address, Backend, Block, Device, DeviceMemory, DeviceProfile, Error, Executable, Landing, Launch, Result,
    Underway,
    memory::{Account, Admission, Limit, Limits},
    trace::{self, Moment, Queue, Timing},
};

/// What the device is like.
#[derive(Debug, Clone, PartialEq)]
pub struct SimOptions {
    /// Bytes of device memory.
    pub capacity: usize,
    /// How long kernels and copies take.
    pub profile: DeviceProfile,
    /// How far kernels are off what the profile says: a kind of kernel takes up to this many times as long, or as little.
    pub spread: f64,
    /// Bytes per nanosecond between two such devices; `None` if their bytes go through the host.
    pub peer_rate: Option<u64>,
    /// How much of the memory may be used.
    pub limits: Limits,
    /// Which device of its machine it is: where a session that records puts its copies.
    pub number: usize,
    /// Kernels and copies that have to follow before freed memory can be used again: work that is queued still uses it.
    pub lag: u64,
}

impl Default for SimOptions {
    fn default() -> SimOptions {
        SimOptions {
            capacity: 1 << 30,
            profile: DeviceProfile::assumed_gpu(),
            spread: 1.0,
            peer_rate: Some(200),
            limits: Limits { limit: Limit::Share(1.0), ..Limits::default() },
            number: 1,
            lag: 0,
        }
    }
}

/// Something that is to go wrong, counted from now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The k-th allocation (from 0) fails.
    Allocation(u64),
    /// The k-th copy fails.
    Copy(u64),
    /// The k-th kernel fails before it writes anything.
    Kernel(u64),
    /// The device is lost at the k-th kernel, with all contents.
    Loss(u64),
}

/// Virtual time, shared by the devices of a machine.
///
/// ```
/// use crossover_runtime::sim::Clock;
/// let clock = Clock::default();
/// clock.advance(1500.0);
/// assert_eq!(clock.nanoseconds(), 1500);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Clock {
    now: Arc<AtomicU64>,
}

impl Clock {
    /// Nanoseconds since the clock was made.
    pub fn nanoseconds(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// Lets time pass.
    pub fn advance(&self, nanoseconds: f64) {
        self.now.fetch_add(nanoseconds.max(0.0).round() as u64, Ordering::Relaxed);
    }

    fn measure(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
        let start = self.nanoseconds();
        work()?;
        Ok(Duration::from_nanos(self.nanoseconds() - start))
    }
}

/// How long a kernel takes on a device: what its profile says, and a bit off, always by the same factor.
fn kernel_time(options: &SimOptions, kernel: &Kernel) -> f64 {
    let work = Work::of(kernel, &[]);
    let mut hasher = FxHasher::default();
    options.profile.name.hash(&mut hasher);
    std::mem::discriminant(kernel).hash(&mut hasher);
    for term in &work.terms {
        (term.class, term.width).hash(&mut hasher);
    }
    let along = (hasher.finish() >> 11) as f64 / (1u64 << 53) as f64;
    let factor = options.spread.max(1.0).powf(2.0 * along - 1.0);
    let launch = options.profile.launch_ns;
    launch + (options.profile.time(&work) - launch) * factor
}

/// Where the bytes of a block really are; nowhere on a hollow device.
type Real = Option<Block>;

#[derive(Debug, Default)]
struct Memory {
    /// With their sizes.
    blocks: FxHashMap<u64, (Real, usize)>,
    used: usize,
    peak: usize,
    next: u64,
    /// Freed blocks that queued work may still use: since which operation, bytes, where.
    leaving: VecDeque<(u64, usize, Real)>,
    /// Freed blocks by size.
    cached: BTreeMap<usize, Vec<Real>>,
    cached_bytes: usize,
}

impl Memory {
    /// Bytes taken from the device.
    fn reserved(&self) -> usize {
        self.used + self.cached_bytes + self.leaving.iter().map(|(_, bytes, _)| bytes).sum::<usize>()
    }

    /// Freed blocks whose work has passed can be used again.
    fn pass(&mut self, operations: u64, lag: u64) {
        while self.leaving.front().is_some_and(|(since, ..)| since + lag <= operations) {
            let Some((_, bytes, real)) = self.leaving.pop_front() else { return };
            self.cached.entry(bytes).or_default().push(real);
            self.cached_bytes += bytes;
        }
    }

    fn take_cached(&mut self, bytes: usize) -> Option<Real> {
        let list = self.cached.get_mut(&bytes)?;
        let real = list.pop()?;
        if list.is_empty() {
            self.cached.remove(&bytes);
        }
        self.cached_bytes -= bytes;
        Some(real)
    }
}

struct State {
    inner: Option<Arc<dyn Backend>>,
    options: SimOptions,
    memory: Mutex<Memory>,
    account: Account,
    /// Kernels and copies so far.
    operations: AtomicU64,
    /// Faults to come; those marked happen from then on, not once.
    faults: Mutex<Vec<(Fault, bool)>>,
    clock: Clock,
    /// How many times slower everything is, as the bits of an `f64`.
    slowdown: AtomicU64,
    /// Bytes that other programs take.
    others: AtomicU64,
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
        SimDevice::made(Some(inner), options, Clock::default())
    }

    /// A device that computes nothing, and tells the time by a clock it shares.
    pub fn hollow(options: SimOptions, clock: Clock) -> SimDevice {
        SimDevice::made(None, options, clock)
    }

    fn made(inner: Option<Arc<dyn Backend>>, options: SimOptions, clock: Clock) -> SimDevice {
        SimDevice {
            state: Arc::new(State {
                inner,
                account: Account::new(options.capacity as u64, options.limits),
                operations: AtomicU64::new(0),
                options,
                memory: Mutex::new(Memory { next: BASE, ..Memory::default() }),
                faults: Mutex::new(Vec::new()),
                clock,
                slowdown: AtomicU64::new(1f64.to_bits()),
                others: AtomicU64::new(0),
                peer_copies: AtomicU64::new(0),
                lost: AtomicBool::new(false),
            }),
        }
    }

    /// Plans a fault that happens once.
    pub fn inject(&self, fault: Fault) {
        self.state.faults.lock().push((fault, false));
    }

    /// Plans a fault that happens again and again from then on, until [`heal`](SimDevice::heal).
    pub fn inject_always(&self, fault: Fault) {
        self.state.faults.lock().push((fault, true));
    }

    /// Takes back all faults that are planned.
    pub fn heal(&self) {
        self.state.faults.lock().clear();
    }

    /// Faults that are planned and have not happened yet, or happen again and again.
    pub fn planned_faults(&self) -> usize {
        self.state.faults.lock().len()
    }

    /// Everything fails from now on, and all contents are gone.
    pub fn lose(&self) {
        self.state.lost.store(true, Ordering::SeqCst);
    }

    /// Makes everything take this many times as long.
    pub fn slow_down(&self, factor: f64) {
        self.state.slowdown.store(factor.to_bits(), Ordering::Relaxed);
    }

    /// Lets other programs take this many bytes.
    pub fn occupy(&self, bytes: u64) {
        self.state.others.store(bytes, Ordering::Relaxed);
        self.state.settle(&self.state.memory.lock());
    }

    /// Virtual nanoseconds spent so far.
    pub fn clock_ns(&self) -> u64 {
        self.state.clock.nanoseconds()
    }

    /// Copies that came straight from another such device.
    pub fn peer_copies(&self) -> u64 {
        self.state.peer_copies.load(Ordering::Relaxed)
    }

    /// Bytes allocated now.
    pub fn used(&self) -> usize {
        self.state.memory.lock().used
    }

    /// Bytes taken from the device now: allocated, or freed and kept.
    pub fn reserved(&self) -> usize {
        self.state.memory.lock().reserved()
    }

    /// Most bytes that were taken from the device at once, freed ones that were kept included.
    pub fn peak(&self) -> usize {
        self.state.memory.lock().peak
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
        self.faults.lock().retain_mut(|(fault, always)| match pick(fault) {
            Some(0) => {
                hit = true;
                *always
            }
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        });
        hit
    }

    fn spend(&self, nanoseconds: f64) {
        self.clock.advance(nanoseconds * f64::from_bits(self.slowdown.load(Ordering::Relaxed)));
    }

    fn inner_block(&self, block: Block) -> Result<Option<Block>> {
        let memory = self.memory.lock();
        if let Some(&(whole, _)) = memory.blocks.get(&block.address.0) {
            return Ok(whole);
        }
        // A part of a block starts behind it.
        let address = block.address.0;
        let part = memory.blocks.iter().find_map(|(&start, &(real, bytes))| {
            let behind =
                address.checked_sub(start).filter(|&behind| behind as usize + block.bytes <= bytes)?;
            Some(real.map(|real| Block { address: Address(real.address.0 + behind), bytes: block.bytes }))
        });
        part.ok_or_else(|| Error::Internal(format!("{address:#x} is not an address of the simulated device")))
    }

    /// Spends the time of a copy, given the links to the host, or fails as it was told to.
    fn copied(&self, time: impl Fn(&crate::Links) -> f64) -> Result<()> {
        self.check_lost("copying")?;
        self.operations.fetch_add(1, Ordering::Relaxed);
        if self.due(|f| if let Fault::Copy(k) = f { Some(k) } else { None }) {
            return Err(self.failure("copying", "injected fault"));
        }
        if let Some(links) = &self.options.profile.links {
            self.spend(time(links));
        }
        Ok(())
    }

    /// Makes a copy, which a session that records is told about.
    fn watched(&self, purpose: &'static str, bytes: usize, copy: impl FnOnce() -> Result<()>) -> Result<()> {
        if !trace::is_on() {
            return copy();
        }
        let (moment, start) = (Moment::now(), Instant::now());
        copy()?;
        let device = Device(self.options.number);
        let way = if purpose == "up" { (Device::HOST, device) } else { (device, Device::HOST) };
        let timing: Arc<dyn Timing> = Arc::new(Done(start, Instant::now()));
        trace::transfer(moment, bytes as u64, way, Some((Queue { device, purpose }, Some(timing))));
        Ok(())
    }

    fn free(&self, reserved: usize) -> usize {
        let others = self.others.load(Ordering::Relaxed) as usize;
        self.options.capacity.saturating_sub(reserved).saturating_sub(others)
    }

    fn settle(&self, memory: &Memory) {
        let others = self.others.load(Ordering::Relaxed);
        let _ = self.account.settle(|| Ok::<_, Error>((memory.reserved() as u64, others)));
    }

    /// Gives cached blocks back to the device.
    fn drain(&self, memory: &mut Memory) {
        for (_, list) in std::mem::take(&mut memory.cached) {
            for real in list {
                if let (Some(backend), Some(real)) = (&self.inner, real) {
                    backend.free(real);
                }
            }
        }
        memory.cached_bytes = 0;
        self.settle(memory);
    }

    fn full(&self, memory: &Memory, bytes: usize) -> Error {
        let (free, most) = (self.free(memory.reserved()) as u64, self.account.most());
        let free = free.min(most.saturating_sub(memory.reserved() as u64));
        Error::OutOfMemory {
            device: "simulated".to_string(),
            requested: bytes as u64,
            free,
            reserved: memory.reserved() as u64,
            largest: free.max(memory.cached.keys().next_back().map_or(0, |&bytes| bytes as u64)),
        }
    }

    /// Memory from the cache, or from the device as far as there is any and the budget allows it.
    fn find(&self, memory: &mut Memory, bytes: usize) -> Result<Real> {
        memory.pass(self.operations.load(Ordering::Relaxed), self.options.lag);
        if let Some(real) = memory.take_cached(bytes) {
            self.account.reused(bytes as u64);
            return Ok(real);
        }
        let mut asked = self.account.ask(bytes as u64);
        if asked != Admission::Granted {
            self.settle(memory);
            asked = self.account.ask_settled(bytes as u64);
        }
        if asked != Admission::Granted && memory.cached_bytes > 0 {
            self.drain(memory);
            asked = self.account.ask_settled(bytes as u64);
        }
        if asked != Admission::Granted {
            return Err(self.full(memory, bytes));
        }
        if bytes > self.free(memory.reserved()) {
            self.account.unmade(bytes as u64);
            return Err(self.full(memory, bytes));
        }
        match self.inner.as_ref().map(|inner| inner.allocate(bytes)).transpose() {
            Ok(real) => {
                self.account.made(bytes as u64);
                Ok(real)
            }
            Err(error) => {
                self.account.unmade(bytes as u64);
                Err(error)
            }
        }
    }
}

/// Something that the device did at once, on the host's clock: virtual time is for decisions only.
struct Done(Instant, Instant);

impl Timing for Done {
    fn resolve(&self) -> Option<(Instant, Instant)> {
        Some((self.0, self.1))
    }
}

/// Bytes from which contents land in memory of the device's on their way to the host.
const LANDED: usize = 64 << 10;

/// A copy that was made at once.
struct Copied<T>(Result<T>);

impl Underway for Copied<()> {
    fn wait(self: Box<Self>) -> Result<()> {
        self.0
    }
}

impl Landing for Copied<Vec<u8>> {
    fn wait(self: Box<Self>) -> Result<Arc<dyn AsRef<[u8]> + Send + Sync>> {
        self.0.map(|bytes| Arc::new(bytes) as _)
    }
}

impl Backend for SimDevice {
    fn name(&self) -> &str {
        "simulated"
    }

    fn check(&self) -> Result<()> {
        self.state.check_lost("being asked")
    }

    fn allocate(&self, bytes: usize) -> Result<Block> {
        let state = &self.state;
        state.check_lost("allocating")?;
        let mut memory = state.memory.lock();
        if state.due(|f| if let Fault::Allocation(k) = f { Some(k) } else { None }) {
            return Err(state.full(&memory, bytes));
        }
        let real = state.find(&mut memory, bytes)?;
        let address = memory.next;
        memory.next += (bytes as u64).next_multiple_of(64).max(64);
        memory.blocks.insert(address, (real, bytes));
        memory.used += bytes;
        memory.peak = memory.peak.max(memory.reserved());
        Ok(Block { address: Address(address), bytes })
    }

    fn free(&self, block: Block) {
        let state = &self.state;
        let mut memory = state.memory.lock();
        let Some((real, _)) = memory.blocks.remove(&block.address.0) else { return };
        memory.used -= block.bytes;
        memory.leaving.push_back((state.operations.load(Ordering::Relaxed), block.bytes, real));
        state.account.kept(block.bytes as u64);
    }

    fn finish(&self) -> Result<()> {
        self.state.check_lost("waiting")?;
        self.state.memory.lock().pass(u64::MAX, 0);
        Ok(())
    }

    fn trim(&self) -> Result<()> {
        let mut memory = self.state.memory.lock();
        memory.pass(u64::MAX, 0);
        self.state.drain(&mut memory);
        Ok(())
    }

    fn account(&self) -> Option<&Account> {
        Some(&self.state.account)
    }

    fn upload(&self, from: &[u8], to: Block) -> Result<()> {
        let bytes = from.len();
        self.state.watched("up", bytes, || {
            self.state.copied(|links| links.up.time(bytes as u64))?;
            match (self.state.inner_block(to)?, &self.state.inner) {
                (Some(to), Some(inner)) => inner.upload(from, to),
                _ => Ok(()),
            }
        })
    }

    fn download(&self, from: Block, to: &mut [u8]) -> Result<()> {
        let bytes = to.len();
        self.state.watched("down", bytes, || {
            self.state.copied(|links| links.down.time(bytes as u64))?;
            match (self.state.inner_block(from)?, &self.state.inner) {
                (Some(from), Some(inner)) => inner.download(from, to),
                _ => Ok(()),
            }
        })
    }

    unsafe fn begin_parts(&self, from: &[&[u8]]) -> Result<Option<(Block, Box<dyn Underway>)>> {
        let block = self.allocate(from.iter().map(|part| part.len()).sum())?;
        let mut start = block.address.0;
        let mut copied = Ok(());
        for part in from {
            let to = Block { address: Address(start), bytes: part.len() };
            copied = copied.and_then(|()| self.upload(part, to));
            start += part.len() as u64;
        }
        // What goes wrong is told to whoever waits.
        Ok(Some((block, Box::new(Copied(copied)))))
    }

    unsafe fn begin_download(&self, from: Block, to: &mut [u8]) -> Result<Option<Box<dyn Underway>>> {
        Ok(Some(Box::new(Copied(self.download(from, to)))))
    }

    fn begin_landing(&self, from: Block) -> Result<Option<Box<dyn Landing>>> {
        if from.bytes < LANDED {
            return Ok(None);
        }
        let mut bytes = vec![0; from.bytes];
        let copied = self.download(from, &mut bytes);
        Ok(Some(Box::new(Copied(copied.map(|()| bytes)))))
    }

    fn timed(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Arc<dyn Timing>>> {
        let start = Instant::now();
        work()?;
        Ok(Some(Arc::new(Done(start, Instant::now()))))
    }

    fn is_lost(&self) -> bool {
        self.state.lost.load(Ordering::SeqCst)
    }

    fn measure(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
        self.state.clock.measure(work)
    }

    fn memory(&self) -> Option<DeviceMemory> {
        let memory = self.state.memory.lock();
        self.state.settle(&memory);
        let free = self.state.free(memory.reserved()) as u64;
        Some(self.state.account.stats(free))
    }

    fn copy_from(&self, source: &dyn Backend, from: Block, to: Block, bytes: usize) -> Result<bool> {
        let source = source.as_any().and_then(|any| any.downcast_ref::<SimDevice>());
        let (Some(source), Some(rate)) = (source, self.state.options.peer_rate) else { return Ok(false) };
        source.state.check_lost("copying")?;
        self.state.copied(|links| links.up.latency_ns + bytes as f64 / rate.max(1) as f64)?;
        let (there, here) = (source.state.inner_block(from)?, self.state.inner_block(to)?);
        if let (Some(from), Some(outer), Some(to), Some(inner)) =
            (there, &source.state.inner, here, &self.state.inner)
        {
            let mut moved = vec![0; bytes];
            outer.download(from, &mut moved)?;
            inner.upload(&moved, to)?;
        }
        self.state.peer_copies.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn prepare(&self, kernel: &Kernel) -> Result<Box<dyn Executable>> {
        self.state.check_lost("preparing a kernel")?;
        let inner = self.state.inner.as_ref().map(|inner| inner.prepare(kernel)).transpose()?;
        let nanoseconds = kernel_time(&self.state.options, kernel);
        Ok(Box::new(SimKernel { state: self.state.clone(), kernel: kernel.clone(), inner, nanoseconds }))
    }
}

struct SimKernel {
    state: Arc<State>,
    kernel: Kernel,
    inner: Option<Box<dyn Executable>>,
    nanoseconds: f64,
}

impl Executable for SimKernel {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        if self.state.due(|f| if let Fault::Loss(k) = f { Some(k) } else { None }) {
            self.state.lost.store(true, Ordering::SeqCst);
        }
        self.state.check_lost("running a kernel")?;
        if self.state.due(|f| if let Fault::Kernel(k) = f { Some(k) } else { None }) {
            return Err(self.state.failure("running a kernel", "injected fault"));
        }
        self.state.operations.fetch_add(1, Ordering::Relaxed);
        self.state.spend(self.nanoseconds);
        let Some(inner) = &self.inner else { return Ok(()) };
        let translate = |blocks: &[Block]| -> Result<SmallVec<[Block; 8]>> {
            let real = |b: &Block| self.state.inner_block(*b).map(|inner| inner.unwrap_or(*b));
            blocks.iter().map(real).collect()
        };
        let (inputs, outputs) = (translate(launch.inputs())?, translate(launch.outputs())?);
        inner.run(&launch.moved_to(&inputs, &outputs))
    }

    /// Products only, as on real devices.
    fn run_apart(&self, inputs: &[&[Block]], output: Block) -> Result<bool> {
        let is_product = matches!(&self.kernel, Kernel::Call(call) if call.op == CallOp::MatMul);
        let Some(memory) = self.state.inner.as_ref().filter(|_| is_product) else { return Ok(false) };
        let mut whole: SmallVec<[Block; 2]> = SmallVec::new();
        for list in inputs {
            let mut bytes = Vec::new();
            for block in *list {
                let Some(real) = self.state.inner_block(*block)? else { return Ok(false) };
                let start = bytes.len();
                bytes.resize(start + block.bytes, 0);
                memory.download(real, &mut bytes[start..])?;
            }
            whole.push(memory.receive(&bytes)?);
        }
        self.state.operations.fetch_add(1, Ordering::Relaxed);
        self.state.spend(self.nanoseconds);
        let outputs = [self.state.inner_block(output)?.unwrap_or(output)];
        let ran = match &self.inner {
            Some(inner) => inner.run(&Launch::new(&self.kernel, &whole, &outputs, &[])?),
            None => Ok(()),
        };
        whole.into_iter().for_each(|block| memory.free(block));
        ran.map(|()| true)
    }
}

/// A host that computes nothing: its memory is never touched, and its kernels only take virtual time.
pub struct SimHost {
    options: SimOptions,
    clock: Clock,
    blocks: Mutex<FxHashMap<u64, Vec<Line>>>,
}

/// As much as a block is aligned to.
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "only its size and alignment matter")] [u8; 64]);

impl SimHost {
    /// A host with a profile, on a clock it shares with accelerators.
    pub fn hollow(options: SimOptions, clock: Clock) -> SimHost {
        SimHost { options, clock, blocks: Mutex::default() }
    }
}

impl Backend for SimHost {
    fn name(&self) -> &str {
        "simulated host"
    }

    fn allocate(&self, bytes: usize) -> Result<Block> {
        // Reserved, never written: the system backs it with nothing.
        let mut lines: Vec<Line> = Vec::new();
        lines.try_reserve_exact(bytes.div_ceil(size_of::<Line>()).max(1)).map_err(|_| {
            Error::OutOfMemory {
                device: self.name().to_string(),
                requested: bytes as u64,
                free: 0,
                reserved: 0,
                largest: 0,
            }
        })?;
        let address = lines.as_ptr() as u64;
        self.blocks.lock().insert(address, lines);
        Ok(Block { address: Address(address), bytes })
    }

    fn free(&self, block: Block) {
        self.blocks.lock().remove(&block.address.0);
    }

    fn upload(&self, _: &[u8], _: Block) -> Result<()> {
        Ok(())
    }

    fn download(&self, _: Block, _: &mut [u8]) -> Result<()> {
        Ok(())
    }

    fn is_host(&self) -> bool {
        true
    }

    fn measure(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
        self.clock.measure(work)
    }

    fn prepare(&self, kernel: &Kernel) -> Result<Box<dyn Executable>> {
        let nanoseconds = kernel_time(&self.options, kernel);
        Ok(Box::new(HollowKernel { clock: self.clock.clone(), nanoseconds }))
    }
}

struct HollowKernel {
    clock: Clock,
    nanoseconds: f64,
}

impl Executable for HollowKernel {
    fn run(&self, _: &Launch<'_>) -> Result<()> {
        self.clock.advance(self.nanoseconds);
        Ok(())
    }
}
