//! Linear algebra on the last two axes, with NumPy's rules for dtypes and leading axes.
//!
//! Integers compute in `f64`, 16-bit floats in `f32`. Results that come out of one factorisation are views of one node.

use super::{Build, binary, cast, expand, fft::part, matmul, reduce, select, unary, widened, with_number};
use crate::{
    DType, Error, Kind, Number, Result, Shape,
    graph::{Axes, Op, Type},
    ops::{MapOp, linalg::LinalgOp, reduce::ReduceOp},
};

/// The operand in a dtype that decompositions have.
fn matrix<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    let dtype = b.dtype(x);
    if matches!(dtype.kind(), Kind::Bool | Kind::Int) { cast(b, x, DType::F64) } else { widened(b, x) }
}

fn call<B: Build>(b: &mut B, op: LinalgOp, x: &B::Value) -> Result<B::Value> {
    let x = matrix(b, x)?;
    b.push(Op::Linalg(op), &[&x])
}

/// Rows and columns, or what is wrong with an array that has no matrices.
fn sides(op: &'static str, ty: &Type) -> Result<(usize, usize)> {
    match ty.shape.dims() {
        [.., m, n] => Ok((*m, *n)),
        _ => Err(Error::Value { op, what: format!("{} is no matrix: give at least two axes", ty.shape) }),
    }
}

/// A part of a packed result, as `tail` after the leading axes.
fn unpacked<B: Build>(b: &mut B, x: &B::Value, start: usize, tail: &[usize]) -> Result<B::Value> {
    let shape = b.ty(x).shape;
    let lead = shape.rank() - 1;
    let taken = part(b, x, lead, start, tail.iter().product())?;
    let shape: Shape = shape.dims()[..lead].iter().chain(tail).copied().collect();
    b.push(Op::Reshape(shape), &[&taken])
}

/// The real part of a result that is real in any dtype.
fn real<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    if b.dtype(x).is_complex() { unary(b, MapOp::Real, x) } else { Ok(x.clone()) }
}

/// The last two axes exchanged, and conjugated.
pub fn adjoint<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    let turned = matrix_transpose(b, x)?;
    if b.dtype(x).is_complex() { unary(b, MapOp::Conj, &turned) } else { Ok(turned) }
}

/// The last two axes exchanged.
pub fn matrix_transpose<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    let ty = b.ty(x);
    sides("matrix_transpose", &ty)?;
    let rank = ty.shape.rank();
    let mut axes: Axes = (0..rank).collect();
    axes.swap(rank - 1, rank - 2);
    b.push(Op::Permute(axes), &[x])
}

/// A triangular factor; see [`LinalgOp::Cholesky`].
pub fn cholesky<B: Build>(b: &mut B, x: &B::Value, upper: bool) -> Result<B::Value> {
    call(b, LinalgOp::Cholesky { upper }, x)
}

/// The determinant; a singular matrix has 0.
pub fn det<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    call(b, LinalgOp::Det, x)
}

/// Sign, and logarithm of the absolute value, of the determinant; 0 and -inf for a singular matrix.
pub fn slogdet<B: Build>(b: &mut B, x: &B::Value) -> Result<(B::Value, B::Value)> {
    let both = call(b, LinalgOp::SlogDet, x)?;
    let (sign, log) = (unpacked(b, &both, 0, &[])?, unpacked(b, &both, 1, &[])?);
    Ok((sign, real(b, &log)?))
}

/// The inverse.
pub fn inv<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    call(b, LinalgOp::Inv, x)
}

/// X with A·X = B; B is a vector if it has one axis, and leading axes broadcast.
pub fn solve<B: Build>(b: &mut B, a: &B::Value, y: &B::Value) -> Result<B::Value> {
    let op = "solve";
    let (a, y) = (matrix(b, a)?, matrix(b, y)?);
    let dtype = b.dtype(&a).promote(b.dtype(&y));
    let (a, y) = (cast(b, &a, dtype)?, cast(b, &y, dtype)?);
    let (left, right) = (b.ty(&a), b.ty(&y));
    let (m, n) = sides(op, &left)?;
    let vector = right.shape.rank() == 1;
    let y = if vector { b.push(Op::Reshape(Shape::from([right.shape[0], 1])), &[&y])? } else { y };
    let shape = b.ty(&y).shape;
    let (rows, columns) = sides(op, &b.ty(&y))?;
    if rows != m || m != n {
        let why = "the first is square, with as many rows as the second";
        return Err(Error::Shape { op, left: left.shape, right: right.shape, why });
    }
    let lead_of = |shape: &Shape| Shape::from(&shape.dims()[..shape.rank() - 2]);
    let lead = lead_of(&left.shape).broadcast(op, &lead_of(&shape))?;
    let with = |tail: [usize; 2]| lead.iter().copied().chain(tail).collect::<Shape>();
    let (a, y) = (expand(b, &a, &with([m, n]))?, expand(b, &y, &with([rows, columns]))?);
    let x = b.push(Op::Linalg(LinalgOp::Solve), &[&a, &y])?;
    if !vector {
        return Ok(x);
    }
    let shape: Shape = lead.iter().copied().chain([rows]).collect();
    b.push(Op::Reshape(shape), &[&x])
}

