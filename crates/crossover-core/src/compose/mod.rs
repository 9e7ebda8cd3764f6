//! Operations made of others, and the loose rules that make array code pleasant.
//!
//! A composition is one function in one file, written against [`Build`]: a graph under construction is one
//! builder, the lazy `Array` is another. Broadcasting, promotion and weak host scalars live here; the graph
//! itself stays strict.
//!
//! Compositions that average or normalise compute 16-bit inputs in `f32` and round once at the end.

mod arange;
mod bernoulli;
mod choice;
mod compare;
mod contract;
mod convolve;
mod custom;
mod diff;
mod einsum;
mod exponential;
mod fft;
mod fourier;
mod histogram;
mod integers;
mod layer_norm;
pub mod linalg;
mod logsumexp;
mod matmul;
mod mean;
mod nextafter;
mod norm;
mod normal;
mod pad;
mod repeat;
mod roll;
mod sample;
mod scatter;
mod search;
mod softmax;
mod sort;
mod standardise;
mod sum;
mod take;
mod triangle;
mod truth;
mod uniform;
mod var;

pub use self::{
    arange::{arange, eye, linspace},
    bernoulli::bernoulli,
    choice::{categorical, choice},
    contract::{cross, diagonal, outer, tensordot, trace, vecdot},
    convolve::{ConvolveMethod, convolve, correlate},
    custom::custom,
    diff::diff,
    einsum::einsum,
    exponential::exponential,
    fft::{FftNorm, fftfreq, fftn, fftshift, hfft, ihfft, irfftn, rfftfreq, rfftn},
    fourier::{fft_pays, quick_length},
    histogram::{bincount, histogram},
    integers::integers,
    layer_norm::layer_norm,
    logsumexp::logsumexp,
    matmul::matmul,
    mean::mean,
    norm::{MatrixNorm, matrix_norm, vector_norm},
    normal::normal,
    pad::{Padding, pad},
    repeat::{repeat, tile},
    roll::roll,
    sample::{gamma, poisson},
    scatter::{scatter, scatter_along},
    search::{isin, searchsorted},
    softmax::{log_softmax, softmax},
    sort::{argsort, sort, top_k},
    standardise::standardise,
    sum::{cumulative_prod, cumulative_sum, prod, sum},
    take::{gather, take, take_along_axis, wrapped},
    triangle::{tril, triu},
    truth::{
        all, any, count_nonzero, iscomplex, isfinite, isinf, isnan, isneginf, isposinf, isreal, signbit,
        truth,
    },
    uniform::uniform,
    var::{std, var},
};

use crate::{
    DType, Error, Graph, Kind, NodeId, Number, Result, Scalar, Shape,
    graph::{Axes, Op, Type},
    ops::{Class, MapOp, cast, reduce::ReduceOp},
};

/// Something that operations can be added to.
pub trait Build {
    /// A value of the computation.
    type Value: Clone;

    /// Adds an op whose operands fit it.
    fn push(&mut self, op: Op, args: &[&Self::Value]) -> Result<Self::Value>;
    /// Adds a host scalar without axes.
    fn scalar(&mut self, value: Scalar) -> Self::Value;
    /// Adds a host scalar, repeated to the shape of a value.
    fn filled(&mut self, value: Scalar, like: &Self::Value) -> Result<Self::Value>
    where
        Self: Sized,
    {
        let (value, shape) = (self.scalar(value), self.shape(like).clone());
        expand(self, &value, &shape)
    }
    /// Type of a value's elements.
    fn dtype(&self, value: &Self::Value) -> DType;
    /// Lengths of a value's axes.
    fn shape<'a>(&'a self, value: &'a Self::Value) -> &'a Shape;
    /// Dtype and shape of a value.
    fn ty(&self, value: &Self::Value) -> Type {
        Type { dtype: self.dtype(value), shape: self.shape(value).clone() }
    }
}

impl Build for Graph {
    type Value = NodeId;

    fn push(&mut self, op: Op, args: &[&NodeId]) -> Result<NodeId> {
        let args: smallvec::SmallVec<[NodeId; 3]> = args.iter().map(|a| **a).collect();
        Graph::push(self, op, &args)
    }

    fn scalar(&mut self, value: Scalar) -> NodeId {
        Graph::scalar(self, value)
    }

