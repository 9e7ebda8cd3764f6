//! Kernels that people write every day, built by hand: for golden texts, compile checks and the proof on a GPU.

mod builder;

pub use builder::Builder;
use crossover_core::{
    DType,
    ops::{MapOp, reduce::ReduceOp},
};
use crossover_plan::kernel::{Fused, Window};

/// GELU of `count` contiguous values.
pub fn gelu(count: usize, dtype: DType) -> Fused {
    unary(MapOp::Gelu, count, dtype)
}

/// Any unary op over `count` contiguous values.
pub fn unary(op: MapOp, count: usize, dtype: DType) -> Fused {
    let mut b = Builder::map(&[count]);
    let x = b.input(dtype);
    let y = b.op(op, &[x]);
    b.output(y);
    b.finish()
}

/// Any op over `count` contiguous values of each operand.
pub fn elementwise(op: MapOp, count: usize, dtype: DType) -> Fused {
    let mut b = Builder::map(&[count]);
    let args: Vec<_> = (0..op.arity()).map(|_| b.input(dtype)).collect();
    let y = b.op(op, &args);
    b.output(y);
    b.finish()
}

/// A conversion of `count` contiguous values.
pub fn convert(from: DType, to: DType, count: usize) -> Fused {
    let mut b = Builder::map(&[count]);
    let x = b.input(from);
    let y = b.cast(x, to);
    b.output(y);
    b.finish()
}

/// a * b + sqrt(a) - b / 2 in `f64`.
pub fn expression(count: usize) -> Fused {
    let mut b = Builder::map(&[count]);
    let (x, y) = (b.input(DType::F64), b.input(DType::F64));
    let two = b.scalar(0, DType::F64);
    let product = b.op(MapOp::Multiply, &[x, y]);
    let root = b.op(MapOp::Sqrt, &[x]);
    let sum = b.op(MapOp::Add, &[product, root]);
    let half = b.op(MapOp::Divide, &[y, two]);
    let result = b.op(MapOp::Subtract, &[sum, half]);
    b.output(result);
    b.finish()
}

/// A transposed operand plus a row that is repeated: the strided form.
pub fn strided(rows: usize, columns: usize) -> Fused {
    let mut b = Builder::map(&[rows, columns]);
    let x = b.load(DType::F32, Window { offset: 0, strides: [1, rows as isize].into_iter().collect() });
    let bias = b.load(DType::F32, Window { offset: 0, strides: [0, 1].into_iter().collect() });
    let y = b.op(MapOp::Add, &[x, bias]);
    b.output(y);
    b.finish()
}

/// A row of biases added to every row of a matrix.
pub fn bias(rows: usize, columns: usize, dtype: DType) -> Fused {
    let mut b = Builder::map(&[rows, columns]);
    let x = b.input(dtype);
    let bias = b.load(dtype, Window { offset: 0, strides: [0, 1].into_iter().collect() });
    let y = b.op(MapOp::Add, &[x, bias]);
    b.output(y);
    b.finish()
}

/// Softmax along the last axis; 16-bit inputs are cast to `f32` once.
pub fn softmax(rows: usize, columns: usize, dtype: DType) -> Fused {
    let mut b = Builder::row(&[rows], &[columns]);
    let x = b.input(dtype);
    let wide = if dtype.is_half() { b.cast(x, DType::F32) } else { x };
    let top = b.reduce(ReduceOp::Max, wide);
    let shifted = b.op(MapOp::Subtract, &[wide, top]);
    let e = b.op(MapOp::Exp, &[shifted]);
    let sum = b.reduce(ReduceOp::Sum, e);
    let y = b.op(MapOp::Divide, &[e, sum]);
    let y = if dtype.is_half() { b.cast(y, dtype) } else { y };
    b.output(y);
    b.finish()
}

/// Layer norm along the last axis with gain and bias. Scalars: 1/n and epsilon.
pub fn layer_norm(rows: usize, columns: usize, dtype: DType) -> Fused {
    let mut b = Builder::row(&[rows], &[columns]);
    let along = Window { offset: 0, strides: [0, 1].into_iter().collect() };
    let (x, gain, bias) = (b.input(dtype), b.load(dtype, along.clone()), b.load(dtype, along));
    let half = dtype.is_half();
    let [x, gain, bias] = [x, gain, bias].map(|v| if half { b.cast(v, DType::F32) } else { v });
    let (share, epsilon) = (b.scalar(0, dtype.compute()), b.scalar(1, dtype.compute()));
    let sum = b.reduce(ReduceOp::Sum, x);
    let mean = b.op(MapOp::Multiply, &[sum, share]);
    let centred = b.op(MapOp::Subtract, &[x, mean]);
    let squared = b.op(MapOp::Square, &[centred]);
    let squares = b.reduce(ReduceOp::Sum, squared);
    let variance = b.op(MapOp::Multiply, &[squares, share]);
    let safe = b.op(MapOp::Add, &[variance, epsilon]);
    let deviation = b.op(MapOp::Sqrt, &[safe]);
    let unit = b.op(MapOp::Divide, &[centred, deviation]);
    let scaled = b.op(MapOp::Multiply, &[unit, gain]);
    let y = b.op(MapOp::Add, &[scaled, bias]);
    let y = if half { b.cast(y, dtype) } else { y };
    b.output(y);
    b.finish()
}

