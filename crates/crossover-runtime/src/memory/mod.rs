//! Memory that runs out without a crash: budgets, accounts, pressure, and what is done before an allocation fails.

mod limit;

pub use limit::{Growth, Limit, Limits};
