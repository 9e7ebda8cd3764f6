//! The CPU as a device.
#![allow(unsafe_code)]

use std::sync::Arc;

use crossover_plan::kernel::{CallOp, Kernel};
use crossover_runtime::{Backend, Block, Error, Executable, Result};

use crate::{
    MemoryStats, Simd,
    fused::FusedKernel,
    kernels,
    memory::{Pool, available},
    threads::Threads,
    tile::Tiles,
};

/// Nanoseconds of estimated work above which threads help: waking a helper takes about 10 µs, so shorter kernels gain
/// nothing (`cargo run --release -p crossover-cpu --example tiles -- threshold`).
const THRESHOLD: f64 = 30_000.0;

/// Options of a [`CpuBackend`].
#[derive(Debug, Clone)]
pub struct CpuBuilder {
    threads: Option<usize>,
    simd: Option<Simd>,
    threshold: f64,
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
        self.threshold = nanoseconds;
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
        Ok(CpuBackend { threads: Arc::new(threads), simd, threshold: self.threshold, pool: Arc::new(pool) })
    }
}

/// The CPU backend. Addresses are host pointers.
#[derive(Debug)]
pub struct CpuBackend {
    threads: Arc<Threads>,
    simd: Simd,
    threshold: f64,
    pool: Arc<Pool>,
}

impl CpuBackend {
    /// With all options at their defaults.
    pub fn new() -> CpuBackend {
        let builder = CpuBackend::builder();
        let budget = available();
        CpuBackend {
            threads: Arc::new(Threads::shared()),
            simd: Simd::detect(),
            threshold: builder.threshold,
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
        CpuBuilder { threads: None, simd: None, threshold: THRESHOLD, budget: None, cache: None }
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

    fn is_host(&self) -> bool {
        true
    }

    fn prepare(&self, kernel: &Kernel) -> Result<Box<dyn Executable>> {
        let tiles = Tiles::of(self.simd);
        let threads = self.threads.clone();
        let call = match kernel {
            Kernel::Fused(fused) => {
                return Ok(Box::new(FusedKernel::new(fused, tiles, threads, self.threshold)?));
            }
            Kernel::Call(call) => call,
        };
        match call.op {
            CallOp::MatMul => Ok(Box::new(kernels::MatMul::new(call, tiles, threads, self.pool.clone())?)),
            CallOp::Scan { op, axis } => Ok(Box::new(kernels::Scan::new(call, op, axis, threads)?)),
            CallOp::Take { axis } => Ok(Box::new(kernels::Take::new(call, axis, tiles, threads)?)),
            ref other => {
                Err(Error::Unsupported { device: "CPU".into(), what: format!("the call {other:?}") })
            }
        }
    }
}
