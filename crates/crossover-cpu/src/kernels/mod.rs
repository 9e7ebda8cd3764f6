//! Kernels that are not fused code.

mod matmul;
mod scan;
mod take;

pub use matmul::MatMul;
pub use scan::Scan;
pub use take::Take;
