//! Memories: named items, and associations of them in one vector.

mod associative;
mod base;
mod items;
mod reserved;
mod saved;

pub use self::{
    associative::{AssociativeMemory, Reliability},
    items::{ItemMemory, Named},
};
