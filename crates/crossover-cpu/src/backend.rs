//! The CPU as a device.
#![allow(unsafe_code)]

use std::sync::Arc;

use crossover_plan::kernel::{CallOp, Kernel};
use crossover_runtime::{Backend, Block, DeviceMemory, Error, Executable, Result, memory::Level};

use crate::{
    MemoryStats, Simd, copy,
    fused::FusedKernel,
    kernels,
    lower::Options,
    memory::{Pool, available},
    threads::Threads,
    tile::Tiles,
};

/// From where on it pays to do more than run tile functions on one thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thresholds {
    /// Nanoseconds of estimated work above which threads help.
    pub parallel: f64,
    /// Nanoseconds of estimated work above which machine code is made.
    pub native: f64,
    /// Bytes of a result above which it is written past the caches.
    pub stream: usize,
}

impl Thresholds {
    /// Waking a helper takes about 10 µs, so shorter kernels gain nothing (`cargo run --release -p crossover-cpu
    /// --example tiles -- threshold`). The other two are guesses: making machine code should not cost more than it saves,
    /// and large results would sweep the last-level cache clean of everything else.
    pub(crate) const DEFAULT: Thresholds =
        Thresholds { parallel: 30_000.0, native: 20_000.0, stream: 8 << 20 };
}

/// Options of a [`CpuBackend`].
#[derive(Debug, Clone)]
pub struct CpuBuilder {
    threads: Option<usize>,
    simd: Option<Simd>,
    thresholds: Thresholds,
    budget: Option<u64>,
    cache: Option<u64>,
}

impl CpuBuilder {
    /// Number of threads; 1 runs everything on the caller. The default shares Rayon's global pool.
    pub fn threads(mut self, threads: usize) -> CpuBuilder {
        self.threads = Some(threads.max(1));
        self
    }

    /// A narrower instruction set than the processor has. One it does not have is ignored.
    pub fn simd(mut self, simd: Simd) -> CpuBuilder {
        self.simd = Some(simd);
        self
    }

    /// Nanoseconds of estimated work from which a kernel is spread over threads; 0 spreads everything.
    pub fn parallel_threshold(mut self, nanoseconds: f64) -> CpuBuilder {
        self.thresholds.parallel = nanoseconds;
        self
    }

    /// Nanoseconds of estimated work from which a kernel becomes machine code of its own, where the processor has
    /// AVX-512 and the system allows it; 0 does so for every kernel, infinity for none.
    pub fn native_threshold(mut self, nanoseconds: f64) -> CpuBuilder {
        self.thresholds.native = nanoseconds;
        self
    }

    /// Bytes of a result from which machine code writes it past the caches, which it would only sweep clean.
    pub fn stream_threshold(mut self, bytes: usize) -> CpuBuilder {
        self.thresholds.stream = bytes;
        self
    }

    /// Bytes that arrays and cached memory may take together. The default is what is available now.
    pub fn memory_budget(mut self, bytes: u64) -> CpuBuilder {
        self.budget = Some(bytes);
        self
    }

    /// Bytes of freed memory kept for reuse. The default is a quarter of the budget.
    pub fn cache_limit(mut self, bytes: u64) -> CpuBuilder {
        self.cache = Some(bytes);
        self
    }

    /// Builds the backend.
    pub fn build(self) -> Result<CpuBackend> {
        let threads = match self.threads {
            None => Threads::shared(),
            Some(count) => Threads::own(count).map_err(|e| Error::Device {
                device: "CPU".into(),
                during: "starting threads",
                reason: e.to_string(),
            })?,
        };
        let simd = self.simd.filter(|s| s.is_available()).unwrap_or_else(Simd::detect);
        let budget = self.budget.unwrap_or_else(available);
        let pool = Pool::new(budget, self.cache.unwrap_or(budget / 4));
        let (threads, pool) = (Arc::new(threads), Arc::new(pool));
        Ok(CpuBackend { threads, simd, thresholds: self.thresholds, pool })
    }
}

/// The CPU backend. Addresses are host pointers.
#[derive(Debug)]
pub struct CpuBackend {
    threads: Arc<Threads>,
    simd: Simd,
    thresholds: Thresholds,
    pool: Arc<Pool>,
}

impl CpuBackend {
    /// With all options at their defaults.
    pub fn new() -> CpuBackend {
        let budget = available();
        CpuBackend {
            threads: Arc::new(Threads::shared()),
            simd: Simd::detect(),
            thresholds: Thresholds::DEFAULT,
            pool: Arc::new(Pool::new(budget, budget / 4)),
        }
    }

    /// Options.
    ///
    /// ```
    /// use crossover_cpu::{CpuBackend, Simd};
    /// let cpu = CpuBackend::builder().threads(2).simd(Simd::Scalar).build()?;
    /// assert_eq!((cpu.threads(), cpu.simd()), (2, Simd::Scalar));
    /// # Ok::<(), crossover_runtime::Error>(())
    /// ```
    pub fn builder() -> CpuBuilder {
        CpuBuilder { threads: None, simd: None, thresholds: Thresholds::DEFAULT, budget: None, cache: None }
    }

    /// Threads that kernels may use.
    pub fn threads(&self) -> usize {
        self.threads.count()
    }

