//! From generated text to loaded modules: in memory, from disk, or compiled in the background.
//!
//! Equal texts share a module. Compilations run side by side on threads that exist only while there is work, so
//! that a plan of many kernels waits for the slowest of them, not for their sum.

use std::{
    collections::VecDeque,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use crossover_codegen::NVRTC_FLAGS;
use parking_lot::{Condvar, Mutex};
use rustc_hash::FxHashMap;

use crate::{CacheCounts, Error, Gpu, KernelCache, Module, Nvrtc, Result};

/// Modules kept at most.
const MODULES: usize = 4096;

/// A compilation that has been asked for.
#[derive(Debug, Default)]
pub(crate) struct Compilation {
    result: OnceLock<Result<Arc<Module>>>,
    waiting: Mutex<()>,
    done: Condvar,
}

impl Compilation {
    /// Whether waiting would not take long.
    pub(crate) fn is_done(&self) -> bool {
        self.result.get().is_some()
    }

    /// The module, once it is there.
    pub(crate) fn wait(&self) -> Result<Arc<Module>> {
        let mut guard = self.waiting.lock();
        loop {
            if let Some(result) = self.result.get() {
                return result.clone();
            }
            self.done.wait(&mut guard);
        }
    }

    /// Whether it is still running, or a kernel holds its module.
    fn is_used(&self) -> bool {
        match self.result.get() {
            None => true,
            Some(Ok(module)) => Arc::strong_count(module) > 1,
            Some(Err(_)) => false,
        }
    }

    fn finish(&self, result: Result<Arc<Module>>) {
        let _guard = self.waiting.lock();
        let _ = self.result.set(result);
        self.done.notify_all();
    }
}

#[derive(Debug, Default)]
struct Work {
    queue: VecDeque<(String, Arc<Compilation>)>,
    threads: usize,
}

/// What a compiler did since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CompilerCounts {
    /// Sources compiled.
    pub compiled: u64,
    /// Milliseconds that took, added up over threads.
    pub milliseconds: f64,
    /// What the cache on disk did.
    pub disk: CacheCounts,
}

/// The compiler of one device.
#[derive(Debug)]
pub(crate) struct Compiler {
    gpu: Gpu,
    architecture: String,
    nvrtc: OnceLock<Result<Nvrtc>>,
    disk: Option<KernelCache>,
    known: Mutex<FxHashMap<String, Arc<Compilation>>>,
    work: Mutex<Work>,
    compiled: AtomicU64,
    microseconds: AtomicU64,
}

impl Compiler {
    pub(crate) fn new(gpu: &Gpu, disk: Option<KernelCache>) -> Compiler {
        Compiler {
            gpu: gpu.clone(),
            architecture: gpu.architecture(),
            nvrtc: OnceLock::new(),
            disk,
            known: Mutex::default(),
            work: Mutex::default(),
            compiled: AtomicU64::new(0),
            microseconds: AtomicU64::new(0),
        }
    }

    pub(crate) fn counts(&self) -> CompilerCounts {
        CompilerCounts {
            compiled: self.compiled.load(Ordering::Relaxed),
            milliseconds: self.microseconds.load(Ordering::Relaxed) as f64 / 1e3,
            disk: self.disk.as_ref().map(KernelCache::counts).unwrap_or_default(),
        }
    }

    /// The compilation of a text, started if nobody has asked for it yet.
    pub(crate) fn begin(self: &Arc<Compiler>, text: &str) -> Arc<Compilation> {
        let mut known = self.known.lock();
        if let Some(found) = known.get(text) {
            return found.clone();
        }
        if known.len() >= MODULES {
            // What no plan uses any more is found on disk again.
            known.retain(|_, compilation| compilation.is_used());
        }
        let compilation = Arc::new(Compilation::default());
        known.insert(text.to_string(), compilation.clone());
        drop(known);
        self.enqueue(text.to_string(), compilation.clone());
        compilation
    }

    fn enqueue(self: &Arc<Compiler>, text: String, compilation: Arc<Compilation>) {
        let mut work = self.work.lock();
        work.queue.push_back((text, compilation));
        if work.threads >= std::thread::available_parallelism().map_or(1, usize::from) {
            return;
        }
        let compiler = self.clone();
        let started =
            std::thread::Builder::new().name("crossover-compile".to_string()).spawn(move || compiler.work());
        match started {
            Ok(_) => work.threads += 1,
            // Without a thread the caller compiles what is queued.
            Err(_) if work.threads == 0 => {
                work.threads += 1;
                drop(work);
                self.work();
            }
            Err(_) => {}
        }
    }

    fn work(&self) {
        loop {
            let next = {
                let mut work = self.work.lock();
                let next = work.queue.pop_front();
                if next.is_none() {
                    work.threads -= 1;
                }
                next
            };
            let Some((text, compilation)) = next else { return };
            compilation.finish(self.module(&text).map(Arc::new));
        }
    }

    fn nvrtc(&self) -> Result<&Nvrtc> {
        self.nvrtc.get_or_init(Nvrtc::open).as_ref().map_err(Error::clone)
    }

    fn module(&self, text: &str) -> Result<Module> {
        let nvrtc = self.nvrtc()?;
        let (major, minor) = nvrtc.version();
        let flags = NVRTC_FLAGS.join(" ");
        let key = format!("{} {flags} nvrtc {major}.{minor}\n{text}", self.architecture);
        if let Some(cubin) = self.disk.as_ref().and_then(|disk| disk.find(&key)) {
            // The checksum held, so a driver that refuses it nevertheless wants it compiled anew.
            if let Ok(module) = self.gpu.load(&cubin) {
                return Ok(module);
            }
        }
        let begin = Instant::now();
        let cubin = nvrtc.compile(text, &self.architecture)?;
        self.compiled.fetch_add(1, Ordering::Relaxed);
        self.microseconds.fetch_add(begin.elapsed().as_micros() as u64, Ordering::Relaxed);
        let module = self.gpu.load(&cubin)?;
        if let Some(disk) = &self.disk {
            disk.store(&key, &cubin);
        }
        Ok(module)
    }
}
