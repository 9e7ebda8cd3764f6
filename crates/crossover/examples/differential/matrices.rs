//! Linear algebra on small matrices, in batches.

use crossover::{Array, DType, MatrixNorm, linalg};
use serde_json::json;

use crate::{
    case::Case,
    dice::{Dice, Values},
    entries,
};

const FIELDS: [DType; 4] = [DType::F32, DType::F64, DType::C64, DType::C128];

fn batch(dice: &mut Dice) -> Vec<usize> {
    (0..dice.pick(&[0, 0, 0, 1, 2])).map(|_| dice.below(3) + 1).collect()
}

/// Matrices of a shape, each axis at most this long.
fn matrices(dice: &mut Dice, square: bool) -> Array {
    let (m, n) = (dice.below(7) + 1, dice.below(7) + 1);
    let shape: Vec<usize> = batch(dice).into_iter().chain([m, if square { m } else { n }]).collect();
    let dtype = dice.pick(&FIELDS);
    dice.operand(dtype, &shape, Values::Between(-1.0, 1.0))
}

/// Well-conditioned square matrices: the diagonal dominates.
fn regular(dice: &mut Dice) -> Array {
    let x = matrices(dice, true);
    let n = x.shape().dims()[x.ndim() - 1];
    let shift = Array::eye_dtype(n, n, 0, x.dtype()) * (n as f64 + 1.0);
    (x + shift).copy()
}

/// Hermitian and positive definite matrices.
fn positive(dice: &mut Dice) -> Array {
    let x = matrices(dice, true);
    let n = x.shape().dims()[x.ndim() - 1];
    let adjoint = linalg::matrix_transpose(&x).conj();
    let product = x.matmul(&adjoint) + Array::eye_dtype(n, n, 0, x.dtype());
    // Rounding leaves products with their adjoint a little asymmetric; their mean is not.
    let mirrored = linalg::matrix_transpose(&product).conj();
    ((&product + &mirrored) * 0.5).copy()
}

fn one(x: Array, apply: impl Fn(&Array) -> Array) -> Case {
    let result = apply(&x);
    Case::one([x], json!({}), result)
}

fn pair(x: Array, apply: impl Fn(&Array) -> (Array, Array)) -> Case {
    let (first, second) = apply(&x);
    Case::many([x], json!({}), Ok(vec![first, second]))
}

fn triple(x: Array, apply: impl Fn(&Array) -> (Array, Array, Array)) -> Case {
    let (first, second, third) = apply(&x);
    Case::many([x], json!({}), Ok(vec![first, second, third]))
}

fn solve(dice: &mut Dice) -> Case {
    let a = regular(dice);
    let dims = a.shape().dims().to_vec();
    let n = dims[dims.len() - 1];
    let shape: Vec<usize> = if dice.once_in(3) {
        vec![n]
    } else {
        let columns = dice.below(4) + 1;
        dims[..dims.len() - 1].iter().copied().chain([columns]).collect()
    };
    let b = dice.operand(a.dtype(), &shape, Values::Between(-1.0, 1.0));
    let result = linalg::solve(&a, &b);
    Case::one([a, b], json!({}), result)
}

fn lstsq(dice: &mut Dice) -> Case {
    let n = dice.below(4) + 1;
    let m = n + dice.below(5);
    let (dtype, batch) = (dice.pick(&FIELDS), batch(dice));
    let shaped = |last: &[usize]| batch.iter().chain(last).copied().collect::<Vec<usize>>();
    let a = dice.operand(dtype, &shaped(&[m, n]), Values::Between(-1.0, 1.0));
    let right = if dice.once_in(3) { vec![m] } else { shaped(&[m, dice.below(3) + 1]) };
    let b = dice.operand(dtype, &right, Values::Between(-1.0, 1.0));
    let found = linalg::lstsq(&a, &b, None);
    Case::one([a, b], json!({}), found.solution)
}

/// The pseudoinverse of matrices of a rank that is not full: products of thin ones of whole numbers, hence exact.
fn deficient(dice: &mut Dice) -> Case {
    let (m, n) = (dice.below(5) + 2, dice.below(5) + 2);
    let (rank, dtype, batch) = (dice.below(m.min(n) - 1) + 1, dice.pick(&FIELDS), batch(dice));
    let mut factor = |sides: [usize; 2]| {
        let shape: Vec<usize> = batch.iter().copied().chain(sides).collect();
        dice.array(DType::F64, &shape, Values::Between(-3.0, 3.0)).round().astype(dtype)
    };
    let x = factor([m, rank]).matmul(&factor([rank, n])).copy();
    let result = linalg::pinv(&x, None);
    Case::one([x], json!({}), result)
}

fn power(dice: &mut Dice) -> Case {
    let x = regular(dice);
    let power = dice.between(-3, 5);
    let result = linalg::matrix_power(&x, power);
    Case::one([x], json!({"power": power}), result)
}

fn norm(dice: &mut Dice) -> Case {
    let x = matrices(dice, false);
    let (name, order) = dice.pick(&[
        ("fro", MatrixNorm::Frobenius),
        ("nuc", MatrixNorm::Nuclear),
        ("2", MatrixNorm::Spectral),
        ("-2", MatrixNorm::LeastSingular),
        ("1", MatrixNorm::One),
        ("-1", MatrixNorm::LeastOne),
        ("inf", MatrixNorm::Infinity),
        ("-inf", MatrixNorm::LeastInfinity),
    ]);
    let keep = dice.once_in(2);
    let result = x.matrix_norm(order, keep);
    Case::one([x], json!({"order": name, "keepdims": keep}), result)
}

entries! {
    "cholesky" => |dice| one(positive(dice), linalg::cholesky);
    "cholesky_upper" => |dice| one(positive(dice), linalg::cholesky_upper);
    "det" => |dice| one(matrices(dice, true), linalg::det);
    "eig" => |dice| pair(regular(dice), linalg::eig);
    "eigh" => |dice| pair(positive(dice), linalg::eigh);
    "eigvals" => |dice| one(matrices(dice, true), linalg::eigvals);
    "eigvalsh" => |dice| one(positive(dice), linalg::eigvalsh);
    "inv" => |dice| one(regular(dice), linalg::inv);
    "lstsq" => lstsq;
    "matrix_norm" => norm;
    "matrix_power" => power;
    "matrix_rank" => |dice| one(matrices(dice, false), |x| linalg::matrix_rank(x, None));
    "pinv" => |dice| one(regular(dice), |x| linalg::pinv(x, None));
    "pinv_deficient" => deficient;
    "qr" => |dice| pair(matrices(dice, false), linalg::qr);
    "qr_complete" => |dice| pair(matrices(dice, false), linalg::qr_complete);
    "slogdet" => |dice| pair(regular(dice), linalg::slogdet);
    "solve" => solve;
    "svd" => |dice| triple(matrices(dice, false), linalg::svd);
    "svd_full" => |dice| triple(matrices(dice, false), linalg::svd_full);
    "svdvals" => |dice| one(matrices(dice, false), linalg::svdvals);
}
