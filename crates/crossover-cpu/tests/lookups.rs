//! Gathers, scatters, sorts, searches and masks on strided operands, small and large enough for threads, against the
//! reference interpreter.
#![allow(clippy::unwrap_used)]

mod generator;

use crossover_core::{
    DType, Graph, Layout, Scalar, Shape,
    graph::Op,
    ops::scatter::ScatterOp,
    reference::{self, Tensor},
};
use crossover_cpu::{CpuBackend, Simd};
use crossover_plan::kernel::{BufferId, Call, CallOp, Kernel, Operand};
use crossover_runtime::{Backend, Block, Launch};
use generator::{Dice, value};

/// Logical values, and where they lie in memory.
struct Array {
    tensor: Tensor,
    layout: Layout,
    bytes: Vec<u8>,
}

impl Array {
    /// Values under a random layout: axes in any order, some reversed.
    fn new(dice: &mut Dice, tensor: Tensor) -> Array {
        let shape = tensor.shape.clone();
        let mut axes: Vec<usize> = (0..shape.rank()).collect();
        for i in (1..axes.len()).rev() {
            axes.swap(i, dice.below(i + 1));
        }
        let mut back = vec![0; axes.len()];
        axes.iter().enumerate().for_each(|(i, &a)| back[a] = i);
        let stored: Shape = axes.iter().map(|&a| shape[a]).collect();
        let flips: Vec<usize> = (0..shape.rank()).filter(|_| dice.one_in(3)).collect();
        let layout = Layout::contiguous(stored).permute(&back).flip(&flips);
        let size = tensor.dtype.size();
        let mut bytes = vec![0; tensor.bytes.len()];
        for (from, to) in tensor.bytes.chunks(size).zip(layout.positions()) {
            bytes[to * size..(to + 1) * size].copy_from_slice(from);
        }
        Array { tensor, layout, bytes }
    }

    fn random(dice: &mut Dice, dtype: DType, shape: &[usize]) -> Array {
        let n: usize = shape.iter().product();
        // Few different values, so that many are equal.
        let pool: Vec<Scalar> = (0..1 + n / 3).map(|_| value(dice, dtype)).collect();
        let values: Vec<Scalar> = (0..n).map(|_| pool[dice.below(pool.len())]).collect();
        let tensor = Tensor::from_scalars(dtype, Shape::from(shape), values).unwrap();
        Array::new(dice, tensor)
    }

    /// Indices around an axis: a few below it and a few above.
    fn indices(dice: &mut Dice, length: usize, shape: &[usize]) -> Array {
        let n: usize = shape.iter().product();
        let values: Vec<i64> = (0..n).map(|_| dice.below(length + 4) as i64 - 2).collect();
        Array::new(dice, Tensor::from_slice(shape.to_vec(), &values).unwrap())
    }
}

/// What the kernel of a call writes, on every backend given.
fn run(cpu: &CpuBackend, op: &CallOp, operands: &[&Array], ty: &Tensor) -> Tensor {
    let operand =
        |a: &&Array| Operand { buffer: BufferId(0), dtype: a.tensor.dtype, layout: a.layout.clone() };
    let kernel = Kernel::Call(Call {
        op: op.clone(),
        operands: operands.iter().map(operand).collect(),
        output: BufferId(1),
        layout: Layout::contiguous(ty.shape.clone()),
        dtype: ty.dtype,
    });
    let block = |bytes: &[u8]| {
        let block = cpu.allocate(bytes.len()).unwrap();
        cpu.upload(bytes, block).unwrap();
        block
    };
    let inputs: Vec<Block> = operands.iter().map(|a| block(&a.bytes)).collect();
    let out = block(&vec![0xA5; ty.bytes.len()]);
    let ready = cpu.prepare(&kernel).unwrap();
    ready.run(&Launch::new(&kernel, &inputs, &[out], &[]).unwrap()).unwrap();
    let mut bytes = vec![0; ty.bytes.len()];
    cpu.download(out, &mut bytes).unwrap();
    inputs.into_iter().chain([out]).for_each(|block| cpu.free(block));
    Tensor { dtype: ty.dtype, shape: ty.shape.clone(), bytes }
}

