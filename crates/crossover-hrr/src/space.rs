//! A model with a dimension, a dtype and a seed: where vectors come from.
//!
//! What always holds: a name gives the same vector in every process, on every machine and device. Its Philox key is the start of a
//! BLAKE3 hash of model, seed and name, so vectors of different names are independent, and never depends on a process.

use std::{
    fmt,
    sync::{Arc, LazyLock},
};

use crossover_array::{Array, Complex, DType, Index, Key, random, s};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::{Error, Model, Result};

/// Vectors whose names are evaluated together.
const TOGETHER: usize = 256;

/// Permutations that are kept, of a model, a seed and a length each.
const KEPT: usize = 32;
/// Numbers of them all together.
const KEPT_NUMBERS: usize = 1 << 22;

/// A model, the number of elements of its vectors, their dtype, and a seed for names.
///
/// ```
/// use crossover_hrr::{Model, Space};
/// let space = Space::new(Model::Hrr, 1024)?;
/// let (country, france) = (space.named("country")?, space.named("France")?);
/// let bound = space.bind(&country, &france)?;
/// // A pair resembles neither of its halves, and either half leads to the other.
/// assert!(space.similarity(&bound, &france)?.item::<f32>()?.abs() < 0.2);
/// let found = space.unbind(&bound, &country)?;
/// assert!(space.similarity(&found, &france)?.item::<f32>()? > 0.5);
/// # Ok::<(), crossover_hrr::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Space {
    model: Model,
    d: usize,
    dtype: DType,
    seed: u64,
}

impl Space {
    /// Vectors of `d` elements, in the model's default dtype, with seed 0.
    pub fn new(model: Model, d: usize) -> Result<Space> {
        if d == 0 || d > 1 << 24 {
            return Err(Error::value("space", format!("{d} elements; there can be 1 to 16,777,216")));
        }
        Ok(Space { model, d, dtype: model.default_dtype(), seed: 0 })
    }

    /// The same with vectors of another dtype: `f32`, `f64` or `bf16`, and `c64`, `c128` or `bf16` for [`Model::Fhrr`].
    ///
    /// `bf16` vectors are computed with in `f32`; every operation rounds its result once, but for [`bind_superpose`](Space::bind_superpose) of HRR, which
    /// adds up what was rounded before. Arrays have no complex numbers with parts of 16 bits: those of FHRR are rows of 2·d numbers, real parts first (see
    /// [`width`](Space::width)), which operations compute with in `c64`.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// use crossover_array::DType;
    /// let space = Space::new(Model::Hrr, 256)?.with_dtype(DType::BF16)?;
    /// assert_eq!(space.named("x")?.dtype(), DType::BF16);
    /// assert!(Space::new(Model::Bsc, 256)?.with_dtype(DType::F32).is_err());
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn with_dtype(mut self, dtype: DType) -> Result<Space> {
        if !self.model.dtypes().contains(&dtype) {
            let known: Vec<String> = self.model.dtypes().iter().map(ToString::to_string).collect();
            let what = format!("vectors of {} cannot be {dtype}; there are {}", self.model, known.join(", "));
            return Err(Error::value("space", what));
        }
        self.dtype = dtype;
        Ok(self)
    }

