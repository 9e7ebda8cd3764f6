//! Decompositions as textbooks have them, in complex `f64`, rounded once: the oracle for [`crate::ops::linalg`].
//!
//! Where a decomposition is not unique (signs and phases of vectors, order of general eigenvalues), tests compare what it
//! must satisfy, not its elements.

mod dense;
mod eigen;

use num_complex::Complex;

use self::dense::Matrix;
use super::{Tensor, elementwise::canonical};
use crate::{
    DType, Element, Error, Result, Scalar,
    ops::linalg::{LinalgOp, NO_CONVERGENCE, NOT_DEFINITE, NOT_FINITE},
};

type Wide = Complex<f64>;

/// The elements of the result in row-major order, or the first matrix that has none.
pub(super) fn linalg(op: LinalgOp, args: &[&Tensor]) -> Result<Vec<Scalar>> {
    let rank = args[0].shape.rank();
    let (m, n) = (args[0].shape[rank - 2], args[0].shape[rank - 1]);
    let batches: usize = args[0].shape.dims()[..rank - 2].iter().product();
    let dtype = op.result(args[0].dtype);
    let mut out = Vec::new();
    for matrix in 0..batches {
        let a = Matrix::read(args[0], matrix, m, n);
        let values = match op {
            LinalgOp::Solve => {
                let b = Matrix::read(args[1], matrix, n, args[1].shape[rank - 1]);
                dense::solve(&a, b).map(|x| x.values)
            }
            _ => one(op, a),
        };
        let values = values.map_err(|what| Error::Matrix { op: op.name(), matrix, what })?;
        out.extend(values.into_iter().map(|value| rounded(value, dtype)));
    }
    Ok(out)
}

fn one(op: LinalgOp, a: Matrix) -> Result<Vec<Wide>, &'static str> {
    if op.is_iterative() && a.values.iter().any(|v| !v.is_finite()) {
        return Err(NOT_FINITE);
    }
    let real = |values: Vec<f64>| values.into_iter().map(|v| Wide::new(v, 0.0)).collect::<Vec<_>>();
    Ok(match op {
        LinalgOp::Cholesky { upper } => {
            let low = if upper { a.adjoint() } else { a };
            let factor = dense::cholesky(&low).ok_or(NOT_DEFINITE)?;
            if upper { factor.adjoint() } else { factor }.values
        }
        LinalgOp::Det => vec![dense::det(a)],
        LinalgOp::SlogDet => {
            let (sign, log) = dense::slogdet(a);
            vec![sign, Wide::new(log, 0.0)]
        }
        LinalgOp::Inv => dense::solve(&a, Matrix::identity(a.rows))?.values,
        LinalgOp::Solve => return Err("needs a second operand"),
        LinalgOp::Qr { complete } => {
            let columns = if complete { a.rows } else { a.rows.min(a.columns) };
            let (q, r) = dense::qr(&a);
            [q.columns_to(columns).values, r.rows_to(columns).values].concat()
        }
        LinalgOp::Svd { full } => {
            let k = a.rows.min(a.columns);
            let (u, s, v) = eigen::svd(&a);
            let (p, q) = if full { (a.rows, a.columns) } else { (k, k) };
            [u.columns_to(p).values, real(s), v.adjoint().rows_to(q).values].concat()
        }
        LinalgOp::SvdVals => real(eigen::svd(&a).1),
        LinalgOp::Eigh { upper } => {
            let (values, vectors) = eigen::eigh(&a.self_adjoint(upper));
            [real(values), vectors.values].concat()
        }
        LinalgOp::EigValsH { upper } => real(eigen::eigh(&a.self_adjoint(upper)).0),
        LinalgOp::Eig => {
            let (values, vectors) = eigen::eig(&a).ok_or(NO_CONVERGENCE)?;
            [values, vectors.values].concat()
        }
        LinalgOp::EigVals => eigen::eig(&a).ok_or(NO_CONVERGENCE)?.0,
    })
}

fn rounded(value: Wide, dtype: DType) -> Scalar {
    let scalar = if dtype.is_complex() { value.to_scalar() } else { value.re.to_scalar() };
    canonical(scalar.cast(dtype))
}
