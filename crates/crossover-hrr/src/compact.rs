//! Vectors in 16 bits per number, to be kept: what is computed with is made from them again.

use crossover_array::{Array, DType};

use crate::{
    Error, Model, Result, Space,
    space::{joined, parts},
};

impl Space {
    /// Vectors in a quarter to half of the memory: numbers rounded to `bf16`. Those of FHRR become rows of 2·d, real parts first; bits stay bits.
    ///
    /// A number is off by at most 2⁻⁹ of itself, a similarity by at most 2⁻⁸.
    ///
    /// ```
    /// use crossover_array::DType;
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Fhrr, 512)?;
    /// let words = space.named_all(&["one", "two"])?;
    /// let kept = space.compact(&words)?;
    /// assert_eq!((kept.dtype(), kept.shape().dims()), (DType::BF16, &[2, 1024][..]));
    /// let again = space.expand(&kept)?;
    /// assert!(space.similarity(&again, &words)?.min(()).item::<f32>()? > 0.99999);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn compact(&self, vectors: &Array) -> Result<Array> {
        self.compact_as(vectors, DType::BF16)
    }

    /// As [`compact`](Space::compact), in `f16` or `bf16`. In `f16` a number is off by at most 2⁻¹² of itself, or by 2⁻²⁵, and none is larger than 65,504.
    ///
    /// ```
    /// # use crossover_hrr::{Model, Space};
    /// # use crossover_array::DType;
    /// # let space = Space::new(Model::Hrr, 1024)?;
    /// let kept = space.compact_as(&space.named_all(&["one", "two"])?, DType::F16)?;
    /// assert_eq!(kept.dtype(), DType::F16);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn compact_as(&self, vectors: &Array, dtype: DType) -> Result<Array> {
        self.check("compact", vectors)?;
        is_compact("compact", dtype)?;
        Ok(match self.model() {
            Model::Bsc => vectors.clone(),
            Model::Fhrr if self.is_parts() => vectors.astype(dtype),
            Model::Fhrr => parts(vectors).astype(dtype),
            _ => vectors.astype(dtype),
        })
    }

    /// Vectors of the space from [compact](Space::compact) ones of either dtype. FHRR's have length 1 again; a zero stays zero.
    ///
    /// ```
    /// # use crossover_hrr::{Model, Space};
    /// # let space = Space::new(Model::Hrr, 1024)?;
    /// let word = space.named("one")?;
    /// let again = space.expand(&space.compact(&word)?)?;
    /// assert!(space.similarity(&again, &word)?.item::<f32>()? > 0.9999);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn expand(&self, compact: &Array) -> Result<Array> {
        compact.check()?;
        let given_dtype = compact.dtype();
        let wanted = if given_dtype == DType::F16 { DType::F16 } else { DType::BF16 };
        let (dtype, numbers) = self.compact_form(wanted);
        if given_dtype != dtype || compact.shape().dims().last() != Some(&numbers) {
            let given = compact.shape().clone();
            return Err(Error::Vector { op: "expand", dtype, d: numbers, given_dtype, given });
        }
        Ok(self.expanded(compact))
    }

    /// As [`expand`](Space::expand), of what is compact.
    pub(crate) fn expanded(&self, compact: &Array) -> Array {
        if self.model() != Model::Fhrr || compact.dtype() == self.dtype() {
            return compact.astype(self.dtype());
        }
        let made = joined(&compact.astype(self.wide_dtype().real()));
        let length = (made.real().square() + made.imag().square()).sqrt();
        let safe = length.equal(0.0).where_(1.0, &length).astype(made.dtype());
        self.narrowed(&(made / safe))
    }

    /// The dtype of compact vectors, and numbers of each, where they are asked for in this dtype.
    pub(crate) fn compact_form(&self, dtype: DType) -> (DType, usize) {
        match self.model() {
            Model::Bsc => (DType::Bool, self.d()),
            Model::Fhrr => (dtype, 2 * self.d()),
            _ => (dtype, self.d()),
        }
    }
}

/// Refuses dtypes that vectors are not kept in.
pub(crate) fn is_compact(op: &'static str, dtype: DType) -> Result<()> {
    match dtype {
        DType::F16 | DType::BF16 => Ok(()),
        _ => Err(Error::value(op, format!("vectors are kept in f16 or bf16, not {dtype}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_vectors_come_back_in_every_model() {
        for model in Model::ALL {
            for &dtype in model.dtypes() {
                let space = Space::new(model, 333).unwrap().with_dtype(dtype).unwrap();
                let x = space.named_all(&["a", "b", "c"]).unwrap();
                for kept in [DType::F16, DType::BF16] {
                    let compact = space.compact_as(&x, kept).unwrap();
                    assert_eq!(compact.dtype(), space.compact_form(kept).0);
                    let again = space.expand(&compact).unwrap();
                    assert_eq!((again.dtype(), again.shape()), (x.dtype(), x.shape()));
                    let alike = space.similarity(&x, &again).unwrap().astype(DType::F64).min(());
                    let least = alike.item::<f64>().unwrap();
                    assert!(least > 0.9999, "{model} {dtype} {kept}: {least}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_compact_is_refused() {
        let space = Space::new(Model::Fhrr, 8).unwrap();
        let error = space.expand(&Array::zeros_dtype([8], DType::BF16)).unwrap_err().to_string();
        assert!(error.starts_with("expand: wants bf16 vectors of 16 numbers"), "{error}");
        let error = space.compact_as(&space.named("a").unwrap(), DType::F32).unwrap_err().to_string();
        assert_eq!(error, "compact: vectors are kept in f16 or bf16, not f32");
    }
}
