//! Matrix products, scans, lookups and samples on strided operands, against plain loops.
#![allow(clippy::unwrap_used)]

mod generator;

use crossover_core::{
    DType, Layout, Scalar, Shape, canonical, ops::reduce::ReduceOp, reference, sample::Sampler,
};
use crossover_cpu::{CpuBackend, Simd};
use crossover_plan::kernel::{BufferId, Call, CallOp, Kernel, Operand};
use crossover_runtime::{Backend, Block, Launch};
use generator::{Dice, value};

/// An operand in memory of the backend.
struct Array {
    operand: Operand,
    block: Block,
    bytes: Vec<u8>,
}

impl Array {
    /// Random values under a random layout of a shape.
    fn random(cpu: &CpuBackend, dice: &mut Dice, dtype: DType, shape: &[usize], tame: bool) -> Array {
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        if dice.one_in(2) {
            axes.reverse();
        }
        let stored: Vec<usize> = axes.iter().map(|&a| shape[a]).collect();
        let mut back = vec![0; axes.len()];
        axes.iter().enumerate().for_each(|(i, &a)| back[a] = i);
        let mut layout = Layout::contiguous(Shape::from(stored.as_slice())).permute(&back);
        let flips: Vec<usize> = (0..shape.len()).filter(|_| dice.one_in(4)).collect();
        layout = layout.flip(&flips);
        let n: usize = shape.iter().product();
        let mut bytes = vec![0; n * dtype.size()];
        for slot in bytes.chunks_mut(dtype.size()) {
            let v = if tame { small(dice, dtype) } else { value(dice, dtype) };
            v.write_to(slot);
        }
        Array::of(cpu, dtype, layout, bytes)
    }

    fn of(cpu: &CpuBackend, dtype: DType, layout: Layout, bytes: Vec<u8>) -> Array {
        let block = cpu.allocate(bytes.len()).unwrap();
        cpu.upload(&bytes, block).unwrap();
        Array { operand: Operand { buffer: BufferId(0), dtype, layout }, block, bytes }
    }

    fn at(&self, index: &[usize]) -> Scalar {
        let size = self.operand.dtype.size();
        let at = self.operand.layout.position(index) * size;
        Scalar::read_from(self.operand.dtype, &self.bytes[at..at + size])
    }
}

/// A small whole number: products and sums are exact in every float dtype.
fn small(dice: &mut Dice, dtype: DType) -> Scalar {
    let v = dice.below(7) as f64 - 3.0;
    let w = dice.below(7) as f64 - 3.0;
    if dtype.is_complex() {
        return Scalar::from_bits(DType::C128, [v.to_bits(), w.to_bits()]).cast(dtype);
    }
    Scalar::from_bits(DType::F64, [v.to_bits(), 0]).cast(dtype)
}

fn call(cpu: &CpuBackend, op: CallOp, operands: &[&Array], shape: &[usize], dtype: DType) -> Vec<Scalar> {
    let layout = Layout::contiguous(Shape::from(shape));
    let n: usize = shape.iter().product();
    let kernel = Kernel::Call(Call {
        op,
        operands: operands.iter().map(|a| a.operand.clone()).collect(),
        output: BufferId(1),
        layout,
        dtype,
    });
    let out = cpu.allocate(n * dtype.size()).unwrap();
    cpu.upload(&vec![0xA5; n * dtype.size()], out).unwrap();
    let inputs: Vec<Block> = operands.iter().map(|a| a.block).collect();
    let ready = cpu.prepare(&kernel).unwrap();
    ready.run(&Launch::new(&kernel, &inputs, &[out], &[]).unwrap()).unwrap();
    let mut bytes = vec![0; n * dtype.size()];
    cpu.download(out, &mut bytes).unwrap();
    cpu.free(out);
    bytes.chunks(dtype.size()).map(|b| Scalar::read_from(dtype, b)).collect()
}

