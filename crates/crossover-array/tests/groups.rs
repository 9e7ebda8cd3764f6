//! Groups of `gpu_map` on a simulated device: how large they are, what overlaps, and what is the same whatever memory there is.
#![allow(clippy::unwrap_used, unsafe_code)]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use crossover_array::{Array, Device, Error, Key, Runtime, par::GpuReport, par_iter, random, with_device};
use crossover_cpu::CpuBackend;
use crossover_plan::{Options, kernel::Kernel};
use crossover_runtime::{
    Backend, Block, Device as Place, Error as RuntimeError, Executable, Executor, Landing, Launch, Machine,
    Placement, Profile, Result, Router, Underway,
    memory::Account,
    sim::{Fault, SimDevice, SimOptions},
};

const SIM: Place = Place(1);

fn machine(capacity: usize) -> (Arc<Machine>, SimDevice) {
    let cpu: Arc<dyn Backend> = Arc::new(CpuBackend::builder().threads(1).build().unwrap());
    let sim = SimDevice::new(cpu.clone(), SimOptions { capacity, ..SimOptions::default() });
    (Machine::new(cpu, vec![Arc::new(sim.clone())]).unwrap(), sim)
}

/// A runtime that knows of a slow host and an assumed device.
fn runtime(machine: &Arc<Machine>, placement: Placement, deterministic: bool) -> Runtime {
    let router = Router::new(machine.clone(), Profile::assumed(1, 1)).deterministic(deterministic);
    let options = Options::default();
    Runtime::from_executor(Executor::with_router(machine.clone(), options, placement, router))
}

/// Arrays of normal numbers that are on the host and nowhere else.
fn normals(count: u64, shape: &[usize], scale: f32) -> Vec<Array> {
    let made: Vec<Array> =
        (0..count).map(|seed| random::normal::<f32>(&Key::new(seed), shape.to_vec()) * scale).collect();
    with_device(Device::Cpu, || made.iter().try_for_each(|array| array.eval().map(drop))).unwrap();
    assert!(made.iter().all(|array| array.device() == Device::Cpu));
    made
}

fn matrices(count: u64, n: usize) -> Vec<Array> {
    normals(count, &[n, n], 1.0)
}

/// Squares of matrices of 128 × 128, of which 64 have as many operations as belong on a device in deterministic mode.
fn squares(
    capacity: usize,
    deterministic: bool,
    set: impl Fn(&SimDevice),
) -> (Vec<Result<Array, Error>>, GpuReport) {
    let (machine, sim) = machine(capacity);
    runtime(&machine, Placement::Auto, deterministic).scope(|| {
        let items = matrices(64, 128);
        set(&sim);
        par_iter(items).gpu_map(|x| x.matmul(&x)).run()
    })
}

#[test]
fn deterministic_groups_do_not_depend_on_memory() {
    let places = |capacity: usize| {
        let (results, report) = squares(capacity, true, |_| ());
        let on: Vec<Device> = results.iter().map(|result| result.as_ref().unwrap().device()).collect();
        assert!(on.iter().all(|device| *device == on[0]));
        (on[0], report.groups, report.largest_group)
    };
    assert_eq!(places(256 << 20), (Device::Cuda(0), 1, 64));
    // There is room for this group, and not for three.
    assert_eq!(places(10 << 20), (Device::Cuda(0), 1, 64));
    // Elsewhere they are as large as memory allows.
    assert!(squares(10 << 20, false, |_| ()).1.groups > 1);
}

#[test]
fn a_deterministic_group_that_does_not_fit_is_an_error_and_not_other_bits() {
    let (results, report) = squares(2 << 20, true, |_| ());
    assert_eq!((report.batched, report.single, report.telemetry.failed), (0, 0, 64), "{report}");
    for result in &results {
        let error = result.as_ref().unwrap_err();
        assert!(matches!(error.kind(), RuntimeError::OutOfMemory { .. }), "{error}");
    }
    // Somewhere else the same items are computed, one by one if need be.
    assert!(squares(2 << 20, false, |_| ()).0.iter().all(|result| result.is_ok()));
}

