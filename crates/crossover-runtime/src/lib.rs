//! Devices and what runs on them: the `Backend` trait, buffers that may be valid on several devices at once, the
//! executor, trace spans and a simulated device.

mod backend;
mod buffer;
mod cache;
mod copy;
mod error;
mod executor;
mod place;
mod prepared;
mod record;
mod replay;
pub mod sim;
mod stream;
pub mod trace;

pub use backend::{Address, Backend, Block, Coming, Executable, HostMemory, Launch, Signature};
pub use buffer::{Buffer, Device, Machine};
pub use error::{Error, Result};
pub use executor::{Counts, Executor, Stats};
pub use place::Placement;
pub use prepared::Prepared;
pub use record::{KernelEntry, KernelRecord};
pub use replay::{Place, Sequence, Step};
pub use stream::{Stream, Streamed};
