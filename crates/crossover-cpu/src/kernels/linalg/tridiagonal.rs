//! Real symmetric matrices to tridiagonal form, by blocks of reflections.
//!
//! Each reflection needs one product of what is left of the matrix with a vector, which reads half of it; written are only the columns
//! of a block, and at its end the rest, by matrix products. `faer` reads and writes half the matrix for every reflection, and is slower
//! from a few hundred rows on. The product is cut in two by columns, always the same way, whatever the number of threads.

use std::ops::{AddAssign, Mul, MulAssign, Neg};

use faer::{
    Accum, ColMut, MatMut, MatRef, Par,
    linalg::{householder, matmul::matmul},
    traits::ComplexField,
};
use pulp::{Arch, Simd, WithSimd};

use super::{Failure, field::Field};
use crate::{kernels::panel::Panel, memory::Pool, threads::Threads};

/// Columns of a block.
const BLOCK: usize = 24;
/// Columns that are multiplied side by side, so that every element of the vectors is loaded once for all of them.
const SIDE: usize = 4;
/// Rows from which the product is cut.
const CUT: usize = 96;
/// Columns that are updated at once.
const STRIP: usize = 64;

/// A real number with the vectors that `pulp` has of it.
pub(super) trait Real:
    Field + ComplexField<Real = Self> + AddAssign + MulAssign + Mul<Output = Self> + Neg<Output = Self>
{
    type Vector<S: Simd>: Copy;
    fn split<S: Simd>(from: &[Self]) -> (&[Self::Vector<S>], &[Self]);
    fn split_mut<S: Simd>(from: &mut [Self]) -> (&mut [Self::Vector<S>], &mut [Self]);
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;
    fn fma<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>, c: Self::Vector<S>) -> Self::Vector<S>;
    fn total<S: Simd>(simd: S, value: Self::Vector<S>) -> Self;
    fn inverse(self) -> Self;
    const HALF: Self;
}

macro_rules! real {
    ($($t:ty, $vector:ident, $split:ident, $split_mut:ident, $splat:ident, $fma:ident, $total:ident;)*) => {$(
        impl Real for $t {
            type Vector<S: Simd> = S::$vector;
            #[inline(always)]
            fn split<S: Simd>(from: &[Self]) -> (&[S::$vector], &[Self]) { S::$split(from) }
            #[inline(always)]
            fn split_mut<S: Simd>(from: &mut [Self]) -> (&mut [S::$vector], &mut [Self]) { S::$split_mut(from) }
            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: Self) -> S::$vector { simd.$splat(value) }
            #[inline(always)]
            fn fma<S: Simd>(simd: S, a: S::$vector, b: S::$vector, c: S::$vector) -> S::$vector { simd.$fma(a, b, c) }
            #[inline(always)]
            fn total<S: Simd>(simd: S, value: S::$vector) -> Self { simd.$total(value) }
            fn inverse(self) -> Self { 1.0 / self }
            const HALF: Self = 0.5;
        }
    )*};
}

real! {
    f32, f32s, as_simd_f32s, as_mut_simd_f32s, splat_f32s, mul_add_f32s, reduce_sum_f32s;
    f64, f64s, as_simd_f64s, as_mut_simd_f64s, splat_f64s, mul_add_f64s, reduce_sum_f64s;
}

/// A column-major matrix of which only a corner is looked at.
#[derive(Clone, Copy)]
struct Columns<'a, T> {
    data: &'a [T],
    stride: usize,
    rows: usize,
}

impl<'a, T> Columns<'a, T> {
    /// A column from a row on.
    #[inline(always)]
    fn column(&self, at: usize, from: usize) -> &'a [T] {
        &self.data[at * self.stride + from..at * self.stride + self.rows]
    }
}

/// Adds to `y` the product of a symmetric matrix, given by its lower triangle, with `x`: the share of every other group of columns.
struct Symmetric<'a, T> {
    a: Columns<'a, T>,
    x: &'a [T],
    y: &'a mut [T],
    /// Of how many parts, and which.
    part: (usize, usize),
}

