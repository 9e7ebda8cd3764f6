//! Matrices of complex `f64`, and what takes a finite number of steps: elimination, Cholesky, Householder.

use super::Wide;
use crate::{DType, Element, ops::linalg::SINGULAR, reference::Tensor};

/// A row-major matrix.
#[derive(Debug, Clone)]
pub(super) struct Matrix {
    pub rows: usize,
    pub columns: usize,
    pub values: Vec<Wide>,
}

const ZERO: Wide = Wide::new(0.0, 0.0);
const ONE: Wide = Wide::new(1.0, 0.0);

impl Matrix {
    /// Matrix number `batch` of a tensor.
    pub fn read(from: &Tensor, batch: usize, rows: usize, columns: usize) -> Matrix {
        let size = rows * columns;
        let value = |i| Wide::from_scalar(from.at(batch * size + i).cast(DType::C128));
        Matrix { rows, columns, values: (0..size).map(value).collect() }
    }

    pub fn from_fn(rows: usize, columns: usize, f: impl Fn(usize, usize) -> Wide) -> Matrix {
        let values =
            (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))).map(|(i, j)| f(i, j)).collect();
        Matrix { rows, columns, values }
    }

    pub fn identity(n: usize) -> Matrix {
        Matrix::from_fn(n, n, |i, j| if i == j { ONE } else { ZERO })
    }

    pub fn at(&self, i: usize, j: usize) -> Wide {
        self.values[i * self.columns + j]
    }

    pub fn at_mut(&mut self, i: usize, j: usize) -> &mut Wide {
        &mut self.values[i * self.columns + j]
    }

    pub fn adjoint(&self) -> Matrix {
        Matrix::from_fn(self.columns, self.rows, |i, j| self.at(j, i).conj())
    }

    pub fn times(&self, other: &Matrix) -> Matrix {
        let dot = |i, j| (0..self.columns).map(|k| self.at(i, k) * other.at(k, j)).sum();
        Matrix::from_fn(self.rows, other.columns, dot)
    }

    /// The first columns.
    pub fn columns_to(&self, columns: usize) -> Matrix {
        Matrix::from_fn(self.rows, columns, |i, j| self.at(i, j))
    }

    /// The first rows.
    pub fn rows_to(&self, rows: usize) -> Matrix {
        Matrix::from_fn(rows, self.columns, |i, j| self.at(i, j))
    }

    /// The self-adjoint matrix with this triangle.
    pub fn self_adjoint(&self, upper: bool) -> Matrix {
        Matrix::from_fn(self.rows, self.columns, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Equal => Wide::new(self.at(i, i).re, 0.0),
            order if (order == std::cmp::Ordering::Less) == upper => self.at(i, j),
            _ => self.at(j, i).conj(),
        })
    }

    pub fn norm(&self) -> f64 {
        self.values.iter().map(|v| v.norm_sqr()).sum::<f64>().sqrt()
    }

    fn swap_rows(&mut self, a: usize, b: usize) {
        for j in 0..self.columns {
            self.values.swap(a * self.columns + j, b * self.columns + j);
        }
    }
}

/// Gaussian elimination with partial pivoting, carried out on the right-hand side too; the number of exchanges.
fn eliminate(a: &mut Matrix, b: &mut Matrix) -> usize {
    let n = a.rows;
    let mut exchanges = 0;
    for k in 0..n {
        let pivot = (k..n).fold(k, |best, i| if a.at(i, k).norm() > a.at(best, k).norm() { i } else { best });
        if pivot != k {
            exchanges += 1;
            a.swap_rows(pivot, k);
            b.swap_rows(pivot, k);
        }
        if a.at(k, k) == ZERO {
            continue;
        }
        for i in k + 1..n {
            let factor = a.at(i, k) / a.at(k, k);
            for j in k..n {
                *a.at_mut(i, j) = a.at(i, j) - factor * a.at(k, j);
            }
            for j in 0..b.columns {
                *b.at_mut(i, j) = b.at(i, j) - factor * b.at(k, j);
            }
        }
    }
    exchanges
}

