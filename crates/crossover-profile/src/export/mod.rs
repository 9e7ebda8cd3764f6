//! A trace in the forms that other programs read.

mod chrome;
mod folded;
mod prometheus;
mod speedscope;

pub use chrome::chrome;
pub use folded::folded;
pub(crate) use prometheus::label;
pub use prometheus::prometheus;
pub use speedscope::speedscope;