#[test]
fn a_deterministic_group_is_tried_again_whole() {
    let (machine, sim) = machine(256 << 20);
    runtime(&machine, Placement::Auto, true).scope(|| {
        let items = matrices(64, 128);
        sim.inject(Fault::Kernel(0));
        let (results, report) = par_iter(items).gpu_map(|x| x.matmul(&x)).retries(1).run();
        assert!(results.iter().all(|result| result.as_ref().unwrap().device() == Device::Cuda(0)));
        assert_eq!((report.groups, report.single, report.telemetry.retries), (1, 0, 64));
    });
}

#[test]
fn groups_leave_room_for_what_lies_between() {
    let (machine, _) = machine(48 << 20);
    let runtime = runtime(&machine, Placement::On(SIM), false);
    runtime.scope(|| {
        // Two kilobytes each, and a megabyte between what comes in and what goes out.
        let items = normals(120, &[512], 0.1);
        let f = |x: Array| {
            let column = x.reshape([512, 1]);
            (&column * x.reshape([1, 512])).exp().matmul(&column)
        };
        let before = runtime.executor().counts();
        let (results, report) = par_iter(items.clone()).gpu_map(f).run();
        let after = runtime.executor().counts();
        assert_eq!((report.batched, report.single), (120, 0), "{report}");
        assert!(report.largest_group > 1 && report.largest_group <= 48 / 3, "{report}");
        let happened = (after.fallbacks - before.fallbacks, after.split - before.split);
        assert_eq!((happened, after.reclaimed.spills), ((0, 0), before.reclaimed.spills));
        assert!(results.iter().all(|result| result.as_ref().unwrap().device() == Device::Cuda(0)));
        let (found, wanted) = (results[119].as_ref().unwrap(), f(items[119].clone()));
        let pairs = found.to_vec::<f32>().unwrap().into_iter().zip(wanted.to_vec::<f32>().unwrap());
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() <= 1e-4 * (1.0 + b.abs())));
    });
}

/// When the queues of a device are free, in virtual nanoseconds.
#[derive(Debug, Default)]
struct Times {
    /// Of the thread that tells the device what to do.
    host: f64,
    up: f64,
    kernels: f64,
    down: f64,
    /// If nothing overlapped.
    sum: f64,
}

impl Times {
    /// Something that takes so long on a queue, once that and what it needs is ready.
    fn queued(free: &mut f64, sum: &mut f64, ready: f64, took: f64) -> f64 {
        *sum += took;
        *free = free.max(ready) + took;
        *free
    }

    fn end(&self) -> f64 {
        self.host.max(self.up).max(self.kernels).max(self.down)
    }
}

/// Copies take 50 ps per byte, kernels 400 µs.
const BYTE: f64 = 0.05;
const KERNEL: f64 = 400_000.0;

/// A simulated device whose copies both ways and kernels are three queues, as those of real ones.
struct Queues {
    sim: SimDevice,
    times: Arc<Mutex<Times>>,
}

/// A copy up, of which kernels that follow need the end, or one down, for which the host waits.
struct Going<T> {
    result: T,
    times: Arc<Mutex<Times>>,
    end: f64,
    up: bool,
}

impl<T> Going<T> {
    fn waited(self) -> T {
        let mut times = self.times.lock().unwrap();
        let queue = if self.up { &mut times.kernels } else { &mut times.host };
        *queue = queue.max(self.end);
        self.result
    }
}

impl Underway for Going<Box<dyn Underway>> {
    fn wait(self: Box<Self>) -> Result<()> {
        self.waited().wait()
    }
}

impl Landing for Going<Box<dyn Landing>> {
    fn wait(self: Box<Self>) -> Result<Arc<dyn AsRef<[u8]> + Send + Sync>> {
        self.waited().wait()
    }
}

impl Queues {
    fn sends(&self, bytes: usize) -> f64 {
        let mut times = self.times.lock().unwrap();
        let Times { host, up, sum, .. } = &mut *times;
        Times::queued(up, sum, *host, bytes as f64 * BYTE)
    }

    fn brings(&self, bytes: usize) -> f64 {
        let mut times = self.times.lock().unwrap();
        let Times { host, kernels, down, sum, .. } = &mut *times;
        Times::queued(down, sum, host.max(*kernels), bytes as f64 * BYTE)
    }

