//! Fourier transforms with NumPy's rules for lengths, axes and normalisation.

use smallvec::SmallVec;

use super::{Build, cast, expand, unary, widened};
use crate::{
    DType, Error, Kind, Result, Shape, Span,
    graph::{Axes, Op},
    ops::{
        MapOp,
        fft::{FftKind, FftScale},
    },
};

/// Where a transform and its inverse together divide by the number of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FftNorm {
    /// The inverse divides by n.
    #[default]
    Backward,
    /// Both divide by √n, which makes them unitary.
    Ortho,
    /// The forward transform divides by n.
    Forward,
}

impl FftNorm {
    /// The scale of a transform.
    fn scale(self, inverse: bool) -> FftScale {
        match (self, inverse) {
            (FftNorm::Ortho, _) => FftScale::Root,
            (FftNorm::Backward, true) | (FftNorm::Forward, false) => FftScale::Count,
            _ => FftScale::One,
        }
    }

    /// The norm under which the opposite direction has this one's scale.
    fn swapped(self) -> FftNorm {
        match self {
            FftNorm::Backward => FftNorm::Forward,
            FftNorm::Ortho => FftNorm::Ortho,
            FftNorm::Forward => FftNorm::Backward,
        }
    }
}

/// Complex transform over axes, forward or inverse; no axes means all. `lengths`, one per axis, cut or fill with zeros.
pub fn fftn<B: Build>(
    b: &mut B,
    x: &B::Value,
    lengths: &[usize],
    axes: &[i64],
    inverse: bool,
    norm: FftNorm,
) -> Result<B::Value> {
    let op = if inverse { "ifft" } else { "fft" };
    let pairs = pairs(op, &b.ty(x).shape, lengths, axes)?;
    let mut x = resized(b, op, x, &pairs)?;
    let dtype = b.dtype(&x).complex();
    x = cast(b, &x, dtype)?;
    if pairs.is_empty() {
        return Ok(x);
    }
    let kind = if inverse { FftKind::Inverse } else { FftKind::Forward };
    b.push(Op::Fft { kind, axes: sorted(&pairs), scale: norm.scale(inverse) }, &[&x])
}

/// Real transform over the last of the axes and complex ones over the others.
pub fn rfftn<B: Build>(
    b: &mut B,
    x: &B::Value,
    lengths: &[usize],
    axes: &[i64],
    norm: FftNorm,
) -> Result<B::Value> {
    let op = "rfft";
    let dtype = b.dtype(x);
    if dtype.is_complex() {
        let supported = crate::DTypeSet::REAL.to_string();
        return Err(Error::DType { op, dtype, supported });
    }
    let pairs = pairs(op, &b.ty(x).shape, lengths, axes)?;
    let Some(((axis, _), others)) = pairs.split_last() else { return Err(no_axis(op)) };
    let x = resized(b, op, x, &pairs)?;
    let x = floating_wide(b, &x)?;
    let scale = norm.scale(false);
    let half = b.push(Op::Fft { kind: FftKind::Real, axes: Axes::from_slice(&[*axis]), scale }, &[&x])?;
    if others.is_empty() {
        return Ok(half);
    }
    b.push(Op::Fft { kind: FftKind::Forward, axes: sorted(others), scale }, &[&half])
}

/// Inverse of [`rfftn`]; the last length is the result's along the last axis, 2(m - 1) if it is not given.
pub fn irfftn<B: Build>(
    b: &mut B,
    x: &B::Value,
    lengths: &[usize],
    axes: &[i64],
    norm: FftNorm,
) -> Result<B::Value> {
    let op = "irfft";
    let mut pairs = pairs(op, &b.ty(x).shape, lengths, axes)?;
    let Some(last) = pairs.last_mut() else { return Err(no_axis(op)) };
    let length = if lengths.is_empty() { 2 * last.1.saturating_sub(1) } else { last.1 };
    if length == 0 {
        let what = format!("axis {} has length {}; give a length of the result above 0", last.0, last.1);
        return Err(Error::Value { op, what });
    }
    last.1 = length / 2 + 1;
    let mut x = resized(b, op, x, &pairs)?;
    let dtype = b.dtype(&x).complex();
    x = cast(b, &x, dtype)?;
    let scale = norm.scale(true);
    let (axis, others) = match pairs.split_last() {
        Some((last, others)) => (last.0, others),
        None => return Err(no_axis(op)),
    };
    if !others.is_empty() {
        x = b.push(Op::Fft { kind: FftKind::Inverse, axes: sorted(others), scale }, &[&x])?;
    }
    let kind = FftKind::Hermitian { length };
    b.push(Op::Fft { kind, axes: Axes::from_slice(&[axis]), scale }, &[&x])
}

/// Transform of a signal that is its own conjugate mirrored, of which half is given: the result is real.
pub fn hfft<B: Build>(
    b: &mut B,
    x: &B::Value,
    length: Option<usize>,
    axis: i64,
    norm: FftNorm,
) -> Result<B::Value> {
    let x = conjugate(b, x)?;
    irfftn(b, &x, length.as_slice(), &[axis], norm.swapped())
}

/// Inverse of [`hfft`]: half of the spectrum of real numbers.
pub fn ihfft<B: Build>(
    b: &mut B,
    x: &B::Value,
    length: Option<usize>,
    axis: i64,
    norm: FftNorm,
) -> Result<B::Value> {
    let half = rfftn(b, x, length.as_slice(), &[axis], norm.swapped())?;
    conjugate(b, &half)
}

/// Frequencies of the values of a transform of `n` points at distance `step`: 0, 1, …, then negative ones, over n·step.
pub fn fftfreq<B: Build>(b: &mut B, n: usize, step: f64, dtype: DType) -> Result<B::Value> {
    frequencies(b, "fftfreq", n, n, step, dtype)
}

