//! The reference interpreter: the definition of every op, written to be obviously right and nothing else.
//!
//! [`map`] is one elementwise op on single values, [`evaluate`] a whole graph node by node. Every backend must give
//! the same bits, except where [`crate::graph::Op::is_exact`] says otherwise: matrix products, Fourier transforms and
//! decompositions, whose result here is the centre of an error bound.
//!
//! NaN bits. Movement (views, `concat`, `take`, sorts, masks, `where`) and ops whose rule is
//! [`NanRule::Exact`](crate::ops::NanRule) keep the bits of a NaN, in 16-bit dtypes too. Whatever else an op,
//! a reduction, a scan, a matrix product or a conversion makes, a NaN result is the canonical one of its dtype.
//! The one conversion that is movement is from a 16-bit float to `f32`: the payload keeps its place.
//!
//! Cases that every backend runs are read by [`corpus`], and [`random_graph`] makes graphs for property tests.

mod convolve;
#[doc(hidden)]
pub mod corpus;
mod elementwise;
mod evaluate;
mod fft;
mod generate;
mod linalg;
mod lookup;
mod matmul;
mod movement;
mod pattern;
mod reduce;
mod tensor;

pub use self::{
    elementwise::{canonical, map},
    evaluate::{MAX_ELEMENTS, evaluate},
    tensor::Tensor,
};
#[doc(hidden)]
pub use self::{
    generate::{GraphOptions, random_graph, random_inputs},
    pattern::{Pattern, edges},
};
