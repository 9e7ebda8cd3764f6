//! `fft`, `ifft`, `rfft` and `irfft`: discrete Fourier transforms along axes.
//!
//! Error bound: the distance between computed and exact result, as vectors along the transformed axes, is at most
//! ε·(4·log2(n) + 8) times the norm of the exact result, n being the number of points and ε half a unit in the last
//! place of 1. Transforms of one length are computed in one way whatever their number, axis and strides are, so bits
//! do not depend on threads or layout.

use crate::{
    DType, DTypeSet, Error, Result, Shape,
    graph::{Axes, Type},
};

/// Which transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FftKind {
    /// Σ x\[j\]·exp(-2πi·jk/n), complex to complex, over one or more axes.
    Forward,
    /// Σ x\[j\]·exp(+2πi·jk/n), complex to complex, over one or more axes.
    Inverse,
    /// The first n/2 + 1 values of the forward transform of real numbers along one axis.
    Real,
    /// The real numbers along one axis whose inverse-direction spectrum begins with the operand's length/2 + 1 values.
    ///
    /// The imaginary parts of the first value, and of the last one for an even length, do not count.
    Hermitian {
        /// Length of the result along the axis.
        length: usize,
    },
}

/// What a transform is multiplied by; n is the number of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FftScale {
    /// 1.
    #[default]
    One,
    /// 1/√n.
    Root,
    /// 1/n.
    Count,
}

impl FftScale {
    /// Every scale.
    pub const ALL: [FftScale; 3] = [FftScale::One, FftScale::Root, FftScale::Count];

    /// Name in text.
    pub const fn name(self) -> &'static str {
        match self {
            FftScale::One => "one",
            FftScale::Root => "root",
            FftScale::Count => "count",
        }
    }

    /// The scale with this name.
    pub fn from_name(name: &str) -> Option<FftScale> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }

    /// The factor for a number of points.
    pub fn factor(self, points: usize) -> f64 {
        match self {
            FftScale::One => 1.0,
            FftScale::Root => 1.0 / (points as f64).sqrt(),
            FftScale::Count => 1.0 / points as f64,
        }
    }
}

impl FftKind {
    /// Name in text and messages.
    pub const fn name(self) -> &'static str {
        match self {
            FftKind::Forward => "fft",
            FftKind::Inverse => "ifft",
            FftKind::Real => "rfft",
            FftKind::Hermitian { .. } => "irfft",
        }
    }

    /// Number of points of a transform of an operand of this shape.
    pub fn points(self, shape: &Shape, axes: &[usize]) -> usize {
        match self {
            FftKind::Hermitian { length } => length,
            _ => axes.iter().map(|&a| shape[a]).product(),
        }
    }

    /// The type of the result.
    pub fn infer(self, axes: &Axes, arg: &Type) -> Result<Type> {
        let op = self.name();
        let supported = match self {
            FftKind::Real => DTypeSet::of(&[DType::F32, DType::F64]),
            _ => DTypeSet::COMPLEX,
        };
        if !supported.contains(arg.dtype) {
            return Err(Error::DType { op, dtype: arg.dtype, supported: supported.to_string() });
        }
        if let Some(&axis) = axes.iter().find(|&&a| a >= arg.shape.rank()) {
            return Err(Error::Axis { op, axis: axis as i64, shape: arg.shape.clone() });
        }
        let several = matches!(self, FftKind::Forward | FftKind::Inverse);
        if axes.is_empty() || axes.windows(2).any(|w| w[0] >= w[1]) || (!several && axes.len() > 1) {
            let wanted = if several { "sorted, distinct and at least one" } else { "one" };
            return Err(Error::Value { op, what: format!("axes {axes:?} must be {wanted}") });
        }
        if self.points(&arg.shape, axes) == 0 {
            let what = format!("{} has no elements along axes {axes:?}; give a length above 0", arg.shape);
            return Err(Error::Value { op, what });
        }
        let mut shape = arg.shape.clone();
        let length = &mut shape.dims_mut()[axes[0]];
        match self {
            FftKind::Forward | FftKind::Inverse => {}
            FftKind::Real => *length = *length / 2 + 1,
            FftKind::Hermitian { length: wanted } if *length == wanted / 2 + 1 => *length = wanted,
            FftKind::Hermitian { length: wanted } => {
                let what = format!("{wanted} points come from {} values, {length} given", wanted / 2 + 1);
                return Err(Error::Value { op, what });
            }
        }
        let dtype = match self {
            FftKind::Real => arg.dtype.complex(),
            FftKind::Hermitian { .. } => arg.dtype.real(),
            _ => arg.dtype,
        };
        Ok(Type { dtype, shape: Shape::checked(op, shape.iter().copied())? })
    }
}
