//! From graph to plan: simplify, fuse, lower, schedule; what a plan costs and how it reads.
//!
//! Pure: no threads, no devices. `README.md` beside the sources explains the passes with an example.

mod cost;
mod count;
mod draft;
mod explain;
mod fold;
mod fuse;
pub mod kernel;
mod lower;
mod plan;
mod simplify;
mod spread;
mod text;
mod work;

pub use cost::{Cost, Rates};
pub use explain::duration;
pub use plan::{Buffer, Fold, Launch, Options, Plan, Role};
pub use work::{Class, Term, Width, Work};
