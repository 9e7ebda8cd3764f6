//! The kernels: circular convolution of rows, and the nearest items of queries. One definition for both devices each; which one runs
//! is the runtime's decision.

mod convolve;
mod lanes;
mod nearest;
mod passes;
mod single;
mod source;
mod transpose;
mod winners;

#[cfg(test)]
mod compiled;

pub(crate) use self::{
    convolve::{convolve, convolve_sum},
    nearest::{MULTIPLE, indices, margin, nearest, prepared, winners},
    winners::scores,
};
