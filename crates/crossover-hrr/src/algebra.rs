//! Binding and its relatives. Everything is lazy, broadcasts over leading axes, and keeps the dtype of the space.

use crossover_array::{
    Array, DType,
    fft::{self, Options},
    keepdims,
};

use crate::{Error, Model, Result, Space, exact, kernel, space::complex};

impl Space {
    /// Binds two vectors into one that resembles neither.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// use crossover_array::Array;
    /// // The definition: c[i] = Σ a[j]·b[i - j].
    /// let space = Space::new(Model::Hrr, 3)?;
    /// let (a, b) = (Array::from([1.0f32, 2.0, 3.0]), Array::from([0.0f32, 1.0, 0.0]));
    /// let bound = space.bind(&a, &b)?.round();
    /// assert_eq!(bound.to_vec::<f32>()?, [3.0, 1.0, 2.0]);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn bind(&self, a: &Array, b: &Array) -> Result<Array> {
        self.pair("bind", a, b)?;
        Ok(match self.model() {
            Model::Hrr => kernel::convolve(self, a, b, false, false)?,
            Model::Fhrr => self.narrowed(&(self.widened(a) * self.widened(b))),
            Model::Map | Model::Hlb => a * b,
            Model::Bsc => a ^ b,
        })
    }

    /// What was bound with `key` to give `bound`, with noise: binds with the [approximate inverse](Space::inverse).
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// for model in Model::ALL {
    ///     let space = Space::new(model, 2048)?;
    ///     let (a, b) = (space.named("a")?, space.named("b")?);
    ///     let again = space.unbind(&space.bind(&a, &b)?, &a)?;
    ///     let alike = space.similarity(&again, &b)?.astype(crossover_array::DType::F64).item::<f64>()?;
    ///     assert!(alike > 0.6, "{model}: {alike}");
    /// }
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn unbind(&self, bound: &Array, key: &Array) -> Result<Array> {
        self.pair("unbind", bound, key)?;
        Ok(match self.model() {
            Model::Hrr => kernel::convolve(self, bound, key, true, false)?,
            Model::Fhrr => self.narrowed(&(self.widened(bound) * self.widened(key).conj())),
            Model::Map => bound * key,
            Model::Bsc => bound ^ key,
            Model::Hlb => bound / key,
        })
    }

    /// [`bind`](Space::bind), then [`normalise`](Space::normalise), in one kernel.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Hrr, 256)?;
    /// let (a, b) = (space.named("a")?, space.named("b")?);
    /// let bound = space.bind_normalised(&a, &b)?;
    /// // The direction is that of the binding, and the length 1.
    /// assert!(space.similarity(&bound, &space.bind(&a, &b)?)?.item::<f32>()? > 0.9999);
    /// assert!((bound.square().sum(()).item::<f32>()? - 1.0).abs() < 1e-5);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn bind_normalised(&self, a: &Array, b: &Array) -> Result<Array> {
        self.pair("bind_normalised", a, b)?;
        match self.model() {
            Model::Hrr => kernel::convolve(self, a, b, false, true),
            _ => self.normalise(&self.bind(a, b)?),
        }
    }

    /// The vector that undoes a binding, approximately: `unbind(c, a)` is `bind(c, inverse(a))`.
    ///
    /// For HRR it is the involution, which is exact for [unitary](Space::unitary) vectors only; for the other models it is
    /// exact for vectors of the model (unit numbers, ±1, bits; for HLB those without a zero).
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// use crossover_array::Array;
    /// let space = Space::new(Model::Hrr, 4)?;
    /// let a = Array::from([1.0f32, 2.0, 3.0, 4.0]);
    /// assert_eq!(space.inverse(&a)?.to_vec::<f32>()?, [1.0, 4.0, 3.0, 2.0]);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn inverse(&self, a: &Array) -> Result<Array> {
        self.check("inverse", a)?;
        Ok(match self.model() {
            Model::Hrr => a.flip(-1).roll(1, -1),
            Model::Fhrr => self.narrowed(&self.widened(a).conj()),
            Model::Map | Model::Bsc => a.clone(),
            Model::Hlb => a.reciprocal(),
        })
    }

    /// The nearest vector whose approximate inverse is exact. With such keys any number of bindings can be undone without loss.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Hrr, 501)?;
    /// let (key, x) = (space.unitary(&space.named("key")?)?, space.named("x")?);
    /// let again = space.unbind(&space.bind(&key, &x)?, &key)?;
    /// assert!(space.similarity(&again, &x)?.item::<f32>()? > 0.9999);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn unitary(&self, a: &Array) -> Result<Array> {
        self.check("unitary", a)?;
        Ok(match self.model() {
            Model::Hrr => {
                let spectrum = self.spectrum(a);
                self.signal(&unit(&spectrum))
            }
            Model::Fhrr => self.narrowed(&unit(&self.widened(a))),
            Model::Map | Model::Hlb => sign(a),
            Model::Bsc => a.clone(),
        })
    }

    /// A vector bound with itself `exponent` times. Fractions make a scale: `power(x, 2.5)` resembles `power(x, 2.6)` more than
    /// `power(x, 3.5)`.
    ///
    /// A fraction needs a root to exist. HRR: the sum of the elements is positive and, for even d, their alternating sum is not negative;
    /// HLB: no element is negative; MAP and BSC have whole exponents only. A negative exponent needs an inverse: see
    /// [`inverse_exact`](Space::inverse_exact). What the rule forbids is an error that says so.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Fhrr, 1000)?;
    /// let x = space.named("x")?;
    /// let twice = space.bind(&space.power(&x, 0.5)?, &space.power(&x, 0.5)?)?;
    /// assert!(space.similarity(&twice, &x)?.item::<f32>()? > 0.9999);
    /// assert!(Space::new(Model::Map, 10)?.power(&Space::new(Model::Map, 10)?.named("x")?, 0.5).is_err());
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn power(&self, a: &Array, exponent: f64) -> Result<Array> {
        const OP: &str = "power";
        self.check(OP, a)?;
        let whole = exponent.fract() == 0.0;
        if !exponent.is_finite() {
            return Err(Error::value(OP, format!("{exponent} is no exponent")));
        }
        match self.model() {
            Model::Hrr => {
                let spectrum = self.spectrum(a);
                self.can_power(&spectrum, exponent, whole)?;
                Ok(self.signal(&powered(&spectrum, exponent)))
            }
            Model::Fhrr => {
                let wide = self.widened(a);
                if exponent < 0.0 {
                    refuse_zeros(OP, &wide.abs())?;
                }
                Ok(self.narrowed(&powered(&wide, exponent)))
            }
            Model::Hlb => {
                let wide = self.widened(a);
                if !whole && wide.less(0.0).any(()).item::<bool>()? {
                    let what =
                        format!("{exponent} of a vector with negative elements; use a whole number, or fhrr");
                    return Err(Error::value(OP, what));
                }
                if exponent < 0.0 {
                    refuse_zeros(OP, &wide.abs())?;
                }
                Ok(self.narrowed(&wide.pow(exponent)))
            }
            Model::Map | Model::Bsc if !whole => {
                let why = "a fraction of ±1 or of a bit is none; use hrr or fhrr";
                Err(Error::Model { op: OP, model: self.model(), why })
            }
            Model::Map | Model::Bsc => {
                let identity = self.identity().broadcast_to(a.shape().clone());
                Ok(if exponent.rem_euclid(2.0) == 0.0 { identity } else { a.clone() })
            }
        }
    }

    /// Whether the spectrum of real vectors has this power, as a real vector.
    fn can_power(&self, spectrum: &Array, exponent: f64, whole: bool) -> Result<()> {
        const OP: &str = "power";
        if exponent < 0.0 {
            refuse_zeros(OP, &spectrum.abs())?;
        }
        if whole {
            return Ok(());
        }
        let last = (self.d() / 2) as i64;
        let real = spectrum.real();
        let sum = real.take(&Array::from([0i64]), -1).min(());
        if real.size() > 0 && sum.astype(DType::F64).item::<f64>()? <= 0.0 {
            let what = format!(
                "{exponent} needs vectors whose elements have a positive sum; negate the vector, or use its unitary projection of even power"
            );
            return Err(Error::value(OP, what));
        }
        let alternating = real.take(&Array::from([last]), -1).min(()).astype(DType::F64);
        if self.d().is_multiple_of(2) && real.size() > 0 && alternating.item::<f64>()? < 0.0 {
            let what = format!(
                "{exponent} needs vectors whose alternating sum is not negative when d is even; use an odd d"
            );
            return Err(Error::value(OP, what));
        }
        Ok(())
    }

    /// Binds any number of vectors; equals a chain of [`bind`](Space::bind).
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Hrr, 128)?;
    /// let (a, b, c) = (space.named("a")?, space.named("b")?, space.named("c")?);
    /// let chained = space.bind(&space.bind(&a, &b)?, &c)?;
    /// let together = space.multi_bind(&[&a, &b, &c])?;
    /// assert!(space.similarity(&chained, &together)?.item::<f32>()? > 0.9999);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn multi_bind(&self, vectors: &[&Array]) -> Result<Array> {
        for vector in vectors {
            self.check("multi_bind", vector)?;
        }
        let Some((first, others)) = vectors.split_first() else { return Ok(self.identity()) };
        match self.model() {
            // One transform of each and one back.
            Model::Hrr if others.len() > 1 => {
                let mut product = self.spectrum(first);
                for other in others {
                    product *= self.spectrum(other);
                }
                Ok(self.signal(&product))
            }
            _ => others.iter().try_fold((*first).clone(), |all, next| self.bind(&all, next)),
        }
    }

    /// Moves every element to another place, by a fixed random permutation, `times` times; negative undoes it.
    ///
    /// A rotation would not do: it commutes with convolution, so that order would be lost.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Bsc, 1000)?;
    /// let x = space.named("x")?;
    /// let moved = space.permute(&x, 3)?;
    /// assert!(space.similarity(&moved, &x)?.item::<f32>()?.abs() < 0.2);
    /// assert_eq!(space.permute(&moved, -3)?.to_vec::<bool>()?, x.to_vec::<bool>()?);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn permute(&self, a: &Array, times: i64) -> Result<Array> {
        self.check("permute", a)?;
        if times == 0 {
            return Ok(a.clone());
        }
        let order = Array::from(self.order_of(times)?);
        // Both parts of a number move together; to join and to part them is exact.
        Ok(match self.is_parts() {
            true => self.narrowed(&self.widened(a).take(&order, -1)),
            false => a.take(&order, -1),
        })
    }

    /// The rows of vectors `[.., k, d]`, each moved once more than the one before, or after; one lookup for all.
    pub(crate) fn permute_each(&self, rows: &Array, from_the_end: bool) -> Result<Array> {
        let (k, d) = (rows.shape().dims()[rows.ndim() - 2], self.d());
        let step = self.order()?;
        let mut order: Vec<i64> = (0..d as i64).collect();
        let mut places = vec![0; k * d];
        for times in 0..k {
            let row = if from_the_end { k - 1 - times } else { times };
            for (place, &at) in places[row * d..][..d].iter_mut().zip(&order) {
                *place = (row * d) as i64 + at;
            }
            order.iter_mut().for_each(|at| *at = step[*at as usize]);
        }
        let rows = if self.is_parts() { self.widened(rows) } else { rows.clone() };
        let shape = rows.shape().dims().to_vec();
        let flat = rows.reshape([&shape[..shape.len() - 2], &[k * d]].concat());
        let moved = flat.take(&Array::from(places), -1).reshape(shape);
        Ok(if self.is_parts() { self.narrowed(&moved) } else { moved })
    }

    /// The permutation, repeated.
    fn order_of(&self, times: i64) -> Result<Vec<i64>> {
        let mut step = self.order()?.to_vec();
        if times < 0 {
            let mut back = vec![0; step.len()];
            for (to, &from) in step.iter().enumerate() {
                back[from as usize] = to as i64;
            }
            step = back;
        }
        // By squaring: each bit of the count costs one or two passes.
        let (mut count, mut all) = (times.unsigned_abs(), (0..self.d() as i64).collect::<Vec<_>>());
        while count > 0 {
            if count & 1 == 1 {
                all = all.iter().map(|&i| step[i as usize]).collect();
            }
            step = step.iter().map(|&i| step[i as usize]).collect();
            count >>= 1;
        }
        Ok(all)
    }

    /// The first half of the spectrum of real vectors.
    pub(crate) fn spectrum(&self, a: &Array) -> Array {
        fft::rfft(&self.widened(a))
    }

    /// Real vectors from the first half of their spectrum.
    pub(crate) fn signal(&self, spectrum: &Array) -> Array {
        self.narrowed(&fft::irfft_with(spectrum, Options::new().length(self.d())))
    }

    pub(crate) fn pair(&self, op: &'static str, a: &Array, b: &Array) -> Result<()> {
        self.check(op, a)?;
        self.check(op, b)?;
        a.shape().broadcast(op, b.shape())?;
        Ok(())
    }
}

