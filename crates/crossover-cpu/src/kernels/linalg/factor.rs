//! What takes a finite number of steps: LU, Cholesky and QR, and what follows from them.

use crossover_core::ops::linalg::{NOT_DEFINITE, SINGULAR};
use faer::{
    Conj, Mat, MatMut, MatRef, Par,
    dyn_stack::MemStack,
    linalg::{cholesky::llt, householder, lu::partial_pivoting, qr::no_pivoting},
    perm::PermRef,
};
use num_complex::Complex;

use super::{Failure, by_squares, field::Field, workspace};
use crate::memory::Pool;

/// Writes a matrix row-major.
pub(super) fn write<T: Field>(from: MatRef<'_, T>, out: &mut [T]) {
    let (m, n) = from.shape();
    let out = &mut out[..m * n];
    by_squares(m, n, |i, j| out[i * n + j] = from[(i, j)].canonical());
}

/// Row exchanges of a factorisation.
struct Exchanges {
    forward: Vec<usize>,
    inverse: Vec<usize>,
    count: usize,
}

/// L and U in place of A.
fn lu<T: Field>(pool: &Pool, a: MatMut<'_, T>) -> Result<Exchanges, Failure> {
    let n = a.nrows();
    let (mut forward, mut inverse) = (vec![0usize; n], vec![0usize; n]);
    let request =
        partial_pivoting::factor::lu_in_place_scratch::<usize, T>(n, n, Par::Seq, Default::default());
    let mut memory = workspace(pool, request)?;
    let (info, _) = partial_pivoting::factor::lu_in_place(
        a,
        &mut forward,
        &mut inverse,
        Par::Seq,
        MemStack::new(memory.bytes()),
        Default::default(),
    );
    Ok(Exchanges { forward, inverse, count: info.transposition_count })
}

/// The pivots with the sign of the exchanges first; `None` if one is exactly 0.
fn pivots<T: Field>(pool: &Pool, mut a: MatMut<'_, T>) -> Result<Option<Vec<Complex<f64>>>, Failure> {
    let n = a.nrows();
    let given = a.to_owned();
    let exchanges = lu(pool, a.as_mut())?;
    let sign = if exchanges.count.is_multiple_of(2) { 1.0 } else { -1.0 };
    let mut all = vec![Complex::new(sign, 0.0)];
    all.extend((0..n).map(|i| a[(i, i)].wide()));
    // Elimination multiplies by the inverse of a pivot, which overflows where the pivot is small enough; whatever comes
    // after it means nothing then.
    let small =
        |pivot: &Complex<f64>| !T::narrow(Complex::new(1.0 / pivot.norm(), 0.0)).wide().re.is_finite();
    if all.iter().any(small) {
        all = divided_pivots(given.as_ref());
    }
    Ok((!all.contains(&Complex::new(0.0, 0.0))).then_some(all))
}

/// The same, by quotients that are at most 1: slow, for matrices with pivots that have no inverse.
fn divided_pivots<T: Field>(given: MatRef<'_, T>) -> Vec<Complex<f64>> {
    let n = given.nrows();
    let zero = Complex::new(0.0, 0.0);
    let mut rows: Vec<Vec<Complex<f64>>> =
        (0..n).map(|i| (0..n).map(|j| given[(i, j)].wide()).collect()).collect();
    let mut all = vec![Complex::new(1.0, 0.0)];
    for j in 0..n {
        let largest = (j..n).max_by(|&p, &q| rows[p][j].norm().total_cmp(&rows[q][j].norm())).unwrap_or(j);
        if largest != j {
            rows.swap(largest, j);
            all[0] = -all[0];
        }
        let (head, tail) = rows.split_at_mut(j + 1);
        let pivot = head[j][j];
        all.push(pivot);
        if pivot == zero {
            return all;
        }
        for row in tail {
            let factor = row[j] / pivot;
            for (x, y) in row[j..].iter_mut().zip(&head[j][j..]) {
                *x -= factor * y;
            }
        }
    }
    all
}

