//! Rotary position embedding, in both conventions.

use crossover_array::{Array, DType, Rotary};

/// Turns pairs of elements of heads by angles that grow with their place: pair `i` of `n` at place `p` by `p * base^(-i / n)`.
///
/// `x` is `[…, length, head_size]`; places count from `offset`. Angles are computed in `f64`, so that they are right at any place;
/// 16-bit elements are turned in `f32`.
///
/// ```
/// use crossover_array::Array;
/// use crossover_nn::{Rotary, rotary};
/// let x = Array::from([[1.0f32, 0.0], [1.0, 0.0]]);
/// let y = rotary(&x, 0, 10_000.0, Rotary::Halves).to_vec::<f32>()?;
/// assert_eq!(y[..2], [1.0, 0.0]);
/// assert!((y[2] - 1f32.cos()).abs() < 1e-6 && (y[3] - 1f32.sin()).abs() < 1e-6);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn rotary(x: &Array, offset: usize, base: f64, kind: Rotary) -> Array {
    let refuse = |what: String| Array::refused("rotary", what);
    let (length, size) = match x.shape().dims() {
        [.., length, size] if size.is_multiple_of(2) && *size > 0 => (*length, *size),
        _ => {
            return refuse(format!(
                "x has the shape {}; it takes […, length, head size], the last even",
                x.shape()
            ));
        }
    };
    if !x.dtype().is_float() {
        return refuse(format!("x is {}; it takes floats", x.dtype()));
    }
    if !base.is_finite() || base <= 0.0 {
        return refuse(format!("base is {base}; it must be positive"));
    }
    let pairs = size / 2;
    let places = Array::arange(length as i64).astype(DType::F64) + offset as f64;
    let steps = (Array::arange(pairs as i64).astype(DType::F64) * (-base.ln() / pairs as f64)).exp();
    let angles = places.expand_dims(1) * steps;
    x.turn_pairs(&angles.sin(), &angles.cos(), kind)
}
