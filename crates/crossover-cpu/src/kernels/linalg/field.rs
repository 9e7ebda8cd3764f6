//! The four numbers that decompositions are computed in.

use crossover_core::lane::FloatLane;
use faer::{Mat, MatMut, MatRef, Par, linalg::evd, traits::ComplexField};
use num_complex::Complex;

use super::{Failure, tridiagonal, workspace};
use crate::{memory::Pool, threads::Threads};
use crossover_core::ops::linalg::NO_CONVERGENCE;

/// An element of a matrix.
pub(super) trait Field: ComplexField + Copy + Send + Sync + 'static {
    /// The type of its real part.
    type Part: Copy + Send + Sync;
    /// The complex type of the same width.
    type Whole: Field;

    const ZERO: Self;
    const ONE: Self;

    fn conjugate(self) -> Self;
    fn is_finite(self) -> bool;
    /// NaNs replaced by the canonical one.
    fn canonical(self) -> Self;
    /// The real part, canonical.
    fn part(self) -> Self::Part;
    /// As a complex `f64`.
    fn wide(self) -> Complex<f64>;
    /// From a complex `f64`, rounded; the imaginary part of a real number is dropped.
    fn narrow(value: Complex<f64>) -> Self;
    /// Eigenvalues, and with them right eigenvectors of length 1.
    fn eigen(pool: &Pool, a: MatRef<'_, Self>, vectors: bool) -> Result<Eigen<Self::Whole>, Failure>;
    /// Our own way to tridiagonal form, where there is one.
    const REDUCE: Option<Reduce<Self>>;
}

/// Makes a self-adjoint matrix tridiagonal, and gives what its reflections are divided by.
pub(super) type Reduce<T> = fn(&Threads, &Pool, &mut [T]) -> Result<Vec<T>, Failure>;

/// Eigenvalues and, where asked for, the matrix of right eigenvectors.
pub(super) type Eigen<C> = (Vec<C>, Option<Mat<C>>);

macro_rules! field {
    ($($real:ty)*) => {$(
        impl Field for $real {
            type Part = $real;
            type Whole = Complex<$real>;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const REDUCE: Option<Reduce<Self>> = Some(tridiagonal::reduce);
            fn conjugate(self) -> Self { self }
            fn is_finite(self) -> bool { <$real>::is_finite(self) }
            fn canonical(self) -> Self { FloatLane::canonical(self) }
            fn part(self) -> $real { FloatLane::canonical(self) }
            fn wide(self) -> Complex<f64> { Complex::new(self as f64, 0.0) }
            fn narrow(value: Complex<f64>) -> Self { value.re as $real }

            fn eigen(pool: &Pool, a: MatRef<'_, Self>, vectors: bool) -> Result<Eigen<Complex<$real>>, Failure> {
                let n = a.nrows();
                let compute = which(vectors);
                let no = evd::ComputeEigenvectors::No;
                let mut memory = workspace(pool, evd::evd_scratch::<$real>(n, no, compute, Par::Seq, Default::default()))?;
                let (mut re, mut im) = (faer::diag::Diag::<$real>::zeros(n), faer::diag::Diag::<$real>::zeros(n));
                let mut u = vectors.then(|| Mat::<$real>::zeros(n, n));
                let stack = faer::dyn_stack::MemStack::new(memory.bytes());
                evd::evd_real(
                    a,
                    re.as_mut(),
                    im.as_mut(),
                    None,
                    u.as_mut().map(|u| u.as_mut()),
                    Par::Seq,
                    stack,
                    Default::default(),
                )
                .map_err(|_| Failure::Matrix(NO_CONVERGENCE))?;
                let values: Vec<Complex<$real>> = (0..n).map(|i| Complex::new(re[i], im[i])).collect();
                let u = u.map(|u| paired(u.as_ref(), &values));
                Ok((values, u))
            }
        }

        impl Field for Complex<$real> {
            type Part = $real;
            type Whole = Complex<$real>;
            const ZERO: Self = Complex { re: 0.0, im: 0.0 };
            const ONE: Self = Complex { re: 1.0, im: 0.0 };
            const REDUCE: Option<Reduce<Self>> = None;
            fn conjugate(self) -> Self { self.conj() }
            fn is_finite(self) -> bool { self.re.is_finite() && self.im.is_finite() }
            fn canonical(self) -> Self {
                Complex { re: FloatLane::canonical(self.re), im: FloatLane::canonical(self.im) }
            }
            fn part(self) -> $real { FloatLane::canonical(self.re) }
            fn wide(self) -> Complex<f64> { Complex::new(self.re as f64, self.im as f64) }
            fn narrow(value: Complex<f64>) -> Self { Complex::new(value.re as $real, value.im as $real) }

            fn eigen(pool: &Pool, a: MatRef<'_, Self>, vectors: bool) -> Result<Eigen<Complex<$real>>, Failure> {
                let n = a.nrows();
                let compute = which(vectors);
                let no = evd::ComputeEigenvectors::No;
                let mut memory = workspace(pool, evd::evd_scratch::<Self>(n, no, compute, Par::Seq, Default::default()))?;
                let mut s = faer::diag::Diag::<Self>::zeros(n);
                let mut u = vectors.then(|| Mat::<Self>::zeros(n, n));
                let stack = faer::dyn_stack::MemStack::new(memory.bytes());
                evd::evd_cplx(
                    a,
                    s.as_mut(),
                    None,
                    u.as_mut().map(|u| u.as_mut()),
                    Par::Seq,
                    stack,
                    Default::default(),
                )
                .map_err(|_| Failure::Matrix(NO_CONVERGENCE))?;
                if let Some(u) = &mut u {
                    unit_columns(u.as_mut());
                }
                Ok(((0..n).map(|i| s[i]).collect(), u))
            }
        }
    )*};
}

field!(f32 f64);

fn which(vectors: bool) -> evd::ComputeEigenvectors {
    if vectors { evd::ComputeEigenvectors::Yes } else { evd::ComputeEigenvectors::No }
}

/// Complex vectors from real ones: a conjugate pair of eigenvalues has its real and imaginary part in two columns.
fn paired<R>(u: MatRef<'_, R>, values: &[Complex<R>]) -> Mat<Complex<R>>
where
    Complex<R>: Field,
    R: Field + faer::traits::RealField + Copy,
{
    let n = u.nrows();
    let mut out = Mat::<Complex<R>>::zeros(n, n);
    let mut j = 0;
    while j < n {
        let pair = values[j].im != R::ZERO && j + 1 < n;
        for i in 0..n {
            let im = if pair { u[(i, j + 1)] } else { R::ZERO };
            out[(i, j)] = Complex { re: u[(i, j)], im };
            if pair {
                out[(i, j + 1)] = out[(i, j)].conjugate();
            }
        }
        j += 1 + pair as usize;
    }
    unit_columns(out.as_mut());
    out
}

/// Scales every column to length 1.
fn unit_columns<T: Field>(mut u: MatMut<'_, T>) {
    for j in 0..u.ncols() {
        let length = (0..u.nrows()).map(|i| u[(i, j)].wide().norm_sqr()).sum::<f64>().sqrt();
        if length > 0.0 && length.is_finite() {
            for i in 0..u.nrows() {
                u[(i, j)] = T::narrow(u[(i, j)].wide() / length);
            }
        }
    }
}
