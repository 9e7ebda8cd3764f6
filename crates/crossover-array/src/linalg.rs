//! Linear algebra on the last two axes; leading axes are batches.
//!
//! `f32`, `f64`, `c64` and `c128` are computed as they are, 16-bit floats in `f32`, integers in `f64`. Everything is lazy.
//! What can only be found out by computing (a singular matrix) surfaces at evaluation, as an error with the place of the
//! call; results of one factorisation share it. Errors are bounded, see [`crossover_core::ops::linalg`]; bits do not depend
//! on threads or on the other matrices of a batch.
//!
//! ```
//! use crossover_array::{Array, linalg};
//! let a = Array::from([[2.0f64, 0.0], [0.0, 4.0]]);
//! assert_eq!(linalg::solve(&a, &Array::from([2.0f64, 2.0])).to_vec::<f64>()?, [1.0, 0.5]);
//! let singular = linalg::inv(&Array::from([[1.0f64, 2.0], [2.0, 4.0]]));
//! let error = (singular + 1.0).to_vec::<f64>().unwrap_err();
//! assert!(error.to_string().starts_with("inv: matrix 0 is singular"));
//! assert_eq!(error.location().file(), file!());
//! # Ok::<(), crossover_array::Error>(())
//! ```

use crossover_core::compose::{self, linalg as core};

pub use crossover_core::compose::MatrixNorm;

use crate::Array;

macro_rules! one {
    ($($name:ident $doc:literal $example:literal |$b:ident, $x:ident $(, $arg:ident: $ty:ty)*| $body:expr;)*) => {$(
        #[doc = $doc]
        ///
        /// ```
        /// use crossover_array::{Array, linalg};
        /// let a = Array::from([[4.0f64, 2.0], [2.0, 5.0]]);
        #[doc = $example]
        /// # Ok::<(), crossover_array::Error>(())
        /// ```
        #[track_caller]
        pub fn $name(x: &Array $(, $arg: $ty)*) -> Array {
            Array::build([x], |$b, [$x]| $body)
        }
    )*};
}

one! {
    cholesky "The lower triangular L with A = L·Lᴴ, from the lower triangle of a positive definite matrix."
        "assert_eq!(linalg::cholesky(&a).to_vec::<f64>()?, [2.0, 0.0, 1.0, 2.0]);"
        |b, x| core::cholesky(b, x, false);
    cholesky_upper "The upper triangular U with A = Uᴴ·U, from the upper triangle of a positive definite matrix."
        "assert_eq!(linalg::cholesky_upper(&a).to_vec::<f64>()?, [2.0, 1.0, 0.0, 2.0]);"
        |b, x| core::cholesky(b, x, true);
    det "The determinant."
        "assert_eq!(linalg::det(&a).item::<f64>()?, 16.0);"
        |b, x| core::det(b, x);
    inv "The inverse. A singular matrix is an error at evaluation."
        "assert_eq!(linalg::inv(&a).index(0).to_vec::<f64>()?, [0.3125, -0.125]);"
        |b, x| core::inv(b, x);
    svdvals "Descending singular values, real."
        "assert!((linalg::svdvals(&a).to_vec::<f64>()?[0] - 6.561552812808831).abs() < 1e-14);"
        |b, x| core::svdvals(b, x);
    eigvalsh "Ascending eigenvalues of a self-adjoint matrix, from its lower triangle."
        "assert!((linalg::eigvalsh(&a).to_vec::<f64>()?[1] - 6.561552812808831).abs() < 1e-14);"
        |b, x| core::eigvalsh(b, x, false);
    eigvals "Eigenvalues of any square matrix, complex, in no particular order."
        "assert!((linalg::eigvals(&a).real().sum(()).item::<f64>()? - 9.0).abs() < 1e-14);"
        |b, x| core::eigvals(b, x);
    matrix_transpose "The last two axes exchanged; a view of the same elements."
        "assert_eq!(linalg::matrix_transpose(&Array::ones::<f32>([2, 3, 4])).shape().dims(), [2, 4, 3]);"
        |b, x| core::matrix_transpose(b, x);
    matrix_power "The product of a square matrix with itself, `power` times; negative powers invert first."
        "assert_eq!(linalg::matrix_power(&a, 2).to_vec::<f64>()?, [20.0, 18.0, 18.0, 29.0]);"
        |b, x, power: i64| core::matrix_power(b, x, power);
    matrix_rank "Number of singular values above `tolerance` times the largest; `None` is max(m, n)·ε."
        "assert_eq!(linalg::matrix_rank(&a, None).item::<i64>()?, 2);"
        |b, x, tolerance: Option<f64>| core::matrix_rank(b, x, tolerance);
    pinv "Moore and Penrose's inverse; singular values up to `tolerance` times the largest count as 0."
        "assert!((linalg::pinv(&a, None) - linalg::inv(&a)).abs().max(()).item::<f64>()? < 1e-15);"
        |b, x, tolerance: Option<f64>| core::pinv(b, x, tolerance);
    matrix_norm "A norm of the matrices in the last two axes."
        "assert_eq!(linalg::matrix_norm(&a, linalg::MatrixNorm::One).item::<f64>()?, 7.0);"
        |b, x, norm: MatrixNorm| compose::matrix_norm(b, x, norm, false);
    diagonal "The diagonal of the last two axes; a positive offset moves it to the right."
        "assert_eq!(linalg::diagonal(&a, 0).to_vec::<f64>()?, [4.0, 5.0]);"
        |b, x, offset: i64| compose::diagonal(b, x, offset, -2, -1);
    trace "Sum of the diagonal of the last two axes; a positive offset moves it to the right."
        "assert_eq!(linalg::trace(&a, 0).item::<f64>()?, 9.0);"
        |b, x, offset: i64| compose::trace(b, x, offset);
}

