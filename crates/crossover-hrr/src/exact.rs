//! Inverses that are exact, and where there is none.
//!
//! What always holds: a zero that cannot be divided by is reported with its place and becomes a zero of the inverse, never an
//! infinity and never a large number that hides it.

use crossover_array::{Array, DType};

use crate::{Model, Result, Space, space::complex};

/// Relative to the largest magnitude of a vector, what counts as a zero.
pub(crate) fn tolerance(dtype: DType) -> f64 {
    match dtype.real() {
        DType::F64 => 1e-14,
        DType::BF16 => 1e-3,
        _ => 1e-6,
    }
}

/// A place where a vector has no inverse.
///
/// ```
/// use crossover_array::Array;
/// use crossover_hrr::{Model, Space, ZeroBin};
/// let space = Space::new(Model::Hlb, 3)?;
/// let keys = Array::from([[1.0f32, 2.0, 4.0], [1.0, -1.0, 0.0]]);
/// assert_eq!(space.inverse_exact(&keys)?.zeros, [ZeroBin { row: 1, bin: 2 }]);
/// # Ok::<(), crossover_hrr::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZeroBin {
    /// The vector, counted over the leading axes.
    pub row: usize,
    /// The frequency for HRR, else the element.
    pub bin: usize,
}

/// An exact result, and where it is not.
///
/// ```
/// use crossover_array::Array;
/// use crossover_hrr::{Model, Space};
/// let space = Space::new(Model::Hlb, 4)?;
/// let exact = space.inverse_exact(&Array::from([2.0f32, -0.5, 1.0, 0.0]))?;
/// // What cannot be undone is 0 and is listed; noise on the second element would be doubled.
/// assert_eq!(exact.array.to_vec::<f32>()?, [0.5, -2.0, 1.0, 0.0]);
/// assert_eq!((exact.zeros.len(), exact.zeros[0].bin, exact.gain), (1, 3, 2.0));
/// # Ok::<(), crossover_hrr::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Exact {
    /// The inverse, or what was unbound. Zero where there is no inverse.
    pub array: Array,
    /// Where there is no inverse. Empty: the result is exact up to rounding.
    pub zeros: Vec<ZeroBin>,
    /// The largest magnitude by which noise can grow: 1 over the smallest magnitude that was divided by.
    pub gain: f64,
}

impl Space {
    /// The vector that undoes a binding exactly, and the places where there is none.
    ///
    /// Noise grows where the spectrum is small: for random HRR vectors the inverse is several times as long as the vector. Prefer
    /// [`unitary`](Space::unitary) keys.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// use crossover_array::Array;
    /// let space = Space::new(Model::Hrr, 64)?;
    /// let (a, b) = (space.named("a")?, space.named("b")?);
    /// let exact = space.inverse_exact(&a)?;
    /// assert!(exact.zeros.is_empty());
    /// let again = space.bind(&space.bind(&a, &b)?, &exact.array)?;
    /// assert!(space.similarity(&again, &b)?.item::<f32>()? > 0.999);
    /// // All elements equal: only the frequency 0 is there.
    /// assert_eq!(space.inverse_exact(&Array::ones::<f32>([64]))?.zeros.len(), 32);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn inverse_exact(&self, a: &Array) -> Result<Exact> {
        self.check("inverse_exact", a)?;
        match self.model() {
            Model::Hrr => {
                let (inverse, zeros, gain) = self.reciprocal(&self.spectrum(a))?;
                Ok(Exact { array: self.signal(&inverse), zeros, gain })
            }
            Model::Bsc => Ok(Exact { array: a.clone(), zeros: Vec::new(), gain: 1.0 }),
            _ => {
                let (inverse, zeros, gain) = self.reciprocal(&self.widened(a))?;
                Ok(Exact { array: self.narrowed(&inverse), zeros, gain })
            }
        }
    }

    /// What was bound with `key`, without the noise of the approximate inverse, and the places where it cannot be known.
    ///
    /// ```
    /// use crossover_array::Array;
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Hrr, 512)?;
    /// let (key, x) = (space.named("key")?, space.named("x")?);
    /// let bound = space.bind(&key, &x)?;
    /// let alike = |found: &Array| -> crossover_hrr::Result<f32> { Ok(space.similarity(found, &x)?.item()?) };
    /// // What the involution only approximates is undone here.
    /// assert!(alike(&space.unbind(&bound, &key)?)? < 0.9);
    /// assert!(alike(&space.unbind_exact(&bound, &key)?.array)? > 0.999);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn unbind_exact(&self, bound: &Array, key: &Array) -> Result<Exact> {
        self.check("unbind_exact", bound)?;
        let inverse = self.inverse_exact(key)?;
        Ok(Exact { array: self.bind(bound, &inverse.array)?, ..inverse })
    }

    /// 1/x, with zeros where x is none to divide by.
    fn reciprocal(&self, x: &Array) -> Result<(Array, Vec<ZeroBin>, f64)> {
        let magnitude = x.abs();
        let largest = magnitude.max(crossover_array::keepdims(-1));
        let zero = magnitude.less_equal(&largest * tolerance(self.dtype()));
        let safe = zero.where_(1.0, &magnitude);
        let inverse = if x.dtype() == x.dtype().real() {
            zero.where_(0.0, x.reciprocal())
        } else {
            // conj(x)/|x|², by magnitudes twice so that nothing overflows.
            let (re, im) = (x.real() / &safe / &safe, x.imag() / &safe / &safe);
            complex(&zero.where_(0.0, re), &zero.where_(0.0, -im))
        };
        let bins = x.shape().dims().last().copied().unwrap_or(1).max(1);
        let places = zero.to_vec::<bool>()?;
        let zeros = (0..places.len())
            .filter(|&i| places[i])
            .map(|i| ZeroBin { row: i / bins, bin: i % bins })
            .collect();
        let gain = match x.size() {
            0 => 1.0,
            _ => zero
                .where_(f64::INFINITY, &magnitude)
                .min(())
                .reciprocal()
                .astype(DType::F64)
                .item::<f64>()?,
        };
        Ok((inverse, zeros, gain))
    }
}