fn check(cpus: &[CpuBackend], op: Op, call: &CallOp, operands: &[&Array], what: &str) {
    let mut graph = Graph::new();
    let ids: Vec<_> =
        operands.iter().map(|a| graph.input(a.tensor.dtype, a.tensor.shape.clone()).unwrap()).collect();
    let id = graph.push(op, &ids).unwrap();
    graph.output(id);
    let inputs: Vec<Tensor> = operands.iter().map(|a| a.tensor.clone()).collect();
    let want = reference::evaluate(&graph, &inputs).unwrap().remove(0);
    for cpu in cpus {
        let got = run(cpu, call, operands, &want);
        let at = (0..want.len()).find(|&i| got.at(i) != want.at(i));
        assert!(
            at.is_none(),
            "{what}, {} threads: element {at:?} is {:?}, expected {:?}",
            cpu.threads(),
            at.map(|i| got.at(i)),
            at.map(|i| want.at(i))
        );
    }
}

fn backends() -> Vec<CpuBackend> {
    let one = |threads, simd| CpuBackend::builder().threads(threads).simd(simd).build().unwrap();
    vec![one(1, Simd::Scalar), one(1, Simd::detect()), one(2, Simd::detect()), one(7, Simd::detect())]
}

/// Shapes with few and many lines along each axis; the last ones are worth threads.
const SHAPES: [[usize; 3]; 9] = [
    [1, 1, 1],
    [0, 4, 3],
    [2, 3, 4],
    [5, 1, 300],
    [1, 400, 2],
    [1, 70_000, 1],
    [40_000, 2, 1],
    [3, 100, 200],
    [40, 30, 50],
];

fn large_shapes_once(seed: u64, dice: &mut Dice) -> [usize; 3] {
    // The reference takes its time: every large shape twice, small ones often.
    match seed {
        0..8 => SHAPES[5 + seed as usize % 4],
        _ => SHAPES[dice.below(5)],
    }
}

#[test]
fn gathers_clamp_indices_and_keep_bits() {
    let cpus = backends();
    for seed in 0..150 {
        let dice = &mut Dice::new(seed);
        let shape = large_shapes_once(seed, dice);
        let (axis, dtype) = (dice.below(3), dice.pick(&DType::ALL));
        if shape[axis] == 0 {
            continue;
        }
        let mut wanted = shape;
        wanted[axis] = if shape[axis] > 1000 { shape[axis] } else { dice.below(9) };
        let x = Array::random(dice, dtype, &shape);
        let index = Array::indices(dice, shape[axis], &wanted);
        let what = format!("{dtype} {shape:?} axis {axis} seed {seed}");
        check(&cpus, Op::Gather { axis }, &CallOp::Gather { axis }, &[&x, &index], &what);
    }
}

#[test]
fn scatters_combine_in_order() {
    let cpus = backends();
    for seed in 0..200 {
        let dice = &mut Dice::new(seed);
        let shape = large_shapes_once(seed, dice);
        let axis = if seed < 8 { [1, 0, 2, 0][seed as usize % 4] } else { dice.below(3) };
        let op = ScatterOp::ALL[dice.below(4)];
        let dtype = loop {
            let dtype = dice.pick(&DType::ALL);
            if op.check(dtype).is_ok() {
                break dtype;
            }
        };
        let mut given = shape;
        given[axis] = if shape[axis] > 1000 { shape[axis] } else { dice.below(40) };
        let x = Array::random(dice, dtype, &shape);
        let values = Array::random(dice, dtype, &given);
        let mut index = Array::indices(dice, shape[axis], &given);
        if dice.one_in(3) && shape.iter().all(|&n| n > 0) {
            // One index per slice: repeated along every other axis.
            let mut line = [1; 3];
            line[axis] = given[axis];
            let single = Array::indices(dice, shape[axis], &line);
            let layout = single.layout.expand(&Shape::from(given)).unwrap();
            let values: Vec<Scalar> = layout
                .positions()
                .map(|p| Scalar::read_from(DType::I64, &single.bytes[p * 8..(p + 1) * 8]))
                .collect();
            let tensor = Tensor::from_scalars(DType::I64, Shape::from(given), values).unwrap();
            index = Array { tensor, layout, bytes: single.bytes };
        }
        let what = format!("{op} {dtype} {shape:?} axis {axis} seed {seed}");
        check(&cpus, Op::Scatter { op, axis }, &CallOp::Scatter { op, axis }, &[&x, &index, &values], &what);
    }
}

