//! Devices and what runs on them: the `Backend` trait, buffers that may be valid on several devices at once, the
//! executor, trace spans and a simulated device.

mod backend;
mod error;

pub use backend::{Address, Backend, Block, Executable, Launch};
pub use error::{Error, Result};