/// Frequencies of the values of a real transform: 0 to n/2, over n·step.
pub fn rfftfreq<B: Build>(b: &mut B, n: usize, step: f64, dtype: DType) -> Result<B::Value> {
    frequencies(b, "rfftfreq", n, n / 2 + 1, step, dtype)
}

fn frequencies<B: Build>(
    b: &mut B,
    op: &'static str,
    n: usize,
    count: usize,
    step: f64,
    dtype: DType,
) -> Result<B::Value> {
    if n == 0 || step == 0.0 || !dtype.is_float() {
        let what =
            format!("{n} points at distance {step} as {dtype}: give points, a distance and a float dtype");
        return Err(Error::Value { op, what });
    }
    let index = b.push(Op::Index { shape: Shape::from([count]), axis: 0 }, &[])?;
    // Two points have as many frequencies as their half has, and yet only one rule gives the sign of the last.
    let index = if op == "fftfreq" {
        // From the middle on, frequencies count up to zero.
        let late = super::with_number(b, MapOp::GreaterEqual, &index, n.div_ceil(2) as i64)?;
        let below = super::with_number(b, MapOp::Subtract, &index, n as i64)?;
        super::select(b, &late, &below, &index)?
    } else {
        index
    };
    let index = cast(b, &index, DType::F64)?;
    let value = super::with_number(b, MapOp::Divide, &index, n as f64 * step)?;
    cast(b, &value, dtype)
}

/// Zero frequency to the middle, along axes; none means all. `inverse` undoes it, which differs for odd lengths.
pub fn fftshift<B: Build>(b: &mut B, x: &B::Value, axes: &[i64], inverse: bool) -> Result<B::Value> {
    let op = if inverse { "ifftshift" } else { "fftshift" };
    let axes = super::resolve(op, &b.ty(x).shape, axes)?;
    let mut x = x.clone();
    for axis in axes {
        let n = b.ty(&x).shape[axis];
        if n < 2 {
            continue;
        }
        let cut = if inverse { n / 2 } else { n - n / 2 };
        let tail = part(b, &x, axis, cut, n - cut)?;
        let head = part(b, &x, axis, 0, cut)?;
        x = b.push(Op::Concat { axis }, &[&tail, &head])?;
    }
    Ok(x)
}

fn no_axis(op: &'static str) -> Error {
    Error::Value { op, what: "an array without axes has nothing to transform".to_string() }
}

/// 16-bit floats as `f32`, integers as `f64`.
fn floating_wide<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    let dtype = b.dtype(x);
    if matches!(dtype.kind(), Kind::Bool | Kind::Int) { cast(b, x, DType::F64) } else { widened(b, x) }
}

fn conjugate<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    if b.dtype(x).is_complex() { unary(b, MapOp::Conj, x) } else { Ok(x.clone()) }
}

/// Axes with the length each is brought to, in the order they were given.
fn pairs(op: &'static str, shape: &Shape, lengths: &[usize], axes: &[i64]) -> Result<Vec<(usize, usize)>> {
    let rank = shape.rank();
    if axes.is_empty() {
        // Lengths without axes mean the last ones, as in NumPy.
        let count = if lengths.is_empty() { rank } else { lengths.len() };
        let first = rank.checked_sub(count).ok_or_else(|| {
            let what = format!("{count} lengths for {shape} with {rank} axes");
            Error::Value { op, what }
        })?;
        let length = |(i, axis): (usize, usize)| (axis, lengths.get(i).copied().unwrap_or(shape[axis]));
        return Ok((first..rank).enumerate().map(length).collect());
    }
    if !lengths.is_empty() && lengths.len() != axes.len() {
        let what = format!("{} lengths for {} axes", lengths.len(), axes.len());
        return Err(Error::Value { op, what });
    }
    // Refuses an axis that is named twice.
    shape.axes(op, axes)?;
    let length = |(i, &axis): (usize, &i64)| {
        let axis = shape.axis(op, axis)?;
        Ok((axis, lengths.get(i).copied().unwrap_or(shape[axis])))
    };
    axes.iter().enumerate().map(length).collect()
}

fn sorted(pairs: &[(usize, usize)]) -> Axes {
    let mut axes: Axes = pairs.iter().map(|p| p.0).collect();
    axes.sort_unstable();
    axes
}

/// Axes cut, or filled up with zeros, to the given lengths.
pub(super) fn resized<B: Build>(
    b: &mut B,
    op: &'static str,
    x: &B::Value,
    pairs: &[(usize, usize)],
) -> Result<B::Value> {
    let mut x = x.clone();
    for &(axis, length) in pairs {
        let ty = b.ty(&x);
        let n = ty.shape[axis];
        if length < n {
            x = part(b, &x, axis, 0, length)?;
        } else if length > n {
            let mut rest = ty.shape.clone();
            rest.dims_mut()[axis] = length - n;
            let rest = Shape::checked(op, rest.iter().copied())?;
            let zero = b.scalar(crate::Scalar::zero(ty.dtype));
            let zeros = expand(b, &zero, &rest)?;
            x = b.push(Op::Concat { axis }, &[&x, &zeros])?;
        }
    }
    Ok(x)
}

/// `length` entries along an axis from `start`.
pub(super) fn part<B: Build>(
    b: &mut B,
    x: &B::Value,
    axis: usize,
    start: usize,
    length: usize,
) -> Result<B::Value> {
    let shape = b.ty(x).shape;
    let mut spans: SmallVec<[Span; 4]> =
        shape.iter().map(|&n| Span { start: 0, step: 1, length: n }).collect();
    spans[axis] = Span { start, step: 1, length };
    b.push(Op::Slice(spans), &[x])
}