    fn going<T>(&self, result: T, end: f64, up: bool) -> Going<T> {
        Going { result, times: self.times.clone(), end, up }
    }
}

impl Backend for Queues {
    fn name(&self) -> &str {
        "simulated queues"
    }

    fn allocate(&self, bytes: usize) -> Result<Block> {
        self.sim.allocate(bytes)
    }

    fn free(&self, block: Block) {
        self.sim.free(block);
    }

    fn upload(&self, from: &[u8], to: Block) -> Result<()> {
        let end = self.sends(from.len());
        self.times.lock().unwrap().host = end;
        self.sim.upload(from, to)
    }

    fn download(&self, from: Block, to: &mut [u8]) -> Result<()> {
        let end = self.brings(to.len());
        self.times.lock().unwrap().host = end;
        self.sim.download(from, to)
    }

    unsafe fn begin_parts(&self, from: &[&[u8]]) -> Result<Option<(Block, Box<dyn Underway>)>> {
        // SAFETY: what the caller promises.
        let Some((block, underway)) = (unsafe { self.sim.begin_parts(from) })? else { return Ok(None) };
        let end = self.sends(block.bytes);
        Ok(Some((block, Box::new(self.going(underway, end, true)))))
    }

    unsafe fn begin_download(&self, from: Block, to: &mut [u8]) -> Result<Option<Box<dyn Underway>>> {
        let end = self.brings(to.len());
        // SAFETY: what the caller promises.
        let underway = unsafe { self.sim.begin_download(from, to) }?;
        Ok(underway.map(|underway| Box::new(self.going(underway, end, false)) as _))
    }

    fn begin_landing(&self, from: Block) -> Result<Option<Box<dyn Landing>>> {
        let Some(landing) = self.sim.begin_landing(from)? else { return Ok(None) };
        let end = self.brings(from.bytes);
        Ok(Some(Box::new(self.going(landing, end, false))))
    }

    fn account(&self) -> Option<&Account> {
        self.sim.account()
    }

    fn measure(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
        let before = self.times.lock().unwrap().end();
        work()?;
        Ok(Duration::from_nanos((self.times.lock().unwrap().end() - before) as u64))
    }

    fn prepare(&self, kernel: &Kernel) -> Result<Box<dyn Executable>> {
        Ok(Box::new(Timed { inner: self.sim.prepare(kernel)?, times: self.times.clone() }))
    }
}

struct Timed {
    inner: Box<dyn Executable>,
    times: Arc<Mutex<Times>>,
}

impl Executable for Timed {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        let mut times = self.times.lock().unwrap();
        let Times { host, kernels, sum, .. } = &mut *times;
        Times::queued(kernels, sum, *host, KERNEL);
        self.inner.run(launch)
    }
}

/// What share of the time of all copies and kernels one after the other the squares of 256 matrices take, in how many groups.
fn overlapped(placement: Placement) -> f64 {
    let cpu: Arc<dyn Backend> = Arc::new(CpuBackend::builder().threads(1).build().unwrap());
    let times = Arc::new(Mutex::new(Times::default()));
    let sim = SimDevice::new(cpu.clone(), SimOptions::default());
    let machine = Machine::new(cpu, vec![Arc::new(Queues { sim, times: times.clone() })]).unwrap();
    runtime(&machine, placement, false).scope(|| {
        let items = matrices(256, 128);
        *times.lock().unwrap() = Times::default();
        let (results, report) = par_iter(items.clone()).gpu_map(|x| x.matmul(&x)).to_host().run();
        let share = {
            let times = times.lock().unwrap();
            times.end() / times.sum
        };
        assert!(report.groups >= 4 && report.batched == 256, "{report}");
        let wanted = runtime(&machine, Placement::Host, false)
            .scope(|| items[255].matmul(&items[255]).to_vec::<f32>());
        assert_eq!(results[255].as_ref().unwrap().to_vec::<f32>().unwrap(), wanted.unwrap());
        share
    })
}

#[test]
fn copies_overlap_what_is_computed() {
    let told = overlapped(Placement::On(SIM));
    assert!(told < 0.7, "told to use the device: {told:.2}");
    let chosen = overlapped(Placement::Auto);
    assert!(chosen < 0.7, "where costs decide: {chosen:.2}");
}
