//! The runtime that evaluates arrays: devices, options, plan cache.

use std::{
    cell::RefCell,
    panic::Location,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use crossover_core::Graph;
use crossover_cpu::{CpuBackend, Simd};
use crossover_cuda::CudaBackend;
use crossover_plan::Options;
use crossover_runtime::{
    Backend, Buffer, Executor, Hysteresis, KernelRecord, Machine, Outputs, Placement, Recording, Wanted,
    memory::{Growth, Limit, Limits},
};

use crate::{
    Device, Error, Precision, Result, Setting,
    config::{self, Resolved, Settings},
    debug::Debug,
    device, interrupt,
    monitor::Monitor,
    profiles, publish,
};

/// Devices and options for evaluating arrays.
///
/// Everybody shares one runtime made on first use; another one can be made for a scope:
///
/// ```
/// use crossover_array::{Array, Runtime};
/// let single = Runtime::builder().threads(1).build()?;
/// let total = single.scope(|| Array::arange(10).sum(()).item::<i64>())?;
/// assert_eq!(total, 45);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Clone)]
pub struct Runtime {
    executor: Arc<Executor>,
    debug: Debug,
    /// Where it computes unless [`with_device`](crate::with_device) says otherwise; `None` leaves it to the executor.
    pub(crate) device: Option<Choice>,
    /// Threads of the host.
    pub(crate) threads: usize,
    /// Vector instructions of the host.
    pub(crate) simd: Simd,
    settings: Arc<Resolved>,
    monitor: Arc<Monitor>,
}

/// A device, or what is wrong with the settings.
pub(crate) type Choice = std::result::Result<Device, crossover_runtime::Error>;

/// What a [`Runtime`] is made with.
///
/// What it does not say comes from the environment, from `crossover.toml` in the current directory and from the user's
/// `crossover/config.toml`, in this order; see [`Runtime::settings`].
///
/// ```
/// use crossover_array::{Array, Growth, Precision, Runtime, Simd};
/// let builder = Runtime::builder().threads(2).simd(Simd::Scalar).fusion(false).profiling(false);
/// let builder = builder.precision(Precision::Exact).memory_growth(Growth::OnDemand).threshold_small(4096);
/// let runtime = builder.build()?;
/// assert_eq!(runtime.scope(|| Array::arange(4).sum(()).item::<i64>())?, 6);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Builder {
    asked: Settings,
    replay: Option<PathBuf>,
}

thread_local! {
    static SCOPE: RefCell<Vec<Runtime>> = const { RefCell::new(Vec::new()) };
}

