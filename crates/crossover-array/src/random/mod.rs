//! Random numbers as pure functions of a key and a position.
//!
//! Philox4x32-10: the same key and shape give the same numbers on every device, in any order. Nothing is hidden:
//! whoever wants different numbers uses a different key.
//!
//! ```
//! use crossover_array::random::{self, Key};
//! let key = Key::new(42);
//! let noise = random::normal::<f32>(&key, [1000]);
//! assert!(noise.mean(()).item::<f32>()?.abs() < 0.2);
//! # Ok::<(), crossover_array::Error>(())
//! ```
//!
//! Every function takes a key, then the shape of the result, then what the distribution asks for. Parameters are
//! numbers or arrays that broadcast to the shape. A number outside the domain is an error; an element of an array that
//! is gives NaN, because kernels never raise.

mod continuous;
mod discrete;
mod order;

use std::panic::Location;

use crossover_core::{Number, Shape, philox};

pub use self::{
    continuous::{
        exponential, exponential_dtype, gamma, gamma_dtype, normal, normal_dtype, uniform, uniform_dtype,
    },
    discrete::{bernoulli, categorical, integers, integers_dtype, poisson, poisson_dtype},
    order::{choice, permutation, shuffle},
};
use crate::{
    Array, Error, Operand, Result,
    compose::{Composer, Value},
    convert,
};

/// A key: 64 bits that name an independent stream of random numbers.
///
/// Derived keys are blocks of Philox under this key with counters that no array of random numbers uses, so they are
/// independent of each other, of this key's numbers, and of how many are derived.
///
/// ```
/// use crossover_array::random::{Key, uniform};
/// let (a, b) = Key::new(7).split();
/// assert_ne!(uniform::<f32>(&a, [4]).to_vec::<f32>()?, uniform::<f32>(&b, [4]).to_vec::<f32>()?);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    words: [u32; 2],
}

/// The last word of a counter says what the block is for; numbers use 0, sequences 3.
const SPLIT: u32 = 1;
const FOLD: u32 = 2;

impl Key {
    /// The key of a seed.
    ///
    /// ```
    /// # use crossover_array::random::Key;
    /// assert_eq!(Key::new(1), Key::new(1));
    /// ```
    pub fn new(seed: u64) -> Key {
        Key { words: [seed as u32, (seed >> 32) as u32] }
    }

    /// Two independent keys.
    ///
    /// ```
    /// # use crossover_array::random::Key;
    /// let (a, b) = Key::new(1).split();
    /// assert_ne!(a, b);
    /// ```
    pub fn split(&self) -> (Key, Key) {
        (self.derive(0, SPLIT), self.derive(1, SPLIT))
    }

    /// `n` independent keys; the first two are those of [`split`](Key::split).
    ///
    /// ```
    /// # use crossover_array::random::Key;
    /// let keys = Key::new(1).split_n(3)?;
    /// assert_eq!((keys[0], keys[1]), Key::new(1).split());
    /// assert!(Key::new(1).split_n(usize::MAX).is_err(), "there is no room for so many");
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn split_n(&self, n: usize) -> Result<Vec<Key>> {
        let location = Location::caller();
        let mut keys = convert::room(n).map_err(|e| Error::new(e, location))?;
        keys.extend((0..n as u64).map(|i| self.derive(i, SPLIT)));
        Ok(keys)
    }

    /// The key for a number: a step of training, a row, a worker.
    ///
    /// ```
    /// # use crossover_array::random::Key;
    /// let key = Key::new(1);
    /// assert_ne!(key.fold(0), key.fold(1));
    /// assert_ne!(key.fold(0), key.split().0);
    /// ```
    pub fn fold(&self, number: u64) -> Key {
        self.derive(number, FOLD)
    }

    fn derive(&self, number: u64, purpose: u32) -> Key {
        let block = philox::block([number as u32, (number >> 32) as u32, 0, purpose], self.words);
        Key { words: [block[0], block[1]] }
    }

    fn array(&self, location: &'static Location<'static>) -> Array {
        Array::copied("random", &self.words, Shape::from([2]), location)
    }
}

/// An array of a composition that draws numbers under a key.
#[track_caller]
fn drawn<const N: usize>(
    op: &'static str,
    key: &Key,
    shape: Shape,
    operands: [&Array; N],
    body: impl FnOnce(&mut Composer, &Value, [&Value; N], &Shape) -> crossover_core::Result<Value>,
) -> Array {
    let key = key.array(Location::caller());
    let all: Vec<&Array> = std::iter::once(&key).chain(operands).collect();
    Array::build_many(&all, |b, values| {
        let shape = Shape::checked(op, shape.iter().copied())?;
        // One value per array that was given, in order.
        body(b, &values[0], std::array::from_fn(|i| &values[i + 1]), &shape)
    })
}

/// A parameter of a distribution as an array; a number is checked at once.
#[track_caller]
fn parameter(
    op: &'static str,
    value: Operand<'_>,
    rule: &'static str,
    holds: impl FnOnce(f64) -> bool,
) -> Result<Array, Array> {
    match value {
        Operand::Array(array) => Ok(array.into_owned()),
        Operand::Number(number) => {
            let real = match number {
                Number::Bool(v) => v as u8 as f64,
                Number::Int(v) => v as f64,
                Number::Float(v) => v,
                Number::Complex(..) => f64::NAN,
            };
            if holds(real) {
                return Ok(Array::scalar(real));
            }
            let what = format!("{number:?} is not {rule}");
            Err(Array::wrong(crossover_core::Error::Value { op, what }, Location::caller()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_keys_are_blocks_of_philox() {
        let key = Key::new(0x0000_0002_0000_0001);
        let block = philox::block([3, 0, 0, FOLD], [1, 2]);
        assert_eq!(key.fold(3).words, [block[0], block[1]]);
        let block = philox::block([1, 0, 0, SPLIT], [1, 2]);
        assert_eq!(key.split().1.words, [block[0], block[1]]);
    }
}
