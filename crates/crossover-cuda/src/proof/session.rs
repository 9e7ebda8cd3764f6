//! The device and the compiler, and kernels made ready on them.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use super::Host;
use crate::{Arguments, Gpu, Memory, Module, Nvrtc, Result};
use crossover_codegen::{Limits, Source, fused_within};
use crossover_core::Scalar;
use crossover_plan::kernel::Fused;

/// What every part of the proof works with.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) gpu: Gpu,
    nvrtc: Nvrtc,
    architecture: String,
    start: Instant,
    limit: Duration,
    /// Milliseconds of every compilation.
    compiled: Mutex<Vec<f64>>,
    /// Held while a case runs on the device.
    pub(super) turn: Mutex<()>,
}

/// A kernel that is compiled and loaded.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) kernel: Fused,
    pub(super) source: Source,
    module: Module,
    scratch: Option<Memory>,
}

impl Session {
    pub(super) fn open(start: Instant, seconds: u64) -> Result<Session> {
        let gpu = Gpu::open(0)?;
        let nvrtc = Nvrtc::open()?;
        let architecture = gpu.architecture();
        let limit = Duration::from_secs(seconds);
        let (compiled, turn) = (Mutex::default(), Mutex::default());
        Ok(Session { gpu, nvrtc, architecture, start, limit, compiled, turn })
    }

    pub(super) fn introduce(&self) {
        let (major, minor) = self.nvrtc.version();
        println!(
            "{} ({}), {} multiprocessors, driver API {}",
            self.gpu.name(),
            self.architecture,
            self.gpu.multiprocessors(),
            self.gpu.driver_version()
        );
        println!("NVRTC {major}.{minor} at {}; {} host threads", self.nvrtc.location(), threads());
    }

    pub(super) fn describe(&self) -> Host {
        let (major, minor) = self.nvrtc.version();
        Host {
            device: self.gpu.name().to_string(),
            architecture: self.architecture.clone(),
            multiprocessors: self.gpu.multiprocessors(),
            driver: self.gpu.driver_version(),
            nvrtc: format!("{major}.{minor}"),
            host_threads: threads(),
        }
    }

    /// Whether no new piece of work should start.
    pub(super) fn is_over(&self) -> bool {
        self.start.elapsed() > self.limit
    }

    /// Generates, compiles and loads a kernel.
    pub(super) fn ready(&self, kernel: &Fused) -> Result<Ready> {
        // From this size both ways of computing 16-bit functions are looked at.
        let limits = Limits { table: 1 << 14, ..self.gpu.limits() };
        let source = fused_within(kernel, limits);
        let begin = Instant::now();
        let cubin = self.nvrtc.compile(&source.text, &self.architecture)?;
        if let Ok(mut compiled) = self.compiled.lock() {
            compiled.push(begin.elapsed().as_secs_f64() * 1e3);
        }
        let module = self.gpu.load(&cubin)?;
        let scratch = if source.scratch > 0 { Some(self.gpu.allocate(source.scratch)?) } else { None };
        Ok(Ready { kernel: kernel.clone(), source, module, scratch })
    }

    /// Queues all launches of a kernel.
    pub(super) fn launch(
        &self,
        ready: &Ready,
        inputs: &[u64],
        outputs: &[u64],
        scalars: &[Scalar],
    ) -> Result<()> {
        let scratch = ready.scratch.as_ref().map_or(0, Memory::address);
        for launch in &ready.source.launches {
            let arguments =
                Arguments::new(&ready.kernel, &ready.source, launch, inputs, outputs, scratch, scalars)?;
            // Blocks that ask for shared memory fill a multiprocessor and have much to set up.
            let most =
                if launch.shared > 0 { self.gpu.multiprocessors().max(1) as usize } else { usize::MAX };
            let (blocks, threads) = (launch.blocks.min(most), launch.threads);
            self.gpu.launch_shared(
                &ready.module,
                &launch.entry,
                blocks,
                threads,
                launch.shared,
                arguments,
            )?;
        }
        Ok(())
    }

    /// Median and largest time of the compilations so far, in milliseconds, and their number.
    pub(super) fn compile_times(&self) -> (f64, f64, usize) {
        let mut times = self.compiled.lock().map(|t| t.clone()).unwrap_or_default();
        times.sort_by(f64::total_cmp);
        let median = times.get(times.len() / 2).copied().unwrap_or(0.0);
        (median, times.last().copied().unwrap_or(0.0), times.len())
    }
}

/// Threads of the host.
pub(super) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Calls `work` for every index below `count`, on all threads, until it is done or `stop` says so.
///
/// Returns how many indices were started.
pub(super) fn parallel(count: usize, stop: impl Fn() -> bool + Sync, work: impl Fn(usize) + Sync) -> usize {
    let next = AtomicUsize::new(0);
    let started = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads().min(count.max(1)) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count || stop() {
                        break;
                    }
                    started.fetch_add(1, Ordering::Relaxed);
                    work(index);
                }
            });
        }
    });
    started.into_inner()
}
