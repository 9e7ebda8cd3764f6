//! The operations of a graph.

use std::fmt;

use smallvec::SmallVec;

use crate::{
    DType, Layout, Shape, Span,
    custom::CustomKernel,
    ops::{
        MapOp,
        convolve::{Boundary, ConvolveMode},
        fft::{FftKind, FftScale},
        linalg::LinalgOp,
        reduce::ReduceOp,
        scatter::ScatterOp,
    },
    sample::Sampler,
};

/// Axes of a shape, as positions.
pub type Axes = SmallVec<[usize; 4]>;

/// Dtype and shape of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Type {
    /// Type of the elements.
    pub dtype: DType,
    /// Lengths of the axes.
    pub shape: Shape,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, self.shape)
    }
}

/// What a node does. Attributes hold everything that cannot be derived from the operands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// Bytes from outside, row-major without gaps.
    Input {
        /// Position among the inputs.
        index: u32,
        /// What the bytes are.
        ty: Type,
    },
    /// A host scalar without axes; its value is in [`super::Graph::scalars`].
    Scalar {
        /// Position among the scalars.
        slot: u32,
        /// Its dtype.
        dtype: DType,
    },
    /// The index along one axis, as `i64`.
    Index {
        /// Shape of the result.
        shape: Shape,
        /// The axis whose index is taken.
        axis: usize,
    },
    /// Philox bits as `u32`, by row-major position. Operand: the key, `u32[2]`.
    Random {
        /// Shape of the result.
        shape: Shape,
        /// Independent streams under one key.
        stream: u32,
    },
    /// Random numbers of a distribution with a parameter per element, as `f64`, by row-major position. Operands: the
    /// key, `u32[2]`, and the parameters.
    Sample(Sampler),
    /// An elementwise op on operands of equal dtype and shape.
    Map(MapOp),
    /// Conversion to another dtype.
    Cast(DType),
    /// One of two values by a boolean. Operands: mask, yes, no.
    Where,
    /// A reduction over sorted axes.
    Reduce {
        /// What is combined.
        op: ReduceOp,
        /// The axes, sorted; not empty.
        axes: Axes,
        /// Whether the axes stay with length 1.
        keepdims: bool,
    },
    /// A running sum or product along an axis.
    Scan {
        /// [`ReduceOp::Sum`] or [`ReduceOp::Prod`].
        op: ReduceOp,
        /// The axis.
        axis: usize,
    },
    /// The same elements in row-major order under another shape.
    Reshape(Shape),
    /// Axis i of the result is axis `axes[i]` of the operand.
    Permute(Axes),
    /// Axes of length 1 repeated, and new leading axes.
    Expand(Shape),
    /// Axes reversed.
    Flip(Axes),
    /// One span per axis.
    Slice(SmallVec<[Span; 4]>),
    /// Any strided window onto the row-major elements of the operand.
    Strided(Layout),
    /// Operands joined along an axis.
    Concat {
        /// The axis.
        axis: usize,
    },
    /// Entries along an axis by index. Operands: values, and `i64` indices with one axis; each index is clamped.
    Take {
        /// The axis.
        axis: usize,
    },
    /// Elements along an axis by index. Operands: values, and `i64` indices that differ from them in length along the
    /// axis only; each index is clamped.
    Gather {
        /// The axis.
        axis: usize,
    },
    /// The first operand with values written or combined into it along an axis, in row-major order. Operands: the
    /// array, `i64` indices, values shaped as the indices. Indices outside the axis write nothing.
    Scatter {
        /// What happens to an element that is written to.
        op: ScatterOp,
        /// The axis.
        axis: usize,
    },
    /// Lines along an axis in the order of [`crate::ops::order`], stably; or the `i64` indices that would sort them.
    Sort {
        /// The axis.
        axis: usize,
        /// Largest first; NaN is last all the same.
        descending: bool,
        /// Whether the result is indices.
        indices: bool,
    },
    /// The `i64` indices of the first `k` elements of lines along an axis in the order of [`crate::ops::order`]: what sorting
    /// all of them stably would put there.
    TopK {
        /// The axis.
        axis: usize,
        /// How many; at most the length of the axis.
        k: usize,
        /// Largest first; NaN is last all the same.
        descending: bool,
    },
    /// Where each value belongs in a sorted line, as `i64`, by bisection. Operands: the line, the values.
    SearchSorted {
        /// After equal elements instead of before them.
        right: bool,
    },
    /// The first entries at which a mask is true; zeros where there are fewer. Operands: `bool` with one axis, and
    /// values with as many entries along their first axis.
    Compress {
        /// How many entries the result has.
        count: usize,
    },
    /// Matrix product over the last two axes; leading axes are equal. Error bound: see `compose::matmul`.
    MatMul,
    /// Fourier transform along axes. Error bound: see [`crate::ops::fft`].
    Fft {
        /// Which transform.
        kind: FftKind,
        /// The axes, sorted; one for real transforms.
        axes: Axes,
        /// What the result is multiplied by.
        scale: FftScale,
    },
    /// A decomposition of the matrices in the last two axes. Error bound: see [`crate::ops::linalg`].
    Linalg(LinalgOp),
    /// Direct convolution. Operands: values, kernel, and the fill value, which is without axes.
    Convolve {
        /// Which part is returned.
        mode: ConvolveMode,
        /// What lies outside the values.
        boundary: Boundary,
    },
    /// A kernel that a user has written. What it computes is its own affair: see [`crate::custom`].
    Custom(CustomKernel),
}