fn backends() -> Vec<CpuBackend> {
    let one = |threads, simd| CpuBackend::builder().threads(threads).simd(simd).build().unwrap();
    vec![one(1, Simd::Scalar), one(1, Simd::detect()), one(2, Simd::detect()), one(7, Simd::detect())]
}

const NUMBERS: [DType; 14] = [
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
    DType::C64,
    DType::C128,
];

#[test]
fn products_of_small_whole_numbers_are_exact() {
    let backends = backends();
    for seed in 0..200 {
        let dice = &mut Dice::new(seed);
        let cpu = &backends[dice.below(backends.len())];
        let dtype = dice.pick(&NUMBERS);
        let lengths = [0, 1, 2, 3, 17, 40];
        let (b, m, k, n) =
            (dice.pick(&[0, 1, 1, 3, 9]), dice.pick(&lengths), dice.pick(&lengths), dice.pick(&lengths));
        let left = Array::random(cpu, dice, dtype, &[b, m, k], true);
        let right = Array::random(cpu, dice, dtype, &[b, k, n], true);
        let got = call(cpu, CallOp::MatMul, &[&left, &right], &[b, m, n], dtype);
        use crossover_core::ops::MapOp::{Add, Multiply};
        for (at, &value) in got.iter().enumerate() {
            let (i, j) = (at / n % m, at % n);
            let start = Scalar::zero(dtype);
            let want = (0..k).fold(start, |sum, p| {
                let product =
                    reference::map(Multiply, &[left.at(&[at / n / m, i, p]), right.at(&[at / n / m, p, j])]);
                reference::map(Add, &[sum, product])
            });
            // A sum of zeros may have either sign.
            let zero = |s: Scalar| reference::map(Add, &[s, Scalar::zero(dtype)]);
            assert_eq!(zero(value), zero(want), "{dtype} {b}x{m}x{k}x{n} seed {seed} element {at}");
        }
    }
}

#[test]
fn large_products_stay_close_to_double_precision() {
    for (dtype, bound) in [(DType::F32, 1e-4), (DType::F64, 1e-12), (DType::F16, 2e-3), (DType::BF16, 1e-2)] {
        let cpu = &CpuBackend::builder().threads(2).build().unwrap();
        let dice = &mut Dice::new(7);
        let (m, k, n) = (150, 300, 170);
        let unit = |dice: &mut Dice| {
            let v = dice.next() as f64 / u32::MAX as f64 - 0.5;
            Scalar::from_bits(DType::F64, [v.to_bits(), 0]).cast(dtype)
        };
        let array = |dice: &mut Dice, r: usize, c: usize| {
            let mut bytes = vec![0; r * c * dtype.size()];
            bytes.chunks_mut(dtype.size()).for_each(|slot| unit(dice).write_to(slot));
            Array::of(cpu, dtype, Layout::contiguous(Shape::from([r, c])), bytes)
        };
        let (left, right) = (array(dice, m, k), array(dice, k, n));
        let got = call(cpu, CallOp::MatMul, &[&left, &right], &[m, n], dtype);
        let wide = |s: Scalar| f64::from_bits(s.cast(DType::F64).bits()[0]);
        for (at, &value) in got.iter().enumerate() {
            let (i, j) = (at / n, at % n);
            let want: f64 = (0..k).map(|p| wide(left.at(&[i, p])) * wide(right.at(&[p, j]))).sum();
            assert!(
                (wide(value) - want).abs() <= bound * want.abs().max(1.0),
                "{dtype} {at}: {value:?} {want}"
            );
        }
    }
}