impl<T: Real> WithSimd for Symmetric<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Symmetric { a, x, y, part: (parts, part) } = self;
        let rows = a.rows;
        for group in (part..rows.div_ceil(SIDE)).step_by(parts) {
            let first = group * SIDE;
            let below = (first + SIDE).min(rows);
            // The triangle on the diagonal.
            for j in first..below {
                let column = a.column(j, j);
                y[j] += column[0] * x[j];
                for i in j + 1..below {
                    y[i] += column[i - j] * x[j];
                    y[j] += column[i - j] * x[i];
                }
            }
            if below < first + SIDE {
                continue;
            }
            let columns: [&[T]; SIDE] = std::array::from_fn(|c| a.column(first + c, below));
            let factors: [T; SIDE] = std::array::from_fn(|c| x[first + c]);
            let (upper, lower) = y.split_at_mut(below);
            let totals = both(simd, columns, factors, &x[below..], lower);
            upper[first..].iter_mut().zip(totals).for_each(|(y, total)| *y += total);
        }
    }
}

/// Adds columns times factors to `y`, and gives the products of the columns with `x`.
#[inline(always)]
fn both<T: Real, S: Simd>(
    simd: S,
    columns: [&[T]; SIDE],
    factors: [T; SIDE],
    x: &[T],
    y: &mut [T],
) -> [T; SIDE] {
    // Not by the arrays' own `map`: it may be compiled apart, without the vector instructions of this function.
    let [a, b, c, d] = columns;
    let ((a, a_rest), (b, b_rest)) = (T::split::<S>(a), T::split::<S>(b));
    let ((c, c_rest), (d, d_rest)) = (T::split::<S>(c), T::split::<S>(d));
    let [fa, fb, fc, fd] = splats(simd, factors);
    let ((x, x_rest), (y, y_rest)) = (T::split::<S>(x), T::split_mut::<S>(y));
    let mut sums = [T::splat(simd, T::ZERO); SIDE];
    for (((((&a, &b), &c), &d), &x), y) in a.iter().zip(b).zip(c).zip(d).zip(x).zip(y) {
        let sum = T::fma(simd, b, fb, T::fma(simd, a, fa, *y));
        *y = T::fma(simd, d, fd, T::fma(simd, c, fc, sum));
        sums = [
            T::fma(simd, a, x, sums[0]),
            T::fma(simd, b, x, sums[1]),
            T::fma(simd, c, x, sums[2]),
            T::fma(simd, d, x, sums[3]),
        ];
    }
    let [first, second, third, fourth] = sums;
    let mut totals =
        [T::total(simd, first), T::total(simd, second), T::total(simd, third), T::total(simd, fourth)];
    for (i, (y, &x)) in y_rest.iter_mut().zip(x_rest).enumerate() {
        for (k, element) in [a_rest[i], b_rest[i], c_rest[i], d_rest[i]].into_iter().enumerate() {
            *y += element * factors[k];
            totals[k] += element * x;
        }
    }
    totals
}

/// Each factor in a vector of its own.
#[inline(always)]
fn splats<T: Real, S: Simd>(simd: S, [a, b, c, d]: [T; SIDE]) -> [T::Vector<S>; SIDE] {
    [T::splat(simd, a), T::splat(simd, b), T::splat(simd, c), T::splat(simd, d)]
}

/// The products of columns with a vector.
struct Dots<'a, T> {
    columns: Columns<'a, T>,
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Real> WithSimd for Dots<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (x, x_rest) = T::split::<S>(self.x);
        for (j, out) in self.out.iter_mut().enumerate() {
            let (column, rest) = T::split::<S>(self.columns.column(j, 0));
            let mut sums = [T::splat(simd, T::ZERO); 2];
            let (pairs, last) = column.as_chunks::<2>();
            let (x_pairs, x_last) = x.as_chunks::<2>();
            for (c, x) in pairs.iter().zip(x_pairs) {
                sums = [T::fma(simd, c[0], x[0], sums[0]), T::fma(simd, c[1], x[1], sums[1])];
            }
            if let ([c], [x]) = (last, x_last) {
                sums[0] = T::fma(simd, *c, *x, sums[0]);
            }
            *out = T::total(simd, sums[0]);
            *out += T::total(simd, sums[1]);
            rest.iter().zip(x_rest).for_each(|(&c, &x)| *out += c * x);
        }
    }
}

