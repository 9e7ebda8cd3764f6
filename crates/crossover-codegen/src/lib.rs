//! From fused kernel to readable CUDA C++.
//!
//! [`fused`] turns a kernel of the plan into a [`Source`]: the text for NVRTC, and the launches that run it. The
//! text depends on the structure of the kernel (rank, which strides are 0 or 1, dtypes, steps, the class of the row
//! length) and never on a size or a stride, so one compiled module serves every shape of that structure. Sizes,
//! strides and scalars travel as arguments.
//!
//! The text must be compiled with [`NVRTC_FLAGS`]: they are part of the semantics, since contraction or flushed
//! denormals would change result bits.
//!
//! What always holds: reductions combine in the order of [`crossover_core::canonical`]; absent lanes are skipped;
//! any grid, smaller or larger than the one suggested, gives the same bits. Pure: needs no GPU.

mod block;
mod column;
mod element;
mod entry;
mod finish;
mod flat;
mod functions;
mod map;
mod pass;
mod prelude;
mod row;
pub mod samples;
mod scratch;
mod source;
mod stages;
mod steps;
mod table;
mod words;
mod writer;

pub use element::{Words, element, elements};
pub use functions::{cast_functions, op_functions};
pub use map::STREAMED;
pub use source::{Argument, Launch, Source};

use crossover_plan::kernel::{Fused, Kind};

/// Options every kernel is compiled with, besides the architecture.
pub const NVRTC_FLAGS: [&str; 5] =
    ["--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true", "-std=c++17"];

/// What a device offers, and from which size kernels make use of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of shared memory that a block may ask for at launch.
    pub shared: usize,
    /// Elements from which functions of one 16-bit number are looked up, where the table fits into shared memory.
    pub table: usize,
}

impl Default for Limits {
    /// What every device offers: 48 KiB of shared memory, so no tables.
    fn default() -> Limits {
        Limits { shared: 48 << 10, table: 1 << 24 }
    }
}

/// The CUDA C++ of a fused kernel and how to launch it, on any device.
pub fn fused(kernel: &Fused) -> Source {
    fused_within(kernel, Limits::default())
}

/// The same for a device with these limits.
pub fn fused_within(kernel: &Fused, limits: Limits) -> Source {
    let flat = flat::Flat::new(kernel);
    match kernel.kind {
        Kind::Map => {
            if let Some(source) = table::source(kernel, &flat, limits) {
                return source;
            }
            match words::widened(kernel, &flat) {
                Some(words) => map::source(&words, &flat::Flat::new(&words)),
                None => map::source(kernel, &flat),
            }
        }
        // Nothing to reduce: every reduction is a constant, and what is left is elementwise.
        _ if kernel.space.reduce_size() == 0 => map::source(kernel, &flat),
        Kind::Row => row::source(kernel, &flat),
        Kind::Column => column::source(kernel, &flat),
    }
}
