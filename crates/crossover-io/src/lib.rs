//! Array file formats: `.npy`, `.npz`, safetensors and memory maps.
//!
//! Readers turn a file into dtypes, shapes and bytes; writers do the opposite. This crate knows no arrays, no devices
//! and no graphs, so that every reader can be driven by a fuzzer with nothing else around it.
//!
//! What always holds: a file may be hostile. Whatever its bytes are, a reader answers with values or an [`Error`] that
//! names the file and what is wrong with it; it never panics. Sizes are checked against the bytes that are really
//! there before memory is reserved for them. Files are written beside their name and renamed when they are complete.

mod data;
mod error;
mod map;
mod name;
pub mod npy;
pub mod npz;
mod replace;
pub mod safetensors;

pub use error::{Error, Result};
pub use map::Map;
pub use npy::Npy;
pub use npz::Npz;
pub use replace::replace;
pub use safetensors::Safetensors;