/// Takes columns times factors away from `y`.
struct Less<'a, T> {
    columns: Columns<'a, T>,
    factors: &'a [T],
    y: &'a mut [T],
}

impl<T: Real> WithSimd for Less<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Less { columns, factors, y } = self;
        let (fours, rest) = factors.as_chunks::<SIDE>();
        for (group, four) in fours.iter().enumerate() {
            let first = group * SIDE;
            let ((a, a_rest), (b, b_rest)) =
                (T::split::<S>(columns.column(first, 0)), T::split::<S>(columns.column(first + 1, 0)));
            let ((c, c_rest), (d, d_rest)) =
                (T::split::<S>(columns.column(first + 2, 0)), T::split::<S>(columns.column(first + 3, 0)));
            let [fa, fb, fc, fd] = splats(simd, [-four[0], -four[1], -four[2], -four[3]]);
            let (y, y_rest) = T::split_mut::<S>(y);
            for ((((&a, &b), &c), &d), y) in a.iter().zip(b).zip(c).zip(d).zip(y) {
                let sum = T::fma(simd, b, fb, T::fma(simd, a, fa, *y));
                *y = T::fma(simd, d, fd, T::fma(simd, c, fc, sum));
            }
            for (i, y) in y_rest.iter_mut().enumerate() {
                for (k, element) in [a_rest[i], b_rest[i], c_rest[i], d_rest[i]].into_iter().enumerate() {
                    *y += element * -four[k];
                }
            }
        }
        for (j, &factor) in rest.iter().enumerate() {
            let (column, column_rest) = T::split::<S>(columns.column(fours.len() * SIDE + j, 0));
            let (y, y_rest) = T::split_mut::<S>(y);
            let taken = T::splat(simd, -factor);
            column.iter().zip(y).for_each(|(&c, y)| *y = T::fma(simd, c, taken, *y));
            column_rest.iter().zip(y_rest).for_each(|(&c, y)| *y += c * -factor);
        }
    }
}

/// The reflections of one block and what they leave to be taken away: column by column, as long as the matrix.
struct Block<'a, T> {
    v: &'a mut [T],
    w: &'a mut [T],
    /// Reflections so far.
    count: usize,
    size: usize,
}

impl<T: Real> Block<'_, T> {
    fn columns(data: &[T], size: usize, from: usize) -> Columns<'_, T> {
        Columns { data: &data[from..], stride: size, rows: size - from }
    }

    /// Takes away from `y`, which begins at a row, the two products that are due, given their factors.
    fn take(&self, arch: Arch, from: usize, [of_v, of_w]: [&[T]; 2], y: &mut [T]) {
        let (v, w) = (Self::columns(self.v, self.size, from), Self::columns(self.w, self.size, from));
        arch.dispatch(Less { columns: v, factors: of_v, y: &mut *y });
        arch.dispatch(Less { columns: w, factors: of_w, y });
    }
}

/// Makes a symmetric matrix, given by its lower triangle, column-major, tridiagonal: the diagonals are where they are in `a`, and below them the
/// reflections without their leading ones. Gives for each reflection what `faer` divides by.
pub(super) fn reduce<T: Real>(threads: &Threads, pool: &Pool, a: &mut [T]) -> Result<Vec<T>, Failure> {
    let arch = Arch::new();
    let size = a.len().isqrt();
    let last = size.saturating_sub(1);
    let numbers = size * (2 * BLOCK + 2);
    let mut memory = Panel::new(pool, numbers * size_of::<T>())?;
    let (v, rest) = memory.filled(numbers, T::ZERO).split_at_mut(size * BLOCK);
    let (w, products) = rest.split_at_mut(size * BLOCK);
    let mut scales = vec![T::ZERO; last];
    for start in (0..last).step_by(BLOCK) {
        let mut block = Block { v: &mut *v, w: &mut *w, count: 0, size };
        let end = (start + BLOCK).min(last);
        for (k, scale) in scales.iter_mut().enumerate().take(end).skip(start) {
            reflect(threads, arch, a, k, scale, &mut block, products);
        }
        let Block { v, w, count, .. } = block;
        update(threads, a, size, end, v, w, count);
    }
    Ok(scales)
}

