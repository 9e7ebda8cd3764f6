//! Tokens and positions to vectors.

use crossover_array::{Array, DType, Key, Runtime, eval_all, random, s, with_device};

use crate::{EmbedConfig, Error, Result, Sinusoid, relative};

/// Standard deviation of rows that nobody has trained.
pub(crate) const SPREAD: f64 = 0.02;

/// A table of token embeddings and the encoding of positions:
/// `(table[token] + encoding[position]) / temperature + relative[position]`.
///
/// ```
/// use crossover_array::Array;
/// use crossover_embed::{EmbedConfig, Embedder};
/// let table = Array::from([[1.0f32, 2.0], [3.0, 4.0]]);
/// let embedder = Embedder::from_table(EmbedConfig::new(2, 2), &table)?;
/// let out = embedder.embed(&Array::from([[1i64, 0]]))?.to_vec::<f32>()?;
/// assert_eq!(out[..2], [3.0, 5.0]); // row 1, and position 0: sin 0 and cos 0
/// # Ok::<(), crossover_embed::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Embedder {
    pub(crate) config: EmbedConfig,
    pub(crate) table: Array,
    /// One row per distance from -window to window.
    pub(crate) relative: Option<Array>,
    pub(crate) encoding: Sinusoid,
}

impl Embedder {
    /// An embedder with rows drawn from N(0, 0.02).
    pub fn new(config: EmbedConfig) -> Result<Embedder> {
        config.check()?;
        let table = drawn(&config.keys().0, config.vocabulary, config.dimensions);
        Embedder::from_table(config, &table)
    }

    /// An embedder with a table of your own, `[vocabulary, dimensions]` of any floating-point dtype.
    pub fn from_table(config: EmbedConfig, table: &Array) -> Result<Embedder> {
        config.check()?;
        table.check()?;
        if table.shape().dims() != [config.vocabulary, config.dimensions] || !table.dtype().is_float() {
            let (dtype, shape) = (table.dtype(), table.shape());
            let what = format!(
                "a table of {dtype}{shape} for a vocabulary of {} and {} dimensions; floating-point rows, one per token, are needed",
                config.vocabulary, config.dimensions
            );
            return Err(Error::Operand { op: "embedder", what });
        }
        let encoding = config.sinusoid()?;
        let table = table.astype(config.precision.dtype());
        table.eval()?;
        let relative = match config.relative {
            None => None,
            Some(window) => {
                let rows = drawn(&config.keys().1, 2 * window + 1, config.dimensions).astype(DType::F32);
                rows.eval()?;
                Some(rows)
            }
        };
        Ok(Embedder { config, table, relative, encoding })
    }

    /// The configuration.
    ///
    /// ```
    /// use crossover_embed::{EmbedConfig, Embedder};
    /// let embedder = Embedder::new(EmbedConfig::new(100, 8).temperature(2.0))?.with_vocabulary(120)?;
    /// assert_eq!((embedder.config().vocabulary, embedder.config().temperature), (120, 2.0));
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn config(&self) -> &EmbedConfig {
        &self.config
    }

    /// The table.
    pub fn table(&self) -> &Array {
        &self.table
    }

    /// The rows of the relative term, if there is one: one per distance from -window to window.
    ///
    /// ```
    /// use crossover_embed::{EmbedConfig, Embedder};
    /// let embedder = Embedder::new(EmbedConfig::new(100, 8).relative(2))?;
    /// assert_eq!(embedder.relative().map(|rows| rows.shape()[0]), Some(5));
    /// assert!(Embedder::new(EmbedConfig::new(100, 8))?.relative().is_none());
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn relative(&self) -> Option<&Array> {
        self.relative.as_ref()
    }

