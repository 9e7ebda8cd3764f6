//! Fourier transforms, decompositions and convolutions on the CPU against the reference interpreter: every dtype, strided
//! operands, any number of threads and every vector width.
#![allow(clippy::unwrap_used)]

use crossover::Complex;
use crossover_core::{
    DType, Graph, NodeId, Scalar, Shape,
    graph::Op,
    ops::{
        convolve::{Boundary, ConvolveMode},
        fft::{FftKind, FftScale},
        linalg::LinalgOp,
    },
    philox,
    reference::{self, Pattern, Tensor},
};
use crossover_cpu::{CpuBackend, Simd};
use crossover_plan::Options;
use crossover_runtime::{Buffer, Executor, Machine, Placement};

type Wide = Complex<f64>;

fn executor(threads: usize, simd: Simd) -> Executor {
    let cpu = CpuBackend::builder().threads(threads).simd(simd).parallel_threshold(0.0).build().unwrap();
    let machine = Machine::new(std::sync::Arc::new(cpu), Vec::new()).unwrap();
    Executor::new(machine, Options::default(), Placement::Host)
}

fn run(executor: &Executor, graph: &Graph, inputs: &[Tensor]) -> crossover_runtime::Result<Vec<Vec<u8>>> {
    let buffers: Vec<_> =
        inputs.iter().map(|t| Buffer::from_bytes(executor.machine(), &t.bytes).unwrap()).collect();
    let outputs = executor.evaluate(graph, &buffers)?;
    Ok(outputs.iter().map(|b| b.host_bytes().unwrap().to_vec()).collect())
}

fn wide(dtype: DType, bytes: &[u8]) -> Vec<Wide> {
    let one = |b: &[u8]| {
        let bits = Scalar::read_from(dtype, b).cast(DType::C128).bits();
        Wide::new(f64::from_bits(bits[0]), f64::from_bits(bits[1]))
    };
    bytes.chunks(dtype.size()).map(one).collect()
}

fn norm(values: &[Wide]) -> f64 {
    values.iter().map(|v| v.norm_sqr()).sum::<f64>().sqrt()
}

fn epsilon(dtype: DType) -> f64 {
    if dtype.real() == DType::F32 { f32::EPSILON as f64 / 2.0 } else { f64::EPSILON / 2.0 }
}

/// A stream of choices.
struct Dice(u64, u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.1 += 1;
        philox::word(self.1, 0, [self.0 as u32, 77]) as usize % n
    }
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// An input of a shape, seen through axes in another order and some of them flipped.
fn strided(g: &mut Graph, dice: &mut Dice, dtype: DType, shape: &[usize]) -> NodeId {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    if dice.below(2) == 0 {
        order.reverse();
    }
    // The stored axis at place i is axis order[i] of the view.
    let stored: Vec<usize> = order.iter().map(|&a| shape[a]).collect();
    let mut back = vec![0; order.len()];
    order.iter().enumerate().for_each(|(i, &a)| back[a] = i);
    let x = g.input(dtype, Shape::from(stored)).unwrap();
    let x = g.push(Op::Permute(back.into_iter().collect()), &[x]).unwrap();
    let flips = (0..shape.len()).filter(|_| dice.below(3) == 0).collect();
    g.push(Op::Flip(flips), &[x]).unwrap()
}

fn random(graph: &Graph, seed: u64) -> Vec<Tensor> {
    let inputs = graph.nodes().iter().filter(|n| matches!(n.op, Op::Input { .. }));
    inputs
        .enumerate()
        .map(|(i, n)| Pattern::Random(seed * 31 + i as u64).tensor(n.ty.dtype, n.ty.shape.clone()).unwrap())
        .collect()
}

