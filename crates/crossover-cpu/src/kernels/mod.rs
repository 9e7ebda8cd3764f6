//! Kernels that are not fused code.

mod compress;
mod convolve;
mod custom;
mod fft;
mod gather;
mod linalg;
mod matmul;
mod panel;
mod sample;
mod scan;
mod scatter;
mod search;
mod sort;
mod stream;
mod take;
mod walk;

pub use compress::Compress;
pub use convolve::convolve;
pub use custom::Custom;
pub use fft::fft;
pub use gather::Gather;
pub use linalg::linalg;
pub use matmul::MatMul;
pub use sample::Sample;
pub use scan::Scan;
pub use scatter::Scatter;
pub use search::Search;
pub use sort::Sort;
pub use take::Take;