/// Finds the reflection of one column.
fn reflect<T: Real>(
    threads: &Threads,
    arch: Arch,
    a: &mut [T],
    k: usize,
    scale: &mut T,
    block: &mut Block<'_, T>,
    products: &mut [T],
) {
    let (size, count) = (block.size, block.count);
    let row = |of: &[T]| std::array::from_fn(|j| if j < count { of[j * size + k] } else { T::ZERO });
    let mut factors: [[T; BLOCK]; 2] = [row(block.w), row(block.v)];
    let column = &mut a[k * size + k..(k + 1) * size];
    block.take(arch, k, [&factors[0][..count], &factors[1][..count]], column);
    let (head, tail) = column[1..].split_at_mut(1);
    *scale = householder::make_householder_in_place(&mut head[0], ColMut::from_slice_mut(tail)).tau;
    let (below, at) = (k + 1, count * size);
    block.v[at..at + below].fill(T::ZERO);
    block.v[at + below] = T::ONE;
    block.v[at + below + 1..at + size].copy_from_slice(tail);
    let x = &block.v[at + below..at + size];
    let (first, second) = products.split_at_mut(size);
    let y = &mut first[..size - below];
    multiply(
        threads,
        arch,
        Columns { data: &a[below * size + below..], stride: size, rows: size - below },
        x,
        y,
        second,
    );
    if count > 0 {
        let (v, w) = (Block::columns(block.v, size, below), Block::columns(block.w, size, below));
        arch.dispatch(Dots { columns: w, x, out: &mut factors[0][..count] });
        arch.dispatch(Dots { columns: v, x, out: &mut factors[1][..count] });
        block.take(arch, below, [&factors[0][..count], &factors[1][..count]], y);
    }
    let over = scale.inverse();
    y.iter_mut().for_each(|y| *y *= over);
    let mut along = [T::ZERO];
    arch.dispatch(Dots { columns: Columns { data: y, stride: 0, rows: y.len() }, x, out: &mut along });
    let shift = -(along[0] * over * T::HALF);
    block.w[at..at + below].fill(T::ZERO);
    let w = &mut block.w[at + below..at + size];
    w.iter_mut().zip(&*y).zip(x).for_each(|((w, &y), &x)| {
        *w = y;
        *w += shift * x;
    });
    block.count += 1;
}

/// `y = a x` for a symmetric matrix.
fn multiply<T: Real>(
    threads: &Threads,
    arch: Arch,
    a: Columns<'_, T>,
    x: &[T],
    y: &mut [T],
    other: &mut [T],
) {
    let other = &mut other[..a.rows];
    y.fill(T::ZERO);
    if a.rows < CUT {
        return arch.dispatch(Symmetric { a, x, y, part: (1, 0) });
    }
    other.fill(T::ZERO);
    let shares = [parking_lot::Mutex::new(&mut *y), parking_lot::Mutex::new(&mut *other)];
    threads.each(shares.len(), 1, |range| {
        for part in range {
            let y = &mut *shares[part].lock();
            arch.dispatch(Symmetric { a, x, y, part: (shares.len(), part) });
        }
    });
    y.iter_mut().zip(other).for_each(|(y, other)| *y += *other);
}

/// Rows of the reflections of a block.
fn rows_of<T>(data: &[T], size: usize, count: usize, row: usize, rows: usize) -> MatRef<'_, T> {
    let end = row + (count - 1) * size + rows;
    MatRef::from_column_major_slice_with_stride(&data[row..end], rows, count, size)
}