#[test]
fn transforms_stay_within_their_bound_and_do_not_depend_on_threads() {
    let executors = [executor(1, Simd::Scalar), executor(2, Simd::detect()), executor(7, Simd::detect())];
    let lengths = [1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 60, 97, 128, 130];
    for seed in 0..300 {
        let dice = &mut Dice(seed, 0);
        let n = dice.pick(&lengths);
        let axis = dice.below(3);
        let mut shape = vec![dice.pick(&[1, 2, 9, 40]), dice.pick(&[1, 3, 5])];
        shape.insert(axis, n);
        let scale = dice.pick(&FftScale::ALL);
        let double = dice.below(2) == 0;
        let kind = match dice.below(5) {
            0 | 1 => FftKind::Forward,
            2 => FftKind::Inverse,
            3 => FftKind::Real,
            _ => FftKind::Hermitian { length: n },
        };
        if let FftKind::Hermitian { length } = kind {
            shape[axis] = length / 2 + 1;
        }
        let dtype = match (kind, double) {
            (FftKind::Real, true) => DType::F64,
            (FftKind::Real, false) => DType::F32,
            (_, true) => DType::C128,
            (_, false) => DType::C64,
        };
        let several = matches!(kind, FftKind::Forward | FftKind::Inverse) && dice.below(3) == 0;
        let axes = if several { [0, 1, 2].into_iter().collect() } else { [axis].into_iter().collect() };
        let mut graph = Graph::new();
        let x = strided(&mut graph, dice, dtype, &shape);
        let y = graph.push(Op::Fft { kind, axes, scale }, &[x]).unwrap();
        graph.output(y);
        let inputs = random(&graph, seed);
        let result = graph.node(y).ty.dtype;
        let expected = wide(result, &reference::evaluate(&graph, &inputs).unwrap()[0].bytes);
        let got: Vec<_> = executors.iter().map(|e| run(e, &graph, &inputs).unwrap()).collect();
        assert!(got.iter().all(|g| *g == got[0]), "seed {seed}: bits depend on threads\n{graph}");
        let points = shape.iter().product::<usize>().max(n) as f64;
        let distance: Vec<Wide> =
            wide(result, &got[0][0]).iter().zip(&expected).map(|(a, b)| a - b).collect();
        let bound = epsilon(result) * (4.0 * points.log2() + 8.0) * norm(&expected);
        assert!(norm(&distance) <= bound, "seed {seed}: {} > {bound}\n{graph}", norm(&distance));
    }
}

/// One executor for every vector width and 1, 2 and 7 threads.
fn every_executor() -> Vec<(Executor, Simd, usize)> {
    let threads = |simd| [1, 2, 7].map(|threads| (executor(threads, simd), simd, threads));
    Simd::available().flat_map(threads).collect()
}

/// Compares the first output with the reference interpreter's, bit for bit.
fn have_its_bits(executors: &[(Executor, Simd, usize)], graph: &Graph, inputs: &[Tensor], case: &str) {
    let expected = &reference::evaluate(graph, inputs).unwrap()[0];
    for (executor, simd, threads) in executors {
        let got = run(executor, graph, inputs).unwrap();
        assert!(got[0] == expected.bytes, "{case}, {simd}, {threads} threads: other bits\n{graph}");
    }
}

#[test]
fn convolutions_have_the_bits_of_the_reference_everywhere() {
    let executors = every_executor();
    let dtypes = [
        DType::F32,
        DType::F32,
        DType::F64,
        DType::C64,
        DType::C128,
        DType::I8,
        DType::U16,
        DType::I32,
        DType::U64,
    ];
    for seed in 0..200 {
        let dice = &mut Dice(seed, 1);
        let dtype = dice.pick(&dtypes);
        let mode = dice.pick(&ConvolveMode::ALL);
        let boundary = dice.pick(&Boundary::ALL);
        let rank = 1 + dice.below(3);
        let mut shape: Vec<usize> = (0..rank).map(|_| dice.pick(&[1, 2, 5, 9])).collect();
        shape[rank - 1] = dice.pick(&[1, 3, 16, 70, 140]);
        let mut kernel: Vec<usize> = (0..rank).map(|_| dice.pick(&[1, 2, 3, 5])).collect();
        if mode == ConvolveMode::Valid {
            kernel.iter_mut().zip(&shape).for_each(|(k, &n)| *k = (*k).min(n));
        }
        let mut graph = Graph::new();
        let x = strided(&mut graph, dice, dtype, &shape);
        let k = strided(&mut graph, dice, dtype, &kernel);
        let fill = graph.input(dtype, Shape::scalar()).unwrap();
        let y = graph.push(Op::Convolve { mode, boundary }, &[x, k, fill]).unwrap();
        graph.output(y);
        let inputs =
            if seed % 4 == 0 { reference::random_inputs(&graph, seed) } else { random(&graph, seed) };
        have_its_bits(&executors, &graph, &inputs, &format!("seed {seed}"));
    }
}