impl Op {
    /// Name in text and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Input { .. } => "input",
            Op::Scalar { .. } => "scalar",
            Op::Index { .. } => "index",
            Op::Random { .. } => "random",
            Op::Sample(_) => "sample",
            Op::Map(op) => op.name(),
            Op::Cast(_) => "cast",
            Op::Where => "where",
            Op::Reduce { op, .. } => op.name(),
            Op::Scan { op: ReduceOp::Prod, .. } => "cumulative_prod",
            Op::Scan { .. } => "cumulative_sum",
            Op::Reshape(_) => "reshape",
            Op::Permute(_) => "permute",
            Op::Expand(_) => "expand",
            Op::Flip(_) => "flip",
            Op::Slice(_) => "slice",
            Op::Strided(_) => "strided",
            Op::Concat { .. } => "concat",
            Op::Take { .. } => "take",
            Op::Gather { .. } => "take_along_axis",
            Op::Scatter { op, .. } => op.name(),
            Op::Sort { indices: true, .. } => "argsort",
            Op::Sort { .. } => "sort",
            Op::TopK { .. } => "top_k",
            Op::SearchSorted { .. } => "searchsorted",
            Op::Compress { .. } => "compress",
            Op::MatMul => "matmul",
            Op::Fft { kind, .. } => kind.name(),
            Op::Linalg(op) => op.name(),
            Op::Convolve { .. } => "convolve",
            Op::Custom(kernel) => kernel.name(),
        }
    }

    /// The layout of a view of an operand laid out as `base`; `None` if this is no view, or strides cannot say it.
    pub fn view(&self, base: &Layout) -> Option<Layout> {
        match self {
            Op::Reshape(shape) => base.reshape(shape),
            Op::Permute(axes) => Some(base.permute(axes)),
            Op::Expand(shape) => base.expand(shape).ok(),
            Op::Flip(axes) => Some(base.flip(axes)),
            Op::Slice(spans) => Some(base.slice(spans)),
            Op::Strided(layout) => base.then(layout),
            _ => None,
        }
    }

    /// Whether the result is a view of the operand.
    pub fn is_view(&self) -> bool {
        matches!(
            self,
            Op::Reshape(_) | Op::Permute(_) | Op::Expand(_) | Op::Flip(_) | Op::Slice(_) | Op::Strided(_)
        )
    }

    /// Whether every device gives the same bits; otherwise an error bound is stated, or the user's kernel decides.
    pub fn is_exact(&self) -> bool {
        !matches!(self, Op::MatMul | Op::Fft { .. } | Op::Linalg(_) | Op::Custom(_))
    }

    /// Whether each element of the result depends on one element of each operand, at the same index.
    pub fn is_elementwise(&self) -> bool {
        matches!(self, Op::Map(_) | Op::Cast(_) | Op::Where)
    }

    /// Whether the op is a kernel of its own, which reads its operands from memory.
    pub fn is_call(&self) -> bool {
        matches!(
            self,
            Op::Scan { .. }
                | Op::Take { .. }
                | Op::Gather { .. }
                | Op::Scatter { .. }
                | Op::Sort { .. }
                | Op::TopK { .. }
                | Op::SearchSorted { .. }
                | Op::Compress { .. }
                | Op::MatMul
                | Op::Sample(_)
                | Op::Fft { .. }
                | Op::Linalg(_)
                | Op::Convolve { .. }
                | Op::Custom(_)
        )
    }
}
