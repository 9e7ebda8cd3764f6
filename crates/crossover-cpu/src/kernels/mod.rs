//! Kernels that are not fused code.

mod convolve;
mod fft;
mod linalg;
mod matmul;
mod panel;
mod scan;
mod take;

pub use convolve::convolve;
pub use fft::fft;
pub use linalg::linalg;
pub use matmul::MatMul;
pub use scan::Scan;
pub use take::Take;