#[test]
fn convolutions_of_few_long_rows_have_them_too() {
    let executors = every_executor();
    type Case = (DType, &'static [usize], &'static [usize], ConvolveMode, Boundary);
    let cases: [Case; 6] = [
        (DType::F64, &[20_000], &[31], ConvolveMode::Full, Boundary::Fill),
        (DType::F32, &[40_000], &[9], ConvolveMode::Same, Boundary::Wrap),
        (DType::C64, &[17_000], &[12], ConvolveMode::Full, Boundary::Mirror),
        (DType::I16, &[18_001], &[40], ConvolveMode::Valid, Boundary::Fill),
        (DType::F64, &[100], &[9_000], ConvolveMode::Full, Boundary::Symm),
        (DType::F32, &[3, 17_000], &[2, 5], ConvolveMode::Same, Boundary::Nearest),
    ];
    for (seed, (dtype, shape, kernel, mode, boundary)) in cases.into_iter().enumerate() {
        let mut graph = Graph::new();
        let dice = &mut Dice(seed as u64, 3);
        let (x, k) = (strided(&mut graph, dice, dtype, shape), strided(&mut graph, dice, dtype, kernel));
        let fill = graph.input(dtype, Shape::scalar()).unwrap();
        let y = graph.push(Op::Convolve { mode, boundary }, &[x, k, fill]).unwrap();
        graph.output(y);
        let inputs = random(&graph, seed as u64);
        have_its_bits(&executors, &graph, &inputs, &format!("{shape:?} with {kernel:?} of {dtype}"));
    }
}

/// A row-major matrix.
#[derive(Clone)]
struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<Wide>,
}

impl Matrix {
    fn new(rows: usize, columns: usize, values: &[Wide]) -> Matrix {
        assert_eq!(values.len(), rows * columns);
        Matrix { rows, columns, values: values.to_vec() }
    }
    fn at(&self, i: usize, j: usize) -> Wide {
        self.values[i * self.columns + j]
    }
    fn times(&self, other: &Matrix) -> Matrix {
        assert_eq!(self.columns, other.rows);
        let dot = |i, j| (0..self.columns).map(|k| self.at(i, k) * other.at(k, j)).sum::<Wide>();
        let values: Vec<Wide> =
            (0..self.rows * other.columns).map(|p| dot(p / other.columns, p % other.columns)).collect();
        Matrix::new(self.rows, other.columns, &values)
    }
    fn adjoint(&self) -> Matrix {
        let values: Vec<Wide> =
            (0..self.rows * self.columns).map(|p| self.at(p % self.rows, p / self.rows).conj()).collect();
        Matrix::new(self.columns, self.rows, &values)
    }
    fn scaled(&self, columns: &[Wide]) -> Matrix {
        let values: Vec<Wide> =
            self.values.iter().enumerate().map(|(p, v)| v * columns[p % self.columns]).collect();
        Matrix::new(self.rows, self.columns, &values)
    }
    fn distance(&self, other: &Matrix) -> f64 {
        norm(&self.values.iter().zip(&other.values).map(|(a, b)| a - b).collect::<Vec<_>>())
    }
    fn identity(n: usize) -> Matrix {
        let values: Vec<Wide> = (0..n * n).map(|p| ((p / n == p % n) as u8 as f64).into()).collect();
        Matrix::new(n, n, &values)
    }
    fn is_orthonormal(&self, bound: f64) -> bool {
        self.adjoint().times(self).distance(&Matrix::identity(self.columns)) <= bound
    }
    fn columns_to(&self, k: usize) -> Matrix {
        let values: Vec<Wide> = (0..self.rows * k).map(|p| self.at(p / k, p % k)).collect();
        Matrix::new(self.rows, k, &values)
    }
}

