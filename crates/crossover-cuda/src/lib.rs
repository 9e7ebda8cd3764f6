//! The CUDA backend: the only crate that touches the driver and NVRTC.
//!
//! Nothing of CUDA is needed to build, and a machine without it gets a typed reason from [`Gpu::open`] and
//! [`Nvrtc::open`], never a panic. [`proof`] compares every kind of generated kernel with the host, bit for bit.

mod device;
mod error;
mod launch;
mod nvrtc;
pub mod proof;

pub use device::{Event, Gpu, Memory, Module, Pinned};
pub use error::{Error, Result};
pub use launch::Arguments;
pub use nvrtc::Nvrtc;