    /// The same with another seed: names give other vectors.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let (one, other) = (Space::new(Model::Hrr, 1024)?, Space::new(Model::Hrr, 1024)?.with_seed(7));
    /// assert_eq!((one.seed(), other.seed()), (0, 7));
    /// // The same name, unrelated vectors.
    /// assert!(one.similarity(&one.named("cat")?, &other.named("cat")?)?.item::<f32>()?.abs() < 0.2);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn with_seed(mut self, seed: u64) -> Space {
        self.seed = seed;
        self
    }

    /// The model.
    ///
    /// ```
    /// use crossover_array::DType;
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Hlb, 300)?.with_dtype(DType::F64)?.with_seed(1);
    /// assert_eq!((space.model(), space.d(), space.dtype(), space.seed()), (Model::Hlb, 300, DType::F64, 1));
    /// assert_eq!(space.to_string(), "hlb of 300 f64, seed 1");
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn model(&self) -> Model {
        self.model
    }

    /// Elements of a vector.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Map, 300)?;
    /// assert_eq!(space.d(), 300);
    /// let error = Space::new(Model::Map, 0).unwrap_err();
    /// assert_eq!(error.to_string(), "space: 0 elements; there can be 1 to 16,777,216");
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn d(&self) -> usize {
        self.d
    }

    /// Numbers of a vector along the last axis of an array: d, and 2·d for FHRR in `bf16`, the real parts and then the imaginary ones.
    ///
    /// ```
    /// use crossover_array::DType;
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Fhrr, 512)?.with_dtype(DType::BF16)?;
    /// assert_eq!((space.d(), space.width()), (512, 1024));
    /// assert_eq!(space.named("x")?.shape().dims(), [1024]);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn width(&self) -> usize {
        if self.is_parts() { 2 * self.d } else { self.d }
    }

    /// Whether vectors are real parts and imaginary parts in a row.
    pub(crate) fn is_parts(&self) -> bool {
        self.model == Model::Fhrr && self.dtype == DType::BF16
    }

    /// Dtype of the elements.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Fhrr, 16)?;
    /// assert_eq!(space.named("x")?.dtype(), space.dtype());
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The seed of names.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Hrr, 16)?.with_seed(42);
    /// // Enough to have the same vectors elsewhere.
    /// let again = Space::new(space.model(), space.d())?.with_seed(space.seed());
    /// assert_eq!(again.named("x")?.to_vec::<f32>()?, space.named("x")?.to_vec::<f32>()?);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The key of a name.
    fn key(&self, purpose: &str, name: &str) -> Key {
        let mut hash = blake3::Hasher::new_derive_key("crossover-hrr 2026 vectors by name");
        for part in
            [purpose.as_bytes(), self.model.name().as_bytes(), &self.seed.to_le_bytes(), name.as_bytes()]
        {
            // Lengths keep the parts apart.
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let mut start = [0; 8];
        hash.finalize_xof().fill(&mut start);
        Key::new(u64::from_le_bytes(start))
    }

    /// The vector of a name.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Map, 8)?;
    /// assert_eq!(space.named("a")?.to_vec::<f32>()?, space.named("a")?.to_vec::<f32>()?);
    /// assert_ne!(space.named("a")?.to_vec::<f32>()?, space.named("b")?.to_vec::<f32>()?);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn named(&self, name: &str) -> Result<Array> {
        Ok(self.drawn(&self.key("item", name), &[self.d]))
    }

    /// The vectors of names, one per row.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Bsc, 64)?;
    /// let rows = space.named_all(&["a", "b", "c"])?;
    /// assert_eq!(rows.shape().dims(), [3, 64]);
    /// assert_eq!(rows.index(1).to_vec::<bool>()?, space.named("b")?.to_vec::<bool>()?);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn named_all<S: AsRef<str>>(&self, names: &[S]) -> Result<Array> {
        let mut parts = Vec::new();
        for some in names.chunks(TOGETHER) {
            let rows: Vec<Array> = some.iter().map(|n| self.named(n.as_ref())).collect::<Result<_>>()?;
            let stacked = Array::stack(&rows.iter().collect::<Vec<_>>(), 0);
            stacked.eval()?;
            parts.push(stacked);
        }
        match parts.as_slice() {
            [] => Ok(Array::zeros_dtype([0, self.width()], self.dtype)),
            [one] => Ok(one.clone()),
            many => Ok(Array::concat(&many.iter().collect::<Vec<_>>(), 0)),
        }
    }

    /// `n` random vectors, one per row.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// use crossover_array::Key;
    /// let space = Space::new(Model::Bsc, 100)?;
    /// assert_eq!(space.random(&Key::new(1), 7).shape().dims(), [7, 100]);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn random(&self, key: &Key, n: usize) -> Array {
        self.drawn(key, &[n, self.d])
    }

    fn drawn(&self, key: &Key, shape: &[usize]) -> Array {
        let real = self.dtype.real();
        // 16-bit vectors are drawn in f32 and rounded once.
        let wide = if real == DType::BF16 { DType::F32 } else { real };
        let (signs, noise) = key.split();
        let spread = 1.0 / (self.d as f64).sqrt();
        let bipolar = || random::bernoulli(&signs, shape, 0.5).astype(wide) * 2.0 - 1.0;
        let normal = || random::normal_dtype(&noise, shape, wide) * spread;
        match self.model {
            Model::Hrr => normal().astype(self.dtype),
            Model::Fhrr => {
                let turn = random::uniform_dtype(&noise, shape, wide) * std::f64::consts::TAU;
                self.narrowed(&self.polar(&turn))
            }
            Model::Map => bipolar().astype(self.dtype),
            Model::Bsc => random::bernoulli(&signs, shape, 0.5),
            Model::Hlb => (bipolar() + normal()).astype(self.dtype),
        }
    }

    /// Unit complex numbers of these angles.
    pub(crate) fn polar(&self, angle: &Array) -> Array {
        complex(&angle.cos(), &angle.sin())
    }

    /// The vector that binding with leaves every vector as it is.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Hrr, 5)?;
    /// assert_eq!(space.identity().to_vec::<f32>()?, [1.0, 0.0, 0.0, 0.0, 0.0]);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn identity(&self) -> Array {
        match self.model {
            Model::Hrr => Array::eye_dtype(1, self.d, 0, self.dtype).reshape([self.d]),
            Model::Bsc => Array::zeros_dtype([self.d], self.dtype),
            Model::Fhrr => self.narrowed(&Array::ones_dtype([self.d], self.wide_dtype())),
            _ => Array::ones_dtype([self.d], self.dtype),
        }
    }

    /// The order of the fixed permutation: entry i of a permuted vector is entry `order[i]` of the original. Drawn once, then kept.
    pub(crate) fn order(&self) -> Result<Arc<[i64]>> {
        static DRAWN: LazyLock<Mutex<Orders>> = LazyLock::new(Mutex::default);
        let of = (self.model, self.seed, self.d);
        if let Some(order) = DRAWN.lock().get(&of) {
            return Ok(order.clone());
        }
        // Without the lock: to draw is to evaluate.
        let key = self.key("permutation", &self.d.to_string());
        let order: Arc<[i64]> = random::permutation(&key, self.d).to_vec::<i64>()?.into();
        let mut drawn = DRAWN.lock();
        let numbers = drawn.values().map(|order| order.len()).sum::<usize>() + self.d;
        if drawn.len() >= KEPT || numbers > KEPT_NUMBERS {
            drawn.clear();
        }
        drawn.insert(of, order.clone());
        Ok(order)
    }

    /// Bits that decide ties of a majority, the same for all.
    pub(crate) fn ties(&self) -> Array {
        random::bernoulli(&self.key("ties", &self.d.to_string()), [self.d], 0.5)
    }

    /// Whether an array holds vectors of this space.
    pub(crate) fn check(&self, op: &'static str, x: &Array) -> Result<()> {
        x.check()?;
        if x.dtype() == self.dtype && x.shape().dims().last() == Some(&self.width()) {
            return Ok(());
        }
        let (given_dtype, given) = (x.dtype(), x.shape().clone());
        Err(Error::Vector { op, dtype: self.dtype, d: self.width(), given_dtype, given })
    }

    /// Vectors in the dtype that is computed in.
    pub(crate) fn widened(&self, x: &Array) -> Array {
        match self.dtype {
            DType::BF16 if self.is_parts() => joined(&x.astype(DType::F32)),
            DType::BF16 => x.astype(DType::F32),
            _ => x.clone(),
        }
    }

    /// The dtype that is computed and added up in.
    pub(crate) fn wide_dtype(&self) -> DType {
        match self.dtype {
            DType::BF16 if self.is_parts() => DType::C64,
            DType::BF16 | DType::Bool => DType::F32,
            dtype => dtype,
        }
    }

    /// What was computed, in the dtype of the space.
    pub(crate) fn narrowed(&self, x: &Array) -> Array {
        match x.dtype() {
            dtype if dtype == self.dtype => x.clone(),
            DType::C64 | DType::C128 if self.is_parts() => parts(x).astype(self.dtype),
            _ => x.astype(self.dtype),
        }
    }
}

type Orders = FxHashMap<(Model, u64, usize), Arc<[i64]>>;

/// As errors tell it: `hrr of 1024 f32, seed 0`.
impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} {}, seed {}", self.model, self.d, self.dtype, self.seed)
    }
}

/// Real parts and then imaginary ones along the last axis.
pub(crate) fn parts(x: &Array) -> Array {
    Array::concat(&[&x.real(), &x.imag()], -1)
}

/// Complex numbers from their [parts] along the last axis.
pub(crate) fn joined(parts: &Array) -> Array {
    let numbers = parts.shape().dims().last().map_or(0, |&numbers| numbers as i64);
    let part = |from, to| parts.slice(s![Index::Ellipsis, from..to]);
    complex(&part(0, numbers / 2), &part(numbers / 2, numbers))
}

/// Complex numbers from their parts.
pub(crate) fn complex(re: &Array, im: &Array) -> Array {
    let dtype = if re.dtype() == DType::F64 { DType::C128 } else { DType::C64 };
    re.astype(dtype) + im.astype(dtype) * Complex::new(0.0f64, 1.0)
}
