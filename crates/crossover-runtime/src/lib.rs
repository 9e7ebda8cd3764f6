//! Devices and what runs on them: the `Backend` trait, buffers that may be valid on several devices at once, the
//! executor, trace spans and a simulated device.

mod account;
mod backend;
mod buffer;
mod cache;
pub mod calibrate;
mod copy;
mod decision;
mod error;
mod executor;
mod folder;
mod fork;
pub mod memory;
mod observe;
mod place;
mod prepared;
mod profile;
mod recent;
mod record;
mod recording;
mod replay;
mod router;
pub mod sim;
mod solve;
mod stream;
pub mod trace;
pub mod workloads;

pub use account::{explained, explained_with};
pub use backend::{Address, Backend, Block, Coming, DeviceMemory, Executable, HostMemory, Launch, Signature};
pub use buffer::{Buffer, Device, Machine};
pub use decision::{Decision, Why};
pub use error::{Error, Result};
pub use executor::{Counts, Executor, Observed, Outputs, Stats};
pub use folder::cache_folder;
pub use fork::is_forked;
pub use place::Placement;
pub use prepared::Prepared;
pub use profile::{Curve, DeviceProfile, Link, Links, Made, Profile, RateTable};
pub use recent::{Ran, Recent};
pub use record::{KernelEntry, KernelRecord};
pub use recording::Recording;
pub use replay::{Place, Sequence, Step};
pub use router::{Hysteresis, Measure, Router, Wanted};
pub use stream::{Stream, Streamed};