    /// Vector instructions that tiles use.
    pub fn simd(&self) -> Simd {
        self.simd
    }

    /// Counters of the memory pool.
    pub fn memory(&self) -> MemoryStats {
        self.pool.stats()
    }

    /// Gives cached memory back to the system until at most `bytes` remain.
    pub fn trim(&self, bytes: u64) {
        self.pool.trim(bytes);
    }
}

impl Default for CpuBackend {
    fn default() -> CpuBackend {
        CpuBackend::new()
    }
}

impl Backend for CpuBackend {
    fn name(&self) -> &str {
        "CPU"
    }

    fn allocate(&self, bytes: usize) -> Result<Block> {
        self.pool.allocate(bytes)
    }

    fn free(&self, block: Block) {
        self.pool.free(block);
    }

    fn upload(&self, from: &[u8], to: Block) -> Result<()> {
        if from.len() > to.bytes {
            let what = format!("an upload of {} bytes into a block of {}", from.len(), to.bytes);
            return Err(Error::Internal(what));
        }
        // SAFETY: the block has the bytes, and its owner lets nobody else use it during the call.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.address.0 as *mut u8, from.len()) };
        Ok(())
    }

    fn download(&self, from: Block, to: &mut [u8]) -> Result<()> {
        if to.len() > from.bytes {
            let what = format!("a download of {} bytes from a block of {}", to.len(), from.bytes);
            return Err(Error::Internal(what));
        }
        // SAFETY: as for `upload`.
        unsafe { std::ptr::copy_nonoverlapping(from.address.0 as *const u8, to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    fn copy(&self, from: &[u8], to: &mut [u8]) {
        copy::copy(&self.threads, from, to);
    }

    fn is_host(&self) -> bool {
        true
    }

    fn held(&self) -> Option<(u64, u64)> {
        Some(self.pool.held())
    }

    fn memory(&self) -> Option<DeviceMemory> {
        let used = self.pool.stats();
        let reserved = used.live + used.cached;
        let free = used.budget.saturating_sub(reserved);
        let usage = if used.budget == 0 { 1.0 } else { reserved as f64 / used.budget as f64 };
        Some(DeviceMemory {
            live: used.live,
            cached: used.cached,
            reserved,
            external: 0,
            budget: used.budget,
            free,
            total: used.budget,
            peak: used.peak,
            peak_reserved: used.peak_reserved.max(reserved),
            largest: free + used.cached,
            hits: used.hits,
            misses: used.misses,
            refused: 0,
            usage,
            level: Level::Normal.after(usage),
        })
    }

    fn admit(&self, bytes: usize) -> Result<()> {
        self.pool.admit(bytes)
    }

    fn trim(&self) -> Result<()> {
        self.pool.trim(0);
        Ok(())
    }

    fn prepare(&self, kernel: &Kernel) -> Result<Box<dyn Executable>> {
        let tiles = Tiles::of(self.simd);
        let threads = self.threads.clone();
        let call = match kernel {
            Kernel::Fused(fused) => {
                let native = self.simd.makes_code();
                let options =
                    Options { tiles, threads: threads.count(), thresholds: self.thresholds, native };
                return Ok(Box::new(FusedKernel::new(fused, threads, options)?));
            }
            Kernel::Call(call) => call,
        };
        match &call.op {
            CallOp::MatMul => Ok(Box::new(kernels::MatMul::new(call, tiles, threads, self.pool.clone())?)),
            CallOp::Scan { op, axis } => Ok(Box::new(kernels::Scan::new(call, *op, *axis, threads)?)),
            CallOp::Sample(sampler) => Ok(Box::new(kernels::Sample::new(call, *sampler, threads)?)),
            CallOp::Take { axis } => Ok(Box::new(kernels::Take::new(call, *axis, tiles, threads)?)),
            CallOp::Gather { axis } => Ok(Box::new(kernels::Gather::new(call, *axis, threads)?)),
            CallOp::Scatter { op, axis } => {
                Ok(Box::new(kernels::Scatter::new(call, *op, *axis, tiles, threads)?))
            }
            CallOp::Sort { axis, descending, indices } => {
                let order = (*axis, *descending, *indices);
                Ok(Box::new(kernels::Sort::new(call, order, self.simd, threads, self.pool.clone())?))
            }
            CallOp::TopK { axis, descending } => {
                let order = (*axis, *descending);
                Ok(Box::new(kernels::Sort::top(call, order, self.simd, threads, self.pool.clone())?))
            }
            CallOp::SearchSorted { right } => Ok(Box::new(kernels::Search::new(call, *right, threads)?)),
            CallOp::Compress => Ok(Box::new(kernels::Compress::new(call, tiles, threads)?)),
            CallOp::Fft { kind, axes, scale } => kernels::fft(call, *kind, axes, *scale, threads, &self.pool),
            CallOp::Linalg(op) => kernels::linalg(call, *op, threads, self.pool.clone()),
            CallOp::Custom(kernel) => Ok(Box::new(kernels::Custom::new(call, kernel, threads))),
            CallOp::Convolve { mode, boundary } => {
                kernels::convolve(call, *mode, *boundary, self.simd, threads, self.pool.clone())
            }
            other => Err(Error::Unsupported { device: "CPU".into(), what: format!("the call {other:?}") }),
        }
    }
}