/// Columns of a matrix with mean 0 and deviation 1. Scalar: 1/n.
pub fn standardise(rows: usize, columns: usize) -> Fused {
    let mut b = Builder::column(&[], &[rows], &[columns]);
    let x = b.input(DType::F32);
    let share = b.scalar(0, DType::F32);
    let sum = b.reduce(ReduceOp::Sum, x);
    let mean = b.op(MapOp::Multiply, &[sum, share]);
    let centred = b.op(MapOp::Subtract, &[x, mean]);
    let squared = b.op(MapOp::Square, &[centred]);
    let squares = b.reduce(ReduceOp::Sum, squared);
    let variance = b.op(MapOp::Multiply, &[squares, share]);
    let deviation = b.op(MapOp::Sqrt, &[variance]);
    let y = b.op(MapOp::Divide, &[centred, deviation]);
    b.output(y);
    b.finish()
}

/// Sums of the columns of a matrix.
pub fn column_sums(rows: usize, columns: usize) -> Fused {
    let mut b = Builder::column(&[], &[rows], &[columns]);
    let x = b.input(DType::F32);
    let sum = b.reduce(ReduceOp::Sum, x);
    b.output(sum);
    b.finish()
}

/// Sums of the columns of each of several matrices.
pub fn stacked_sums(matrices: usize, rows: usize, columns: usize) -> Fused {
    let mut b = Builder::column(&[matrices], &[rows], &[columns]);
    let x = b.input(DType::F32);
    let sum = b.reduce(ReduceOp::Sum, x);
    b.output(sum);
    b.finish()
}

/// The sum of everything, as one row.
pub fn full_sum(count: usize) -> Fused {
    let mut b = Builder::row(&[], &[count]);
    let x = b.input(DType::F32);
    let sum = b.reduce(ReduceOp::Sum, x);
    b.output(sum);
    b.finish()
}

/// Uniform numbers in [0, 1): the upper 24 bits of Philox words.
pub fn uniform(count: usize) -> Fused {
    let mut b = Builder::map(&[count]);
    let window = Window { offset: 0, strides: [1].into_iter().collect() };
    let word = b.random(window, 7);
    let eight = b.scalar(0, DType::U32);
    let bits = b.op(MapOp::BitwiseRightShift, &[word, eight]);
    let number = b.cast(bits, DType::F32);
    let unit = b.scalar(1, DType::F32);
    let y = b.op(MapOp::Multiply, &[number, unit]);
    b.output(y);
    b.finish()
}

/// The index of the first largest element of every row.
pub fn argmax(rows: usize, columns: usize) -> Fused {
    let mut b = Builder::row(&[rows], &[columns]);
    let x = b.input(DType::F32);
    let place = b.reduce(ReduceOp::ArgMax, x);
    b.output(place);
    b.finish()
}

/// The kernels of the golden tests, by name.
pub fn golden() -> Vec<(&'static str, Fused)> {
    vec![
        ("map_gelu_f32", gelu(1 << 20, DType::F32)),
        ("map_expression_f64", expression(1 << 20)),
        ("map_strided_f32", strided(1000, 77)),
        ("map_gelu_bf16", gelu(1 << 20, DType::BF16)),
        ("map_bias_f32", bias(1000, 768, DType::F32)),
        ("map_uniform", uniform(1 << 20)),
        ("row_softmax_f32", softmax(4096, 1024, DType::F32)),
        ("row_softmax_block_f32", softmax(4096, 4096, DType::F32)),
        ("row_layer_norm_bf16", layer_norm(4096, 768, DType::BF16)),
        ("row_argmax_f32", argmax(1000, 1000)),
        ("row_full_sum_f32", full_sum(10_000_000)),
        ("column_standardise_f32", standardise(10_000, 1000)),
        ("column_sums_short_f32", column_sums(100, 1000)),
        ("column_sums_block_f32", stacked_sums(1000, 1000, 512)),
    ]
}
