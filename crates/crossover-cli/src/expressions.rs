//! Array code as users write it, the work that the tour shows and the benchmark times.
//!
//! Each function uses its operands for the first time in the order they are given; the tour relies on it when it
//! hands the same operands to the reference.

use crossover::{
    Array, DType, keepdims,
    random::{self, Key},
};

/// Columns of a sinusoidal encoding.
pub const ENCODING: usize = 512;

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

/// The frequencies and phases that [`sinusoid`] takes, one of each per column.
///
/// Column 2i has the sine and column 2i + 1 the cosine of position · 10000^(-2i / [`ENCODING`]); a cosine is a sine a
/// quarter turn ahead.
pub fn sinusoid_rows() -> (Vec<f32>, Vec<f32>) {
    let frequency = |column: usize| 10000f64.powf(-((column / 2 * 2) as f64) / ENCODING as f64) as f32;
    let phase = |column: usize| if column.is_multiple_of(2) { 0.0 } else { std::f32::consts::FRAC_PI_2 };
    ((0..ENCODING).map(frequency).collect(), (0..ENCODING).map(phase).collect())
}

/// The sinusoidal encoding of positions: one more axis, of length [`ENCODING`].
///
/// The product and the phase round once, together. In f32 that is off by up to half a unit in the last place of the
/// angle: 6e-5 at position 2047, as for everybody who forms the product in f32.
pub fn sinusoid(positions: &Array, frequencies: &Array, phases: &Array) -> Array {
    positions.astype(DType::F32).expand_dims(-1).fma(frequencies, phases).sin()
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
