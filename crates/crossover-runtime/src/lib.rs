//! Devices and what runs on them: the `Backend` trait, buffers that may be valid on several devices at once, the
//! executor, trace spans and a simulated device.

mod account;
mod alone;
mod apart;
mod arena;
mod backend;
mod buffer;
mod cache;
pub mod calibrate;
mod copies;
mod counts;
mod decision;
mod destination;
mod error;
mod executor;
mod folder;
mod fork;
mod interrupt;
mod launch;
mod machine;
pub mod memory;
mod observe;
mod outline;
mod parts;
mod place;
mod prepared;
mod profile;
mod recent;
mod record;
mod recording;
mod replay;
mod room;
mod route;
mod router;
pub mod sim;
mod solve;
mod spans;
mod stream;
pub mod trace;
mod whole;
pub mod workloads;

pub use account::{explained, explained_with};
pub use apart::Entry;
pub use backend::{
    Address, Backend, Block, Coming, Executable, HostMemory, Landing, Launch, Signature, Underway,
};
pub use buffer::{Buffer, Hold};
pub use copies::{Bringing, Sending};
pub use counts::Counts;
pub use decision::{Decision, Why};
pub use error::{Error, Result};
pub use executor::{Executor, Observed, Outputs};
pub use folder::cache_folder;
pub use fork::is_forked;
pub use interrupt::Interrupt;
pub use machine::{Device, Machine};
pub use memory::{DeviceMemory, idle_share};
pub use place::Placement;
pub use prepared::Prepared;
pub use profile::{Curve, DeviceProfile, Link, Links, Made, Profile, RateTable};
pub use recent::{Ran, Recent};
pub use record::{KernelEntry, KernelRecord};
pub use recording::Recording;
pub use replay::{Place, Sequence, Step};
pub use router::{Hysteresis, Measure, Router, Wanted};
pub use stream::{Stream, Streamed};
