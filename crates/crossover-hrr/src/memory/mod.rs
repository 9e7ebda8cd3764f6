//! Memories: named items, and associations of them in one vector.

mod associative;
mod base;
mod items;
mod kept;
mod reserved;
mod saved;

pub use self::{
    associative::{AssociativeMemory, Reliability},
    items::{ItemMemory, Named},
};
