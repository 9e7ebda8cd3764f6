//! A device that fails on request: a real one, with faults put in between.

use std::{sync::Arc, time::Duration};

use crossover_plan::kernel::Kernel;
use crossover_runtime::{
    Backend, Block, DeviceMemory, Error, Executable, HostMemory, Launch, Result, memory::Account,
};
use parking_lot::Mutex;

/// What is to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Allocation,
    Copy,
    Kernel,
}

/// The fault to come: how many pass before it, and whether it stays.
#[derive(Debug, Default)]
struct Plan {
    fault: Option<(What, u64, bool)>,
    came: bool,
}

impl Plan {
    fn is_due(&mut self, what: What) -> bool {
        let Some((planned, left, always)) = &mut self.fault else { return false };
        if *planned != what {
            return false;
        }
        if *left > 0 {
            *left -= 1;
            return false;
        }
        self.came = true;
        if !*always {
            self.fault = None;
        }
        true
    }
}

pub struct Faulty<B> {
    inner: Arc<B>,
    plan: Arc<Mutex<Plan>>,
}

impl<B: Backend> Faulty<B> {
    pub fn new(inner: Arc<B>) -> Faulty<B> {
        Faulty { inner, plan: Arc::default() }
    }

    /// Lets the k-th from now fail, once or from then on.
    pub fn plan(&self, what: What, k: u64, always: bool) {
        *self.plan.lock() = Plan { fault: Some((what, k, always)), came: false };
    }

    /// Takes the fault back; whether it came.
    pub fn heal(&self) -> bool {
        let mut plan = self.plan.lock();
        plan.fault = None;
        plan.came
    }

    fn check(&self, what: What, during: &'static str) -> Result<()> {
        if self.plan.lock().is_due(what) {
            let (device, reason) = (self.inner.name().to_string(), "injected fault".to_string());
            return Err(Error::Device { device, during, reason });
        }
        Ok(())
    }

    fn check_room(&self, bytes: usize) -> Result<()> {
        if !self.plan.lock().is_due(What::Allocation) {
            return Ok(());
        }
        let device = self.inner.name().to_string();
        Err(Error::OutOfMemory { device, requested: bytes as u64, free: 0, reserved: 0, largest: 0 })
    }
}

impl<B: Backend> Backend for Faulty<B> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn allocate(&self, bytes: usize) -> Result<Block> {
        self.check_room(bytes)?;
        self.inner.allocate(bytes)
    }

    fn free(&self, block: Block) {
        self.inner.free(block);
    }

    fn upload(&self, from: &[u8], to: Block) -> Result<()> {
        self.check(What::Copy, "copying to it")?;
        self.inner.upload(from, to)
    }

    fn receive(&self, from: &[u8]) -> Result<Block> {
        self.check_room(from.len())?;
        self.check(What::Copy, "copying to it")?;
        self.inner.receive(from)
    }

    fn download(&self, from: Block, to: &mut [u8]) -> Result<()> {
        self.check(What::Copy, "copying from it")?;
        self.inner.download(from, to)
    }

    fn pinned(&self, bytes: usize) -> Result<Option<Box<dyn HostMemory>>> {
        self.inner.pinned(bytes)
    }

    fn finish(&self) -> Result<()> {
        self.inner.finish()
    }

    fn measure(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
        self.inner.measure(work)
    }

    fn memory(&self) -> Option<DeviceMemory> {
        self.inner.memory()
    }

    fn account(&self) -> Option<&Account> {
        self.inner.account()
    }

    fn trim(&self) -> Result<()> {
        self.inner.trim()
    }

    fn check(&self) -> Result<()> {
        self.inner.check()
    }

    fn prepare(&self, kernel: &Kernel) -> Result<Box<dyn Executable>> {
        let inner = self.inner.prepare(kernel)?;
        Ok(Box::new(FaultyKernel { inner, plan: self.plan.clone(), device: self.inner.name().to_string() }))
    }
}

struct FaultyKernel {
    inner: Box<dyn Executable>,
    plan: Arc<Mutex<Plan>>,
    device: String,
}

impl Executable for FaultyKernel {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        if self.plan.lock().is_due(What::Kernel) {
            let reason = "injected fault".to_string();
            return Err(Error::Device { device: self.device.clone(), during: "running a kernel", reason });
        }
        self.inner.run(launch)
    }
}
