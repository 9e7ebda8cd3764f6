//! Superposing, normalising and comparing.

use crossover_array::{Array, DType, keepdims};

use crate::{Error, Model, Result, Space, algebra, kernel, space::parts};

/// The least length that is divided by.
const EPSILON: f64 = 1e-8;

impl Space {
    /// The superposition of the rows (the last axis but one): their sum, [normalised](Space::normalise). It resembles each of them.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// for model in Model::ALL {
    ///     let space = Space::new(model, 2000)?;
    ///     let animals = space.named_all(&["cat", "dog", "cow"])?;
    ///     let all = space.superpose(&animals)?;
    ///     assert!(space.similarity(&all, &space.named("dog")?)?.astype(crossover_array::DType::F64).item::<f64>()? > 0.4);
    ///     assert!(space.similarity(&all, &space.named("bus")?)?.astype(crossover_array::DType::F64).item::<f64>()? < 0.15);
    /// }
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn superpose(&self, vectors: &Array) -> Result<Array> {
        self.rows("superpose", vectors)?;
        match self.model() {
            Model::Bsc => self.majority(&(vectors.astype(DType::F32) * 2.0 - 1.0).sum(-2)),
            _ => Ok(self.normalised(&self.widened(vectors).sum(-2))),
        }
    }

    /// As [`superpose`](Space::superpose), with weights: one per row, or as many rows of them as there are results.
    ///
    /// Vectors `[.., k, d]` and weights `[k]` or `[.., k]` give `[.., d]`; vectors `[k, d]` and weights `[m, k]` give `[m, d]`, a matrix product.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// use crossover_array::Array;
    /// let space = Space::new(Model::Hrr, 1000)?;
    /// let both = space.named_all(&["near", "far"])?;
    /// let mixed = space.superpose_weighted(&both, &Array::from([[0.9f32, 0.1], [0.5, 0.5]]))?;
    /// let alike = space.similarity(&mixed, &space.named("near")?)?.to_vec::<f32>()?;
    /// assert!(alike[0] > 0.95 && alike[1] < 0.8);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn superpose_weighted(&self, vectors: &Array, weights: &Array) -> Result<Array> {
        const OP: &str = "superpose_weighted";
        self.rows(OP, vectors)?;
        weights.check()?;
        let k = vectors.shape().dims()[vectors.ndim() - 2];
        if weights.shape().dims().last() != Some(&k) {
            let what =
                format!("{k} vectors and weights of shape {}; give one weight per vector", weights.shape());
            return Err(Error::value(OP, what));
        }
        let values = match self.model() {
            Model::Bsc => vectors.astype(DType::F32) * 2.0 - 1.0,
            _ => self.widened(vectors),
        };
        let weights = weights.astype(values.dtype());
        // Vectors that many rows of weights share are read once by a product. Otherwise each is used once, and a weighted sum reads them at the
        // speed of memory, with the same bits on every device.
        let sums = match (vectors.ndim(), weights.ndim()) {
            (2, 2..) => weights.matmul(&values),
            _ => (weights.expand_dims(-1) * values).sum(-2),
        };
        sums.check()?;
        match self.model() {
            Model::Bsc => self.majority(&sums),
            _ => Ok(self.normalised(&sums)),
        }
    }

    /// Binds rows pairwise and superposes the pairs: a memory of associations, or a record. For HRR and rows `[k, d]` one kernel, and the pairs are never
    /// written; with leading axes, `[.., k, d]`, and for lengths without a kernel, they are written and then added up. Of `bf16` vectors the sums of parts of
    /// the rows are rounded to 16 bits before they are added up in `f32`; where pairs are written, the pairs are.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Hrr, 1024)?;
    /// let keys = space.named_all(&["colour", "shape"])?;
    /// let values = space.named_all(&["red", "round"])?;
    /// let ball = space.bind_superpose(&keys, &values)?;
    /// let colour = space.unbind(&ball, &space.named("colour")?)?;
    /// assert_eq!(space.cleanup(&colour, &values, 0.2)?[0].unwrap().index, 0);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn bind_superpose(&self, keys: &Array, values: &Array) -> Result<Array> {
        self.rows("bind_superpose", keys)?;
        self.rows("bind_superpose", values)?;
        match self.model() {
            Model::Hrr if keys.shape() == values.shape() => {
                Ok(self.normalised(&kernel::convolve_sum(self, keys, values)?))
            }
            // Pairs are not rounded before they are added up.
            Model::Fhrr | Model::Hlb => {
                self.pair("bind_superpose", keys, values)?;
                Ok(self.normalised(&(self.widened(keys) * self.widened(values)).sum(-2)))
            }
            _ => self.superpose(&self.bind(keys, values)?),
        }
    }

    /// Vectors as superpositions should be: of length 1 (HRR), of elements with magnitude 1 (FHRR), of ±1 (MAP), of length √d (HLB).
    /// A zero vector stays zero; a zero element of MAP gets a fixed random sign. Bits are left as they are. Squares are added up: in `f32` lengths below
    /// 1e-19 or above 1e19 are none that can be told from 0 or infinity.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// use crossover_array::Array;
    /// let space = Space::new(Model::Hrr, 2)?;
    /// assert_eq!(space.normalise(&Array::from([[3.0f32, 4.0], [0.0, 0.0]]))?.to_vec::<f32>()?, [0.6, 0.8, 0.0, 0.0]);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn normalise(&self, a: &Array) -> Result<Array> {
        self.check("normalise", a)?;
        Ok(self.normalised(&self.widened(a)))
    }

    /// As [`normalise`](Space::normalise), from vectors in the dtype that is computed in: 16-bit ones are rounded once, here.
    pub(crate) fn normalised(&self, wide: &Array) -> Array {
        match self.model() {
            Model::Hrr => self.narrowed(&scaled(wide, 1.0)),
            Model::Hlb => self.narrowed(&scaled(wide, (self.d() as f64).sqrt())),
            Model::Fhrr => self.narrowed(&algebra::unit(wide)),
            Model::Map => {
                let ties = self.ties().astype(wide.dtype()) * 2.0 - 1.0;
                self.narrowed(&wide.equal(0.0).where_(ties, algebra::sign(wide)))
            }
            Model::Bsc => wide.clone(),
        }
    }

    /// How alike vectors are along the last axis: 1 equal, 0 unrelated, -1 opposite. Leading axes broadcast.
    ///
    /// The cosine; for FHRR its real part, for BSC 1 - 2·(share of bits that differ). Lengths below 1e-8 count as 1e-8, so that zero resembles nothing; so
    /// they do in [`similarities`](Space::similarities) and [`cleanup`](Space::cleanup).
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Hrr, 1000)?;
    /// let tiny = space.named("x")? * 1e-6;
    /// assert!(space.similarity(&tiny, &tiny)?.item::<f32>()? > 0.9999);
    /// assert_eq!(space.similarity(&tiny, &(&tiny * 0.0))?.item::<f32>()?, 0.0);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn similarity(&self, a: &Array, b: &Array) -> Result<Array> {
        self.check("similarity", a)?;
        self.check("similarity", b)?;
        Ok(match self.model() {
            Model::Bsc => (a ^ b).astype(DType::F32).mean(-1) * -2.0 + 1.0,
            Model::Fhrr => {
                let (a, b) = (self.widened(a), self.widened(b));
                let dot = (&a * b.conj()).real().sum(-1);
                dot / (divisor(&a, false) * divisor(&b, false))
            }
            _ => {
                let (a, b) = (self.widened(a), self.widened(b));
                (&a * &b).sum(-1) / (divisor(&a, false) * divisor(&b, false))
            }
        })
    }

    /// The similarity of every query with every item, as a matrix product: `[.., q, d]` and `[n, d]` give `[.., q, n]`.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Fhrr, 512)?;
    /// let items = space.named_all(&["a", "b", "c"])?;
    /// let all = space.similarities(&items, &items)?.to_vec::<f32>()?;
    /// assert!(all[0] > 0.99 && all[1].abs() < 0.3 && all[4] > 0.99);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn similarities(&self, queries: &Array, items: &Array) -> Result<Array> {
        self.check("similarities", queries)?;
        self.rows("similarities", items)?;
        Ok(self.comparable(queries).matmul(&self.comparable(items).swap_axes(-1, -2)))
    }

    /// Real vectors whose dot products are the similarities.
    pub(crate) fn comparable(&self, a: &Array) -> Array {
        match self.model() {
            Model::Bsc => (a.astype(DType::F32) * 2.0 - 1.0) * (1.0 / (self.d() as f64).sqrt()),
            Model::Fhrr => {
                let wide = self.widened(a);
                // Re(a·conj(b)) is the dot product of (re, im).
                parts(&(&wide / divisor(&wide, true).astype(wide.dtype())))
            }
            _ => {
                let wide = self.widened(a);
                let divisor = divisor(&wide, true);
                wide / divisor
            }
        }
    }

    /// Bits where sums of ±1 are positive; ties by fixed random bits.
    pub(crate) fn majority(&self, sums: &Array) -> Result<Array> {
        Ok(sums.equal(0.0).where_(self.ties(), sums.greater(0.0)))
    }

    pub(crate) fn rows(&self, op: &'static str, vectors: &Array) -> Result<()> {
        self.check(op, vectors)?;
        if vectors.ndim() < 2 {
            let what = format!("wants vectors as rows, [.., k, {}], not {}", self.width(), vectors.shape());
            return Err(Error::value(op, what));
        }
        Ok(())
    }
}

/// Lengths along the last axis, to be divided by.
fn divisor(a: &Array, keep: bool) -> Array {
    length(a, keep).maximum(EPSILON)
}

/// Lengths along the last axis.
fn length(a: &Array, keep: bool) -> Array {
    let squares = match a.dtype() {
        DType::C64 | DType::C128 => a.real().square() + a.imag().square(),
        _ => a.square(),
    };
    if keep { squares.sum(keepdims(-1)).sqrt() } else { squares.sum(-1).sqrt() }
}

/// Vectors of this length; zero stays zero.
fn scaled(x: &Array, to: f64) -> Array {
    let length = length(x, true);
    let safe = length.equal(0.0).where_(1.0, &length);
    x / safe * to
}