const FIELDS: [DType; 4] = [DType::F32, DType::F64, DType::C64, DType::C128];

/// Whether one result is a decomposition of the matrix, within the bound.
fn satisfied(op: LinalgOp, a: &Matrix, out: &[Wide], eps: f64) -> Result<(), String> {
    let (m, n) = (a.rows, a.columns);
    let (k, side) = (m.min(n), m.max(n) as f64);
    let bound = 8.0 * side * side.sqrt() * eps;
    let size = norm(&a.values).max(f64::MIN_POSITIVE);
    let close = |what: &str, distance: f64, scale: f64| {
        if distance <= bound * scale {
            Ok(())
        } else {
            Err(format!("{what}: {distance} > {}", bound * scale))
        }
    };
    let orthonormal = |what: &str, q: &Matrix| {
        if q.is_orthonormal(bound) { Ok(()) } else { Err(format!("{what} is not orthonormal")) }
    };
    let low = |upper: bool| {
        let pick =
            |i: usize, j: usize| if (i >= j) != upper || i == j { a.at(i, j) } else { a.at(j, i).conj() };
        let values: Vec<Wide> = (0..n * n)
            .map(|p| if p / n == p % n { a.at(p / n, p / n).re.into() } else { pick(p / n, p % n) })
            .collect();
        Matrix::new(n, n, &values)
    };
    match op {
        LinalgOp::Qr { complete } => {
            let p = if complete { m } else { k };
            let (q, r) = (Matrix::new(m, p, &out[..m * p]), Matrix::new(p, n, &out[m * p..]));
            orthonormal("Q", &q)?;
            let triangular = (0..p).all(|i| (0..n.min(i)).all(|j| r.at(i, j) == Wide::new(0.0, 0.0)));
            if !triangular {
                return Err("R is not triangular".to_string());
            }
            close("Q·R", q.times(&r).distance(a), size)
        }
        LinalgOp::Svd { full } => {
            let (p, q) = if full { (m, n) } else { (k, k) };
            let u = Matrix::new(m, p, &out[..m * p]);
            let s = &out[m * p..m * p + k];
            let vh = Matrix::new(q, n, &out[m * p + k..]);
            orthonormal("U", &u)?;
            orthonormal("V", &vh.adjoint())?;
            if s.windows(2).any(|w| w[0].re < w[1].re) || s.iter().any(|x| x.re < 0.0 || x.im != 0.0) {
                return Err(format!("singular values {s:?}"));
            }
            let v = vh.adjoint().columns_to(k);
            close("U·S·V", u.columns_to(k).scaled(s).times(&v.adjoint()).distance(a), size)
        }
        LinalgOp::Eigh { upper } => {
            let (w, v) = (&out[..n], Matrix::new(n, n, &out[n..]));
            orthonormal("vectors", &v)?;
            if w.windows(2).any(|w| w[0].re > w[1].re) {
                return Err(format!("eigenvalues {w:?}"));
            }
            close("A·V - V·W", low(upper).times(&v).distance(&v.scaled(w)), size)
        }
        LinalgOp::Eig => {
            let (w, v) = (&out[..n], Matrix::new(n, n, &out[n..]));
            for j in 0..n {
                let length = norm(&(0..n).map(|i| v.at(i, j)).collect::<Vec<_>>());
                close("length of a vector", (length - 1.0).abs(), 1.0)?;
            }
            close("A·V - V·W", a.times(&v).distance(&v.scaled(w)), size * 4.0)
        }
        LinalgOp::Inv => {
            let inverse = Matrix::new(n, n, out);
            close("A·A⁻¹", a.times(&inverse).distance(&Matrix::identity(n)), size * norm(out))
        }
        _ => Ok(()),
    }
}

