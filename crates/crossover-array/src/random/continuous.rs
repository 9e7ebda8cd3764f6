//! Distributions of real numbers.

use crossover_core::{DType, Element, Shape, compose};

use super::{Key, drawn, parameter};
use crate::{Array, Operand};

/// Numbers spread evenly over [0, 1).
///
/// ```
/// use crossover_array::random::{Key, uniform};
/// let x = uniform::<f32>(&Key::new(0), [2, 3]).to_vec::<f32>()?;
/// assert!(x.iter().all(|v| (0.0..1.0).contains(v)));
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn uniform<T: Element>(key: &Key, shape: impl Into<Shape>) -> Array {
    uniform_dtype(key, shape, T::DTYPE)
}

/// Numbers spread evenly over [0, 1), of a dtype that is known at run time.
///
/// ```
/// use crossover_array::{DType, random::{Key, uniform_dtype}};
/// assert_eq!(uniform_dtype(&Key::new(0), [2], DType::F64).dtype(), DType::F64);
/// assert!(uniform_dtype(&Key::new(0), [2], DType::I32).check().is_err());
/// ```
#[track_caller]
pub fn uniform_dtype(key: &Key, shape: impl Into<Shape>, dtype: DType) -> Array {
    drawn("uniform", key, shape.into(), [], |b, key, [], shape| compose::uniform(b, key, shape, dtype))
}

/// Normally distributed numbers of mean 0 and standard deviation 1.
///
/// ```
/// use crossover_array::random::{Key, normal};
/// let x = normal::<f64>(&Key::new(0), [1000]);
/// assert!((x.std(()).item::<f64>()? - 1.0).abs() < 0.1);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn normal<T: Element>(key: &Key, shape: impl Into<Shape>) -> Array {
    normal_dtype(key, shape, T::DTYPE)
}

/// Normally distributed numbers of a dtype that is known at run time.
///
/// ```
/// use crossover_array::{DType, random::{Key, normal_dtype}};
/// assert_eq!(normal_dtype(&Key::new(0), [2], DType::BF16).dtype(), DType::BF16);
/// ```
#[track_caller]
pub fn normal_dtype(key: &Key, shape: impl Into<Shape>, dtype: DType) -> Array {
    drawn("normal", key, shape.into(), [], |b, key, [], shape| compose::normal(b, key, shape, dtype))
}

/// Exponentially distributed numbers of mean 1; divide by a rate for another one.
///
/// ```
/// use crossover_array::random::{Key, exponential};
/// let x = exponential::<f64>(&Key::new(0), [1000]);
/// assert!((x.mean(()).item::<f64>()? - 1.0).abs() < 0.1);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn exponential<T: Element>(key: &Key, shape: impl Into<Shape>) -> Array {
    exponential_dtype(key, shape, T::DTYPE)
}

/// Exponentially distributed numbers of a dtype that is known at run time.
///
/// ```
/// use crossover_array::{DType, random::{Key, exponential_dtype}};
/// assert_eq!(exponential_dtype(&Key::new(0), [2], DType::F16).dtype(), DType::F16);
/// ```
#[track_caller]
pub fn exponential_dtype(key: &Key, shape: impl Into<Shape>, dtype: DType) -> Array {
    drawn("exponential", key, shape.into(), [], |b, key, [], shape| {
        compose::exponential(b, key, shape, dtype)
    })
}

/// Numbers of the gamma distribution with a shape parameter, mean and variance `alpha`, and scale 1; multiply by
/// another scale.
///
/// Drawn in `f64` and rounded once. Each element has a sequence of draws of its own, defined in
/// [`crossover_core::sample`].
///
/// ```
/// use crossover_array::random::{Key, gamma};
/// let x = gamma::<f64>(&Key::new(0), [1000], 3.0);
/// assert!((x.mean(()).item::<f64>()? - 3.0).abs() < 0.3);
/// assert!(gamma::<f64>(&Key::new(0), [2], -1.0).check().is_err());
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn gamma<'a, T: Element>(key: &Key, shape: impl Into<Shape>, alpha: impl Into<Operand<'a>>) -> Array {
    gamma_dtype(key, shape, alpha, T::DTYPE)
}

/// Numbers of the gamma distribution, of a dtype that is known at run time.
///
/// ```
/// use crossover_array::{Array, DType, random::{Key, gamma_dtype}};
/// let alpha = Array::from([[0.5], [2.0]]);
/// assert_eq!(gamma_dtype(&Key::new(0), [2, 3], &alpha, DType::F32).shape().dims(), [2, 3]);
/// ```
#[track_caller]
pub fn gamma_dtype<'a>(
    key: &Key,
    shape: impl Into<Shape>,
    alpha: impl Into<Operand<'a>>,
    dtype: DType,
) -> Array {
    match parameter("gamma", alpha.into(), "a shape: at least 0", |v| v >= 0.0) {
        Ok(alpha) => drawn("gamma", key, shape.into(), [&alpha], |b, key, [alpha], shape| {
            compose::gamma(b, key, alpha, shape, dtype)
        }),
        Err(wrong) => wrong,
    }
}
