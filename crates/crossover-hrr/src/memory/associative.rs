//! Pairs in one vector.

use std::sync::atomic::{AtomicBool, Ordering};

use crossover_array::{Array, DType, Device};
use tracing::warn;

use super::{ItemMemory, Named};
use crate::{Error, Model, RELIABLE, Result, Space, kernel};

/// Standard deviations beyond which a pair is certainly not stored: that it is, is less likely than 1 in 10⁹.
const CERTAIN: f64 = 6.0;

/// How much retrieval from a memory can be relied upon.
///
/// ```
/// use crossover_hrr::{AssociativeMemory, ItemMemory, Model, RELIABLE, Space};
/// let space = Space::new(Model::Hrr, 256)?;
/// let mut words = ItemMemory::new(space.clone());
/// words.add_all(&(0..100).map(|i| format!("word {i}")).collect::<Vec<_>>())?;
/// let mut memory = AssociativeMemory::new(space);
/// memory.store(&words, "word 0", "word 1")?;
/// let one = memory.reliability(&words);
/// assert!(one.is_reliable() && one.capacity > 1);
/// // As many pairs as there is room for, and one more.
/// let pairs: Vec<(String, String)> =
///     (1..=one.capacity).map(|i| (format!("word {i}"), format!("word {}", i + 50))).collect();
/// memory.store_all(&words, &pairs)?;
/// let many = memory.reliability(&words);
/// assert_eq!((many.pairs, many.items), (one.capacity + 1, 100));
/// assert!(many.probability < RELIABLE && !many.is_reliable());
/// # Ok::<(), crossover_hrr::Error>(())
/// ```
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
/// What is added up is neither normalised nor rounded, so that pairs can be taken out again: of `bf16` vectors it is in `f32`, of bits it counts ones minus
/// zeros, whose majority answers.
///
/// ```
/// use crossover_hrr::{AssociativeMemory, ItemMemory, Model, Space};
/// let space = Space::new(Model::Hrr, 1024)?;
/// let mut words = ItemMemory::new(space.clone());
/// words.add_all(&["France", "Paris", "Japan", "Tokyo", "Peru", "Lima"])?;
/// let mut capitals = AssociativeMemory::new(space);
/// capitals.store(&words, "France", "Paris")?;
/// capitals.store_all(&words, &[("Japan", "Tokyo"), ("Peru", "Lima")])?;
/// assert_eq!(capitals.recall(&words, "Japan", 0.2)?.unwrap().name, "Tokyo");
/// let all = capitals.recall_all(&words, &["Peru", "France"], 0.2)?;
/// assert_eq!(all[1].as_ref().unwrap().name, "Paris");
/// assert!(capitals.reliability(&words).is_reliable());
/// # Ok::<(), crossover_hrr::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct AssociativeMemory {
    space: Space,
    /// In the dtype that is computed in, not normalised.
    sum: Array,
    pairs: usize,
    warned: Warned,
    /// The hash of the store when it was last the same as this, and whether it still is.
    pub(super) chain: Option<String>,
    pub(super) is_saved: bool,
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
    /// Without pairs.
    pub fn new(space: Space) -> AssociativeMemory {
        let sum = Array::zeros_dtype([space.d()], space.wide_dtype());
        AssociativeMemory { space, sum, pairs: 0, warned: Warned::default(), chain: None, is_saved: false }
    }

    /// With pairs that were added up elsewhere: a [`sum`](AssociativeMemory::sum), or a [`trace`](AssociativeMemory::trace), which of bits is none.
    ///
    /// ```
    /// use crossover_hrr::{AssociativeMemory, Model, Space};
    /// let space = Space::new(Model::Map, 256)?;
    /// let (key, value) = (space.named("key")?, space.named("value")?);
    /// let memory = AssociativeMemory::from_sum(space.clone(), &space.bind(&key, &value)?, 1)?;
    /// let found = space.similarity(&memory.recall_vector(&key)?, &value)?.item::<f32>()?;
    /// assert!(found > 0.999 && memory.pairs() == 1);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn from_sum(space: Space, sum: &Array, pairs: usize) -> Result<AssociativeMemory> {
        let (dtype, d) = (space.wide_dtype(), space.d());
        sum.check()?;
        let (given_dtype, given) = (sum.dtype(), sum.shape().clone());
        let is_sum = given_dtype == dtype && given.dims() == [d];
        let is_trace =
            given_dtype == space.dtype() && dtype != given_dtype && given.dims() == [space.width()];
        if !(is_sum || is_trace && given_dtype != DType::Bool) {
            return Err(Error::Vector { op: "associative memory", dtype, d, given_dtype, given });
        }
        let sum = if is_sum { sum.clone() } else { space.widened(sum) }.frozen();
        sum.eval()?;
        Ok(AssociativeMemory { sum, pairs, ..AssociativeMemory::new(space) })
    }

    /// The space of its vector.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Pairs that were stored and not forgotten.
    ///
    /// ```
    /// use crossover_hrr::{AssociativeMemory, Model, Space};
    /// let space = Space::new(Model::Hrr, 1024)?;
    /// let mut memory = AssociativeMemory::new(space.clone());
    /// let (keys, values) = (space.named_all(&["a", "b"])?, space.named_all(&["x", "y"])?);
    /// memory.store_vectors(&keys, &values)?;
    /// memory.forget(&keys.index(0), &values.index(0))?;
    /// assert_eq!(memory.pairs(), 1);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn pairs(&self) -> usize {
        self.pairs
    }

    /// The superposition, as a vector of the space: the [`sum`](AssociativeMemory::sum), rounded once where its vectors have 16 bits; of bits the majority.
    ///
    /// ```
    /// use crossover_hrr::{AssociativeMemory, Model, Space};
    /// let space = Space::new(Model::Bsc, 256)?;
    /// let (key, value) = (space.named("key")?, space.named("value")?);
    /// let mut memory = AssociativeMemory::new(space.clone());
    /// memory.store_vectors(&key, &value)?;
    /// // Of one pair, the superposition is the pair.
    /// assert_eq!(memory.trace()?.to_vec::<bool>()?, space.bind(&key, &value)?.to_vec::<bool>()?);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn trace(&self) -> Result<Array> {
        match self.space.model() {
            Model::Bsc => self.space.majority(&self.sum),
            _ => Ok(self.space.narrowed(&self.sum).frozen()),
        }
    }

    /// The sum of the bound pairs, in the dtype that is computed in: `f32` where vectors are `bf16` or bits, whose ones count 1 and zeros -1.
    ///
    /// ```
    /// use crossover_hrr::{AssociativeMemory, Model, Space};
    /// let space = Space::new(Model::Map, 1024)?;
    /// let part = |key: &str, value: &str| -> crossover_hrr::Result<AssociativeMemory> {
    ///     let mut part = AssociativeMemory::new(space.clone());
    ///     part.store_vectors(&space.named(key)?, &space.named(value)?)?;
    ///     Ok(part)
    /// };
    /// // Memories that were filled apart become one.
    /// let (a, b) = (part("France", "Paris")?, part("Japan", "Tokyo")?);
    /// let both = AssociativeMemory::from_sum(space.clone(), &(a.sum() + b.sum()), a.pairs() + b.pairs())?;
    /// let found = both.recall_vector(&space.named("Japan")?)?;
    /// assert_eq!(space.cleanup(&found, &space.named_all(&["Paris", "Tokyo"])?, 0.3)?[0].map(|m| m.index), Some(1));
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn sum(&self) -> Array {
        self.sum.frozen()
    }

    /// Moves the vector to a device.
    ///
    /// ```
    /// use crossover_array::Device;
    /// use crossover_hrr::{AssociativeMemory, Model, Space};
    /// let space = Space::new(Model::Hrr, 256)?;
    /// let mut memory = AssociativeMemory::new(space.clone());
    /// memory.store_vectors(&space.named("a")?, &space.named("x")?)?;
    /// let before = memory.sum().to_vec::<f32>()?;
    /// memory.to_device(Device::Cpu)?;
    /// assert_eq!(memory.sum().to_vec::<f32>()?, before);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn to_device(&mut self, device: Device) -> Result<()> {
        self.sum = self.sum.to_device(device)?;
        Ok(())
    }

    /// Stores a pair of items by name.
    pub fn store(&mut self, items: &ItemMemory, key: &str, value: &str) -> Result<()> {
        self.store_all(items, &[(key, value)])
    }

    /// Stores pairs of items by name: all, or none.
    pub fn store_all<K: AsRef<str>, V: AsRef<str>>(
        &mut self,
        items: &ItemMemory,
        pairs: &[(K, V)],
    ) -> Result<()> {
        self.same_space("store", items)?;
        if pairs.is_empty() {
            return Ok(());
        }
        let (keys, values): (Vec<&str>, Vec<&str>) =
            pairs.iter().map(|(key, value)| (key.as_ref(), value.as_ref())).unzip();
        self.store_vectors(&vectors(items, &keys)?, &vectors(items, &values)?)?;
        self.warn(items);
        Ok(())
    }

    /// Refuses items that are not of the space of the pairs: their names stand for other vectors.
    fn same_space(&self, op: &'static str, items: &ItemMemory) -> Result<()> {
        if *items.space() == self.space {
            return Ok(());
        }
        Err(Error::Space { op, wanted: self.space.clone(), given: items.space().clone() })
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

    /// Stores pairs of vectors, one for each leading axis, which broadcast.
    ///
    /// ```
    /// use crossover_hrr::{AssociativeMemory, Model, Space};
    /// let space = Space::new(Model::Bsc, 4000)?;
    /// let (keys, values) = (space.named_all(&["a", "b", "c"])?, space.named_all(&["x", "y", "z"])?);
    /// let mut memory = AssociativeMemory::new(space.clone());
    /// memory.store_vectors(&keys, &values)?;
    /// assert_eq!(memory.pairs(), 3);
    /// let found = space.cleanup(&memory.recall_vector(&keys)?, &values, 0.2)?;
    /// assert_eq!(found.iter().map(|found| found.unwrap().index).collect::<Vec<_>>(), [0, 1, 2]);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn store_vectors(&mut self, keys: &Array, values: &Array) -> Result<()> {
        let space = &self.space;
        // Where the pairs need not be written, they are not; 16-bit ones are added up in more.
        let is_one_kernel = space.model() == Model::Hrr
            && space.dtype() != DType::BF16
            && keys.ndim() == 2
            && keys.shape() == values.shape();
        let (added, pairs) = if is_one_kernel {
            space.check("store", keys)?;
            space.check("store", values)?;
            (kernel::convolve_sum(space, keys, values)?, keys.shape().dims()[0])
        } else {
            let bound = self.bound(keys, values)?;
            let pairs = bound.shape().dims()[0];
            (if pairs == 1 { bound.index(0) } else { bound.sum(0) }, pairs)
        };
        self.becomes(&self.sum + added, self.pairs + pairs)
    }

    /// Takes pairs out again that were stored, one for each leading axis; what is left is the same up to rounding. All, or none.
    ///
    /// More pairs than there are, and a pair that cannot be among them, are errors. The latter is told by the pair's share of the sum, which is about 1 for
    /// one that was stored and about 0 for another, with a spread of √(k/d) among k pairs: one that was not stored is taken out without notice where the
    /// spread is too large to tell, at about k > d/36.
    ///
    /// ```
    /// use crossover_hrr::{AssociativeMemory, Error, Model, Space};
    /// let space = Space::new(Model::Hrr, 1024)?;
    /// let v = |name: &str| space.named(name);
    /// let mut memory = AssociativeMemory::new(space.clone());
    /// memory.store_vectors(&v("a")?, &v("x")?)?;
    /// assert!(matches!(memory.forget(&v("a")?, &v("y")?), Err(Error::NotStored { .. })));
    /// memory.forget(&v("a")?, &v("x")?)?;
    /// assert_eq!(memory.pairs(), 0);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn forget(&mut self, keys: &Array, values: &Array) -> Result<()> {
        let bound = self.bound(keys, values)?;
        let pairs = bound.shape().dims()[0];
        let Some(left) = self.pairs.checked_sub(pairs) else {
            let what = format!("{pairs} pairs are to be taken out, and {} are stored", self.pairs);
            return Err(Error::value("forget", what));
        };
        self.are_stored(&bound)?;
        let taken = if pairs == 1 { bound.index(0) } else { bound.sum(0) };
        self.becomes(&self.sum - taken, left)
    }

    /// Refuses bound pairs that are certainly no part of the sum.
    fn are_stored(&self, bound: &Array) -> Result<()> {
        let numbers = if self.space.model() == Model::Fhrr { 2 * self.space.d() } else { self.space.d() };
        let product = |a: &Array, b: &Array| match self.space.model() {
            Model::Fhrr => (a * b.conj()).real().sum(-1),
            _ => (a * b).sum(-1),
        };
        let told = |x: Array| x.astype(DType::F64).to_vec::<f64>();
        let whole = told(product(&self.sum, &self.sum))?.into_iter().sum::<f64>();
        let (along, own) = (told(product(bound, &self.sum))?, told(product(bound, bound))?);
        for (row, (along, own)) in along.into_iter().zip(own).enumerate() {
            let (share, spread) = (along / own, (whole / own / numbers as f64).sqrt());
            // A comparison with NaN is false: nothing is certain then.
            if share < 0.5 && share + CERTAIN * spread < 1.0 {
                return Err(Error::NotStored { pair: row, share, pairs: self.pairs });
            }
        }
        Ok(())
    }

    /// Bound pairs, as rows in the dtype that is added up in.
    fn bound(&self, keys: &Array, values: &Array) -> Result<Array> {
        let bound = self.space.bind(keys, values)?;
        let wide = match self.space.model() {
            Model::Bsc => bound.astype(DType::F32) * 2.0 - 1.0,
            _ => self.space.widened(&bound),
        };
        let d = self.space.d();
        Ok(wide.reshape([wide.size() / d, d]))
    }

    /// Takes over what was computed, if it could be.
    fn becomes(&mut self, sum: Array, pairs: usize) -> Result<()> {
        sum.eval()?;
        (self.sum, self.pairs, self.is_saved) = (sum, pairs, false);
        Ok(())
    }

    /// What was stored with each of the keys, `[.., d]`, with the noise of the other pairs.
    ///
    /// ```
    /// use crossover_hrr::{AssociativeMemory, Model, Space};
    /// let space = Space::new(Model::Hrr, 1024)?;
    /// let (keys, values) = (space.named_all(&["a", "b", "c"])?, space.named_all(&["x", "y", "z"])?);
    /// let mut memory = AssociativeMemory::new(space.clone());
    /// memory.store_vectors(&keys, &values)?;
    /// let found = memory.recall_vector(&keys.index(1))?;
    /// let alike = space.similarities(&found, &values)?.to_vec::<f32>()?;
    /// assert!(alike[1] > 0.3 && alike[0].abs() < 0.2 && alike[2].abs() < 0.2);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn recall_vector(&self, keys: &Array) -> Result<Array> {
        self.space.unbind(&self.trace()?, keys)
    }

    /// The item that was stored with a key, or `None` if no item is as alike as `threshold`.
    pub fn recall(&self, items: &ItemMemory, key: &str, threshold: f64) -> Result<Option<Named>> {
        Ok(self.recall_all(items, &[key], threshold)?.into_iter().next().flatten())
    }

    /// The items that were stored with keys; `None` where no item is as alike as `threshold`.
    pub fn recall_all<K: AsRef<str>>(
        &self,
        items: &ItemMemory,
        keys: &[K],
        threshold: f64,
    ) -> Result<Vec<Option<Named>>> {
        self.same_space("recall", items)?;
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
        let found = items.query(&self.recall_vector(&vectors(items, &keys)?)?, threshold)?;
        self.warn(items);
        Ok(found)
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

/// The vectors of items: one, or one per row.
fn vectors(items: &ItemMemory, names: &[&str]) -> Result<Array> {
    if let [name] = names {
        return items.get(name);
    }
    let found: Vec<Array> = names.iter().map(|name| items.get(name)).collect::<Result<_>>()?;
    Ok(Array::stack(&found.iter().collect::<Vec<_>>(), 0))
}