    fn dtype(&self, value: &NodeId) -> DType {
        self.node(*value).ty.dtype
    }

    fn shape<'a>(&'a self, value: &'a NodeId) -> &'a Shape {
        &self.node(*value).ty.shape
    }
}

/// Converts, if there is anything to convert.
pub fn cast<B: Build>(b: &mut B, x: &B::Value, dtype: DType) -> Result<B::Value> {
    if b.dtype(x) == dtype { Ok(x.clone()) } else { b.push(Op::Cast(dtype), &[x]) }
}

/// Repeats to a shape, if there is anything to repeat.
pub fn expand<B: Build>(b: &mut B, x: &B::Value, shape: &Shape) -> Result<B::Value> {
    if b.shape(x) == shape { Ok(x.clone()) } else { b.push(Op::Expand(shape.clone()), &[x]) }
}

/// The same elements under another shape, if it is another.
pub fn reshape<B: Build>(b: &mut B, x: &B::Value, shape: &Shape) -> Result<B::Value> {
    if b.shape(x) == shape { Ok(x.clone()) } else { b.push(Op::Reshape(shape.clone()), &[x]) }
}

/// A host number as an operand beside an array of dtype `beside`.
///
/// ```
/// use crossover_core::{DType, Graph, Shape, compose};
/// let mut graph = Graph::new();
/// let x = graph.input(DType::F32, Shape::from([3]))?;
/// let two = compose::number(&mut graph, 2.into(), DType::F32)?;
/// let y = compose::binary(&mut graph, crossover_core::ops::MapOp::Multiply, &x, &two)?;
/// assert_eq!(graph.node(y).ty.dtype, DType::F32);
/// # Ok::<(), crossover_core::Error>(())
/// ```
pub fn number<B: Build>(b: &mut B, value: Number, beside: DType) -> Result<B::Value> {
    let value = scalar(value, beside)?;
    Ok(b.scalar(value))
}

/// A host number in the dtype that it has beside an array.
fn scalar(value: Number, beside: DType) -> Result<Scalar> {
    let dtype = beside.with_scalar(value.kind());
    if value.overflows(dtype) {
        let what = format!("{value:?} does not fit into {dtype}; convert the array with astype first");
        return Err(Error::Value { op: "scalar", what });
    }
    Ok(value.to_scalar(dtype))
}

/// The dtype an op computes in when asked for operands of `dtype`: integers become `f64` where the op needs floats.
pub fn operand_dtype(op: MapOp, dtype: DType) -> DType {
    match (op.supports(dtype), dtype.kind()) {
        (false, Kind::Bool | Kind::Int) if op.supports(DType::F64) && op.class() != Class::Part => {
            if dtype == DType::Bool && op.supports(DType::I8) { DType::I8 } else { DType::F64 }
        }
        _ => dtype,
    }
}

/// An elementwise op of one operand.
pub fn unary<B: Build>(b: &mut B, op: MapOp, x: &B::Value) -> Result<B::Value> {
    let (given, dtype) = (b.dtype(x), operand_dtype(op, b.dtype(x)));
    if given == dtype {
        return b.push(Op::Map(op), &[x]);
    }
    let x = cast(b, x, dtype)?;
    b.push(Op::Map(op), &[&x])
}

/// An elementwise op of two operands, promoted and broadcast.
pub fn binary<B: Build>(b: &mut B, op: MapOp, x: &B::Value, y: &B::Value) -> Result<B::Value> {
    // Operands that agree already are the common case.
    if b.dtype(x) == b.dtype(y)
        && b.shape(x) == b.shape(y)
        && op.supports(b.dtype(x))
        && op != MapOp::Nextafter
    {
        return b.push(Op::Map(op), &[x, y]);
    }
    if let Some(compared) = compare::mixed(b, op, x, y)? {
        return Ok(compared);
    }
    let [x, y] = aligned(b, op.name(), [x, y], |dtype| operand_dtype(op, dtype))?;
    let dtype = b.dtype(&x);
    if op == MapOp::Nextafter && dtype.is_half() {
        return nextafter::narrow(b, &x, &y, dtype);
    }
    b.push(Op::Map(op), &[&x, &y])
}

