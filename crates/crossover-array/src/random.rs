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

use std::panic::Location;

use crossover_core::{DType, Element, Shape, compose, philox};

use crate::Array;

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

/// The last word of a counter says what the block is for; numbers use 0.
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
    /// let keys = Key::new(1).split_n(3);
    /// assert_eq!((keys[0], keys[1]), Key::new(1).split());
    /// ```
    pub fn split_n(&self, n: usize) -> Vec<Key> {
        (0..n as u64).map(|i| self.derive(i, SPLIT)).collect()
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
    let shape = shape.into();
    let key = key.array(Location::caller());
    Array::build([&key], |b, [key]| {
        let shape = Shape::checked("uniform", shape.iter().copied())?;
        compose::uniform(b, key, &shape, dtype)
    })
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
    let shape = shape.into();
    let key = key.array(Location::caller());
    Array::build([&key], |b, [key]| {
        let shape = Shape::checked("normal", shape.iter().copied())?;
        compose::normal(b, key, &shape, dtype)
    })
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