/// The determinant, without overflow on the way: the product is kept near 1, and its exponent apart.
pub(super) fn det<T: Field>(pool: &Pool, a: MatMut<'_, T>) -> Result<T, Failure> {
    let Some(pivots) = pivots(pool, a)? else { return Ok(T::ZERO) };
    let (mut product, mut exponent) = (Complex::new(1.0f64, 0.0), 0i64);
    for pivot in pivots {
        for factor in [pivot, product] {
            // Both below 2^512 and above 2^-512 before they meet.
            let size = factor.re.abs().max(factor.im.abs());
            if size.is_finite() && size > 0.0 {
                exponent += size.log2().floor() as i64;
            }
        }
        let near_one = |z: Complex<f64>| {
            let size = z.re.abs().max(z.im.abs());
            if size.is_finite() && size > 0.0 { scaled(z, -(size.log2().floor() as i64)) } else { z }
        };
        product = near_one(product) * near_one(pivot);
    }
    Ok(T::narrow(scaled(product, exponent)))
}

/// z·2^exponent, in steps that neither overflow nor vanish before the last.
fn scaled(mut z: Complex<f64>, mut exponent: i64) -> Complex<f64> {
    exponent = exponent.clamp(-5000, 5000);
    while exponent != 0 {
        let step = exponent.clamp(-900, 900);
        z *= 2f64.powi(step as i32);
        exponent -= step;
    }
    z
}

/// Sign and logarithm of the absolute value of the determinant.
pub(super) fn slogdet<T: Field>(pool: &Pool, a: MatMut<'_, T>) -> Result<(T, T), Failure> {
    let real = |x: f64| T::narrow(Complex::new(x, 0.0));
    let Some(pivots) = pivots(pool, a)? else { return Ok((T::ZERO, real(f64::NEG_INFINITY))) };
    let (mut sign, mut log) = (Complex::new(1.0, 0.0), 0.0);
    for pivot in pivots {
        sign *= pivot / pivot.norm();
        log += pivot.norm().ln();
    }
    Ok((T::narrow(sign), real(log)))
}

fn regular<T: Field>(a: MatRef<'_, T>) -> Result<(), Failure> {
    let singular = (0..a.nrows()).any(|i| a[(i, i)] == T::ZERO);
    if singular { Err(Failure::Matrix(SINGULAR)) } else { Ok(()) }
}

/// The inverse.
pub(super) fn inv<T: Field>(pool: &Pool, mut a: MatMut<'_, T>, out: &mut [T]) -> Result<(), Failure> {
    let n = a.nrows();
    let exchanges = lu(pool, a.as_mut())?;
    regular(a.as_ref())?;
    let permutation = PermRef::new_checked(&exchanges.forward, &exchanges.inverse, n);
    let mut inverse = Mat::<T>::zeros(n, n);
    let mut memory = workspace(pool, partial_pivoting::inverse::inverse_scratch::<usize, T>(n, Par::Seq))?;
    let stack = MemStack::new(memory.bytes());
    partial_pivoting::inverse::inverse(
        inverse.as_mut(),
        a.as_ref(),
        a.as_ref(),
        permutation,
        Par::Seq,
        stack,
    );
    write(inverse.as_ref(), out);
    Ok(())
}

/// X with A·X = B, in place of B.
pub(super) fn solve<T: Field>(
    pool: &Pool,
    mut a: MatMut<'_, T>,
    mut b: MatMut<'_, T>,
    out: &mut [T],
) -> Result<(), Failure> {
    let n = a.nrows();
    let exchanges = lu(pool, a.as_mut())?;
    regular(a.as_ref())?;
    let permutation = PermRef::new_checked(&exchanges.forward, &exchanges.inverse, n);
    let request = partial_pivoting::solve::solve_in_place_scratch::<usize, T>(n, b.ncols(), Par::Seq);
    let mut memory = workspace(pool, request)?;
    let stack = MemStack::new(memory.bytes());
    partial_pivoting::solve::solve_in_place(a.as_ref(), a.as_ref(), permutation, b.as_mut(), Par::Seq, stack);
    write(b.as_ref(), out);
    Ok(())
}

