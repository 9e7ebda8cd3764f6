//! The errors of graph construction: everything that can be wrong with a request before a device sees it.
//!
//! Messages show the offending values and, where there is one, the remedy. Backends wrap these in their own
//! errors. Kernels raise none of these but [`Error::Matrix`] and [`Error::Kernel`]: that a matrix has no inverse, or that a
//! user's closure panics, is known only once somebody has tried.

use crate::{DType, Shape};

/// What can be wrong with an array operation, a graph or its text.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Shapes that do not fit together.
    #[error("{op}: shapes {left} and {right} do not fit: {why}")]
    Shape {
        /// The operation that was asked for.
        op: &'static str,
        /// Shape of the first operand.
        left: Shape,
        /// Shape of the other operand, or the shape that was asked for.
        right: Shape,
        /// The rule that is broken.
        why: &'static str,
    },
    /// An axis that the operand does not have.
    #[error("{op}: axis {axis} is out of range for {shape} with {} dimensions", shape.rank())]
    Axis {
        /// The operation that was asked for.
        op: &'static str,
        /// The axis as it was given.
        axis: i64,
        /// Shape of the operand.
        shape: Shape,
    },
    /// An index or slice bound outside the operand.
    #[error("{op}: index {index} is out of range for axis {axis} of length {length}")]
    Index {
        /// The operation that was asked for.
        op: &'static str,
        /// The index as it was given.
        index: i64,
        /// The axis it indexes.
        axis: usize,
        /// The length of that axis.
        length: usize,
    },
    /// A dtype the operation is not defined for.
    #[error("{op}: {dtype} is not supported (supported: {supported}); convert with astype first")]
    DType {
        /// The operation that was asked for.
        op: &'static str,
        /// The dtype that was given.
        dtype: DType,
        /// The dtypes that would work.
        supported: String,
    },
    /// Two operands whose dtypes had to be equal.
    #[error("{op}: operands have different dtypes {left} and {right}")]
    Mixed {
        /// The operation that was asked for.
        op: &'static str,
        /// Dtype of the first operand.
        left: DType,
        /// Dtype of the other operand.
        right: DType,
    },
    /// A size that does not fit in memory arithmetic.
    #[error("{op}: shape {shape} has more elements than can be addressed")]
    TooLarge {
        /// The operation that was asked for.
        op: &'static str,
        /// The shape whose size overflows.
        shape: String,
    },
    /// A value that is not allowed for an argument.
    #[error("{op}: {what}")]
    Value {
        /// The operation that was asked for.
        op: &'static str,
        /// The value and the rule it breaks.
        what: String,
    },
    /// A matrix for which the result does not exist, found while computing.
    #[error("{op}: matrix {matrix} {what}")]
    Matrix {
        /// The operation that was asked for.
        op: &'static str,
        /// Row-major position of the matrix among the leading axes.
        matrix: usize,
        /// What is wrong with it and what could be done instead.
        what: &'static str,
    },
    /// A kernel of the user's that failed, found while its closures ran.
    #[error("{op}: the kernel's {part} {what}")]
    Kernel {
        /// The kernel.
        op: &'static str,
        /// Which closure: `CPU closure`, `shape rule`, `launch rule`, `piece rule`.
        part: &'static str,
        /// What it did, or was refused.
        what: String,
    },
    /// Graph text that cannot be read.
    #[error("graph text, line {line}: {what}")]
    Text {
        /// Line number, from 1.
        line: usize,
        /// What was found and what was expected.
        what: String,
    },
    /// A graph that breaks an invariant of the verifier.
    #[error("graph node %{node}: {what}")]
    Graph {
        /// Index of the node.
        node: usize,
        /// The invariant that is broken.
        what: String,
    },
}

/// Result of graph construction.
pub type Result<T, E = Error> = std::result::Result<T, E>;
