//! Proof that generated kernels give the same bits on a GPU as the op bodies give on the host.
//!
//! Uses `crossover-core` alone for what is right: the same bodies, instantiated with machine scalars, and a scalar
//! interpreter of fused kernels.

pub mod apply;
pub mod generate;
pub mod interpreter;
