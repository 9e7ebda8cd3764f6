//! What an embedder is to be like.

use crossover_array::{DType, Device, Key};

use crate::{Error, Layout, Result, Sinusoid};

/// In which dtypes an embedder stores and computes.
///
/// ```
/// use crossover_array::DType;
/// use crossover_embed::Precision;
/// assert_eq!(Precision::default(), Precision::F32);
/// assert_eq!(Precision::MixedBf16.dtype(), DType::BF16);
/// // Names are what settings of a program are written with.
/// assert_eq!(Precision::named("mixed_f16"), Some(Precision::MixedF16));
/// assert_eq!(Precision::named("f64"), None);
/// assert_eq!(Precision::ALL.map(Precision::name), ["f32", "mixed_f16", "mixed_bf16"]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Precision {
    /// `f32` throughout.
    #[default]
    F32,
    /// The table and the result in `f16`, sums in `f32`.
    MixedF16,
    /// The table and the result in `bf16`, sums in `f32`.
    MixedBf16,
}

impl Precision {
    /// All of them.
    pub const ALL: [Precision; 3] = [Precision::F32, Precision::MixedF16, Precision::MixedBf16];

    /// The dtype of the table and of results.
    pub fn dtype(self) -> DType {
        match self {
            Precision::F32 => DType::F32,
            Precision::MixedF16 => DType::F16,
            Precision::MixedBf16 => DType::BF16,
        }
    }

    /// The name in files and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::MixedF16 => "mixed_f16",
            Precision::MixedBf16 => "mixed_bf16",
        }
    }

    /// The precision of this name.
    pub fn named(name: &str) -> Option<Precision> {
        Precision::ALL.into_iter().find(|precision| precision.name() == name)
    }
}

/// What can grow.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Grown {
    Rows,
    Columns,
    RelativeColumns,
}

/// What an [`Embedder`](crate::Embedder) is made with.
///
/// ```
/// use crossover_embed::{EmbedConfig, Layout, Precision};
/// let config = EmbedConfig::new(50_000, 512).layout(Layout::Concatenated).temperature(2.0).precision(Precision::MixedF16);
/// assert_eq!((config.vocabulary, config.dimensions), (50_000, 512));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EmbedConfig {
    /// Number of tokens.
    pub vocabulary: usize,
    /// Number of columns.
    pub dimensions: usize,
    /// Where sines and cosines go.
    pub layout: Layout,
    /// What frequencies are powers of.
    pub base: f64,
    /// What frequencies are multiplied by.
    pub scale: f64,
    /// What is added to angles, in radians.
    pub phase: f64,
    /// What is subtracted from the number of frequencies in the exponent.
    pub shift: f64,
    /// What the sum of embedding and encoding is divided by.
    pub temperature: f64,
    /// Distance up to which positions have a relative term of their own; `None` for no such term.
    pub relative: Option<usize>,
    /// In which dtypes to store and compute.
    pub precision: Precision,
    /// Where to compute.
    pub device: Device,
    /// Whether lookup, encoding and sums share a kernel where that is possible; off for comparison.
    pub fusion: bool,
    /// What new rows are drawn with.
    pub seed: u64,
}

impl EmbedConfig {
    /// A configuration with everything at its default.
    pub fn new(vocabulary: usize, dimensions: usize) -> EmbedConfig {
        EmbedConfig {
            vocabulary,
            dimensions,
            layout: Layout::default(),
            base: 10_000.0,
            scale: 1.0,
            phase: 0.0,
            shift: 0.0,
            temperature: 1.0,
            relative: None,
            precision: Precision::default(),
            device: Device::Auto,
            fusion: true,
            seed: 0,
        }
    }

    /// Where sines and cosines go.
    pub fn layout(mut self, layout: Layout) -> EmbedConfig {
        self.layout = layout;
        self
    }

    /// What the sum of embedding and encoding is divided by.
    pub fn temperature(mut self, temperature: f64) -> EmbedConfig {
        self.temperature = temperature;
        self
    }

    /// Distance up to which positions have a relative term of their own.
    ///
    /// ```
    /// use crossover_embed::{EmbedConfig, Embedder};
    /// let embedder = Embedder::new(EmbedConfig::new(100, 8).relative(3))?;
    /// // One row per distance: -3, -2, -1, 0, 1, 2, 3.
    /// assert_eq!(embedder.relative().map(|rows| rows.shape().dims().to_vec()), Some(vec![7, 8]));
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn relative(mut self, window: usize) -> EmbedConfig {
        self.relative = Some(window);
        self
    }

    /// In which dtypes to store and compute.
    pub fn precision(mut self, precision: Precision) -> EmbedConfig {
        self.precision = precision;
        self
    }

