//! Memory that runs out without a crash: budgets, accounts, pressure, and what is done before an allocation fails.
//!
//! A backend keeps the [`Account`] of its memory and refuses what the budget does not allow. The [`Machine`](crate::Machine) makes
//! room then, cheapest first: cached memory, copies that the host has too, buffers that were used longest ago. The executor runs
//! a kernel in parts if its operands still do not fit, and on the host after that.

mod account;
mod leak;
mod limit;
mod pressure;
mod reclaim;
mod residents;
mod split;
mod stats;

pub use account::{Account, Admission};
pub use leak::{LeakReport, LeakWatch, Sample};
pub use limit::{Growth, Limit, Limits};
pub use pressure::{Level, PressureEvent, Subscription};
pub use reclaim::Reclaimed;
pub use stats::{DeviceMemory, idle_share};

pub(crate) use pressure::Subscribers;
pub(crate) use reclaim::{Tally, is_full};
pub(crate) use residents::Residents;
pub(crate) use split::Cut;
