//! What is found by iterations: singular values and eigenvalues.

use crossover_core::ops::linalg::NO_CONVERGENCE;
use faer::{
    Conj, Mat, MatMut, MatRef, Par,
    diag::{Diag, DiagMut},
    dyn_stack::MemStack,
    linalg::{evd, householder, svd::ComputeSvdVectors},
};
use num_complex::Complex;

use super::{
    Failure,
    factor::{self, write},
    field::Field,
    workspace,
};
use crate::{kernels::panel::Panel, memory::Pool, threads::Threads};

/// Sizes from which the iterations are cut in two.
const LARGE: usize = 200;

/// How the work on a matrix is cut. `faer` adds up by parts, so their number shows in the bits: it follows from the size alone,
/// and as many threads take the parts as there are.
fn parts(size: usize) -> Par {
    if is_large(size) { Par::rayon(2) } else { Par::Seq }
}

/// Whether the work on a matrix with this many singular values is cut.
pub(super) fn is_large(size: usize) -> bool {
    size >= LARGE
}

/// U, the singular values and Vᴴ.
pub(super) fn svd<T: Field>(pool: &Pool, a: MatMut<'_, T>, full: bool, out: &mut [T]) -> Result<(), Failure> {
    let (m, n) = a.shape();
    let k = m.min(n);
    let (p, q) = if full { (m, n) } else { (k, k) };
    let identity = |n: usize, k: usize| Mat::from_fn(n, k, |i, j| if i == j { T::ONE } else { T::ZERO });
    let (mut u, mut v, mut s) = (identity(m, p), identity(n, q), Diag::<T>::zeros(k));
    if k > 0 {
        let compute = if full { ComputeSvdVectors::Full } else { ComputeSvdVectors::Thin };
        let request =
            faer::linalg::svd::svd_scratch::<T>(m, n, compute, compute, parts(k), Default::default());
        let mut memory = workspace(pool, request)?;
        faer::linalg::svd::svd(
            a.as_ref(),
            s.as_mut(),
            Some(u.as_mut()),
            Some(v.as_mut()),
            parts(k),
            MemStack::new(memory.bytes()),
            Default::default(),
        )
        .map_err(|_| Failure::Matrix(NO_CONVERGENCE))?;
    }
    let (left, rest) = out.split_at_mut(m * p);
    let (middle, right) = rest.split_at_mut(k);
    write(u.as_ref(), left);
    middle.iter_mut().enumerate().for_each(|(i, x)| *x = s[i].canonical());
    for (i, row) in right.chunks_exact_mut(n.max(1)).enumerate() {
        row.iter_mut().enumerate().for_each(|(j, x)| *x = v[(j, i)].conjugate().canonical());
    }
    Ok(())
}

/// The singular values.
pub(super) fn svdvals<T: Field>(pool: &Pool, a: MatMut<'_, T>, out: &mut [T::Part]) -> Result<(), Failure> {
    let (m, n) = a.shape();
    let no = ComputeSvdVectors::No;
    let mut s = Diag::<T>::zeros(m.min(n));
    let par = parts(m.min(n));
    let mut memory =
        workspace(pool, faer::linalg::svd::svd_scratch::<T>(m, n, no, no, par, Default::default()))?;
    let stack = MemStack::new(memory.bytes());
    faer::linalg::svd::svd(a.as_ref(), s.as_mut(), None, None, par, stack, Default::default())
        .map_err(|_| Failure::Matrix(NO_CONVERGENCE))?;
    out.iter_mut().enumerate().for_each(|(i, x)| *x = s[i].part());
    Ok(())
}

/// Eigenvalues and vectors of a self-adjoint matrix, column-major.
pub(super) fn eigh<T: Field>(
    threads: &Threads,
    pool: &Pool,
    a: &mut [T],
    upper: bool,
    out: &mut [T],
) -> Result<(), Failure> {
    let n = a.len().isqrt();
    let mut memory = Panel::new(pool, n * n * size_of::<T>())?;
    let mut vectors = MatMut::from_column_major_slice_mut(memory.filled(n * n, T::ZERO), n, n);
    let values = self_adjoint(threads, pool, a, upper, Some(vectors.as_mut()))?;
    let (first, rest) = out.split_at_mut(n);
    first.iter_mut().enumerate().for_each(|(i, x)| *x = values[i].canonical());
    write(vectors.as_ref(), rest);
    Ok(())
}

/// Eigenvalues of a self-adjoint matrix, column-major.
pub(super) fn eigvalsh<T: Field>(
    threads: &Threads,
    pool: &Pool,
    a: &mut [T],
    upper: bool,
    out: &mut [T::Part],
) -> Result<(), Failure> {
    let values = self_adjoint(threads, pool, a, upper, None)?;
    out.iter_mut().enumerate().for_each(|(i, x)| *x = values[i].part());
    Ok(())
}

