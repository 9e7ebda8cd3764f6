//! Tables for other vocabularies and widths.

use crossover_array::{Array, DType, s};

use crate::{Embedder, Error, Result, config::Grown, embedder::drawn};

impl Embedder {
    /// The embedder with a vocabulary of another size. Rows that both have are kept; new ones are drawn from N(0, 0.02).
    ///
    /// ```
    /// use crossover_array::Array;
    /// use crossover_embed::{EmbedConfig, Embedder};
    /// let small = Embedder::new(EmbedConfig::new(10, 4))?;
    /// let large = small.with_vocabulary(15)?;
    /// let row = Array::from([[3i64]]);
    /// assert_eq!(large.lookup(&row)?.to_vec::<f32>()?, small.lookup(&row)?.to_vec::<f32>()?);
    /// assert_eq!(large.table().shape().dims(), [15, 4]);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn with_vocabulary(&self, vocabulary: usize) -> Result<Embedder> {
        let mut config = self.config.clone();
        let before = std::mem::replace(&mut config.vocabulary, vocabulary);
        config.check()?;
        let kept = self.table.slice(s![..vocabulary.min(before) as i64]);
        let table = if vocabulary > before {
            let more = drawn(&config.growing(Grown::Rows, before), vocabulary - before, config.dimensions);
            Array::concat(&[&kept, &more.astype(kept.dtype())], 0)
        } else {
            kept
        };
        self.rebuilt(config, &table)
    }

    /// The embedder with another number of columns. The first columns are kept, and multiplied by √(old / new) so that rows keep their expected
    /// length; new columns are drawn with the spread of the old ones.
    ///
    /// ```
    /// use crossover_embed::{EmbedConfig, Embedder};
    /// let narrow = Embedder::new(EmbedConfig::new(10, 16))?.with_dimensions(4)?;
    /// assert_eq!(narrow.table().shape().dims(), [10, 4]);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn with_dimensions(&self, dimensions: usize) -> Result<Embedder> {
        let mut config = self.config.clone();
        let before = std::mem::replace(&mut config.dimensions, dimensions);
        config.check()?;
        let fit = |rows: &Array, what: Grown| -> Result<Array> {
            let wide = rows.astype(DType::F32);
            let kept = wide.slice(s![.., ..dimensions.min(before) as i64]);
            let all = if dimensions > before {
                let spread = wide.square().mean(()).sqrt();
                let key = config.growing(what, before);
                let fresh = drawn(&key, rows.shape()[0], dimensions - before);
                let fresh = fresh / crate::embedder::SPREAD * spread;
                Array::concat(&[&kept, &fresh], 1)
            } else {
                kept
            };
            let out = all * (before as f64 / dimensions as f64).sqrt();
            out.eval()?;
            Ok(out)
        };
        let table = fit(&self.table, Grown::Columns)?;
        let relative = self.relative.as_ref().map(|rows| fit(rows, Grown::RelativeColumns)).transpose()?;
        let mut made = Embedder::from_table(config.clone(), &table)?;
        made.relative = relative;
        Ok(made)
    }

    fn rebuilt(&self, config: crate::EmbedConfig, table: &Array) -> Result<Embedder> {
        let mut made = Embedder::from_table(config, table)?;
        made.relative.clone_from(&self.relative);
        Ok(made)
    }

    /// The embedder in another precision; the table is rounded once.
    ///
    /// ```
    /// use crossover_array::{Array, DType};
    /// use crossover_embed::{EmbedConfig, Embedder, Precision};
    /// let exact = Embedder::from_table(EmbedConfig::new(1, 2), &Array::from([[0.1f32, 0.5]]))?;
    /// let small = exact.with_precision(Precision::MixedF16)?;
    /// // 0.1 is rounded to 11 bits, 0.5 is a number of `f16`.
    /// assert_eq!(small.table().astype(DType::F64).to_vec::<f64>()?, [0.0999755859375, 0.5]);
    /// assert_eq!(small.info().table_bytes, exact.info().table_bytes / 2);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn with_precision(&self, precision: crate::Precision) -> Result<Embedder> {
        let mut config = self.config.clone();
        config.precision = precision;
        self.rebuilt(config, &self.table)
    }

    /// The tokenwise mean of rows, for tokens that a new vocabulary cuts into several old ones: row `i` becomes the mean of the old rows in
    /// `parts[i]`.
    ///
    /// ```
    /// use crossover_array::Array;
    /// use crossover_embed::{EmbedConfig, Embedder};
    /// let old = Embedder::from_table(EmbedConfig::new(2, 2), &Array::from([[1.0f32, 2.0], [3.0, 4.0]]))?;
    /// let new = old.recut(&[vec![0], vec![0, 1]])?;
    /// assert_eq!(new.table().to_vec::<f32>()?, [1.0, 2.0, 2.0, 3.0]);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn recut(&self, parts: &[Vec<i64>]) -> Result<Embedder> {
        let vocabulary = self.config.vocabulary;
        let mut rows = Vec::with_capacity(parts.len());
        for part in parts {
            if part.is_empty() {
                let what = "a token without parts has no row to start from".to_string();
                return Err(Error::Operand { op: "recut", what });
            }
            crate::embedder::all_inside(part, vocabulary)?;
            let indices = Array::from_slice(part, [part.len()]);
            rows.push(self.table.astype(DType::F32).take(&indices, 0).mean(0));
        }
        let mut config = self.config.clone();
        config.vocabulary = parts.len();
        config.check()?;
        let table = Array::stack(&rows.iter().collect::<Vec<_>>(), 0);
        self.rebuilt(config, &table)
    }
}
