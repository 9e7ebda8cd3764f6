//! Decompositions and what follows from them, on the last two axes; leading axes are batches.
//!
//! An op with several results puts them one after another along the last axis, each row-major; `compose::linalg` takes
//! them apart with views. So one factorisation serves all of them, and a graph needs no nodes with several results.
//!
//! Error bound: backward stable. The computed result is exact for a matrix at a distance of at most 8·n·√n·ε·‖A‖ from A
//! (Frobenius norm; n the larger side, ε half a unit in the last place of 1); orthogonal factors are orthogonal to within
//! the same bound. One matrix is always computed in one way, so bits do not depend on threads or batches.

use crate::{DType, DTypeSet, Error, Result, Shape, graph::Type};

/// What is said about a matrix whose elimination meets a pivot that is exactly 0.
pub const SINGULAR: &str = "is singular: a pivot is exactly 0; pinv and lstsq have a result";
/// What is said about a matrix without a Cholesky factor.
pub const NOT_DEFINITE: &str = "is not positive definite: a pivot is not above 0";
/// What is said about a matrix with NaN or infinity where iterations need finite numbers.
pub const NOT_FINITE: &str = "holds NaN or infinity";
/// What is said when iterations come to no end.
pub const NO_CONVERGENCE: &str = "needs more iterations than allowed: no convergence";

/// An op on matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinalgOp {
    /// The triangular L with A = L·Lᴴ, or its adjoint. Reads one triangle of A.
    Cholesky {
        /// Whether the upper triangle is read and the upper factor returned.
        upper: bool,
    },
    /// The determinant.
    Det,
    /// Eigenvalues and right eigenvectors, complex: `n`, then `n×n`.
    Eig,
    /// Eigenvalues, complex.
    EigVals,
    /// Ascending eigenvalues and eigenvectors of a self-adjoint matrix: `n`, then `n×n`.
    Eigh {
        /// Which triangle is read.
        upper: bool,
    },
    /// Ascending eigenvalues of a self-adjoint matrix, real.
    EigValsH {
        /// Which triangle is read.
        upper: bool,
    },
    /// The inverse.
    Inv,
    /// Q and R of A = Q·R: `m×p`, then `p×n`.
    Qr {
        /// Whether Q is square (p = m) or has p = min(m, n) columns.
        complete: bool,
    },
    /// Sign and logarithm of the absolute value of the determinant: two values.
    SlogDet,
    /// X with A·X = B. Operands: A, and B with as many axes.
    Solve,
    /// U, descending singular values and Vᴴ: `m×p`, then `k = min(m, n)`, then `q×n`.
    Svd {
        /// Whether U and Vᴴ are square, or have only k columns and rows.
        full: bool,
    },
    /// Descending singular values, real.
    SvdVals,
}

impl LinalgOp {
    /// Every op, with each of its attributes.
    pub const ALL: [LinalgOp; 17] = [
        LinalgOp::Cholesky { upper: false },
        LinalgOp::Cholesky { upper: true },
        LinalgOp::Det,
        LinalgOp::Eig,
        LinalgOp::EigVals,
        LinalgOp::Eigh { upper: false },
        LinalgOp::Eigh { upper: true },
        LinalgOp::EigValsH { upper: false },
        LinalgOp::EigValsH { upper: true },
        LinalgOp::Inv,
        LinalgOp::Qr { complete: false },
        LinalgOp::Qr { complete: true },
        LinalgOp::SlogDet,
        LinalgOp::Solve,
        LinalgOp::Svd { full: false },
        LinalgOp::Svd { full: true },
        LinalgOp::SvdVals,
    ];

    /// Dtypes of the operands.
    pub const DTYPES: DTypeSet = DTypeSet::of(&[DType::F32, DType::F64, DType::C64, DType::C128]);