/// The lower factor of the lower triangle, or the upper one of the upper triangle.
pub(super) fn cholesky<T: Field>(
    pool: &Pool,
    mut a: MatMut<'_, T>,
    upper: bool,
    out: &mut [T],
) -> Result<(), Failure> {
    let n = a.nrows();
    self_adjoint(a.as_mut(), upper);
    let request = llt::factor::cholesky_in_place_scratch::<T>(n, Par::Seq, Default::default());
    let mut memory = workspace(pool, request)?;
    let stack = MemStack::new(memory.bytes());
    let done =
        llt::factor::cholesky_in_place(a.as_mut(), Default::default(), Par::Seq, stack, Default::default());
    // NaN is not above 0 either.
    let positive = (0..n).all(|i| a[(i, i)].wide().re > 0.0);
    if done.is_err() || !positive {
        return Err(Failure::Matrix(NOT_DEFINITE));
    }
    for (i, row) in out.chunks_exact_mut(n.max(1)).enumerate() {
        for (j, x) in row.iter_mut().enumerate() {
            *x = match (upper, i >= j, j >= i) {
                (false, true, _) => a[(i, j)].canonical(),
                (true, _, true) => a[(j, i)].conjugate().canonical(),
                _ => T::ZERO,
            };
        }
    }
    Ok(())
}

/// Makes the lower triangle that of a self-adjoint matrix: the adjoint of the upper one if that is to be read, and
/// nothing imaginary on the diagonal.
pub(super) fn self_adjoint<T: Field>(mut a: MatMut<'_, T>, upper: bool) {
    for j in 0..a.ncols() {
        a[(j, j)] = T::narrow(Complex::new(a[(j, j)].wide().re, 0.0));
        if !upper {
            continue;
        }
        for i in j + 1..a.nrows() {
            a[(i, j)] = a[(j, i)].conjugate();
        }
    }
}

/// Q, then R.
pub(super) fn qr<T: Field>(
    pool: &Pool,
    mut a: MatMut<'_, T>,
    complete: bool,
    out: &mut [T],
) -> Result<(), Failure> {
    let (m, n) = a.shape();
    let k = m.min(n);
    let p = if complete { m } else { k };
    let mut q = Mat::<T>::from_fn(m, p, |i, j| if i == j { T::ONE } else { T::ZERO });
    let (left, right) = out.split_at_mut(m * p);
    if k > 0 {
        let block = no_pivoting::factor::recommended_block_size::<T>(m, n);
        let mut coefficients = Mat::<T>::zeros(block, k);
        let request =
            no_pivoting::factor::qr_in_place_scratch::<T>(m, n, block, Par::Seq, Default::default());
        let mut memory = workspace(pool, request)?;
        no_pivoting::factor::qr_in_place(
            a.as_mut(),
            coefficients.as_mut(),
            Par::Seq,
            MemStack::new(memory.bytes()),
            Default::default(),
        );
        let request =
            householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<T>(m, block, p);
        let mut memory = workspace(pool, request)?;
        householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
            a.as_ref().get(.., ..k),
            coefficients.as_ref(),
            Conj::No,
            q.as_mut(),
            Par::Seq,
            MemStack::new(memory.bytes()),
        );
    }
    write(q.as_ref(), left);
    for (i, row) in right.chunks_exact_mut(n.max(1)).enumerate() {
        for (j, x) in row.iter_mut().enumerate() {
            *x = if j >= i && i < m { a[(i, j)].canonical() } else { T::ZERO };
        }
    }
    Ok(())
}
