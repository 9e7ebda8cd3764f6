//! From graph to plan: simplify, fuse, schedule; what a plan costs and how it reads.
//!
//! Pure: no threads, no devices.

pub mod kernel;
