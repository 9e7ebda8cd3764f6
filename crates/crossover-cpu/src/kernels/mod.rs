//! Kernels that are not fused code.

mod matmul;
mod sample;
mod scan;
mod take;

pub use matmul::MatMul;
pub use sample::Sample;
pub use scan::Scan;
pub use take::Take;