impl Runtime {
    /// Options for a new runtime.
    ///
    /// ```
    /// use crossover_array::{Runtime, Simd};
    /// let plain = Runtime::builder().threads(1).simd(Simd::Scalar).fusion(false).build()?;
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A runtime around an executor made elsewhere.
    ///
    /// ```
    /// use crossover_array::{Array, Runtime};
    /// // A second runtime with the devices, plans and memory of the first.
    /// let first = Runtime::builder().threads(1).build()?;
    /// let second = Runtime::from_executor(crossover_runtime::Executor::new(
    ///     first.executor().machine().clone(),
    ///     crossover_plan::Options::default(),
    ///     crossover_runtime::Placement::Host,
    /// ));
    /// assert_eq!(second.scope(|| Array::arange(4).sum(()).item::<i64>())?, 6);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn from_executor(executor: Executor) -> Runtime {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let settings = Arc::default();
        let (debug, monitor, simd) = (Debug::default(), Arc::default(), Simd::detect());
        Runtime { executor: Arc::new(executor), device: None, debug, threads, simd, settings, monitor }
    }

    /// The runtime of the innermost [`scope`](Runtime::scope) on this thread, or the shared one.
    ///
    /// ```
    /// use crossover_array::{Array, Runtime};
    /// Array::arange(10).exp().eval()?;
    /// assert!(Runtime::current().executor().counts().launches >= 1);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn current() -> Runtime {
        SCOPE.with_borrow(|s| s.last().cloned()).unwrap_or_else(|| Runtime::shared().clone())
    }

    /// Calls `body` with what [`current`](Runtime::current) gives.
    pub(crate) fn with_current<T>(body: impl FnOnce(&Runtime) -> T) -> T {
        match SCOPE.with_borrow(|s| s.last().cloned()) {
            Some(runtime) => body(&runtime),
            None => body(Runtime::shared()),
        }
    }

    /// The runtime of everybody without a scope.
    fn shared() -> &'static Runtime {
        static SHARED: OnceLock<Runtime> = OnceLock::new();
        SHARED.get_or_init(|| {
            // Whoever evaluates something is told what is wrong with the settings.
            Runtime::builder().build().unwrap_or_else(|error| Runtime::refusing(error.kind().clone()))
        })
    }

    /// The runtime of the innermost [`scope`](Runtime::scope) on this thread, if there is one.
    pub(crate) fn scoped() -> Option<Runtime> {
        SCOPE.with_borrow(|s| s.last().cloned())
    }

    /// A runtime that refuses to evaluate anything, with this error.
    fn refusing(error: crossover_runtime::Error) -> Runtime {
        let host: Arc<dyn Backend> = Arc::new(CpuBackend::new());
        let machine = Machine::new(host, Vec::new()).expect("a CPU is a host");
        let executor = Executor::new(machine, Options::default(), Placement::Host);
        Runtime { device: Some(Err(error)), ..Runtime::from_executor(executor) }
    }

    /// The settings in effect, with who set each: the program, a variable of the environment, a file, or nobody.
    ///
    /// ```
    /// use crossover_array::{Origin, Runtime};
    /// let runtime = Runtime::builder().threads(3).build()?;
    /// let settings = runtime.settings();
    /// let threads = settings.iter().find(|setting| setting.name == "threads").unwrap();
    /// assert_eq!((threads.value.as_str(), &threads.origin), ("3", &Origin::Builder));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn settings(&self) -> Vec<Setting> {
        self.settings.list()
    }

    /// How exactly products of `f32` numbers are computed.
    ///
    /// ```
    /// use crossover_array::{Precision, Runtime};
    /// let runtime = Runtime::builder().precision(Precision::Tf32).build()?;
    /// assert_eq!(runtime.precision(), Precision::Tf32);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn precision(&self) -> Precision {
        self.settings.settings.precision.unwrap_or_default()
    }

    /// Runs a closure with this runtime current on this thread.
    ///
    /// ```
    /// use crossover_array::{Array, Runtime};
    /// let runtime = Runtime::builder().threads(2).build()?;
    /// runtime.scope(|| Array::arange(10).exp().eval().map(drop))?;
    /// assert_eq!(runtime.executor().counts().launches, 1);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn scope<T>(&self, body: impl FnOnce() -> T) -> T {
        struct Leave;
        impl Drop for Leave {
            fn drop(&mut self) {
                SCOPE.with_borrow_mut(Vec::pop);
            }
        }
        SCOPE.with_borrow_mut(|s| s.push(self.clone()));
        let _leave = Leave;
        body()
    }

    /// What evaluates graphs: counters, traces, devices.
    ///
    /// ```
    /// use crossover_array::Runtime;
    /// let runtime = Runtime::builder().threads(1).build()?;
    /// assert_eq!(runtime.executor().counts().launches, 0);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// Where the plans that this runtime still has in memory ran last: to be [saved](Recording::save), and
    /// [replayed](Builder::replay) by another process.
    ///
    /// ```
    /// use crossover_array::{Array, Runtime};
    /// let runtime = Runtime::builder().threads(1).build()?;
    /// runtime.scope(|| Array::linspace(0.0, 1.0, 1000).exp().eval().map(drop))?;
    /// assert_eq!(runtime.recorded().len(), 1);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn recorded(&self) -> Recording {
        self.executor.recorded()
    }

    /// The kernels that GPUs have compiled for this runtime so far, most launched first.
    ///
    /// ```
    /// use crossover_array::{Array, Runtime};
    /// Array::linspace(0.0, 1.0, 1000).exp().eval()?;
    /// for (device, kernel) in Runtime::current().kernels() {
    ///     println!("{device} {}: {} launches", kernel.name(), kernel.launches);
    /// }
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn kernels(&self) -> Vec<(Device, KernelRecord)> {
        let gpus = self.machine().devices().skip(1);
        gpus.flat_map(|device| {
            let records = self.machine().backend(device).kernels();
            records.into_iter().map(move |record| (Device::Cuda(device.0 - 1), record))
        })
        .collect()
    }

    pub(crate) fn shared_executor(&self) -> &Arc<Executor> {
        &self.executor
    }

    pub(crate) fn monitor(&self) -> &Arc<Monitor> {
        &self.monitor
    }

    pub(crate) fn debug(&self) -> Debug {
        self.debug
    }

    /// Evaluates a graph where [`with_device`](crate::with_device) or this runtime says.
    pub(crate) fn evaluate(
        &self,
        graph: &Graph,
        inputs: &[Arc<Buffer>],
        wanted: Wanted,
    ) -> crossover_runtime::Result<Outputs> {
        let (placement, prepared) = (self.placement()?, self.executor.prepare(graph)?);
        interrupt::run(self, placement, wanted, &prepared, inputs, graph.scalars())
    }

    /// As `evaluate`, for a host that wants the first output at once; the flag says whether it has been written to `to`.
    pub(crate) fn evaluate_into(
        &self,
        graph: &Graph,
        inputs: &[Arc<Buffer>],
        to: &mut [u8],
    ) -> crossover_runtime::Result<(Outputs, bool)> {
        self.executor.evaluate_into(self.placement()?, graph, inputs, to)
    }

    /// Where [`with_device`](crate::with_device) or this runtime says to compute.
    pub(crate) fn placement(&self) -> crossover_runtime::Result<Placement> {
        let device = match (device::scoped(), &self.device) {
            (Some(device), _) => device,
            (None, Some(choice)) => choice.clone()?,
            (None, None) => return Ok(self.executor.placement()),
        };
        Ok(match device {
            Device::Auto => Placement::Auto,
            Device::Cpu => Placement::Host,
            Device::Cuda(_) => Placement::On(device::resolve(device, self.machine())?),
        })
    }

    pub(crate) fn machine(&self) -> &Arc<Machine> {
        self.executor.machine()
    }

    /// A buffer that this runtime's devices can read: itself, or a copy of one that belongs to another runtime.
    pub(crate) fn adopt(
        &self,
        buffer: Arc<Buffer>,
        location: &'static Location<'static>,
    ) -> Result<Arc<Buffer>> {
        if Arc::ptr_eq(buffer.machine(), self.machine()) {
            return Ok(buffer);
        }
        let copied = buffer.host_bytes().and_then(|bytes| Buffer::from_bytes(self.machine(), bytes));
        copied.map_err(|e| Error::new(e, location))
    }
}