#[test]
fn decompositions_satisfy_what_defines_them() {
    let executors = [executor(1, Simd::Scalar), executor(2, Simd::detect()), executor(7, Simd::detect())];
    for seed in 0..400 {
        let dice = &mut Dice(seed, 2);
        let dtype = dice.pick(&FIELDS);
        let op = dice.pick(&LinalgOp::ALL);
        let sides = [0, 1, 2, 3, 4, 7, 16, 20, 50];
        let m = dice.pick(&sides);
        let n = if op.is_square() { m } else { dice.pick(&sides) };
        let batch = dice.pick(&[1, 3]);
        let mut graph = Graph::new();
        let mut a = strided(&mut graph, dice, dtype, &[batch, m, n]);
        if matches!(op, LinalgOp::Cholesky { .. }) {
            // A·Aᴴ + n·I is positive definite.
            let turned = crossover_core::compose::linalg::adjoint(&mut graph, &a).unwrap();
            let square = graph.push(Op::MatMul, &[a, turned]).unwrap();
            let one = crossover_core::compose::eye(&mut graph, m, m, 0, dtype).unwrap();
            a = crossover_core::compose::binary(&mut graph, crossover_core::ops::MapOp::Add, &square, &one)
                .unwrap();
        }
        let mut args = vec![a];
        let columns = dice.pick(&[1, 5]);
        if op == LinalgOp::Solve {
            args.push(strided(&mut graph, dice, dtype, &[batch, m, columns]));
        }
        let inputs = random(&graph, seed);
        let mut operand = graph.clone();
        operand.output(a);
        let y = graph.push(Op::Linalg(op), &args).unwrap();
        graph.output(y);
        let ty = graph.node(y).ty.clone();
        let got: Vec<_> = executors.iter().map(|e| run(e, &graph, &inputs).unwrap()).collect();
        assert!(got.iter().all(|g| *g == got[0]), "seed {seed}: bits depend on threads\n{graph}");
        let out = wide(ty.dtype, &got[0][0]);
        let matrices = wide(dtype, &reference::evaluate(&operand, &inputs).unwrap()[0].bytes);
        let each = out.len() / batch;
        for i in 0..batch {
            let matrix = Matrix::new(m, n, &matrices[i * m * n..(i + 1) * m * n]);
            if let Err(what) = satisfied(op, &matrix, &out[i * each..(i + 1) * each], epsilon(dtype)) {
                panic!("seed {seed}, matrix {i}: {what}\n{graph}");
            }
        }
        // What is unique is compared with the textbook's. Matrices of normal size are far enough from singular ones.
        let unique = !matches!(
            op,
            LinalgOp::Qr { .. }
                | LinalgOp::Svd { .. }
                | LinalgOp::Eigh { .. }
                | LinalgOp::Eig
                | LinalgOp::EigVals
        );
        // The textbook's iterations are slow.
        if (unique || op == LinalgOp::EigVals) && m.max(n) <= 16 {
            let expected = wide(ty.dtype, &reference::evaluate(&graph, &inputs).unwrap()[0].bytes);
            let mut got = out.clone();
            if op == LinalgOp::EigVals {
                // Both in the order of the textbook's: each takes its nearest.
                for i in 0..batch {
                    let (want, found) = (&expected[i * m..(i + 1) * m], &mut got[i * m..(i + 1) * m]);
                    for (j, &value) in want.iter().enumerate() {
                        let near = (j..m)
                            .min_by(|&a, &b| (found[a] - value).norm().total_cmp(&(found[b] - value).norm()));
                        found.swap(j, near.unwrap());
                    }
                }
            }
            let distance: Vec<Wide> = got.iter().zip(&expected).map(|(a, b)| a - b).collect();
            let loose = if dtype.real() == DType::F32 { 2e-2 } else { 1e-9 };
            let finite = expected.iter().all(|v| v.is_finite());
            assert!(
                !finite || norm(&distance) <= loose * (1.0 + norm(&expected)),
                "seed {seed}: {} of {}\n{graph}",
                norm(&distance),
                norm(&expected)
            );
        }
    }
}