    /// Name in text and messages.
    pub const fn name(self) -> &'static str {
        match self {
            LinalgOp::Cholesky { .. } => "cholesky",
            LinalgOp::Det => "det",
            LinalgOp::Eig => "eig",
            LinalgOp::EigVals => "eigvals",
            LinalgOp::Eigh { .. } => "eigh",
            LinalgOp::EigValsH { .. } => "eigvalsh",
            LinalgOp::Inv => "inv",
            LinalgOp::Qr { .. } => "qr",
            LinalgOp::SlogDet => "slogdet",
            LinalgOp::Solve => "solve",
            LinalgOp::Svd { .. } => "svd",
            LinalgOp::SvdVals => "svdvals",
        }
    }

    /// What it gives, in a sentence.
    pub const fn doc(self) -> &'static str {
        match self {
            LinalgOp::Cholesky { upper: false } => {
                "The lower triangular L with A = L·Lᴴ, from the lower triangle."
            }
            LinalgOp::Cholesky { upper: true } => {
                "The upper triangular Lᴴ with A = L·Lᴴ, from the upper triangle."
            }
            LinalgOp::Det => "The determinant.",
            LinalgOp::Eig => "Eigenvalues and right eigenvectors, complex: n numbers, then n×n.",
            LinalgOp::EigVals => "Eigenvalues, complex.",
            LinalgOp::Eigh { upper: false } => {
                "Ascending eigenvalues and eigenvectors of a self-adjoint matrix, from its lower triangle: n numbers, then n×n."
            }
            LinalgOp::Eigh { upper: true } => "The same from the upper triangle.",
            LinalgOp::EigValsH { upper: false } => {
                "Ascending eigenvalues of a self-adjoint matrix, real, from its lower triangle."
            }
            LinalgOp::EigValsH { upper: true } => "The same from the upper triangle.",
            LinalgOp::Inv => "The inverse.",
            LinalgOp::Qr { complete: false } => "Q with min(m, n) columns and R of A = Q·R: m×p, then p×n.",
            LinalgOp::Qr { complete: true } => "The same with a square Q.",
            LinalgOp::SlogDet => "Sign and logarithm of the magnitude of the determinant: two numbers.",
            LinalgOp::Solve => "X with A·X = B.",
            LinalgOp::Svd { full: false } => {
                "U, descending singular values and Vᴴ with k = min(m, n) columns and rows: m×k, k numbers, k×n."
            }
            LinalgOp::Svd { full: true } => "The same with square U and Vᴴ.",
            LinalgOp::SvdVals => "Descending singular values, real.",
        }
    }

    /// The word after the operands in text, where the attribute is not the default.
    pub const fn flag(self) -> Option<&'static str> {
        match self {
            LinalgOp::Cholesky { upper: true }
            | LinalgOp::Eigh { upper: true }
            | LinalgOp::EigValsH { upper: true } => Some("upper"),
            LinalgOp::Qr { complete: true } => Some("complete"),
            LinalgOp::Svd { full: true } => Some("full"),
            _ => None,
        }
    }

    /// The op with this name and the word after its operands.
    pub fn from_name(name: &str, flag: Option<&str>) -> Option<LinalgOp> {
        Self::ALL.into_iter().find(|op| op.name() == name && op.flag() == flag)
    }

    /// Number of operands.
    pub const fn arity(self) -> usize {
        match self {
            LinalgOp::Solve => 2,
            _ => 1,
        }
    }

    /// Whether the matrix must be square.
    pub const fn is_square(self) -> bool {
        !matches!(self, LinalgOp::Qr { .. } | LinalgOp::Svd { .. } | LinalgOp::SvdVals)
    }

    /// Whether it is found by iterations, which need finite numbers: NaN and infinity are errors.
    pub const fn is_iterative(self) -> bool {
        match self {
            LinalgOp::Eig | LinalgOp::EigVals | LinalgOp::Eigh { .. } | LinalgOp::EigValsH { .. } => true,
            LinalgOp::Svd { .. } | LinalgOp::SvdVals => true,
            LinalgOp::Cholesky { .. } | LinalgOp::Det | LinalgOp::Inv | LinalgOp::Qr { .. } => false,
            LinalgOp::SlogDet | LinalgOp::Solve => false,
        }
    }

    /// Whether some matrices have no result, which is known only after trying: see [`Error::Matrix`].
    pub const fn may_fail(self) -> bool {
        self.is_iterative() || matches!(self, LinalgOp::Cholesky { .. } | LinalgOp::Inv | LinalgOp::Solve)
    }

    /// Axes after the leading ones of the result for an `m×n` matrix; `Solve` keeps those of B.
    pub fn tail(self, m: usize, n: usize) -> Shape {
        let k = m.min(n);
        match self {
            LinalgOp::Det => Shape::scalar(),
            LinalgOp::SlogDet => Shape::from([2]),
            LinalgOp::Inv | LinalgOp::Cholesky { .. } | LinalgOp::Solve => Shape::from([m, n]),
            LinalgOp::EigVals | LinalgOp::EigValsH { .. } | LinalgOp::SvdVals => Shape::from([k]),
            LinalgOp::Eig | LinalgOp::Eigh { .. } => Shape::from([n + n * n]),
            LinalgOp::Qr { complete } => {
                let p = if complete { m } else { k };
                Shape::from([m * p + p * n])
            }
            LinalgOp::Svd { full } => {
                let (p, q) = if full { (m, n) } else { (k, k) };
                Shape::from([m * p + k + q * n])
            }
        }
    }

    /// The dtype of the result.
    pub const fn result(self, dtype: DType) -> DType {
        match self {
            LinalgOp::Eig | LinalgOp::EigVals => dtype.complex(),
            LinalgOp::EigValsH { .. } | LinalgOp::SvdVals => dtype.real(),
            _ => dtype,
        }
    }

    /// The type of the result.
    pub fn infer(self, args: &[&Type]) -> Result<Type> {
        let op = self.name();
        let a = args[0];
        if !Self::DTYPES.contains(a.dtype) {
            return Err(Error::DType { op, dtype: a.dtype, supported: Self::DTYPES.to_string() });
        }
        let Some(lead) = a.shape.rank().checked_sub(2) else {
            return Err(Error::Value {
                op,
                what: format!("{} is no matrix: give at least two axes", a.shape),
            });
        };
        let (m, n) = (a.shape[lead], a.shape[lead + 1]);
        if self.is_square() && m != n {
            return Err(Error::Value { op, what: format!("the last two axes of {} must be equal", a.shape) });
        }
        if self == LinalgOp::Solve {
            let b = args[1];
            if a.dtype != b.dtype {
                return Err(Error::Mixed { op, left: a.dtype, right: b.dtype });
            }
            let fits = b.shape.rank() == lead + 2 && b.shape.dims()[..=lead] == a.shape.dims()[..=lead];
            if !fits {
                let (left, right) = (a.shape.clone(), b.shape.clone());
                let why = "both have the same axes but for the last; expand leading axes first";
                return Err(Error::Shape { op, left, right, why });
            }
            return Ok(b.clone());
        }
        // Packed sizes are products of lengths that need not have been multiplied before.
        let side = m.max(n);
        if side.checked_mul(side).and_then(|s| s.checked_mul(3)).is_none() {
            return Err(Error::TooLarge { op, shape: a.shape.to_string() });
        }
        let tail = self.tail(m, n);
        let dims = a.shape.dims()[..lead].iter().chain(tail.dims()).copied();
        Ok(Type { dtype: self.result(a.dtype), shape: Shape::checked(op, dims)? })
    }
}