/// Complex numbers of the same angles and magnitude 1; a zero becomes 1.
pub(crate) fn unit(z: &Array) -> Array {
    let magnitude = z.abs();
    let zero = magnitude.equal(0.0);
    let safe = zero.where_(1.0, &magnitude).astype(z.dtype());
    zero.where_(Array::ones_dtype((), z.dtype()), z / safe)
}

/// +1 where an element is at least 0, else -1; NaN where it is NaN.
pub(crate) fn sign(x: &Array) -> Array {
    let sign = Array::ones_dtype((), x.dtype()).copysign(x + 0.0);
    x.not_equal(x).where_(x, sign)
}

/// Powers of complex numbers by their principal angles; 0 to a positive power is 0.
fn powered(z: &Array, exponent: f64) -> Array {
    let (re, im) = (z.real(), z.imag());
    let angle = im.atan2(&re) * exponent;
    let magnitude = z.abs().pow(exponent);
    complex(&(&magnitude * angle.cos()), &(&magnitude * angle.sin()))
}

/// Refuses vectors with an element of no size, of these sizes, up to rounding: as [`inverse_exact`](Space::inverse_exact) reports them.
fn refuse_zeros(op: &'static str, magnitude: &Array) -> Result<()> {
    let least = magnitude.max(keepdims(-1)) * exact::tolerance(magnitude.dtype());
    if magnitude.less_equal(least).any(()).item::<bool>()? {
        let what = "a negative power of a vector that has a zero has no value; see inverse_exact";
        return Err(Error::value(op, what));
    }
    Ok(())
}