#[test]
fn dependent_columns_and_zeros_are_decomposed_too() {
    let executor = executor(2, Simd::detect());
    let rank_one: Vec<f64> = (0..20).map(|p| ((p / 4 + 1) * (p % 4 + 2)) as f64).collect();
    let mut gap = rank_one.clone();
    (0..5).for_each(|i| gap[i * 4] = 0.0);
    for values in [rank_one, gap, vec![0.0; 20]] {
        for (m, n) in [(5, 4), (4, 5)] {
            for op in [
                LinalgOp::Qr { complete: false },
                LinalgOp::Qr { complete: true },
                LinalgOp::Svd { full: false },
                LinalgOp::Svd { full: true },
            ] {
                let mut graph = Graph::new();
                let a = graph.input(DType::F64, Shape::from([m, n])).unwrap();
                let y = graph.push(Op::Linalg(op), &[a]).unwrap();
                graph.output(y);
                let input = Tensor::from_slice([m, n], &values).unwrap();
                let out = wide(DType::F64, &run(&executor, &graph, std::slice::from_ref(&input)).unwrap()[0]);
                let matrix = Matrix::new(m, n, &wide(DType::F64, &input.bytes));
                satisfied(op, &matrix, &out, epsilon(DType::F64))
                    .unwrap_or_else(|e| panic!("{op:?} of {m}×{n} {values:?}: {e}"));
            }
        }
    }
}

#[test]
fn matrices_without_a_result_are_named() {
    let executor = executor(2, Simd::detect());
    let cases = [
        ("inv", "", [1.0, 2.0, 2.0, 4.0], Some("is singular")),
        ("solve", ", %a", [0.0, 0.0, 0.0, 0.0], Some("is singular")),
        ("cholesky", "", [1.0, 0.0, 0.0, -1.0], Some("is not positive definite")),
        ("cholesky", "", [f64::NAN, 0.0, 0.0, 1.0], Some("is not positive definite")),
        ("eig", "", [f64::NAN, 0.0, 0.0, 1.0], Some("holds NaN or infinity")),
        ("svdvals", "", [f64::INFINITY, 0.0, 0.0, 1.0], Some("holds NaN or infinity")),
        ("det", "", [1.0, 2.0, 2.0, 4.0], None),
        ("slogdet", "", [1.0, 2.0, 2.0, 4.0], None),
        ("inv", "", [f64::NAN, 0.0, 0.0, 1.0], None),
    ];
    for (op, more, last, what) in cases {
        let text = format!("graph {{\n %a = input f64[3, 2, 2]\n %b = {op} %a{more}\n return %b\n}}");
        let graph = Graph::parse(&text).unwrap();
        let values: Vec<f64> = [4.0, 1.0, 1.0, 4.0].iter().cycle().take(8).chain(&last).copied().collect();
        let input = Tensor::from_slice([3, 2, 2], &values).unwrap();
        let found = run(&executor, &graph, std::slice::from_ref(&input)).map(drop).map_err(|e| e.to_string());
        let defined =
            reference::evaluate(&graph, std::slice::from_ref(&input)).map(drop).map_err(|e| e.to_string());
        assert_eq!(found, defined, "{op}");
        match what {
            Some(what) => {
                let error = found.unwrap_err();
                assert!(error.starts_with(&format!("{op}: matrix 2 {what}")), "{error}");
            }
            None => assert!(found.is_ok(), "{op}"),
        }
    }
}
