//! Vectors in 16 bits per number, to be kept: what is computed with is made from them again.

use crossover_array::{Array, DType, Index, s};

use crate::{Error, Model, Result, Space, space::complex};

impl Space {
    /// Vectors in a quarter to half of the memory: numbers rounded to `bf16`. Those of FHRR, of which there are no 16-bit ones to compute with, become
    /// rows of 2·d, real parts first; bits stay bits.
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
        self.check("compact", vectors)?;
        Ok(match self.model() {
            Model::Bsc => vectors.clone(),
            Model::Fhrr => Array::concat(&[&vectors.real(), &vectors.imag()], -1).astype(DType::BF16),
            _ => vectors.astype(DType::BF16),
        })
    }

    /// Vectors of the space from [compact](Space::compact) ones. FHRR's have length 1 again; a zero stays zero.
    pub fn expand(&self, compact: &Array) -> Result<Array> {
        compact.check()?;
        let (dtype, numbers) = match self.model() {
            Model::Bsc => (DType::Bool, self.d()),
            Model::Fhrr => (DType::BF16, 2 * self.d()),
            _ => (DType::BF16, self.d()),
        };
        if compact.dtype() != dtype || compact.shape().dims().last() != Some(&numbers) {
            let (given_dtype, given) = (compact.dtype(), compact.shape().clone());
            return Err(Error::Vector { op: "expand", dtype, d: numbers, given_dtype, given });
        }
        if self.model() != Model::Fhrr {
            return Ok(compact.astype(self.dtype()));
        }
        let d = self.d() as i64;
        let parts = compact.astype(self.dtype().real());
        let (re, im) = (parts.slice(s![Index::Ellipsis, 0..d]), parts.slice(s![Index::Ellipsis, d..2 * d]));
        let length = (re.square() + im.square()).sqrt();
        let safe = length.equal(0.0).where_(1.0, &length);
        Ok(complex(&(re / &safe), &(im / &safe)))
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
                let again = space.expand(&space.compact(&x).unwrap()).unwrap();
                assert_eq!((again.dtype(), again.shape()), (x.dtype(), x.shape()));
                let alike = space.similarity(&x, &again).unwrap().astype(DType::F64).min(());
                let least = alike.item::<f64>().unwrap();
                assert!(least > 0.9999, "{model} {dtype}: {least}");
            }
        }
    }

    #[test]
    fn what_is_not_compact_is_refused() {
        let space = Space::new(Model::Fhrr, 8).unwrap();
        let error = space.expand(&Array::zeros_dtype([8], DType::BF16)).unwrap_err().to_string();
        assert!(error.starts_with("expand: wants bf16 vectors of 16 numbers"), "{error}");
        let error = space.with_dtype(DType::BF16).unwrap_err().to_string();
        assert!(error.contains("keep vectors compact"), "{error}");
    }
}