/// X with A·X = B; a B with one axis is a vector, and leading axes broadcast. A singular matrix is an error at evaluation.
///
/// ```
/// use crossover_array::{Array, linalg};
/// let a = Array::from([[1.0f32, 2.0], [3.0, 4.0]]);
/// let x = linalg::solve(&a, &Array::from([5.0f32, 11.0]));
/// assert!((a.matmul(&x) - Array::from([5.0f32, 11.0])).abs().max(()).item::<f32>()? < 1e-5);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn solve(a: &Array, b: &Array) -> Array {
    Array::build([a, b], |builder, [x, y]| core::solve(builder, x, y))
}

/// Every product of an element of the first array, flattened, with one of the second.
///
/// ```
/// use crossover_array::{Array, linalg};
/// assert_eq!(linalg::outer(&Array::from([1, 2]), &Array::from([3, 4])).to_vec::<i32>()?, [3, 4, 6, 8]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn outer(x: &Array, y: &Array) -> Array {
    Array::build([x, y], |b, [x, y]| compose::outer(b, x, y))
}

/// Cross product of vectors of three elements along an axis, counted from the last; other axes broadcast.
///
/// ```
/// use crossover_array::{Array, linalg};
/// assert_eq!(linalg::cross(&Array::from([1, 0, 0]), &Array::from([0, 1, 0]), -1).to_vec::<i32>()?, [0, 0, 1]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn cross(x: &Array, y: &Array, axis: i64) -> Array {
    Array::build([x, y], |b, [x, y]| compose::cross(b, x, y, axis))
}

/// Sign, and logarithm of the absolute value, of the determinant; 0 and -inf for a singular matrix.
///
/// ```
/// use crossover_array::{Array, linalg};
/// let (sign, log) = linalg::slogdet(&Array::from([[0.0f64, 1.0], [1.0, 0.0]]));
/// assert_eq!((sign.item::<f64>()?, log.item::<f64>()?), (-1.0, 0.0));
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn slogdet(x: &Array) -> (Array, Array) {
    let [sign, log] = Array::build_several([x], |b, [x]| core::slogdet(b, x).map(|(s, l)| [s, l]));
    (sign, log)
}

/// Q with orthonormal columns and upper triangular R with A = Q·R; Q has min(m, n) columns.
///
/// ```
/// use crossover_array::{Array, linalg};
/// let (q, r) = linalg::qr(&Array::ones::<f64>([3, 2]));
/// assert_eq!((q.shape().dims(), r.shape().dims()), (&[3, 2][..], &[2, 2][..]));
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn qr(x: &Array) -> (Array, Array) {
    let [q, r] = Array::build_several([x], |b, [x]| core::qr(b, x, false).map(|(q, r)| [q, r]));
    (q, r)
}

/// As [`qr`], with a square Q.
///
/// ```
/// use crossover_array::{Array, linalg};
/// let (q, r) = linalg::qr_complete(&Array::ones::<f64>([3, 2]));
/// assert_eq!((q.shape().dims(), r.shape().dims()), (&[3, 3][..], &[3, 2][..]));
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn qr_complete(x: &Array) -> (Array, Array) {
    let [q, r] = Array::build_several([x], |b, [x]| core::qr(b, x, true).map(|(q, r)| [q, r]));
    (q, r)
}