/// Q and R; Q is square if `complete`, else has min(m, n) columns.
pub fn qr<B: Build>(b: &mut B, x: &B::Value, complete: bool) -> Result<(B::Value, B::Value)> {
    let (m, n) = sides("qr", &b.ty(x))?;
    let both = call(b, LinalgOp::Qr { complete }, x)?;
    let p = if complete { m } else { m.min(n) };
    Ok((unpacked(b, &both, 0, &[m, p])?, unpacked(b, &both, m * p, &[p, n])?))
}

/// U, descending singular values and Vᴴ.
pub fn svd<B: Build>(b: &mut B, x: &B::Value, full: bool) -> Result<(B::Value, B::Value, B::Value)> {
    let (m, n) = sides("svd", &b.ty(x))?;
    let k = m.min(n);
    let (p, q) = if full { (m, n) } else { (k, k) };
    let all = call(b, LinalgOp::Svd { full }, x)?;
    let u = unpacked(b, &all, 0, &[m, p])?;
    let s = unpacked(b, &all, m * p, &[k])?;
    let s = real(b, &s)?;
    Ok((u, s, unpacked(b, &all, m * p + k, &[q, n])?))
}

/// Descending singular values.
pub fn svdvals<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    call(b, LinalgOp::SvdVals, x)
}

/// Ascending eigenvalues, real, and eigenvectors of a self-adjoint matrix, of which one triangle is read.
pub fn eigh<B: Build>(b: &mut B, x: &B::Value, upper: bool) -> Result<(B::Value, B::Value)> {
    let (_, n) = sides("eigh", &b.ty(x))?;
    let both = call(b, LinalgOp::Eigh { upper }, x)?;
    let values = unpacked(b, &both, 0, &[n])?;
    Ok((real(b, &values)?, unpacked(b, &both, n, &[n, n])?))
}

/// Ascending eigenvalues of a self-adjoint matrix, of which one triangle is read.
pub fn eigvalsh<B: Build>(b: &mut B, x: &B::Value, upper: bool) -> Result<B::Value> {
    call(b, LinalgOp::EigValsH { upper }, x)
}

/// Eigenvalues and right eigenvectors, complex.
pub fn eig<B: Build>(b: &mut B, x: &B::Value) -> Result<(B::Value, B::Value)> {
    let (_, n) = sides("eig", &b.ty(x))?;
    let both = call(b, LinalgOp::Eig, x)?;
    Ok((unpacked(b, &both, 0, &[n])?, unpacked(b, &both, n, &[n, n])?))
}

/// Eigenvalues, complex.
pub fn eigvals<B: Build>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    call(b, LinalgOp::EigVals, x)
}

/// Which singular values count: those above `tolerance` times the largest. `None` is max(m, n) units in the last place.
fn counted<B: Build>(
    b: &mut B,
    s: &B::Value,
    (m, n): (usize, usize),
    tolerance: Option<f64>,
) -> Result<B::Value> {
    let dtype = b.dtype(s);
    let epsilon = if dtype == DType::F32 { f32::EPSILON as f64 } else { f64::EPSILON };
    let tolerance = tolerance.unwrap_or(m.max(n) as f64 * epsilon);
    let most = reduce(b, ReduceOp::Max, s, &[-1], true)?;
    let least = with_number(b, MapOp::Multiply, &most, Number::Float(tolerance))?;
    binary(b, MapOp::Greater, s, &least)
}

/// Number of singular values above `tolerance` times the largest, as `i64`.
pub fn matrix_rank<B: Build>(b: &mut B, x: &B::Value, tolerance: Option<f64>) -> Result<B::Value> {
    let sides = sides("matrix_rank", &b.ty(x))?;
    let s = svdvals(b, x)?;
    if sides.0.min(sides.1) == 0 {
        return super::sum(b, &s, &[-1], false).and_then(|zero| cast(b, &zero, DType::I64));
    }
    let counted = counted(b, &s, sides, tolerance)?;
    super::sum(b, &counted, &[-1], false)
}

/// Moore and Penrose's inverse: V·S⁺·Uᴴ. Singular values up to `tolerance` times the largest count as 0.
pub fn pinv<B: Build>(b: &mut B, x: &B::Value, tolerance: Option<f64>) -> Result<B::Value> {
    let ty = b.ty(x);
    let (m, n) = sides("pinv", &ty)?;
    if m.min(n) == 0 {
        let x = matrix(b, x)?;
        return adjoint(b, &x);
    }
    let (u, s, vh) = svd(b, x, false)?;
    let scaled = divided(b, &vh, &s, (m, n), tolerance)?;
    let (left, right) = (adjoint(b, &scaled)?, adjoint(b, &u)?);
    matmul(b, &left, &right)
}

