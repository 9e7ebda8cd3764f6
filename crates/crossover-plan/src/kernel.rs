//! What backends execute: fused kernels over one index space, and calls.
//!
//! A fused kernel is straight-line code in single assignment form. Everything a backend must know is explicit:
//! conversions, roundings to 16 bits and canonical NaNs are steps of their own; step dtypes are the ones
//! registers hold (never a 16-bit float, which is held as `f32` and only narrows in memory).
//!
//! The index space has three groups of axes, each possibly empty: `outer`, `reduce`, `inner`. All strides are
//! given over `outer ++ reduce ++ inner`, in elements of the buffer.
//!
//! - **Map**: only `outer`.
//! - **Row**: `outer` and `reduce`; reductions use the row order of [`crossover_core::canonical`].
//! - **Column**: all three; reductions use the column order, one column per point of `inner`.

use crossover_core::{
    DType, Layout,
    custom::CustomKernel,
    graph::Axes,
    ops::{
        MapOp, cast,
        convolve::{Boundary, ConvolveMode},
        fft::{FftKind, FftScale},
        linalg::LinalgOp,
        reduce::ReduceOp,
        scatter::ScatterOp,
    },
    sample::Sampler,
};
use smallvec::SmallVec;

/// A buffer of a plan, by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u32);

/// A step of a fused kernel, by position.
pub type StepId = u16;

/// Small list of lengths or strides.
pub type Dims<T> = SmallVec<[T; 4]>;

/// Which family of fused kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Elementwise over one index space.
    Map,
    /// With reductions along the last axis; results may be used along the row again.
    Row,
    /// With reductions along other axes.
    Column,
}

/// The index space of a fused kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Space {
    /// Axes that are neither reduced nor inside a reduced one.
    pub outer: Dims<usize>,
    /// Reduced axes, in logical order.
    pub reduce: Dims<usize>,
    /// Axes inside the reduced ones.
    pub inner: Dims<usize>,
}

impl Space {
    /// Points of the outer group.
    pub fn outer_size(&self) -> usize {
        self.outer.iter().product()
    }
    /// Points of the reduced group: the length of a row or column.
    pub fn reduce_size(&self) -> usize {
        self.reduce.iter().product()
    }
    /// Points of the inner group.
    pub fn inner_size(&self) -> usize {
        self.inner.iter().product()
    }
    /// Points of the whole space.
    pub fn size(&self) -> usize {
        self.outer_size() * self.reduce_size() * self.inner_size()
    }
    /// Number of axes of all groups together.
    pub fn rank(&self) -> usize {
        self.outer.len() + self.reduce.len() + self.inner.len()
    }
    /// The lengths of all axes: `outer ++ reduce ++ inner`.
    pub fn dims(&self) -> Dims<usize> {
        self.outer.iter().chain(&self.reduce).chain(&self.inner).copied().collect()
    }
}

/// How much of the space a value varies over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Extent {
    /// The same everywhere.
    One,
    /// One value per point of `outer` and `inner`: constant along the reduced axes.
    Reduced,
    /// One value per point. In a Map kernel every value that is not `One` is `Full`.
    Full,
}

/// A strided window of a buffer over the space.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Window {
    /// Element at the origin of the space.
    pub offset: usize,
    /// One stride per axis of the space; zero along axes the value does not vary over.
    pub strides: Dims<isize>,
}

/// An operand in memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Load {
    /// The buffer.
    pub buffer: BufferId,
    /// Dtype in memory; a 16-bit float arrives in its register as `f32`.
    pub dtype: DType,
    /// Where its elements are.
    pub window: Window,
}

/// A result in memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Store {
    /// The step whose value is stored.
    pub step: StepId,
    /// The buffer.
    pub buffer: BufferId,
    /// Dtype in memory; an `f32` register narrows into a 16-bit float (it has been rounded before).
    pub dtype: DType,
    /// Where its elements go. Strides along reduced axes are zero for a `Reduced` value.
    pub window: Window,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Step {
    /// What is done.
    pub op: StepOp,
    /// Earlier steps; each may have a smaller extent than this one, and is then repeated.
    pub args: SmallVec<[StepId; 3]>,
    /// Dtype of the register, never a 16-bit float.
    pub dtype: DType,
    /// What the value varies over.
    pub extent: Extent,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StepOp {
    /// An element of `loads[i]`.
    Load(u16),
    /// An element of one of the entries of `loads[from]`, whose window is that of the first entry: of the entry that the
    /// `i64` in `loads[at]` names, clamped into range. Only ever in a [`Fold`](crate::Fold).
    Take {
        /// The load whose entries are looked up.
        from: u16,
        /// The load that says which.
        at: u16,
        /// Elements from one entry to the next.
        stride: usize,
        /// Number of entries, not 0.
        length: usize,
    },
    /// Host scalar `i` of the launch.
    Scalar(u16),
    /// `(position / divisor) % modulus` as `i64`, where position is an affine function of the point.
    Index {
        /// Row-major position in the shape of the original node.
        window: Window,
        /// Elements per step of the axis.
        divisor: usize,
        /// Length of the axis.
        modulus: usize,
    },
    /// Philox bits at a position, under the key in `loads[key]` (two `u32`).
    Random {
        /// The load that holds the key: `u32[2]`, element 0 at its window's offset, element 1 right after.
        key: u16,
        /// Row-major position in the shape of the original node.
        window: Window,
        /// Stream under the key.
        stream: u32,
    },
    /// An elementwise op.
    Map(MapOp),
    /// One primitive conversion.
    Cast(cast::Step),
    /// `args[0] ? args[1] : args[2]`.
    Where,
    /// Every NaN replaced by the canonical one, in both parts of a complex value.
    Canonical,
    /// The value itself, repeated to a larger extent.
    Expand,
    /// A reduction of a `Full` value over the reduced axes, in the canonical order of the kernel's kind.
    Reduce(ReduceOp),
}

/// A fused kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fused {
    /// Family.
    pub kind: Kind,
    /// Index space.
    pub space: Space,
    /// Operands in memory.
    pub loads: Vec<Load>,
    /// Straight-line code.
    pub steps: Vec<Step>,
    /// Results in memory.
    pub stores: Vec<Store>,
}

