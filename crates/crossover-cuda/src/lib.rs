//! The CUDA backend: the only crate that touches the driver and NVRTC.
//!
//! [`CudaBackend`] runs plans: generated kernels, compiled by NVRTC and kept on disk by [`KernelCache`]. Nothing of CUDA
//! is needed to build, and a machine without it gets a typed reason from [`CudaBackend::open`], never a panic.
//! With the feature `proof` there is a module of that name, which compares every kind of kernel with the host, bit for bit.

mod backend;
mod blas;
mod blocks;
mod budget;
mod cache;
pub mod calls;
mod compiler;
mod crew;
mod cufft;
mod cusolver;
mod device;
mod driver;
mod error;
mod graph;
mod kernel;
mod landing;
mod launch;
mod leaving;
mod library;
mod maps;
mod matmul;
mod nvml;
mod nvrtc;
mod peer;
#[cfg(feature = "proof")]
pub mod proof;
mod queue;
mod queued;
mod sequence;
mod stream;
mod timing;
mod transfer;
mod underway;

pub use backend::CudaBackend;
pub use cache::{CacheCounts, CacheEntry, KernelCache};
pub use compiler::CompilerCounts;
pub use device::{Event, Gpu, Memory, Module, Pinned};
pub use error::{Error, Result};
pub use launch::Arguments;
pub use nvml::{GpuLoad, gpu_loads};
pub use nvrtc::Nvrtc;
pub use queue::MemoryUse;
