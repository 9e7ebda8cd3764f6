//! Array code as users write it, the work that the tour shows and the benchmark times.
//!
//! Each function uses its operands for the first time in the order they are given; the tour relies on it when it
//! hands the same operands to the reference.

use crossover::{
    Array, DType, keepdims,
    nn::{Activation, Attention, LayerNorm, Linear, Module, MultiHeadAttention, Norm, TransformerLayer},
    random::{self, Key},
};

/// Columns of a sinusoidal encoding.
pub const ENCODING: usize = 512;

/// Operands of [`transformer_layer`]: its input, and its parameters by their names with `_` for the dots.
pub const LAYER: [&str; 13] = [
    "x",
    "self_attn_in_proj_weight",
    "self_attn_in_proj_bias",
    "self_attn_out_proj_weight",
    "self_attn_out_proj_bias",
    "linear1_weight",
    "linear1_bias",
    "linear2_weight",
    "linear2_bias",
    "norm1_weight",
    "norm1_bias",
    "norm2_weight",
    "norm2_bias",
];
/// Heads of the layer.
const HEADS: usize = 12;

/// A transformer layer with norms first and GELU by the error function, of the operands that [`LAYER`] names.
pub fn transformer_layer(x: &[Array]) -> Array {
    let linear = |at: usize| Linear { weight: x[at].clone(), bias: Some(x[at + 1].clone()) };
    let norm = |at: usize| LayerNorm { weight: x[at].clone(), bias: Some(x[at + 1].clone()), epsilon: 1e-5 };
    let layer = TransformerLayer {
        self_attn: MultiHeadAttention {
            in_proj_weight: x[1].clone(),
            in_proj_bias: Some(x[2].clone()),
            out_proj: linear(3),
            heads: HEADS,
            options: Attention::new(),
        },
        linear1: linear(5),
        linear2: linear(7),
        norm1: norm(9),
        norm2: norm(11),
        norm: Norm::Pre,
        activation: Activation::GeluExact,
    };
    layer.forward(&x[0])
}

/// a·b + √a − b/2.
pub fn expression(a: &Array, b: &Array) -> Array {
    a * b + a.sqrt() - b / 2.0
}

/// (x − mean) / √(variance + 1e-5) of every row, times a scale, plus a shift.
pub fn layer_norm(x: &Array, scale: &Array, shift: &Array) -> Array {
    let distance = x - x.mean(keepdims(-1));
    let variance = distance.square().mean(keepdims(-1));
    let inverse = 1.0 / (variance + 1e-5).sqrt();
    distance * inverse * scale + shift
}

/// exp(x) / Σ exp(x) of every row, shifted by the maximum so that nothing overflows.
pub fn softmax(x: &Array) -> Array {
    let powers = (x - x.max(keepdims(-1))).exp();
    let total = powers.sum(keepdims(-1));
    powers / total
}

/// (x − mean) / deviation of every column.
pub fn standardise(x: &Array) -> Array {
    let distance = x - x.mean(keepdims(0));
    let deviation = distance.square().mean(keepdims(0)).sqrt();
    distance / deviation
}

/// The frequencies that [`sinusoid`] takes: 10000^(-2i / [`ENCODING`]), one per pair of columns.
pub fn frequencies() -> Vec<f32> {
    (0..ENCODING / 2).map(|i| 10000f64.powf(-2.0 * i as f64 / ENCODING as f64) as f32).collect()
}

/// The sinusoidal encoding of positions, one more axis of length [`ENCODING`]: sines in even columns, cosines in odd ones.
///
/// In f32 the angle is off by up to half a unit in its last place, 6e-5 at position 2047, as for everybody who forms
/// the product in f32.
pub fn sinusoid(positions: &Array, frequencies: &Array) -> Array {
    let angles = positions.astype(DType::F32).expand_dims(-1) * frequencies;
    let mut shape: Vec<usize> = positions.shape().dims().to_vec();
    shape.push(ENCODING);
    Array::stack(&[&angles.sin(), &angles.cos()], -1).reshape(shape)
}

/// How many of `samples` points, uniform in the unit square, lie within the circle.
pub fn points_inside(across: &Key, up: &Key, samples: usize) -> Array {
    let x = random::uniform::<f32>(across, [samples]);
    let y = random::uniform::<f32>(up, [samples]);
    (x.square() + y.square()).less_equal(1.0).sum(())
}

/// π from as many samples, as f64.
pub fn pi(across: &Key, up: &Key, samples: usize) -> Array {
    points_inside(across, up, samples).astype(DType::F64) * (4.0 / samples as f64)
}

/// Five times y = y·a, y = y + b: ten operations that depend on each other.
pub fn ten_dependent(x: &Array, a: &Array, b: &Array) -> Array {
    let mut y = x.clone();
    for _ in 0..5 {
        y = &y * a;
        y = &y + b;
    }
    y
}
