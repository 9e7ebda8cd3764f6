//! The host and the GPU as one machine, with executors on either.

use std::sync::Arc;

use crossover::Runtime;
use crossover_cpu::CpuBackend;
use crossover_cuda::{CudaBackend, Gpu};
use crossover_plan::Options;
use crossover_runtime::{Backend, Device, Executor, Machine, Placement};

use crate::Result;

/// The GPU.
pub const GPU: Device = Device(1);

/// What every part works with.
pub struct Setup {
    pub cuda: Arc<CudaBackend>,
    pub machine: Arc<Machine>,
}

impl Setup {
    /// Opens device 0. Nothing is kept on disk: parts that test that use folders of their own.
    pub fn open() -> Result<Setup> {
        let cuda = Arc::new(CudaBackend::new(0).cache(None));
        cuda.open()?;
        let host = Arc::new(CpuBackend::new());
        Ok(Setup { machine: Machine::new(host, vec![cuda.clone()])?, cuda })
    }

    pub fn describe(&self) -> String {
        self.cuda.describe()
    }

    pub fn gpu(&self) -> Result<&Gpu> {
        Ok(self.cuda.gpu()?)
    }

    pub fn executor(&self, placement: Placement, fusion: bool) -> Executor {
        Executor::new(self.machine.clone(), Options { fusion }, placement)
    }

    /// A runtime whose arrays are computed on the GPU.
    pub fn runtime(&self, fusion: bool) -> Runtime {
        Runtime::from_executor(self.executor(Placement::On(GPU), fusion))
    }
}