    /// Where to compute.
    ///
    /// ```
    /// use crossover_array::{Array, Device};
    /// use crossover_embed::{EmbedConfig, Embedder};
    /// // On the CPU, also where there is a GPU.
    /// let embedder = Embedder::new(EmbedConfig::new(10, 4).device(Device::Cpu))?;
    /// assert_eq!(embedder.embed(&Array::from([[7i64, 8]]))?.shape().dims(), [1, 2, 4]);
    /// assert_eq!(embedder.info().device, Device::Cpu);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn device(mut self, device: Device) -> EmbedConfig {
        self.device = device;
        self
    }

    /// Whether lookup, encoding and sums share a kernel where that is possible.
    ///
    /// ```
    /// use crossover_array::Array;
    /// use crossover_embed::{EmbedConfig, Embedder};
    /// let tokens = Array::from([[1i64, 2, 3]]);
    /// let fused = Embedder::new(EmbedConfig::new(10, 4))?.embed(&tokens)?;
    /// let apart = Embedder::new(EmbedConfig::new(10, 4).fusion(false))?.embed(&tokens)?;
    /// // It decides what is kept in between, and no bit of the result.
    /// assert_eq!(fused.to_vec::<f32>()?, apart.to_vec::<f32>()?);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn fusion(mut self, fusion: bool) -> EmbedConfig {
        self.fusion = fusion;
        self
    }

    /// What new rows are drawn with.
    ///
    /// ```
    /// use crossover_embed::{EmbedConfig, Embedder};
    /// let drawn = |seed| Embedder::new(EmbedConfig::new(10, 4).seed(seed));
    /// let rows = drawn(1)?.table().to_vec::<f32>()?;
    /// assert_eq!(drawn(1)?.table().to_vec::<f32>()?, rows);
    /// assert_ne!(drawn(2)?.table().to_vec::<f32>()?, rows);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn seed(mut self, seed: u64) -> EmbedConfig {
        self.seed = seed;
        self
    }

    /// The encoding of positions.
    ///
    /// ```
    /// use crossover_array::{Array, DType};
    /// use crossover_embed::{EmbedConfig, Embedder};
    /// let config = EmbedConfig::new(5, 4);
    /// let encoding = config.sinusoid()?.encode(&Array::arange(2), DType::F32)?;
    /// // Of rows that are 0, the encoding is what remains.
    /// let embedder = Embedder::from_table(config, &Array::zeros::<f32>([5, 4]))?;
    /// assert_eq!(embedder.embed(&Array::from([3i64, 3]))?.to_vec::<f32>()?, encoding.to_vec::<f32>()?);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn sinusoid(&self) -> Result<Sinusoid> {
        let encoding = Sinusoid::new(self.dimensions)?.layout(self.layout);
        // The scale first: frequencies that a base below 1 makes grow may be slow enough with it.
        encoding.scale(self.scale)?.base(self.base)?.phase(self.phase)?.shift(self.shift)
    }

    /// What no embedder can be like.
    pub(crate) fn check(&self) -> Result<()> {
        if self.vocabulary == 0 {
            let wanted = "a vocabulary has at least one token";
            return Err(Error::Config { setting: "vocabulary", given: "0".into(), wanted });
        }
        // It divides sums in f32.
        if !(self.temperature as f32).is_normal() {
            let given = format!("{:?}", self.temperature);
            let wanted = "it must be finite and not 0, also when it is rounded to f32";
            return Err(Error::Config { setting: "temperature", given, wanted });
        }
        let fits =
            |rows: usize| rows.checked_mul(self.dimensions).is_some_and(|n| n <= isize::MAX as usize / 8);
        let wanted = "so many rows of these dimensions cannot be addressed";
        if !fits(self.vocabulary) {
            return Err(Error::Config { setting: "vocabulary", given: self.vocabulary.to_string(), wanted });
        }
        if let Some(window) = self.relative
            && !window.checked_mul(2).and_then(|both| both.checked_add(1)).is_some_and(fits)
        {
            return Err(Error::Config { setting: "relative", given: window.to_string(), wanted });
        }
        self.sinusoid().map(drop)
    }

    /// What the rows of a table and those of the relative term are drawn with.
    pub(crate) fn keys(&self) -> (Key, Key) {
        let (table, rest) = Key::new(self.seed).split();
        (table, rest.split().0)
    }

    /// What is drawn with when something grows: a key for each kind of thing and each size that it had, so that growing again repeats nothing.
    pub(crate) fn growing(&self, what: Grown, before: usize) -> Key {
        Key::new(self.seed).fold(what as u64).fold(before as u64)
    }
}
