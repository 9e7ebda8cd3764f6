//! Scatters: what happens to an element that is written to, once or several times.

use std::fmt;

use super::MapOp;
use crate::{DType, DTypeSet, Error, Result};

/// How a scattered value meets the element in its place. Values arrive in row-major order of the indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScatterOp {
    /// Replaces it; the last value wins.
    Set,
    /// Adds to it, rounding after every addition.
    Add,
    /// Keeps the smaller; NaN wins.
    Min,
    /// Keeps the larger; NaN wins.
    Max,
}

impl ScatterOp {
    /// Every way to scatter.
    pub const ALL: [ScatterOp; 4] = [ScatterOp::Set, ScatterOp::Add, ScatterOp::Min, ScatterOp::Max];

    /// Name in text and messages.
    pub const fn name(self) -> &'static str {
        match self {
            ScatterOp::Set => "scatter_set",
            ScatterOp::Add => "scatter_add",
            ScatterOp::Min => "scatter_min",
            ScatterOp::Max => "scatter_max",
        }
    }

    /// The way with this name.
    pub fn from_name(name: &str) -> Option<ScatterOp> {
        Self::ALL.into_iter().find(|op| op.name() == name)
    }

    /// The elementwise op that combines the element and the value; `None` where the value replaces it.
    pub const fn combine(self) -> Option<MapOp> {
        match self {
            ScatterOp::Set => None,
            ScatterOp::Add => Some(MapOp::Add),
            ScatterOp::Min => Some(MapOp::Minimum),
            ScatterOp::Max => Some(MapOp::Maximum),
        }
    }

    /// What becomes of the element, in a sentence.
    pub const fn doc(self) -> &'static str {
        match self {
            ScatterOp::Set => "The value replaces the element; the last one wins.",
            ScatterOp::Add => "The value is added to the element, rounding after every addition.",
            ScatterOp::Min => "The smaller of both stays; NaN wins.",
            ScatterOp::Max => "The larger of both stays; NaN wins.",
        }
    }

    /// Dtypes that can be scattered this way.
    pub const fn dtypes(self) -> DTypeSet {
        match self {
            ScatterOp::Set => DTypeSet::ALL,
            ScatterOp::Add => DTypeSet::NUMBER,
            ScatterOp::Min | ScatterOp::Max => DTypeSet::BOOL.or(DTypeSet::REAL),
        }
    }

    /// Whether the dtype can be scattered this way.
    pub fn check(self, dtype: DType) -> Result<()> {
        let supported = self.dtypes();
        if supported.contains(dtype) {
            return Ok(());
        }
        Err(Error::DType { op: self.name(), dtype, supported: supported.to_string() })
    }
}

impl fmt::Display for ScatterOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