/// Rows of `vh` divided by the singular values that count, the others zero.
fn divided<B: Build>(
    b: &mut B,
    vh: &B::Value,
    s: &B::Value,
    sides: (usize, usize),
    tolerance: Option<f64>,
) -> Result<B::Value> {
    let counted = counted(b, s, sides, tolerance)?;
    let zero = super::number(b, Number::Float(0.0), b.dtype(s))?;
    let one = super::number(b, Number::Float(1.0), b.dtype(s))?;
    let inverse = binary(b, MapOp::Divide, &one, s)?;
    let inverse = select(b, &counted, &inverse, &zero)?;
    let shape = b.ty(&inverse).shape;
    let column: Shape = shape.iter().copied().chain([1]).collect();
    let inverse = b.push(Op::Reshape(column), &[&inverse])?;
    binary(b, MapOp::Multiply, vh, &inverse)
}

/// What [`lstsq`] finds.
pub struct LeastSquares<V> {
    /// X with the smallest ‖A·X - B‖, and among those the smallest ‖X‖.
    pub solution: V,
    /// ‖A·X - B‖², a column each.
    pub residuals: V,
    /// Singular values that count, as `i64`.
    pub rank: V,
    /// Descending singular values.
    pub singular_values: V,
}

/// Least squares for one matrix or a batch; B is a vector if it has one axis.
pub fn lstsq<B: Build>(
    b: &mut B,
    a: &B::Value,
    y: &B::Value,
    tolerance: Option<f64>,
) -> Result<LeastSquares<B::Value>> {
    let op = "lstsq";
    let (a, y) = (matrix(b, a)?, matrix(b, y)?);
    let dtype = b.dtype(&a).promote(b.dtype(&y));
    let (a, y) = (cast(b, &a, dtype)?, cast(b, &y, dtype)?);
    let (left, right) = (b.ty(&a), b.ty(&y));
    let (m, n) = sides(op, &left)?;
    let vector = right.shape.rank() == 1;
    let rows = if vector { right.shape[0] } else { sides(op, &right)?.0 };
    if rows != m || m.min(n) == 0 {
        let why = "both have the same number of rows, and the first is not empty";
        return Err(Error::Shape { op, left: left.shape, right: right.shape, why });
    }
    let y = if vector { b.push(Op::Reshape(Shape::from([m, 1])), &[&y])? } else { y };
    let (u, s, vh) = svd(b, &a, false)?;
    let scaled = divided(b, &vh, &s, (m, n), tolerance)?;
    let (left, right) = (adjoint(b, &scaled)?, adjoint(b, &u)?);
    let projected = matmul(b, &right, &y)?;
    let solution = matmul(b, &left, &projected)?;
    let fitted = matmul(b, &a, &solution)?;
    let distance = binary(b, MapOp::Subtract, &y, &fitted)?;
    let size = if dtype.is_complex() { unary(b, MapOp::Modulus, &distance)? } else { distance };
    let squares = unary(b, MapOp::Square, &size)?;
    let residuals = reduce(b, ReduceOp::Sum, &squares, &[-2], false)?;
    let counted = counted(b, &s, (m, n), tolerance)?;
    let rank = super::sum(b, &counted, &[-1], false)?;
    let solution = if vector {
        let shape = b.ty(&solution).shape;
        b.push(Op::Reshape(Shape::from(&shape.dims()[..shape.rank() - 1])), &[&solution])?
    } else {
        solution
    };
    Ok(LeastSquares { solution, residuals, rank, singular_values: s })
}

/// The product of a square matrix with itself, `power` times; negative powers invert first.
pub fn matrix_power<B: Build>(b: &mut B, x: &B::Value, power: i64) -> Result<B::Value> {
    let ty = b.ty(x);
    let (m, n) = sides("matrix_power", &ty)?;
    if m != n {
        let what = format!("the last two axes of {} must be equal", ty.shape);
        return Err(Error::Value { op: "matrix_power", what });
    }
    if power == 0 {
        let one = super::eye(b, n, n, 0, ty.dtype)?;
        return expand(b, &one, &ty.shape);
    }
    let mut square = if power < 0 { inv(b, x)? } else { x.clone() };
    let mut left = power.unsigned_abs();
    let mut product: Option<B::Value> = None;
    while left > 0 {
        if left & 1 == 1 {
            product = Some(match product {
                Some(product) => matmul(b, &product, &square)?,
                None => square.clone(),
            });
        }
        left >>= 1;
        if left > 0 {
            square = matmul(b, &square, &square)?;
        }
    }
    // A power that is not 0 has a bit that is set.
    Ok(product.unwrap_or(square))
}