fn self_adjoint<T: Field>(
    threads: &Threads,
    pool: &Pool,
    columns: &mut [T],
    upper: bool,
    vectors: Option<MatMut<'_, T>>,
) -> Result<Diag<T>, Failure> {
    let n = columns.len().isqrt();
    let mut a = MatMut::from_column_major_slice_mut(&mut *columns, n, n);
    factor::self_adjoint(a.as_mut(), upper);
    let mut values = Diag::<T>::zeros(n);
    if n == 0 {
        return Ok(values);
    }
    let compute = match vectors {
        Some(_) => evd::ComputeEigenvectors::Yes,
        None => evd::ComputeEigenvectors::No,
    };
    let request = evd::self_adjoint_evd_scratch::<T>(n, compute, parts(n), Default::default());
    let mut memory = workspace(pool, request)?;
    let stack = MemStack::new(memory.bytes());
    let found = match T::REDUCE {
        Some(reduce) if is_large(n) => {
            let scales = reduce(threads, pool, columns)?;
            let a = MatRef::from_column_major_slice(columns, n, n);
            of_tridiagonal(a, &scales, values.as_mut(), vectors, stack)
        }
        _ => evd::self_adjoint_evd(a.as_ref(), values.as_mut(), vectors, parts(n), stack, Default::default()),
    };
    found.map_err(|_| Failure::Matrix(NO_CONVERGENCE))?;
    Ok(values)
}

/// The decomposition of a matrix that [`tridiagonal::reduce`] has gone over.
fn of_tridiagonal<T: Field>(
    a: MatRef<'_, T>,
    scales: &[T],
    values: DiagMut<'_, T>,
    vectors: Option<MatMut<'_, T>>,
    stack: &mut MemStack,
) -> Result<(), evd::EvdError> {
    let (n, last) = (a.nrows(), a.nrows() - 1);
    let (mut diagonal, mut beside) = (Diag::<T>::zeros(n), Diag::<T>::zeros(n));
    (0..n).for_each(|i| diagonal[i] = a[(i, i)]);
    (0..last).for_each(|i| beside[i] = a[(i + 1, i)]);
    let (diagonal, beside) = (diagonal.as_ref(), beside.as_ref());
    let Some(mut vectors) = vectors else {
        return evd::tridiagonal_self_adjoint_evd(
            diagonal,
            beside,
            values,
            None,
            parts(n),
            stack,
            Default::default(),
        );
    };
    let turned = Some(vectors.as_mut());
    evd::tridiagonal_self_adjoint_evd(diagonal, beside, values, turned, parts(n), stack, Default::default())?;
    let reflections = a.submatrix(1, 0, last, last);
    let size = faer::linalg::qr::no_pivoting::factor::recommended_block_size::<T>(n, n);
    let mut factors = Mat::<T>::zeros(size, last);
    for first in (0..last).step_by(size) {
        let count = size.min(last - first);
        let mut factor = factors.as_mut().submatrix_mut(0, first, count, count);
        (0..count).for_each(|i| factor[(i, i)] = scales[first + i]);
        let essentials = reflections.submatrix(first, first, last - first, count);
        householder::upgrade_householder_factor(factor, essentials, count, 1, Par::Seq);
    }
    householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
        reflections,
        factors.as_ref(),
        Conj::No,
        vectors.subrows_mut(1, last),
        parts(n),
        stack,
    );
    Ok(())
}

/// Eigenvalues, and after them right eigenvectors if they are asked for.
pub(super) fn eig<T: Field>(
    pool: &Pool,
    a: MatMut<'_, T>,
    vectors: bool,
    out: &mut [T::Whole],
) -> Result<(), Failure> {
    let n = a.nrows();
    let (values, mut matrix) = T::eigen(pool, a.as_ref(), vectors)?;
    if let Some(matrix) = &mut matrix {
        completed(pool, a.as_ref(), &values, matrix.as_mut())?;
    }
    let (first, rest) = out.split_at_mut(n);
    first.iter_mut().zip(values).for_each(|(x, value)| *x = value.canonical());
    if let Some(matrix) = matrix {
        write(matrix.as_ref(), rest);
    }
    Ok(())
}

/// Finds the vectors that back substitution has lost: where eigenvalues are equal but for rounding it may divide by what is
/// left of their difference, and end in zeros or NaN. A vector that `A - λ` takes nearest to zero is its last right singular one.
fn completed<T: Field>(
    pool: &Pool,
    a: MatRef<'_, T>,
    values: &[T::Whole],
    mut matrix: MatMut<'_, T::Whole>,
) -> Result<(), Failure> {
    let n = a.nrows();
    for (j, value) in values.iter().enumerate() {
        let length: f64 = (0..n).map(|i| matrix[(i, j)].wide().norm_sqr()).sum();
        // All others have length 1.
        if (length - 1.0).abs() < 0.5 {
            continue;
        }
        let mut shifted = Mat::<T::Whole>::from_fn(n, n, |row, column| {
            let on = if row == column { value.wide() } else { Complex::new(0.0, 0.0) };
            T::Whole::narrow(a[(row, column)].wide() - on)
        });
        let mut parts = vec![T::Whole::ZERO; n * n + n + n * n];
        svd(pool, shifted.as_mut(), true, &mut parts)?;
        let last = &parts[parts.len() - n..];
        for (i, x) in last.iter().enumerate() {
            matrix[(i, j)] = x.conjugate();
        }
    }
    Ok(())
}