#[test]
fn scans_follow_the_canonical_order() {
    let backends = backends();
    for seed in 0..60 {
        let dice = &mut Dice::new(seed);
        let cpu = &backends[dice.below(backends.len())];
        let dtype = dice.pick(&NUMBERS);
        let shape = [dice.pick(&[1, 2, 3]), dice.pick(&[0, 1, 5, 33, 100, 1100]), dice.pick(&[1, 2, 40])];
        let axis = dice.below(3);
        let op = dice.pick(&[ReduceOp::Sum, ReduceOp::Prod]);
        let x = Array::random(cpu, dice, dtype, &shape, false);
        let got = call(cpu, CallOp::Scan { op, axis }, &[&x], &shape, dtype);
        let held = |s: Scalar| if s.dtype().is_half() { s.cast(DType::F32) } else { s };
        for (at, &value) in got.iter().enumerate() {
            let mut index = [at / shape[2] / shape[1], at / shape[2] % shape[1], at % shape[2]];
            let last = index[axis];
            // The interpreter is slow: the ends of runs, and some elements between.
            if last + 1 != shape[axis] && last % 32 != 31 && !last.is_multiple_of(61) {
                continue;
            }
            let line: Vec<Scalar> = (0..shape[axis])
                .map(|i| {
                    index[axis] = i;
                    held(x.at(&index))
                })
                .collect();
            let sums = canonical::scan(&line, |a, b| reference::map(op.combine(), &[a, b]));
            let want = reference::canonical(sums[last].cast(dtype));
            assert_eq!(value, want, "{op} {dtype} {shape:?} axis {axis} element {at} seed {seed}");
        }
    }
}

#[test]
fn take_clamps_indices_and_keeps_bits() {
    let backends = backends();
    for seed in 0..300 {
        let dice = &mut Dice::new(seed);
        let cpu = &backends[dice.below(backends.len())];
        let dtype = dice.pick(&DType::ALL);
        let shape = [dice.pick(&[1, 3, 0]), dice.pick(&[1, 5, 70]), dice.pick(&[1, 2, 300])];
        let axis = dice.below(3);
        let x = Array::random(cpu, dice, dtype, &shape, false);
        if shape[axis] == 0 {
            continue;
        }
        let count = dice.pick(&[0, 1, 7, 200]);
        let indices: Vec<i64> = (0..count).map(|_| dice.below(400) as i64 - 100).collect();
        let bytes = indices.iter().flat_map(|i| i.to_le_bytes()).collect();
        let layout = Layout::contiguous(Shape::from([count]));
        let index = Array::of(cpu, DType::I64, layout, bytes);
        let mut result = shape;
        result[axis] = count;
        let got = call(cpu, CallOp::Take { axis }, &[&x, &index], &result, dtype);
        for (at, &value) in got.iter().enumerate() {
            let mut from = [at / result[2] / result[1], at / result[2] % result[1], at % result[2]];
            from[axis] = indices[from[axis]].clamp(0, shape[axis] as i64 - 1) as usize;
            assert_eq!(value, x.at(&from), "{dtype} {shape:?} axis {axis} seed {seed}");
        }
    }
}

#[test]
fn samples_are_functions_of_parameter_key_and_position() {
    let backends = backends();
    for seed in 0..60 {
        let dice = &mut Dice::new(seed);
        let cpu = &backends[dice.below(backends.len())];
        let sampler = dice.pick(&Sampler::ALL);
        let shape = [dice.pick(&[1, 3, 0]), dice.pick(&[1, 40]), dice.pick(&[1, 2, 30])];
        let tame = dice.one_in(2);
        let parameters = Array::random(cpu, dice, DType::F64, &shape, tame);
        let words = [dice.below(1 << 30) as u32, dice.below(1 << 30) as u32];
        // The words of the key may lie in either order.
        let stored = Layout::contiguous(Shape::from([2])).flip(&[0]);
        let bytes = words.iter().rev().flat_map(|word| word.to_le_bytes()).collect();
        let key = Array::of(cpu, DType::U32, stored, bytes);
        let got = call(cpu, CallOp::Sample(sampler), &[&key, &parameters], &shape, DType::F64);
        for (at, &value) in got.iter().enumerate() {
            let from = [at / shape[2] / shape[1], at / shape[2] % shape[1], at % shape[2]];
            let parameter = f64::from_bits(parameters.at(&from).bits()[0]);
            let want = sampler.draw(parameter, words, at as u64);
            assert_eq!(value.bits()[0], want.to_bits(), "{sampler} {parameter} seed {seed}");
        }
    }
}