    /// Puts rows of your own in place of those of the relative term.
    ///
    /// ```
    /// use crossover_array::Array;
    /// use crossover_embed::{EmbedConfig, Embedder};
    /// let config = EmbedConfig::new(1, 2).relative(1);
    /// let mut embedder = Embedder::from_table(config, &Array::zeros::<f32>([1, 2]))?;
    /// // Rows for what lies one step or more ahead, for the position itself, and for what lies behind.
    /// embedder.set_relative(&Array::from([[0.0f32, 0.0], [0.0, 0.0], [9.0, 0.0]]))?;
    /// let out = embedder.embed(&Array::from([0i64, 0, 0]))?.to_vec::<f32>()?;
    /// // Of three positions none, one and two lie behind. The sine of the position is added.
    /// assert_eq!([out[0], out[2], out[4]], [0.0, 3.0 + 1f32.sin(), 6.0 + 2f32.sin()]);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn set_relative(&mut self, rows: &Array) -> Result<()> {
        rows.check()?;
        let window = self.config.relative;
        if window.map(|window| vec![2 * window + 1, self.config.dimensions]).as_deref()
            != Some(rows.shape().dims())
        {
            let what =
                format!("rows {} for a window of {window:?}; 2·window + 1 rows are needed", rows.shape());
            return Err(Error::Operand { op: "set_relative", what });
        }
        self.relative = Some(rows.astype(DType::F32));
        Ok(())
    }

    /// The embedding of tokens at positions 0, 1, … along the last axis; one more axis, of the embedder's dimensions.
    pub fn embed(&self, tokens: &Array) -> Result<Array> {
        self.embed_at(tokens, 0)
    }

    /// As [`embed`](Embedder::embed), for a sequence that goes on at a position.
    ///
    /// ```
    /// use crossover_array::{Array, s};
    /// use crossover_embed::{EmbedConfig, Embedder};
    /// let embedder = Embedder::new(EmbedConfig::new(10, 8))?;
    /// let whole = embedder.embed(&Array::arange(6))?;
    /// let rest = embedder.embed_at(&Array::from([4i64, 5]), 4)?;
    /// assert_eq!(whole.slice(s![4..]).to_vec::<f32>()?, rest.to_vec::<f32>()?);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn embed_at(&self, tokens: &Array, position: i64) -> Result<Array> {
        check_kind(tokens)?;
        with_device(self.config.device, || self.checked(tokens, self.pending(tokens, position)?))
    }

    /// Only the rows of tokens, without positions.
    ///
    /// ```
    /// use crossover_array::Array;
    /// use crossover_embed::{EmbedConfig, Embedder};
    /// let table = Array::from([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    /// let embedder = Embedder::from_table(EmbedConfig::new(3, 2), &table)?;
    /// assert_eq!(embedder.lookup(&Array::from([2i64, 0]))?.to_vec::<f32>()?, [5.0, 6.0, 1.0, 2.0]);
    /// let error = embedder.lookup(&Array::from([0i64, -1])).unwrap_err();
    /// assert_eq!(error.to_string(), "token -1 at position 1 is outside the vocabulary of 3");
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn lookup(&self, tokens: &Array) -> Result<Array> {
        check_kind(tokens)?;
        with_device(self.config.device, || self.checked(tokens, self.rows(tokens)))
    }

    /// What was made of tokens, computed together with the answer whether all of them are in the vocabulary, so that a device is waited for
    /// once. What was looked up for one that is not is some other token's row, and is dropped.
    fn checked(&self, tokens: &Array, out: Array) -> Result<Array> {
        let vocabulary = self.config.vocabulary;
        let inside = are_inside(tokens, vocabulary);
        eval_all(&[&inside, &out])?;
        if !inside.item::<bool>()? {
            all_inside(&tokens.astype(DType::I64).to_vec::<i64>()?, vocabulary)?;
        }
        Ok(out)
    }

    fn rows(&self, tokens: &Array) -> Array {
        let mut shape = tokens.shape().dims().to_vec();
        shape.push(self.config.dimensions);
        // `checked` says whether all of them are there.
        self.table.take_clipped(&tokens.astype(DType::I64).flatten(), 0).reshape(shape)
    }

    /// What [`embed_at`](Embedder::embed_at) computes, whatever the tokens; [`checked`](Embedder::checked) says whether they are in the vocabulary.
    pub(crate) fn pending(&self, tokens: &Array, position: i64) -> Result<Array> {
        self.staged(tokens, position, &mut |stage| {
            stage.eval()?;
            Ok(())
        })
    }

    /// As [`pending`](Embedder::pending), where `compute` computes what is computed before the rest.
    pub(crate) fn staged(
        &self,
        tokens: &Array,
        position: i64,
        compute: &mut dyn FnMut(&Array) -> Result<()>,
    ) -> Result<Array> {
        let length = tokens.shape().dims().last().copied().unwrap_or(1);
        let positions = Array::arange(length as i64);
        let encoding = self.encoding.clone().offset(position);
        let rows = self.rows(tokens);
        if !self.config.fusion {
            compute(&rows)?;
        }
        // Inside the sum it would be computed anew for every sequence, which takes longer than reading it; and a CPU looks rows up by
        // themselves anyway.
        let alone = self.config.fusion && tokens.size() <= length && Runtime::current().device_count() > 0;
        let inside = if alone { encoding.by_column(&positions, DType::F32) } else { None };
        let encoding = match inside {
            Some(inside) => inside,
            None => {
                let apart = encoding.encode(&positions, DType::F32)?;
                compute(&apart)?;
                apart
            }
        };
        let mut out = rows.astype(DType::F32) + &encoding;
        if self.config.temperature != 1.0 {
            out /= self.config.temperature;
        }
        if let (Some(rows), Some(window)) = (&self.relative, self.config.relative) {
            // No two positions of a sequence are farther apart, so that rows for larger distances have no share.
            let near = window.min(length.saturating_sub(1));
            let rows = rows.slice(s![(window - near) as i64..=(window + near) as i64]);
            let term = relative::means(&rows, length, near);
            if !alone {
                compute(&term)?;
            }
            out += term;
        }
        let out = out.astype(self.config.precision.dtype());
        out.check()?;
        Ok(out)
    }
}

/// Rows of N(0, 0.02), `f32`.
pub(crate) fn drawn(key: &Key, rows: usize, columns: usize) -> Array {
    random::normal::<f32>(key, [rows, columns]) * SPREAD
}

/// That tokens are whole numbers with at least one axis.
pub(crate) fn check_kind(tokens: &Array) -> Result<()> {
    tokens.check()?;
    if !tokens.dtype().is_int() || tokens.ndim() == 0 {
        let what =
            format!("{}{}: whole numbers with at least one axis are needed", tokens.dtype(), tokens.shape());
        return Err(Error::Operand { op: "tokens", what });
    }
    Ok(())
}

/// Whether all tokens are inside a vocabulary: one answer, for a device that is waited for.
fn are_inside(tokens: &Array, vocabulary: usize) -> Array {
    let wide = tokens.astype(DType::I64);
    wide.greater_equal(0).logical_and(wide.less(vocabulary as i64)).all(())
}

/// That tokens are inside a vocabulary; the first that is not.
pub(crate) fn all_inside(tokens: &[i64], vocabulary: usize) -> Result<()> {
    // As numbers without a sign those below 0 are beyond every vocabulary.
    match tokens.iter().position(|&token| token as u64 >= vocabulary as u64) {
        Some(at) => Err(Error::Token { token: tokens[at], at, vocabulary }),
        None => Ok(()),
    }
}
