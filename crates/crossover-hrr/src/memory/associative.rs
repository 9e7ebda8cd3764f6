//! Pairs in one vector.

use std::sync::atomic::{AtomicBool, Ordering};

use crossover_array::Array;
use tracing::warn;

use super::{ItemMemory, Named};
use crate::{Error, RELIABLE, Result, Space};

/// How much retrieval from a memory can be relied upon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reliability {
    /// Pairs that were stored.
    pub pairs: usize,
    /// Items that answers are chosen from.
    pub items: usize,
    /// The probability that an answer is right, by the closed form.
    pub probability: f64,
    /// Pairs that could be stored until it falls below [`RELIABLE`].
    pub capacity: usize,
}

impl Reliability {
    /// Whether answers are right with probability [`RELIABLE`].
    pub fn is_reliable(&self) -> bool {
        self.probability >= RELIABLE
    }
}

/// Associations between items of an [`ItemMemory`], superposed in one vector of fixed size.
///
/// It never grows; instead, answers become less certain with every pair. [`reliability`](AssociativeMemory::reliability) says how certain they are, and a
/// warning is logged (`crossover::hrr`) when they become unreliable: by a pair that is stored, or, when something is recalled, by items that were added.
///
/// ```
/// use crossover_hrr::{AssociativeMemory, ItemMemory, Model, Space};
/// let space = Space::new(Model::Hrr, 1024)?;
/// let mut words = ItemMemory::new(space.clone());
/// words.add_all(&["France", "Paris", "Japan", "Tokyo", "Peru", "Lima"])?;
/// let mut capitals = AssociativeMemory::new(space)?;
/// for (country, capital) in [("France", "Paris"), ("Japan", "Tokyo"), ("Peru", "Lima")] {
///     capitals.store(&words, country, capital)?;
/// }
/// assert_eq!(capitals.recall(&words, "Japan", 0.2)?.unwrap().name, "Tokyo");
/// assert!(capitals.reliability(&words).is_reliable());
/// # Ok::<(), crossover_hrr::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct AssociativeMemory {
    space: Space,
    /// The sum, not normalised, so that pairs can be taken out again.
    sum: Array,
    pairs: usize,
    warned: Warned,
}

/// Whether it has been said that answers are unreliable.
#[derive(Debug, Default)]
struct Warned(AtomicBool);

impl Clone for Warned {
    fn clone(&self) -> Warned {
        Warned(AtomicBool::new(self.0.load(Ordering::Relaxed)))
    }
}

impl AssociativeMemory {
    /// Without pairs. Sums of bits are no bits, so that [`Model::Bsc`](crate::Model::Bsc) has no such memory; superpose its pairs at once instead.
    pub fn new(space: Space) -> Result<AssociativeMemory> {
        if space.model() == crate::Model::Bsc {
            let why = "a majority cannot be added to; superpose all pairs at once with bind_superpose";
            return Err(Error::Model { op: "associative memory", model: space.model(), why });
        }
        let sum = Array::zeros_dtype([space.d()], space.dtype());
        Ok(AssociativeMemory { space, sum, pairs: 0, warned: Warned::default() })
    }

    /// The space of its vector.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Pairs that were stored and not forgotten.
    pub fn pairs(&self) -> usize {
        self.pairs
    }

    /// The superposition.
    pub fn trace(&self) -> &Array {
        &self.sum
    }

    /// Stores a pair of items by name.
    pub fn store(&mut self, items: &ItemMemory, key: &str, value: &str) -> Result<()> {
        self.store_vectors(&items.get(key)?, &items.get(value)?)?;
        self.warn(items);
        Ok(())
    }

    /// Says so, once, when answers become unreliable.
    fn warn(&self, items: &ItemMemory) {
        // Without the capacity, which takes many times as long.
        let is_unreliable = self.pairs > 0 && self.probability(items.len()) < RELIABLE;
        if self.warned.0.swap(is_unreliable, Ordering::Relaxed) || !is_unreliable {
            return;
        }
        let reliability = self.reliability(items);
        warn!(
            target: "crossover::hrr",
            pairs = reliability.pairs,
            items = reliability.items,
            capacity = reliability.capacity,
            probability = reliability.probability,
            "answers of an associative memory have become unreliable; use a larger d or several memories"
        );
    }

    fn probability(&self, items: usize) -> f64 {
        self.space.retrieval_probability(self.pairs.max(1), items)
    }

    /// Stores a pair of vectors.
    pub fn store_vectors(&mut self, key: &Array, value: &Array) -> Result<()> {
        let bound = self.one(key, value)?;
        self.sum = self.space.narrowed(&(self.space.widened(&self.sum) + self.space.widened(&bound)));
        self.sum.eval()?;
        self.pairs += 1;
        Ok(())
    }

    /// Takes a pair out again that was stored; what is left is the same up to rounding.
    pub fn forget(&mut self, key: &Array, value: &Array) -> Result<()> {
        if self.pairs == 0 {
            return Err(Error::value("forget", "no pair is stored"));
        }
        let bound = self.one(key, value)?;
        self.sum = self.space.narrowed(&(self.space.widened(&self.sum) - self.space.widened(&bound)));
        self.sum.eval()?;
        self.pairs -= 1;
        Ok(())
    }

    fn one(&self, key: &Array, value: &Array) -> Result<Array> {
        let bound = self.space.bind(key, value)?;
        if bound.ndim() != 1 {
            return Err(Error::value(
                "store",
                format!("wants one pair, not vectors of shape {}", bound.shape()),
            ));
        }
        Ok(bound)
    }

    /// What was stored with a key, with the noise of the other pairs.
    pub fn recall_vector(&self, key: &Array) -> Result<Array> {
        self.space.unbind(&self.sum, key)
    }

    /// The item that was stored with a key, or `None` if no item is as alike as `threshold`.
    pub fn recall(&self, items: &ItemMemory, key: &str, threshold: f64) -> Result<Option<Named>> {
        let found = items.query(&self.recall_vector(&items.get(key)?)?, threshold)?;
        self.warn(items);
        Ok(found.into_iter().next().flatten())
    }

    /// How much answers can be relied upon.
    pub fn reliability(&self, items: &ItemMemory) -> Reliability {
        let items = items.len();
        Reliability {
            pairs: self.pairs,
            items,
            probability: self.probability(items),
            capacity: self.space.capacity(items, RELIABLE),
        }
    }
}
