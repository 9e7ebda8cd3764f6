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
use crossover_runtime::{KernelEntry, KernelRecord, trace};
use parking_lot::{Condvar, Mutex};
use rustc_hash::FxHashMap;

use crate::{CacheCounts, Error, Gpu, KernelCache, Module, Nvrtc, Result, leaving};

/// Modules kept at most.
const MODULES: usize = 4096;

/// A compilation that has been asked for.
#[derive(Debug, Default)]
pub(crate) struct Compilation {
    result: OnceLock<Result<Arc<Module>>>,
    /// Milliseconds that compiling took, unless the code was on disk.
    milliseconds: OnceLock<f64>,
    /// Plans that asked again.
    reused: AtomicU64,
    launches: AtomicU64,
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

    /// Notes a launch.
    pub(crate) fn launched(&self) {
        self.launches.fetch_add(1, Ordering::Relaxed);
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

    /// What is known about every kernel that has been compiled and can be used.
    pub(crate) fn records(&self) -> Vec<KernelRecord> {
        let known: Vec<(String, Arc<Compilation>)> =
            self.known.lock().iter().map(|(text, made)| (text.clone(), made.clone())).collect();
        let record = |(source, made): (String, Arc<Compilation>)| {
            let Some(Ok(module)) = made.result.get() else { return None };
            Some(KernelRecord {
                entries: entries(&source, module),
                architecture: self.architecture.clone(),
                compile_ms: made.milliseconds.get().copied(),
                reused: made.reused.load(Ordering::Relaxed),
                launches: made.launches.load(Ordering::Relaxed),
                source,
            })
        };
        let mut out: Vec<KernelRecord> = known.into_iter().filter_map(record).collect();
        out.sort_by(|a, b| b.launches.cmp(&a.launches).then_with(|| a.source.cmp(&b.source)));
        out
    }

    /// The compilation of a text, started if nobody has asked for it yet.
    pub(crate) fn begin(self: &Arc<Compiler>, text: &str) -> Arc<Compilation> {
        let mut known = self.known.lock();
        if let Some(found) = known.get(text) {
            found.reused.fetch_add(1, Ordering::Relaxed);
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
            let made = self.module(&text).map(|(module, milliseconds)| {
                if let Some(taken) = milliseconds {
                    // Set once: a compilation runs once.
                    let _ = compilation.milliseconds.set(taken);
                }
                Arc::new(module)
            });
            compilation.finish(made);
        }
    }

    fn nvrtc(&self) -> Result<&Nvrtc> {
        self.nvrtc.get_or_init(Nvrtc::open).as_ref().map_err(Error::clone)
    }

    /// A loaded module, and the milliseconds that compiling it took, if it was not on disk.
    fn module(&self, text: &str) -> Result<(Module, Option<f64>)> {
        let nvrtc = self.nvrtc()?;
        let _inside = leaving::gate().enter().ok_or(Error::Ending)?;
        let (major, minor) = nvrtc.version();
        let flags = NVRTC_FLAGS.join(" ");
        let key = format!("{} {flags} nvrtc {major}.{minor}\n{text}", self.architecture);
        if let Some(cubin) = self.disk.as_ref().and_then(|disk| disk.find(&key)) {
            // The checksum held, so a driver that refuses it nevertheless wants it compiled anew.
            if let Ok(module) = self.gpu.load(&cubin) {
                return Ok((module, None));
            }
        }
        let begin = Instant::now();
        let span = trace::span(trace::Kind::Compile, "compile a kernel");
        let cubin = nvrtc.compile(text, &self.architecture)?;
        drop(span);
        self.compiled.fetch_add(1, Ordering::Relaxed);
        let taken = begin.elapsed();
        self.microseconds.fetch_add(taken.as_micros() as u64, Ordering::Relaxed);
        let module = self.gpu.load(&cubin)?;
        if let Some(disk) = &self.disk {
            disk.store(&key, &cubin);
        }
        Ok((module, Some(taken.as_secs_f64() * 1e3)))
    }
}

/// The entry points of a text, with what the driver says about each.
fn entries(text: &str, module: &Module) -> Vec<KernelEntry> {
    names(text).filter_map(|name| module.describe(&name).ok()).collect()
}

/// The names of the entry points of a text.
fn names(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split("__global__").skip(1).filter_map(|after| {
        // `void __launch_bounds__(128)` and the name come before the parameters.
        let head = after
            .split_once("__launch_bounds__")
            .map_or(after, |(_, rest)| rest.split_once(')').map_or("", |r| r.1));
        let name = head.split('(').next()?.trim().rsplit([' ', '\n']).next()?;
        (!name.is_empty()).then(|| name.to_string())
    })
}

#[cfg(test)]
mod tests {
    use crossover_codegen::{fused, samples};

    #[test]
    fn names_of_entry_points_are_found_in_every_generated_text() {
        for (name, kernel) in samples::golden() {
            let source = fused(&kernel);
            let found: Vec<String> = super::names(&source.text).collect();
            for launch in &source.launches {
                assert!(found.contains(&launch.entry), "{name}: {} is not among {found:?}", launch.entry);
            }
        }
    }
}