/// U, descending singular values and Vᴴ; U has min(m, n) columns and Vᴴ as many rows.
///
/// ```
/// use crossover_array::{Array, linalg};
/// let x = Array::from([[3.0f64, 0.0], [0.0, -5.0], [0.0, 0.0]]);
/// let (u, s, vh) = linalg::svd(&x);
/// assert_eq!(u.shape().dims(), [3, 2]);
/// assert!((&s - &Array::from([5.0, 3.0])).abs().max(()).item::<f64>()? < 1e-14);
/// assert!(((&u * &s).matmul(&vh) - &x).abs().max(()).item::<f64>()? < 1e-14);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn svd(x: &Array) -> (Array, Array, Array) {
    let [u, s, vh] = Array::build_several([x], |b, [x]| core::svd(b, x, false).map(|(u, s, v)| [u, s, v]));
    (u, s, vh)
}

/// As [`svd`], with square U and Vᴴ.
///
/// ```
/// use crossover_array::{Array, linalg};
/// let (u, _, vh) = linalg::svd_full(&Array::ones::<f32>([3, 2]));
/// assert_eq!((u.shape().dims(), vh.shape().dims()), (&[3, 3][..], &[2, 2][..]));
/// ```
#[track_caller]
pub fn svd_full(x: &Array) -> (Array, Array, Array) {
    let [u, s, vh] = Array::build_several([x], |b, [x]| core::svd(b, x, true).map(|(u, s, v)| [u, s, v]));
    (u, s, vh)
}

/// Ascending eigenvalues and orthonormal eigenvectors, in columns, of a self-adjoint matrix, from its lower triangle.
///
/// ```
/// use crossover_array::{Array, linalg};
/// let a = Array::from([[2.0f64, 1.0], [1.0, 2.0]]);
/// let (values, vectors) = linalg::eigh(&a);
/// assert!((a.matmul(&vectors) - &vectors * &values).abs().max(()).item::<f64>()? < 1e-14);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn eigh(x: &Array) -> (Array, Array) {
    let [values, vectors] = Array::build_several([x], |b, [x]| core::eigh(b, x, false).map(|(w, v)| [w, v]));
    (values, vectors)
}

/// Eigenvalues and eigenvectors of length 1, in columns, of any square matrix; complex, in no particular order.
///
/// ```
/// use crossover_array::{Array, Complex, linalg};
/// let turn = Array::from([[0.0f64, -1.0], [1.0, 0.0]]);
/// let (values, _) = linalg::eig(&turn);
/// assert!((values.imag().abs() - 1.0).abs().max(()).item::<f64>()? < 1e-15);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn eig(x: &Array) -> (Array, Array) {
    let [values, vectors] = Array::build_several([x], |b, [x]| core::eig(b, x).map(|(w, v)| [w, v]));
    (values, vectors)
}

/// What [`lstsq`] finds.
///
/// ```
/// use crossover_array::{Array, linalg};
/// let found = linalg::lstsq(&Array::from([[1.0f64], [1.0]]), &Array::from([[1.0f64], [3.0]]), None);
/// assert!((found.solution.sum(()).item::<f64>()? - 2.0).abs() < 1e-14);
/// assert!((found.residuals.sum(()).item::<f64>()? - 2.0).abs() < 1e-14);
/// assert_eq!((found.rank.item::<i64>()?, found.singular_values.size()), (1, 1));
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LeastSquares {
    /// X with the smallest ‖A·X - B‖, and among those the smallest ‖X‖.
    pub solution: Array,
    /// ‖A·X - B‖², one per column of B. NumPy leaves this empty where A has not full rank or no more rows than columns.
    pub residuals: Array,
    /// Number of singular values above the tolerance, as `i64`.
    pub rank: Array,
    /// Descending singular values of A.
    pub singular_values: Array,
}

/// Least squares: the X with the smallest ‖A·X - B‖; a B with one axis is a vector. Singular values up to `tolerance` times
/// the largest count as 0; `None` is max(m, n)·ε.
///
/// ```
/// use crossover_array::{Array, linalg};
/// let a = Array::from([[0.0f64, 1.0], [1.0, 1.0], [2.0, 1.0]]);
/// let line = linalg::lstsq(&a, &Array::from([1.0f64, 3.0, 5.0]), None);
/// let fit = line.solution.to_vec::<f64>()?;
/// assert!((fit[0] - 2.0).abs() < 1e-14 && (fit[1] - 1.0).abs() < 1e-14);
/// assert_eq!(line.rank.item::<i64>()?, 2);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn lstsq(a: &Array, b: &Array, tolerance: Option<f64>) -> LeastSquares {
    let [solution, residuals, rank, singular_values] = Array::build_several([a, b], |builder, [a, y]| {
        let found = core::lstsq(builder, a, y, tolerance)?;
        Ok([found.solution, found.residuals, found.rank, found.singular_values])
    });
    LeastSquares { solution, residuals, rank, singular_values }
}
