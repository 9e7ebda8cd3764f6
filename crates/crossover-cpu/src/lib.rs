//! The CPU backend: fused kernels as short programs of SIMD loops over tiles that stay in the first-level cache,
//! split over threads above a measured amount of work; matrix products, scans, lookups, scatters and sorts as kernels of
//! their own; and pooled host memory.
//!
//! Results do not depend on the number of threads, the level of [`Simd`], or how a kernel is cut into tiles.

mod accumulate;
mod backend;
mod control;
mod copy;
mod emit;
mod frame;
mod fused;
mod geometry;
mod grouping;
mod join;
mod kernels;
mod lower;
mod memory;
mod native;
mod program;
mod scratch;
mod seat;
mod simd;
mod team;
mod threads;
pub mod tile;
mod window;

pub use backend::{CpuBackend, CpuBuilder};
pub use memory::MemoryStats;
pub use simd::Simd;