#[test]
fn sorts_are_stable() {
    let cpus = backends();
    for seed in 0..200 {
        let dice = &mut Dice::new(seed);
        let shape = large_shapes_once(seed, dice);
        let axis = if seed < 8 { [1, 0, 2, 0][seed as usize % 4] } else { dice.below(3) };
        let dtype = dice.pick(&DType::ALL);
        let (descending, indices) = (dice.one_in(2), dice.one_in(2));
        let x = Array::random(dice, dtype, &shape);
        let what =
            format!("{dtype} {shape:?} axis {axis} descending {descending} indices {indices} seed {seed}");
        check(
            &cpus,
            Op::Sort { axis, descending, indices },
            &CallOp::Sort { axis, descending, indices },
            &[&x],
            &what,
        );
    }
}

#[test]
fn the_first_of_a_line_are_those_of_a_stable_sort() {
    let cpus = backends();
    for seed in 0..200 {
        let dice = &mut Dice::new(seed);
        let shape = large_shapes_once(seed, dice);
        let dtype = dice.pick(&DType::ALL);
        let axis = dice.below(3);
        let x = Array::random(dice, dtype, &shape);
        let descending = dice.one_in(2);
        // Few of many are selected, many of them sorted.
        let most = if dice.one_in(2) { shape[axis] } else { shape[axis] / 5 };
        let k = dice.below(most + 1);
        let what = format!("{dtype} {shape:?} axis {axis} first {k} descending {descending} seed {seed}");
        check(&cpus, Op::TopK { axis, k, descending }, &CallOp::TopK { axis, descending }, &[&x], &what);
    }
}

#[test]
fn searches_bisect_any_line() {
    let cpus = backends();
    for seed in 0..200 {
        let dice = &mut Dice::new(seed);
        let dtype = dice.pick(&DType::ALL);
        let length = dice.pick(&[0, 1, 2, 3, 7, 64, 1000]);
        let shape = if seed < 2 { [3, 100, 60] } else { SHAPES[dice.below(5)] };
        let line = Array::random(dice, dtype, &[length]);
        let values = Array::random(dice, dtype, &shape);
        let right = dice.one_in(2);
        let what = format!("{dtype} {length} {shape:?} right {right} seed {seed}");
        check(&cpus, Op::SearchSorted { right }, &CallOp::SearchSorted { right }, &[&line, &values], &what);
    }
}

#[test]
fn masks_keep_order_and_fill_up_with_zeros() {
    let cpus = backends();
    for seed in 0..150 {
        let dice = &mut Dice::new(seed);
        let shape = large_shapes_once(seed, dice);
        let dtype = dice.pick(&DType::ALL);
        let x = Array::random(dice, dtype, &shape);
        let density = dice.pick(&[1, 2, 10]);
        let holds: Vec<bool> = (0..shape[0]).map(|_| dice.one_in(density)).collect();
        let mask = Array::new(dice, Tensor::from_slice([shape[0]], &holds).unwrap());
        let count = dice.below(shape[0] + 1);
        let what = format!("{dtype} {shape:?} count {count} seed {seed}");
        check(&cpus, Op::Compress { count }, &CallOp::Compress, &[&mask, &x], &what);
    }
}