/// `a * b + c` rounded once.
pub fn fma<B: Build>(b: &mut B, x: &B::Value, y: &B::Value, z: &B::Value) -> Result<B::Value> {
    let [x, y, z] = aligned(b, "fma", [x, y, z], |dtype| operand_dtype(MapOp::Fma, dtype))?;
    b.push(Op::Map(MapOp::Fma), &[&x, &y, &z])
}

/// `yes` where `mask` holds, `no` elsewhere, promoted and broadcast.
pub fn select<B: Build>(b: &mut B, mask: &B::Value, yes: &B::Value, no: &B::Value) -> Result<B::Value> {
    let [yes, no] = aligned(b, "where", [yes, no], |dtype| dtype)?;
    if b.dtype(mask) == DType::Bool && b.shape(mask) == b.shape(&yes) {
        return b.push(Op::Where, &[mask, &yes, &no]);
    }
    let shape = b.shape(mask).broadcast("where", b.shape(&yes))?;
    let mask = cast(b, mask, DType::Bool)?;
    let (mask, yes, no) = (expand(b, &mask, &shape)?, expand(b, &yes, &shape)?, expand(b, &no, &shape)?);
    b.push(Op::Where, &[&mask, &yes, &no])
}

/// Operands brought to one dtype and one shape.
fn aligned<B: Build, const N: usize>(
    b: &mut B,
    op: &'static str,
    args: [&B::Value; N],
    adjust: impl Fn(DType) -> DType,
) -> Result<[B::Value; N]> {
    let (mut dtype, mut shape) = (b.dtype(args[0]), b.shape(args[0]).clone());
    for arg in &args[1..] {
        dtype = dtype.promote(b.dtype(arg));
        if *b.shape(arg) != shape {
            shape = shape.broadcast(op, b.shape(arg))?;
        }
    }
    let dtype = adjust(dtype);
    let mut out = args.map(Clone::clone);
    for value in &mut out {
        if b.dtype(value) != dtype {
            *value = cast(b, value, dtype)?;
        }
        if *b.shape(value) != shape {
            *value = expand(b, value, &shape)?;
        }
    }
    Ok(out)
}

/// All axes if none are given.
pub(crate) fn resolve(op: &'static str, shape: &Shape, axes: &[i64]) -> Result<Axes> {
    if axes.is_empty() { Ok((0..shape.rank()).collect()) } else { shape.axes(op, axes) }
}

/// A primitive reduction; no axes means all of them, and without any axis the value itself.
pub fn reduce<B: Build>(
    b: &mut B,
    op: ReduceOp,
    x: &B::Value,
    axes: &[i64],
    keepdims: bool,
) -> Result<B::Value> {
    let axes = resolve(op.name(), b.shape(x), axes)?;
    if axes.is_empty() {
        // A value without axes is one row of one element.
        let row = b.push(Op::Reshape(Shape::from([1])), &[x])?;
        return b.push(Op::Reduce { op, axes: Axes::from_slice(&[0]), keepdims: false }, &[&row]);
    }
    b.push(Op::Reduce { op, axes, keepdims }, &[x])
}

/// Number of elements that a reduction combines.
pub(crate) fn count(shape: &Shape, axes: &Axes) -> usize {
    axes.iter().map(|&a| shape[a]).product()
}

/// The value itself, or widened to `f32` if it is a 16-bit float.
pub(crate) fn widened<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    let dtype = b.dtype(x).compute();
    cast(b, x, dtype)
}

/// Floats as they are, integers and booleans as `f64`.
pub(crate) fn floating<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    let dtype = b.dtype(x);
    if matches!(dtype.kind(), Kind::Bool | Kind::Int) { cast(b, x, DType::F64) } else { Ok(x.clone()) }
}

/// A host number combined with a value.
pub(crate) fn with_number<B: Build>(
    b: &mut B,
    op: MapOp,
    x: &B::Value,
    value: impl Into<Number>,
) -> Result<B::Value> {
    let value = scalar(value.into(), b.dtype(x))?;
    let value = b.filled(value, x)?;
    binary(b, op, x, &value)
}

/// Whether a conversion exists; see [`cast::check`].
pub fn check_cast(from: DType, to: DType) -> Result<()> {
    cast::check(from, to)
}