/// X with A·X = B.
pub(super) fn solve(a: &Matrix, mut b: Matrix) -> Result<Matrix, &'static str> {
    let mut a = a.clone();
    eliminate(&mut a, &mut b);
    if (0..a.rows).any(|i| a.at(i, i) == ZERO) {
        return Err(SINGULAR);
    }
    for i in (0..a.rows).rev() {
        for j in 0..b.columns {
            let known: Wide = (i + 1..a.rows).map(|k| a.at(i, k) * b.at(k, j)).sum();
            *b.at_mut(i, j) = (b.at(i, j) - known) / a.at(i, i);
        }
    }
    Ok(b)
}

/// The sign of the exchanges, and the pivots, whose product with it is the determinant.
fn pivots(mut a: Matrix) -> (Wide, Vec<Wide>) {
    let mut nothing = Matrix::from_fn(a.rows, 0, |_, _| ZERO);
    let exchanges = eliminate(&mut a, &mut nothing);
    let sign = if exchanges.is_multiple_of(2) { ONE } else { -ONE };
    (sign, (0..a.rows).map(|i| a.at(i, i)).collect())
}

/// The determinant.
pub(super) fn det(a: Matrix) -> Wide {
    let (sign, pivots) = pivots(a);
    pivots.into_iter().fold(sign, |product, pivot| product * pivot)
}

/// Sign and logarithm of the absolute value of the determinant.
pub(super) fn slogdet(a: Matrix) -> (Wide, f64) {
    let (mut sign, pivots) = pivots(a);
    let mut log = 0.0;
    for pivot in pivots {
        if pivot == ZERO {
            return (ZERO, f64::NEG_INFINITY);
        }
        sign *= pivot / pivot.norm();
        log += pivot.norm().ln();
    }
    (sign, log)
}

/// The lower factor, from the lower triangle.
pub(super) fn cholesky(a: &Matrix) -> Option<Matrix> {
    let n = a.rows;
    let mut low = Matrix::from_fn(n, n, |_, _| ZERO);
    for j in 0..n {
        let squares: f64 = (0..j).map(|k| low.at(j, k).norm_sqr()).sum();
        let pivot = a.at(j, j).re - squares;
        // NaN is not above 0 either.
        if pivot.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
            return None;
        }
        *low.at_mut(j, j) = Wide::new(pivot.sqrt(), 0.0);
        for i in j + 1..n {
            let known: Wide = (0..j).map(|k| low.at(i, k) * low.at(j, k).conj()).sum();
            *low.at_mut(i, j) = (a.at(i, j) - known) / pivot.sqrt();
        }
    }
    Some(low)
}

/// Square Q and R by Householder's reflections.
pub(super) fn qr(a: &Matrix) -> (Matrix, Matrix) {
    let (mut q, mut r) = (Matrix::identity(a.rows), a.clone());
    for k in 0..a.rows.min(a.columns) {
        let norm = (k..a.rows).map(|i| r.at(i, k).norm_sqr()).sum::<f64>().sqrt();
        let below = (k + 1..a.rows).any(|i| r.at(i, k) != ZERO);
        if norm == 0.0 || (!below && r.at(k, k).im == 0.0) {
            continue;
        }
        let first = r.at(k, k);
        let phase = if first == ZERO { ONE } else { first / first.norm() };
        let mut v: Vec<Wide> = (0..a.rows).map(|i| if i < k { ZERO } else { r.at(i, k) }).collect();
        v[k] += phase * norm;
        let length: f64 = v.iter().map(|x| x.norm_sqr()).sum();
        for j in 0..r.columns {
            let along: Wide = (k..a.rows).map(|i| v[i].conj() * r.at(i, j)).sum();
            for (i, &x) in v.iter().enumerate().skip(k) {
                *r.at_mut(i, j) = r.at(i, j) - x * along * 2.0 / length;
            }
        }
        for i in 0..a.rows {
            let along: Wide = (k..a.rows).map(|j| q.at(i, j) * v[j]).sum();
            for (j, x) in v.iter().enumerate().skip(k) {
                *q.at_mut(i, j) = q.at(i, j) - along * x.conj() * 2.0 / length;
            }
        }
        (k + 1..a.rows).for_each(|i| *r.at_mut(i, k) = ZERO);
    }
    (q, r)
}
