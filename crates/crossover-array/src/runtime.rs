//! The runtime that evaluates arrays: devices, options, plan cache.

use std::{
    cell::RefCell,
    panic::Location,
    sync::{Arc, OnceLock},
};

use crossover_core::Graph;
use crossover_cpu::{CpuBackend, Simd};
use crossover_cuda::CudaBackend;
use crossover_plan::Options;
use crossover_runtime::{Backend, Buffer, Executor, KernelRecord, Machine, Outputs, Placement, Wanted};

use crate::{Device, Error, Result, debug::Debug, device, profiles};

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
    device: Option<Choice>,
    /// Threads of the host.
    threads: usize,
}

/// A device, or what is wrong with the variable that was to name it.
type Choice = std::result::Result<Device, crossover_runtime::Error>;

/// What a [`Runtime`] is made with.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    threads: Option<usize>,
    simd: Option<Simd>,
    fusion: Option<bool>,
    memory_budget: Option<u64>,
    eager: Option<bool>,
    refuse_nan: Option<bool>,
    device: Option<Device>,
    deterministic: Option<bool>,
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
    pub fn from_executor(executor: Executor) -> Runtime {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Runtime { executor: Arc::new(executor), device: None, debug: Debug::default(), threads }
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
        static SHARED: OnceLock<Runtime> = OnceLock::new();
        if let Some(runtime) = SCOPE.with_borrow(|s| s.last().cloned()) {
            return runtime;
        }
        SHARED
            .get_or_init(|| {
                Runtime::builder().build().expect("a host runtime needs nothing that can be missing")
            })
            .clone()
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

    pub(crate) fn threads(&self) -> usize {
        self.threads
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
        self.executor.evaluate_for(self.placement()?, wanted, graph, inputs)
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
        self.threads = Some(threads);
        self
    }

    /// Instruction set, at most what the machine has. Bits do not change.
    pub fn simd(mut self, simd: Simd) -> Builder {
        self.simd = Some(simd);
        self
    }

    /// Whether operations share kernels. Bits do not change.
    pub fn fusion(mut self, fusion: bool) -> Builder {
        self.fusion = Some(fusion);
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
        self.memory_budget = Some(bytes);
        self
    }

    /// Whether every operation is computed where it is written, so that one that fails names its line at once; for
    /// debugging. By default if the environment has `CROSSOVER_EAGER=1`. Bits do not change.
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
        self.eager = Some(eager);
        self
    }

    /// Whether a NaN made of operands without one is an error, which names the line that made it; implies
    /// [`eager`](Builder::eager). By default if the environment has `CROSSOVER_NAN=1`.
    ///
    /// ```
    /// use crossover_array::{Array, Runtime};
    /// let strict = Runtime::builder().refuse_nan(true).build()?;
    /// let error = strict.scope(|| Array::from([4.0f32, -1.0]).sqrt().check()).unwrap_err();
    /// assert!(error.to_string().starts_with("sqrt: made a NaN at [1] of operands without one"));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn refuse_nan(mut self, refuse_nan: bool) -> Builder {
        self.refuse_nan = Some(refuse_nan);
        self
    }

    /// Where to compute. By default what `CROSSOVER_DEVICE` says (`auto`, `cpu`, `cuda`, `cuda:1`), and
    /// [`Device::Auto`] where it is not set. With [`Device::Cpu`] the runtime has no GPU at all.
    ///
    /// ```
    /// use crossover_array::{Array, Device, Runtime};
    /// let host = Runtime::builder().device(Device::Cpu).build()?;
    /// let total = host.scope(|| Array::arange(10).sum(()).item::<i64>())?;
    /// assert_eq!(total, 45);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn device(mut self, device: Device) -> Builder {
        self.device = Some(device);
        self
    }

    /// Whether matrix products, transforms and decompositions are placed by a rule that knows no times, so that a program gives
    /// the same bits in every run on machines with the same devices. Everything else does anyway. By default if the environment
    /// has `CROSSOVER_DETERMINISTIC=1`.
    ///
    /// ```
    /// use crossover_array::{Array, Runtime};
    /// let pinned = Runtime::builder().deterministic(true).build()?;
    /// let x = Array::ones::<f32>([8, 8]);
    /// assert_eq!(pinned.scope(|| x.matmul(&x).to_vec::<f32>())?[0], 8.0);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn deterministic(mut self, deterministic: bool) -> Builder {
        self.deterministic = Some(deterministic);
        self
    }

    /// Makes the runtime.
    #[track_caller]
    pub fn build(self) -> Result<Runtime> {
        let location = Location::caller();
        let mut cpu = CpuBackend::builder();
        if let Some(threads) = self.threads {
            cpu = cpu.threads(threads);
        }
        if let Some(simd) = self.simd {
            cpu = cpu.simd(simd);
        }
        if let Some(bytes) = self.memory_budget {
            cpu = cpu.memory_budget(bytes);
        }
        let cpu = cpu.build().map_err(|e| Error::new(e, location))?;
        let threads = cpu.threads();
        let host: Arc<dyn Backend> = Arc::new(cpu);
        let device = self.device.map_or_else(device::from_environment, Ok);
        // Devices are opened when something is to run there; until then they are names.
        let visible = if matches!(device, Ok(Device::Cpu)) { 0 } else { CudaBackend::visible() };
        let gpu = |ordinal| Arc::new(CudaBackend::new(ordinal as i32)) as Arc<dyn Backend>;
        let machine = Machine::new(host, (0..visible).map(gpu).collect());
        let machine = machine.map_err(|e| Error::new(e, location))?;
        let asked = std::env::var_os("CROSSOVER_DETERMINISTIC").is_some_and(|value| value == "1");
        let deterministic = self.deterministic.unwrap_or(asked);
        let options = Options { fusion: self.fusion.unwrap_or(true) };
        let given = Debug::from_environment();
        let refuse_nan = self.refuse_nan.unwrap_or(given.refuse_nan);
        let debug = Debug { eager: refuse_nan || self.eager.unwrap_or(given.eager), refuse_nan };
        let router = profiles::router(&machine, threads).deterministic(deterministic);
        let executor = Executor::with_router(machine, options, Placement::Host, router);
        Ok(Runtime { executor: Arc::new(executor), device: Some(device), debug: debug.watch(), threads })
    }
}
