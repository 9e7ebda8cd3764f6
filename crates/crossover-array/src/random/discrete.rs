//! Distributions of integers and truths.

use std::ops::{Bound, RangeBounds};

use crossover_core::{DType, Element, Scalar, Shape, compose};

use super::{Key, drawn, parameter};
use crate::{Array, Operand};

/// Integers spread evenly over a range: `0..10`, `1..=6`, `..` for all of the dtype.
///
/// Each is as probable as any other, to one part in 2^64, whatever the range.
///
/// ```
/// use crossover_array::random::{Key, integers};
/// let dice = integers(&Key::new(0), [100], 1..=6u8).to_vec::<u8>()?;
/// assert!((1..=6).all(|face| dice.contains(&face)));
/// assert!(dice.iter().all(|face| (1..=6).contains(face)));
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn integers<T: Element>(key: &Key, shape: impl Into<Shape>, range: impl RangeBounds<T>) -> Array {
    let dtype = T::DTYPE;
    let bound = |value: &T| integer(value.to_scalar());
    let low = match range.start_bound() {
        Bound::Included(value) => bound(value),
        Bound::Excluded(value) => bound(value) + 1,
        Bound::Unbounded => limits(dtype).0,
    };
    let high = match range.end_bound() {
        Bound::Included(value) => bound(value),
        Bound::Excluded(value) => bound(value) - 1,
        Bound::Unbounded => limits(dtype).1,
    };
    within(key, shape.into(), low, high, dtype)
}

/// Integers from `low` up to but not including `high`, of a dtype that is known at run time.
///
/// ```
/// use crossover_array::{DType, random::{Key, integers_dtype}};
/// let x = integers_dtype(&Key::new(0), [100], -5, 5, DType::I16);
/// assert_eq!(x.dtype(), DType::I16);
/// assert!(x.min(()).item::<i16>()? >= -5 && x.max(()).item::<i16>()? < 5);
/// assert!(integers_dtype(&Key::new(0), [1], 0, 300, DType::U8).check().is_err());
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn integers_dtype(key: &Key, shape: impl Into<Shape>, low: i128, high: i128, dtype: DType) -> Array {
    within(key, shape.into(), low, high.saturating_sub(1), dtype)
}

#[track_caller]
fn within(key: &Key, shape: Shape, low: i128, high: i128, dtype: DType) -> Array {
    drawn("integers", key, shape, [], |b, key, [], shape| compose::integers(b, key, shape, low, high, dtype))
}

/// The value of an integer; other dtypes are refused when the numbers are drawn.
fn integer(value: Scalar) -> i128 {
    let bits = value.bits()[0];
    let width = 64 - 8 * value.dtype().size().min(8) as u32;
    if value.dtype().is_signed_int() { ((bits << width) as i64 >> width) as i128 } else { bits as i128 }
}

/// Smallest and largest integer of a dtype.
fn limits(dtype: DType) -> (i128, i128) {
    let bits = 8 * dtype.size() as u32;
    if dtype.is_signed_int() {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits.min(64)) - 1)
    }
}

/// Truths that hold with a probability.
///
/// ```
/// use crossover_array::random::{Key, bernoulli};
/// let mask = bernoulli(&Key::new(0), [1000], 0.25);
/// assert!((mask.mean(()).item::<f64>()? - 0.25).abs() < 0.05);
/// assert!(bernoulli(&Key::new(0), [2], 1.5).check().is_err());
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn bernoulli<'a>(key: &Key, shape: impl Into<Shape>, probability: impl Into<Operand<'a>>) -> Array {
    match parameter("bernoulli", probability.into(), "a probability: 0 to 1", |v| (0.0..=1.0).contains(&v)) {
        Ok(probability) => drawn("bernoulli", key, shape.into(), [&probability], |b, key, [p], shape| {
            compose::bernoulli(b, key, p, shape)
        }),
        Err(wrong) => wrong,
    }
}

/// Numbers of the Poisson distribution with a mean, as integers or floats.
///
/// Each element has a sequence of draws of its own, defined in [`crossover_core::sample`]. Integers saturate.
///
/// ```
/// use crossover_array::{Array, random::{Key, poisson}};
/// let x = poisson::<i64>(&Key::new(0), [1000], 4.0);
/// assert!((x.mean(()).item::<f64>()? - 4.0).abs() < 0.3);
/// assert_eq!(poisson::<i32>(&Key::new(0), [2], &Array::from([0.0, 0.0])).to_vec::<i32>()?, [0, 0]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn poisson<'a, T: Element>(key: &Key, shape: impl Into<Shape>, mean: impl Into<Operand<'a>>) -> Array {
    poisson_dtype(key, shape, mean, T::DTYPE)
}

/// Numbers of the Poisson distribution, of a dtype that is known at run time.
///
/// ```
/// use crossover_array::{DType, random::{Key, poisson_dtype}};
/// assert_eq!(poisson_dtype(&Key::new(0), [3], 2.5, DType::U16).dtype(), DType::U16);
/// assert!(poisson_dtype(&Key::new(0), [3], 2.5, DType::Bool).check().is_err());
/// ```
#[track_caller]
pub fn poisson_dtype<'a>(
    key: &Key,
    shape: impl Into<Shape>,
    mean: impl Into<Operand<'a>>,
    dtype: DType,
) -> Array {
    match parameter("poisson", mean.into(), "a mean: at least 0 and finite", |v| v >= 0.0 && v.is_finite()) {
        Ok(mean) => drawn("poisson", key, shape.into(), [&mean], |b, key, [mean], shape| {
            compose::poisson(b, key, mean, shape, dtype)
        }),
        Err(wrong) => wrong,
    }
}

/// Positions along an axis, each with a probability in proportion to the exponential of its logit.
///
/// One position is drawn for each entry of the other axes; broadcast the logits to draw more. Logits of -inf are never
/// chosen.
///
/// ```
/// use crossover_array::{Array, random::{Key, categorical}};
/// let logits = Array::from([0.1, 0.0, 0.9]).log();
/// let drawn = categorical(&Key::new(0), &logits.broadcast_to([1000, 3]), -1);
/// assert_eq!(drawn.shape().dims(), [1000]);
/// let counts: Vec<usize> = (0..3).map(|i| drawn.to_vec::<i64>().unwrap().iter().filter(|&&d| d == i).count()).collect();
/// assert!(counts[1] == 0 && counts[2] > 800);
/// ```
#[track_caller]
pub fn categorical(key: &Key, logits: &Array, axis: i64) -> Array {
    if logits.dtype().is_complex() {
        let supported = crossover_core::DTypeSet::REAL.to_string();
        let error = crossover_core::Error::DType { op: "categorical", dtype: logits.dtype(), supported };
        return Array::wrong(error, std::panic::Location::caller());
    }
    drawn("categorical", key, Shape::scalar(), [logits], |b, key, [logits], _| {
        compose::categorical(b, key, logits, axis)
    })
}

#[cfg(test)]
mod tests {
    use crossover_core::Number;

    use super::*;

    #[test]
    fn integers_of_every_width_are_read() {
        assert_eq!(integer((-1i8).to_scalar()), -1);
        assert_eq!(integer(i64::MIN.to_scalar()), i64::MIN as i128);
        assert_eq!(integer(u64::MAX.to_scalar()), u64::MAX as i128);
        for dtype in crossover_core::DTypeSet::INT.iter() {
            let (low, high) = limits(dtype);
            assert!(!Number::Int(low).overflows(dtype) && !Number::Int(high).overflows(dtype));
            assert!(Number::Int(low - 1).overflows(dtype) && Number::Int(high + 1).overflows(dtype));
        }
    }
}