/// An operand of a call: a strided window with its own shape.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Operand {
    /// The buffer.
    pub buffer: BufferId,
    /// Dtype in memory.
    pub dtype: DType,
    /// Shape, strides and offset.
    pub layout: Layout,
}

/// What the result of a product goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activation {
    /// Nothing.
    None,
    /// The larger of it and 0.
    Relu,
    /// GELU in its tanh form.
    Gelu,
}

/// What a call does. Its output is row-major without gaps.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallOp {
    /// Random numbers of a distribution. Operands: the key, and one `f64` parameter per element.
    Sample(Sampler),
    /// Matrix product over the last two axes of two operands of equal rank; leading axes are equal.
    MatMul,
    /// A matrix product, then a row vector added (the third operand) and an activation, without roundings in between. Only
    /// ever in a [`Fold`](crate::Fold).
    Linear {
        /// Whether there is a third operand.
        bias: bool,
        /// What the sum goes through.
        activation: Activation,
    },
    /// Running sum or product along an axis, in the canonical order of scans.
    Scan {
        /// [`ReduceOp::Sum`] or [`ReduceOp::Prod`].
        op: ReduceOp,
        /// The axis.
        axis: usize,
    },
    /// Entries of the first operand along an axis, at the `i64` indices of the second, clamped into range.
    Take {
        /// The axis.
        axis: usize,
    },
    /// Elements of the first operand along an axis, at the `i64` indices of the second, clamped into range.
    Gather {
        /// The axis.
        axis: usize,
    },
    /// The first operand with the values of the third written or combined into it, at the `i64` indices of the second
    /// along an axis, in row-major order; indices outside the axis write nothing.
    Scatter {
        /// What happens to an element that is written to.
        op: ScatterOp,
        /// The axis.
        axis: usize,
    },
    /// Lines along an axis in the order of [`crossover_core::ops::order`], or the `i64` indices that sort them.
    Sort {
        /// The axis.
        axis: usize,
        /// Largest first; NaN is last all the same.
        descending: bool,
        /// Whether the result is indices.
        indices: bool,
    },
    /// The `i64` indices of the first elements of sorted lines along an axis: as many as the result has.
    TopK {
        /// The axis.
        axis: usize,
        /// Largest first; NaN is last all the same.
        descending: bool,
    },
    /// Where the elements of the second operand belong in the first, which has one axis, by bisection.
    SearchSorted {
        /// After equal elements instead of before them.
        right: bool,
    },
    /// As many entries of the second operand as the result has, at which the first is true; zeros where there are
    /// fewer.
    Compress,
    /// Fourier transform along axes.
    Fft {
        /// Which transform.
        kind: FftKind,
        /// The axes, sorted; one for real transforms.
        axes: Axes,
        /// What the result is multiplied by.
        scale: FftScale,
    },
    /// A decomposition of the matrices in the last two axes.
    Linalg(LinalgOp),
    /// Direct convolution of the first operand with the second; the third is the value outside.
    Convolve {
        /// Which part is returned.
        mode: ConvolveMode,
        /// What lies outside the first operand.
        boundary: Boundary,
    },
    /// A kernel that a user has written. Operands of one that is not elementwise are row-major without gaps, and start
    /// where their blocks do.
    Custom(CustomKernel),
}

/// A library or hand-written kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Call {
    /// What is called.
    pub op: CallOp,
    /// Operands.
    pub operands: Vec<Operand>,
    /// Result buffer.
    pub output: BufferId,
    /// Shape and row-major strides of the result.
    pub layout: Layout,
    /// Dtype of the result in memory.
    pub dtype: DType,
}

/// One launch of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Generated from steps.
    Fused(Fused),
    /// Library or hand-written.
    Call(Call),
}

impl Kernel {
    /// Whether a user has written it, so that devices may compute different bits.
    pub fn is_custom(&self) -> bool {
        matches!(self, Kernel::Call(Call { op: CallOp::Custom(_), .. }))
    }

    /// Buffers the kernel reads, one per load or operand.
    pub fn reads(&self) -> impl Iterator<Item = BufferId> + '_ {
        let (loads, operands): (&[Load], &[Operand]) = match self {
            Kernel::Fused(k) => (&k.loads, &[]),
            Kernel::Call(c) => (&[], &c.operands),
        };
        loads.iter().map(|l| l.buffer).chain(operands.iter().map(|o| o.buffer))
    }

    /// Buffers the kernel writes, one per store.
    pub fn writes(&self) -> impl Iterator<Item = BufferId> + '_ {
        let (stores, output): (&[Store], _) = match self {
            Kernel::Fused(k) => (&k.stores, None),
            Kernel::Call(c) => (&[], Some(c.output)),
        };
        stores.iter().map(|s| s.buffer).chain(output)
    }
}
