//! Reductions and scans: what is combined. The order of combination is in [`crate::canonical`].

use std::fmt;

use super::{Apply2, MapOp, add::Add, maximum::Maximum, minimum::Minimum, multiply::Multiply};
use crate::{DType, DTypeSet, Error, Result};

/// A primitive reduction. Means, variances, norms, `any` and `all` are compositions of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReduceOp {
    /// Sum in the canonical order; the empty sum is +0.
    Sum,
    /// Product in the canonical order; the empty product is 1.
    Prod,
    /// Smallest; NaN wins, -0 is smaller than +0.
    Min,
    /// Largest; NaN wins, +0 is larger than -0.
    Max,
    /// Index of the first smallest element (of the first NaN, if there is one), as `i64`.
    ArgMin,
    /// Index of the first largest element (of the first NaN, if there is one), as `i64`.
    ArgMax,
}

impl ReduceOp {
    /// Every reduction.
    pub const ALL: [ReduceOp; 6] =
        [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Min, ReduceOp::Max, ReduceOp::ArgMin, ReduceOp::ArgMax];

    /// Name in text and messages.
    pub const fn name(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Prod => "prod",
            ReduceOp::Min => "min",
            ReduceOp::Max => "max",
            ReduceOp::ArgMin => "argmin",
            ReduceOp::ArgMax => "argmax",
        }
    }

    /// One sentence for the reference.
    pub const fn doc(self) -> &'static str {
        match self {
            ReduceOp::Sum => "Sum in the canonical order; the empty sum is +0.",
            ReduceOp::Prod => "Product in the canonical order; the empty product is 1.",
            ReduceOp::Min => "Smallest element; NaN wins, and -0 is smaller than +0.",
            ReduceOp::Max => "Largest element; NaN wins, and +0 is larger than -0.",
            ReduceOp::ArgMin => "Index of the first smallest element, or of the first NaN.",
            ReduceOp::ArgMax => "Index of the first largest element, or of the first NaN.",
        }
    }

    /// The reduction with this name.
    pub fn from_name(name: &str) -> Option<ReduceOp> {
        Self::ALL.into_iter().find(|op| op.name() == name)
    }

    /// Dtypes that are reduced as they are; others are cast first.
    ///
    /// Sums of small integers and of 16-bit floats would overflow or lose everything, so compositions widen them.
    pub const fn dtypes(self) -> DTypeSet {
        match self {
            ReduceOp::Sum | ReduceOp::Prod => DTypeSet::NUMBER,
            _ => DTypeSet::BOOL.or(DTypeSet::REAL),
        }
    }

    /// The dtype of the result.
    pub fn result(self, dtype: DType) -> Result<DType> {
        if !self.dtypes().contains(dtype) {
            return Err(Error::DType { op: self.name(), dtype, supported: self.dtypes().to_string() });
        }
        Ok(if self.is_arg() { DType::I64 } else { dtype })
    }

    /// Whether the result is an index.
    pub const fn is_arg(self) -> bool {
        matches!(self, ReduceOp::ArgMin | ReduceOp::ArgMax)
    }

    /// Whether an empty reduction has a value.
    pub const fn has_identity(self) -> bool {
        matches!(self, ReduceOp::Sum | ReduceOp::Prod)
    }

    /// The elementwise op that combines two values.
    pub const fn combine(self) -> MapOp {
        match self {
            ReduceOp::Sum => MapOp::Add,
            ReduceOp::Prod => MapOp::Multiply,
            ReduceOp::Min | ReduceOp::ArgMin => MapOp::Minimum,
            ReduceOp::Max | ReduceOp::ArgMax => MapOp::Maximum,
        }
    }
}

impl fmt::Display for ReduceOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Combines two values of a reduction; implemented by a unit struct per order-sensitive reduction.
pub trait Combine<T: Copy>: 'static {
    /// The combined value.
    fn combine(a: T, b: T) -> T;
}

macro_rules! combine {
    ($($op:ident)*) => {$(
        impl<T: Copy> Combine<T> for $op where $op: Apply2<T> {
            #[inline(always)]
            fn combine(a: T, b: T) -> T { <$op as Apply2<T>>::apply(a, b) }
        }
    )*};
}

combine!(Add Multiply Minimum Maximum);