impl Builder {
    /// Number of threads; one runs everything on the caller.
    pub fn threads(mut self, threads: usize) -> Builder {
        self.asked.threads = Some(threads);
        self
    }

    /// Instruction set, at most what the machine has. Bits do not change.
    pub fn simd(mut self, simd: Simd) -> Builder {
        self.asked.simd = Some(simd);
        self
    }

    /// Whether operations share kernels. Bits do not change.
    pub fn fusion(mut self, fusion: bool) -> Builder {
        self.asked.fusion = Some(fusion);
        self
    }

    /// Bytes of host memory that arrays may take; more is an error. By default what is available.
    ///
    /// ```
    /// use crossover_array::{Array, Runtime};
    /// let small = Runtime::builder().threads(1).memory_budget(1 << 20).build()?;
    /// let error = small.scope(|| Array::zeros::<f64>([1 << 20]).eval().map(drop)).unwrap_err();
    /// assert!(error.to_string().contains("out of memory"));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn memory_budget(mut self, bytes: u64) -> Builder {
        self.asked.host_memory_limit = Some(Limit::Bytes(bytes));
        self
    }

    /// Whether every operation is computed where it is written, so that one that fails names its line at once; for
    /// debugging. Off by default. Bits do not change.
    ///
    /// ```
    /// use crossover_array::{Array, Runtime, linalg};
    /// let eager = Runtime::builder().eager(true).build()?;
    /// let singular = Array::from([[1.0f64, 2.0], [2.0, 4.0]]);
    /// // `check` computes nothing; the inverse was computed where it was written.
    /// assert!(eager.scope(|| linalg::inv(&singular)).check().is_err());
    /// assert!(linalg::inv(&singular).check().is_ok());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn eager(mut self, eager: bool) -> Builder {
        self.asked.eager = Some(eager);
        self
    }

    /// Whether a NaN made of operands without one is an error, which names the line that made it; implies
    /// [`eager`](Builder::eager). Off by default.
    ///
    /// ```
    /// use crossover_array::{Array, Runtime};
    /// let strict = Runtime::builder().refuse_nan(true).build()?;
    /// let error = strict.scope(|| Array::from([4.0f32, -1.0]).sqrt().check()).unwrap_err();
    /// assert!(error.to_string().starts_with("sqrt: made a NaN at [1] of operands without one"));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn refuse_nan(mut self, refuse_nan: bool) -> Builder {
        self.asked.refuse_nan = Some(refuse_nan);
        self
    }

    /// Where to compute. By default [`Device::Auto`]. With [`Device::Cpu`] the runtime has no GPU at all.
    ///
    /// ```
    /// use crossover_array::{Array, Device, Runtime};
    /// let host = Runtime::builder().device(Device::Cpu).build()?;
    /// let total = host.scope(|| Array::arange(10).sum(()).item::<i64>())?;
    /// assert_eq!(total, 45);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn device(mut self, device: Device) -> Builder {
        self.asked.device = Some(device);
        self
    }

    /// Whether matrix products, transforms and decompositions are placed by a rule that knows no times, so that a program gives
    /// the same bits in every run on machines with the same devices. Everything else does anyway. Ways to
    /// multiply are not tried out, and a call whose device fails is an error. Off by default.
    ///
    /// ```
    /// use crossover_array::{Array, Runtime};
    /// let pinned = Runtime::builder().deterministic(true).build()?;
    /// let x = Array::ones::<f32>([8, 8]);
    /// assert_eq!(pinned.scope(|| x.matmul(&x).to_vec::<f32>())?[0], 8.0);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn deterministic(mut self, deterministic: bool) -> Builder {
        self.asked.deterministic = Some(deterministic);
        self
    }

    /// Whether a GPU may be used: `false` is [`Device::Cpu`], `true` leaves it to the runtime.
    ///
    /// ```
    /// use crossover_array::Runtime;
    /// assert_eq!(Runtime::builder().gpu(false).build()?.device_count(), 0);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn gpu(self, gpu: bool) -> Builder {
        self.device(if gpu { Device::Auto } else { Device::Cpu })
    }

    /// How exactly products of `f32` matrices are computed on a GPU. By default exactly.
    pub fn precision(mut self, precision: Precision) -> Builder {
        self.asked.precision = Some(precision);
        self
    }

    /// How much of a GPU's memory may be used: a share of all there is, or bytes.
    ///
    /// ```
    /// use crossover_array::{Limit, Runtime};
    /// let half = Runtime::builder().memory_limit(Limit::Share(0.5)).build()?;
    /// let settings = half.settings();
    /// assert!(settings.iter().any(|s| s.name == "memory_limit" && s.value == "50%"));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn memory_limit(mut self, limit: Limit) -> Builder {
        self.asked.memory_limit = Some(limit);
        self
    }

    /// Whether GPU memory is taken as it is needed, or all of the limit at once.
    pub fn memory_growth(mut self, growth: Growth) -> Builder {
        self.asked.memory_growth = Some(growth);
        self
    }

    /// Bytes moved and operations up to which a plan on the host's own data stays there unexamined. By default 65536.
    pub fn threshold_small(mut self, small: u64) -> Builder {
        self.asked.threshold_small = Some(small);
        self
    }

    /// When a plan that has run on one device moves to another: what it must gain. By default 20 µs and 15% (4% if it goes
    /// back to the host altogether).
    ///
    /// ```
    /// use crossover_array::{Hysteresis, Runtime};
    /// let restless = Hysteresis { share: 0.0, home: 0.0, nanoseconds: 1000.0 };
    /// let runtime = Runtime::builder().thresholds(restless).build()?;
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn thresholds(mut self, thresholds: Hysteresis) -> Builder {
        self.asked.threshold_share = Some(thresholds.share);
        self.asked.threshold_home = Some(thresholds.home);
        self.asked.threshold_gain = Some(thresholds.nanoseconds / 1e3);
        self
    }

    /// Runs plans where they ran when they were [recorded](Runtime::recorded), whatever has been measured since. Plans that are not in
    /// the file are placed as usual. Ways to multiply are not tried out.
    ///
    /// ```
    /// use crossover_array::{Array, Runtime};
    /// let file = std::env::temp_dir().join(format!("plans-{}.txt", std::process::id()));
    /// Array::linspace(0.0, 1.0, 100_000).exp().sum(()).eval()?;
    /// Runtime::current().recorded().save(&file)?;
    /// let again = Runtime::builder().replay(&file).build()?;
    /// # std::fs::remove_file(file)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replay(mut self, file: impl Into<PathBuf>) -> Builder {
        self.replay = Some(file.into());
        self
    }

    /// Whether the kernels that run are recorded and published for `crossover top`.
    pub fn profiling(mut self, profiling: bool) -> Builder {
        self.asked.profiling = Some(profiling);
        self
    }

    /// Makes the runtime.
    #[track_caller]
    pub fn build(self) -> Result<Runtime> {
        let location = Location::caller();
        let wrap = |error| Error::new(error, location);
        let mut resolved = config::resolve(&self.asked).map_err(wrap)?;
        let given = resolved.settings.clone();
        let mut cpu = CpuBackend::builder();
        if let Some(threads) = given.threads {
            cpu = cpu.threads(threads);
        }
        if let Some(simd) = given.simd {
            cpu = cpu.simd(simd);
        }
        match given.host_memory_limit {
            Some(Limit::Bytes(bytes)) => cpu = cpu.memory_budget(bytes),
            Some(share) => {
                let total = Backend::memory(&CpuBackend::new()).map_or(u64::MAX, |memory| memory.total);
                cpu = cpu.memory_budget(share.of(total));
            }
            None => {}
        }
        let cpu = cpu.build().map_err(wrap)?;
        let threads = cpu.threads();
        let simd = cpu.simd();
        let host: Arc<dyn Backend> = Arc::new(cpu);
        let device = given.device.unwrap_or_default();
        let deterministic = given.deterministic.unwrap_or(false);
        // Devices are opened when something is to run there; until then they are names.
        let visible = if device == Device::Cpu { 0 } else { CudaBackend::visible() };
        let precision = given.precision.unwrap_or_default();
        let trials = given.matmul_trials.unwrap_or(true) && !deterministic && self.replay.is_none();
        let limits = Limits {
            limit: given.memory_limit.unwrap_or_default(),
            growth: given.memory_growth.unwrap_or_default(),
        };
        let gpu = |ordinal| {
            let cuda = CudaBackend::new(ordinal as i32).limits(limits);
            Arc::new(cuda.tf32(precision == Precision::Tf32).matmul_trials(trials)) as Arc<dyn Backend>
        };
        let machine = Machine::new(host, (0..visible).map(gpu).collect()).map_err(wrap)?;
        let options = Options { fusion: given.fusion.unwrap_or(true) };
        let refuse_nan = given.refuse_nan.unwrap_or(false);
        let debug = Debug { eager: refuse_nan || given.eager.unwrap_or(false), refuse_nan };
        let usual = Hysteresis::default();
        let hysteresis = Hysteresis {
            share: given.threshold_share.unwrap_or(usual.share),
            home: given.threshold_home.unwrap_or(usual.home),
            nanoseconds: given.threshold_gain.map_or(usual.nanoseconds, |micros| 1e3 * micros),
        };
        let mut router =
            profiles::router(&machine, threads).deterministic(deterministic).hysteresis(hysteresis);
        if let Some(small) = given.threshold_small {
            router = router.keep_small(small);
        }
        if let Some(path) = &self.replay {
            router = router.replay(Recording::load(path).map_err(wrap)?).map_err(wrap)?;
        }
        // What one setting implies for another is what is in effect.
        resolved.settings.matmul_trials = Some(trials);
        resolved.settings.eager = Some(debug.eager);
        let small = router.small();
        let executor = Arc::new(Executor::with_router(machine, options, Placement::Host, router));
        resolved.complete(&Settings {
            device: Some(device),
            threads: Some(threads),
            simd: Some(simd),
            fusion: Some(options.fusion),
            precision: Some(precision),
            deterministic: Some(deterministic),
            memory_limit: Some(limits.limit),
            memory_growth: Some(limits.growth),
            host_memory_limit: None,
            threshold_small: Some(small),
            threshold_gain: Some(hysteresis.nanoseconds / 1e3),
            threshold_share: Some(hysteresis.share),
            threshold_home: Some(hysteresis.home),
            matmul_trials: None,
            profiling: Some(false),
            eager: None,
            refuse_nan: Some(refuse_nan),
        });
        let runtime = Runtime {
            executor,
            device: Some(Ok(device)),
            debug: debug.watch(),
            threads,
            simd,
            settings: Arc::new(resolved),
            monitor: Arc::default(),
        };
        if given.profiling == Some(true) {
            runtime.executor.recent().set(true);
            publish::begin(&runtime);
        }
        Ok(runtime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deterministic_runtimes_try_nothing_out() {
        let value = |runtime: &Runtime, name: &str| {
            let settings = runtime.settings();
            settings.into_iter().find(|setting| setting.name == name).map(|setting| setting.value)
        };
        let usual = Runtime::builder().threads(1).deterministic(false).build().unwrap();
        let pinned = Runtime::builder().threads(1).deterministic(true).build().unwrap();
        assert_eq!(value(&pinned, "matmul_trials").as_deref(), Some("false"));
        assert_eq!(value(&pinned, "deterministic").as_deref(), Some("true"));
        assert_ne!(value(&usual, "deterministic"), value(&pinned, "deterministic"));
        let strict = Runtime::builder().threads(1).refuse_nan(true).build().unwrap();
        assert_eq!(value(&strict, "eager").as_deref(), Some("true"), "implied");
    }

    #[test]
    fn a_runtime_with_wrong_settings_refuses_to_compute_and_says_why() {
        let what = crossover_runtime::Error::Setting {
            place: "crossover.toml, line 1".to_string(),
            key: "thread".to_string(),
            nearest: Some("threads"),
            what: "there is no such setting".to_string(),
        };
        let refusing = Runtime::refusing(what);
        let x = crate::Array::from([1.0f32, 2.0]);
        let error = refusing.scope(|| x.exp().to_vec::<f32>()).unwrap_err().to_string();
        assert!(
            error.contains("crossover.toml, line 1: thread:") && error.contains("did you mean threads?"),
            "{error}"
        );
    }
}
