//! Random orders and choices.

use std::panic::Location;

use crossover_core::{DType, Error, Shape, compose};

use super::{Key, drawn, exponential, integers};
use crate::{Array, Result};

/// The integers 0 to n - 1 in a random order.
///
/// Every element gets 64 random bits, and the order is that of the bits; equal ones, of which there are hardly any,
/// stay in order.
///
/// ```
/// use crossover_array::random::{Key, permutation};
/// let mut order = permutation(&Key::new(0), 10).to_vec::<i64>()?;
/// assert_ne!(order, (0..10).collect::<Vec<_>>());
/// order.sort();
/// assert_eq!(order, (0..10).collect::<Vec<_>>());
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn permutation(key: &Key, n: usize) -> Array {
    integers::<u64>(key, [n], ..).argsort(0)
}

/// The entries along an axis in a random order.
///
/// ```
/// use crossover_array::{Array, random::{Key, shuffle}};
/// let x = Array::arange(20).reshape([10, 2]);
/// let y = shuffle(&Key::new(0), &x, 0);
/// assert_eq!(y.sum(0).to_vec::<i64>()?, x.sum(0).to_vec::<i64>()?);
/// assert_eq!((y.slice(crossover_array::s![.., 1]) - y.slice(crossover_array::s![.., 0])).max(()).item::<i64>()?, 1);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn shuffle(key: &Key, values: &Array, axis: i64) -> Array {
    match values.shape().axis("shuffle", axis) {
        _ if values.failure().is_some() => values.clone(),
        Ok(position) => values.take(&permutation(key, values.shape()[position]), axis),
        Err(error) => Array::wrong(error, Location::caller()),
    }
}

/// Entries along the first axis, chosen with or without replacement, evenly or by probabilities.
///
/// Probabilities need not add up to 1; they are weights. They are evaluated at once, since what they are decides
/// whether there is enough to choose from. Without replacement, entries come in the order in which they were chosen: each
/// next one in proportion to the weights that are left.
///
/// ```
/// use crossover_array::{Array, random::{Key, choice}};
/// let x = Array::from([10, 20, 30]);
/// let with = choice(&Key::new(0), [100], &x, true, None);
/// assert_eq!(with.shape().dims(), [100]);
/// let without = choice(&Key::new(0), [3], &x, false, None);
/// assert_eq!(without.sum(()).item::<i64>()?, 60);
/// let weighted = choice(&Key::new(0), [50], &x, true, Some(&Array::from([0.0, 1.0, 1.0])));
/// assert_eq!(weighted.min(()).item::<i32>()?, 20);
/// assert!(choice(&Key::new(0), [4], &x, false, None).check().is_err());
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn choice(
    key: &Key,
    shape: impl Into<Shape>,
    values: &Array,
    replace: bool,
    probabilities: Option<&Array>,
) -> Array {
    let location = Location::caller();
    let shape = shape.into();
    match positions(key, &shape, values, replace, probabilities) {
        Ok(positions) => values.take(&positions, 0),
        Err(Wrong::Request(what)) => Array::wrong(Error::Value { op: "choice", what }, location),
        Err(Wrong::Operand(error)) => Array::failed(error),
    }
}

/// Why there is nothing to choose.
enum Wrong {
    Request(String),
    Operand(crate::Error),
}

impl From<crate::Error> for Wrong {
    fn from(error: crate::Error) -> Wrong {
        Wrong::Operand(error)
    }
}

#[track_caller]
fn positions(
    key: &Key,
    shape: &Shape,
    values: &Array,
    replace: bool,
    probabilities: Option<&Array>,
) -> Result<Array, Wrong> {
    values.check()?;
    let Some(&length) = values.shape().dims().first() else {
        return Err(Wrong::Request("a value without axes has nothing to choose from".to_string()));
    };
    let shape = match Shape::checked("choice", shape.iter().copied()) {
        Ok(shape) => shape,
        Err(error) => return Err(Wrong::Request(error.to_string())),
    };
    if length == 0 && shape.size() > 0 {
        return Err(Wrong::Request("there is nothing to choose from".to_string()));
    }
    let weights = probabilities.map(|given| weights(given, length)).transpose()?;
    let available = weights.as_ref().map_or(length, |weights| weights.iter().filter(|&&w| w > 0.0).count());
    if !replace && shape.size() > available {
        let what = format!(
            "{} entries without replacement from {available}; choose fewer, or with replacement",
            shape.size()
        );
        return Err(Wrong::Request(what));
    }
    if shape.size() == 0 {
        return Ok(Array::zeros_dtype(shape, DType::I64));
    }
    Ok(match (replace, weights) {
        (true, None) => integers(key, shape, 0..length as i64),
        (true, Some(weights)) => {
            let mut total = 0.0;
            let cumulative: Vec<f64> = weights
                .iter()
                .map(|weight| {
                    total += weight;
                    total
                })
                .collect();
            if !total.is_finite() {
                return Err(Wrong::Request(format!("the probabilities add up to {total}")));
            }
            let cumulative = Array::from(cumulative);
            drawn("choice", key, shape, [&cumulative], |b, key, [sums], shape| {
                compose::choice(b, key, sums, shape)
            })
        }
        (false, None) => permutation(key, length).slice(..shape.size()).reshape(dims(&shape)),
        (false, Some(weights)) => {
            // A race: entry i finishes after an exponential time of rate w, and the first to finish are chosen.
            let times = exponential::<f64>(key, [length]).to_vec::<f64>()?;
            let finish: Vec<f64> = times
                .iter()
                .zip(&weights)
                .map(|(time, weight)| if *weight > 0.0 { time / weight } else { f64::INFINITY })
                .collect();
            let mut order = Array::from(finish).argsort(0).to_vec::<i64>()?;
            // A time that overflows is as late as those that never come; only the latter are out of the question.
            order.retain(|&at| weights[at as usize] > 0.0);
            order.truncate(shape.size());
            Array::from(order).reshape(dims(&shape))
        }
    })
}

fn dims(shape: &Shape) -> Vec<i64> {
    shape.iter().map(|&n| n as i64).collect()
}

/// Weights as numbers, checked.
fn weights(probabilities: &Array, length: usize) -> Result<Vec<f64>, Wrong> {
    probabilities.check()?;
    let shape = probabilities.shape();
    if shape.dims() != [length] {
        return Err(Wrong::Request(format!("probabilities of shape {shape} for {length} entries")));
    }
    let weights = probabilities.astype(DType::F64).to_vec::<f64>()?;
    if let Some(at) = weights.iter().position(|w| !(*w >= 0.0 && w.is_finite())) {
        return Err(Wrong::Request(format!("probability {at} is {}", weights[at])));
    }
    if length > 0 && weights.iter().all(|&w| w == 0.0) {
        return Err(Wrong::Request("all probabilities are 0".to_string()));
    }
    Ok(weights)
}
