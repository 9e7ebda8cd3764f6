//! Eigenvalues and singular values by iterations that are easy to follow: Jacobi rotations and shifted QR.

use super::{
    Wide,
    dense::{Matrix, qr},
};

/// Sweeps or steps after which an iteration is given up; both need a handful per row.
const LIMIT: usize = 300;

/// Ascending eigenvalues and their vectors, by cyclic Jacobi rotations.
pub(super) fn eigh(a: &Matrix) -> (Vec<f64>, Matrix) {
    let n = a.rows;
    let (mut a, mut vectors) = (a.clone(), Matrix::identity(n));
    let small = a.norm() * 1e-300_f64.max(f64::EPSILON * 1e-4);
    for _ in 0..LIMIT {
        let mut rotated = false;
        for p in 0..n {
            for q in p + 1..n {
                let off = a.at(p, q);
                if off.norm() <= small {
                    continue;
                }
                rotated = true;
                let phase = off / off.norm();
                let angle = 0.5 * (2.0 * off.norm()).atan2(a.at(p, p).re - a.at(q, q).re);
                let (sin, cos) = angle.sin_cos();
                turn_columns(&mut a, p, q, cos, phase * sin);
                turn_columns(&mut vectors, p, q, cos, phase * sin);
                a = a.adjoint();
                turn_columns(&mut a, p, q, cos, phase * sin);
            }
        }
        if !rotated {
            break;
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a.at(i, i).re.total_cmp(&a.at(j, j).re));
    let values = order.iter().map(|&i| a.at(i, i).re).collect();
    (values, Matrix::from_fn(n, n, |i, j| vectors.at(i, order[j])))
}

/// Columns p and q become cos·p + s̄·q and -s·p + cos·q.
fn turn_columns(a: &mut Matrix, p: usize, q: usize, cos: f64, s: Wide) {
    for i in 0..a.rows {
        let (x, y) = (a.at(i, p), a.at(i, q));
        *a.at_mut(i, p) = x * cos + y * s.conj();
        *a.at_mut(i, q) = y * cos - x * s;
    }
}

/// Square U, descending singular values and square V with A = U·S·Vᴴ, by one-sided Jacobi rotations.
pub(super) fn svd(a: &Matrix) -> (Matrix, Vec<f64>, Matrix) {
    if a.rows < a.columns {
        let (u, s, v) = svd(&a.adjoint());
        return (v, s, u);
    }
    let (m, n) = (a.rows, a.columns);
    let (mut w, mut v) = (a.clone(), Matrix::identity(n));
    for _ in 0..LIMIT {
        let mut rotated = false;
        for p in 0..n {
            for q in p + 1..n {
                let norm = |j: usize| (0..m).map(|i| w.at(i, j).norm_sqr()).sum::<f64>();
                let (x, y) = (norm(p), norm(q));
                let product: Wide = (0..m).map(|i| w.at(i, p).conj() * w.at(i, q)).sum();
                if product.norm() <= 1e-16 * (x * y).sqrt() {
                    continue;
                }
                rotated = true;
                let angle = 0.5 * (2.0 * product.norm()).atan2(x - y);
                let (sin, cos) = angle.sin_cos();
                let s = product / product.norm() * sin;
                turn_columns(&mut w, p, q, cos, s);
                turn_columns(&mut v, p, q, cos, s);
            }
        }
        if !rotated {
            break;
        }
    }
    let norms: Vec<f64> = (0..n).map(|j| (0..m).map(|i| w.at(i, j).norm_sqr()).sum::<f64>().sqrt()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| norms[j].total_cmp(&norms[i]));
    let sorted = |from: &Matrix| Matrix::from_fn(from.rows, n, |i, j| from.at(i, order[j]));
    let (w, v) = (sorted(&w), sorted(&v));
    let values: Vec<f64> = order.iter().map(|&j| norms[j]).collect();
    // The Q of these orthogonal columns completes them to a basis; its phases come from R.
    let (q, r) = qr(&w);
    let phase =
        |j: usize| if j < n && r.at(j, j).norm() > 0.0 { r.at(j, j) / r.at(j, j).norm() } else { 1.0.into() };
    (Matrix::from_fn(m, m, |i, j| q.at(i, j) * phase(j)), values, v)
}

/// Eigenvalues and unit eigenvectors by QR steps with Wilkinson's shift, then back substitution.
pub(super) fn eig(a: &Matrix) -> Option<(Vec<Wide>, Matrix)> {
    let n = a.rows;
    let (mut t, mut z) = (a.clone(), Matrix::identity(n));
    let mut end = n;
    let mut steps = 0;
    while end > 1 {
        let left: f64 = (0..end - 1).map(|j| t.at(end - 1, j).norm_sqr()).sum::<f64>().sqrt();
        if left <= f64::EPSILON * t.norm() {
            (0..end - 1).for_each(|j| *t.at_mut(end - 1, j) = 0.0.into());
            end -= 1;
            steps = 0;
            continue;
        }
        steps += 1;
        if steps > LIMIT {
            return None;
        }
        let shift = shift(&t, end, steps);
        let active = Matrix::from_fn(end, end, |i, j| t.at(i, j) - if i == j { shift } else { 0.0.into() });
        let (q, _) = qr(&active);
        let whole = Matrix::from_fn(n, n, |i, j| match (i < end, j < end) {
            (true, true) => q.at(i, j),
            _ => ((i == j) as u8 as f64).into(),
        });
        t = whole.adjoint().times(&t).times(&whole);
        z = z.times(&whole);
    }
    let values: Vec<Wide> = (0..n).map(|i| t.at(i, i)).collect();
    let tiny = f64::EPSILON * t.norm().max(f64::MIN_POSITIVE);
    let mut x = Matrix::identity(n);
    for k in 0..n {
        for i in (0..k).rev() {
            let known: Wide = (i + 1..=k).map(|j| t.at(i, j) * x.at(j, k)).sum();
            let distance = values[k] - values[i];
            *x.at_mut(i, k) = known / if distance.norm() < tiny { tiny.into() } else { distance };
        }
    }
    let vectors = z.times(&x);
    let length = |j: usize| (0..n).map(|i| vectors.at(i, j).norm_sqr()).sum::<f64>().sqrt();
    let lengths: Vec<f64> = (0..n).map(length).collect();
    Some((values, Matrix::from_fn(n, n, |i, j| vectors.at(i, j) / lengths[j])))
}

/// The eigenvalue of the last 2×2 block that is nearer to its last element; now and then something else, against
/// cycles.
fn shift(t: &Matrix, end: usize, steps: usize) -> Wide {
    let (a, b) = (t.at(end - 2, end - 2), t.at(end - 2, end - 1));
    let (c, d) = (t.at(end - 1, end - 2), t.at(end - 1, end - 1));
    if steps.is_multiple_of(10) {
        return d + c.norm() + b.norm();
    }
    let (half, product) = ((a + d) / 2.0, a * d - b * c);
    let root = (half * half - product).sqrt();
    let (x, y) = (half + root, half - root);
    if (x - d).norm() < (y - d).norm() { x } else { y }
}