/// Takes both products of a block away from what is left of the matrix, strip by strip; above the diagonal too where that is simpler.
fn update<T: Real>(threads: &Threads, a: &mut [T], size: usize, from: usize, v: &[T], w: &[T], count: usize) {
    let strips: Vec<_> = a[from * size..].chunks_mut(STRIP * size).map(parking_lot::Mutex::new).collect();
    threads.each(strips.len(), 1, |range| {
        for strip in range {
            let data = &mut *strips[strip].lock();
            let (columns, row) = (data.len() / size, from + strip * STRIP);
            let rows = size - row;
            let data = &mut data[row..];
            let mut a = MatMut::from_column_major_slice_with_stride_mut(data, rows, columns, size);
            for (left, right) in [(v, w), (w, v)] {
                let (left, right) =
                    (rows_of(left, size, count, row, rows), rows_of(right, size, count, row, columns));
                matmul(a.as_mut(), Accum::Add, left, right.transpose(), -T::ONE, Par::Seq);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use faer::Mat;

    use super::*;

    fn random(seed: u64, size: usize) -> Vec<f64> {
        let mut state = seed | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        (0..size * size).map(|_| next()).collect()
    }

    /// The matrix that a reduced one stands for: its reflections applied to the tridiagonal matrix from both sides.
    fn restored(a: &[f64], scales: &[f64], size: usize) -> Mat<f64> {
        let mut t =
            Mat::from_fn(
                size,
                size,
                |i, j| if i.abs_diff(j) <= 1 { a[i.min(j) * size + i.max(j)] } else { 0.0 },
            );
        for k in (0..size.saturating_sub(1)).rev() {
            let v = |i: usize| match i {
                i if i <= k => 0.0,
                i if i == k + 1 => 1.0,
                i => a[k * size + i],
            };
            for _side in 0..2 {
                for j in 0..size {
                    let along: f64 = (0..size).map(|i| v(i) * t[(i, j)]).sum::<f64>() / scales[k];
                    (0..size).for_each(|i| t[(i, j)] -= along * v(i));
                }
                t = t.transpose().to_owned();
            }
        }
        t
    }

    #[test]
    fn reflections_lead_back_to_the_matrix() {
        let (pool, threads) = (Pool::new(1 << 30, 1 << 28), Threads::shared());
        for size in [1, 2, 3, 5, BLOCK, BLOCK + 1, BLOCK + 2, CUT + 3, 2 * CUT + 1] {
            let full = random(size as u64, size);
            let mut a = full.clone();
            let scales = reduce(&threads, &pool, &mut a).unwrap_or_default();
            let back = restored(&a, &scales, size);
            for j in 0..size {
                for i in j..size {
                    let off = (back[(i, j)] - full[j * size + i]).abs();
                    assert!(off < 1e-13 * size as f64, "size {size}, element {i}, {j}: off by {off}");
                }
            }
        }
    }

    #[test]
    fn zeros_and_diagonals_stay_what_they_are() {
        let (pool, threads) = (Pool::new(1 << 30, 1 << 28), Threads::shared());
        let size = CUT + 5;
        let mut a = vec![0.0; size * size];
        (0..size).for_each(|i| a[i * size + i] = i as f64);
        let scales = reduce(&threads, &pool, &mut a).unwrap_or_default();
        assert_eq!(scales.len(), size - 1);
        for i in 0..size {
            assert_eq!(a[i * size + i], i as f64);
            assert!(i + 1 == size || a[i * size + i + 1] == 0.0);
        }
    }

    #[test]
    fn threads_do_not_show() {
        let pool = Pool::new(1 << 30, 1 << 28);
        let size = 2 * CUT + 7;
        let run = |count: usize| {
            let mut a = random(7, size);
            let threads = Threads::own(count).unwrap_or_else(|_| Threads::shared());
            let scales = reduce(&threads, &pool, &mut a).unwrap_or_default();
            let lower = (0..size).flat_map(|j| a[j * size + j..(j + 1) * size].to_vec());
            lower.chain(scales).map(f64::to_bits).collect::<Vec<_>>()
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(7));
    }
}
