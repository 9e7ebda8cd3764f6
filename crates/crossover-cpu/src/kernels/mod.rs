//! Kernels that are not fused code.

mod compress;
mod gather;
mod matmul;
mod scan;
mod scatter;
mod search;
mod sort;
mod stream;
mod take;
mod walk;

pub use compress::Compress;
pub use gather::Gather;
pub use matmul::MatMul;
pub use scan::Scan;
pub use scatter::Scatter;
pub use search::Search;
pub use sort::Sort;
pub use take::Take;
