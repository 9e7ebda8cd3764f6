//! What an embedder is to be like.

use crossover_array::{DType, Device, Key};

use crate::{Error, Layout, Result, Sinusoid};

/// In which dtypes an embedder stores and computes.
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
    pub fn device(mut self, device: Device) -> EmbedConfig {
        self.device = device;
        self
    }

    /// Whether lookup, encoding and sums share a kernel where that is possible.
    pub fn fusion(mut self, fusion: bool) -> EmbedConfig {
        self.fusion = fusion;
        self
    }

    /// What new rows are drawn with.
    pub fn seed(mut self, seed: u64) -> EmbedConfig {
        self.seed = seed;
        self
    }

    /// The encoding of positions.
    pub fn sinusoid(&self) -> Result<Sinusoid> {
        let encoding = Sinusoid::new(self.dimensions)?.layout(self.layout);
        encoding.base(self.base)?.scale(self.scale)?.phase(self.phase)?.shift(self.shift)
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
            let wanted = "it is finite and not 0, also when it is rounded to f32";
            return Err(Error::Config { setting: "temperature", given, wanted });
        }
        let fits =
            |rows: usize| rows.checked_mul(self.dimensions).is_some_and(|n| n <= isize::MAX as usize / 8);
        let wanted = "so many rows of these dimensions can be addressed";
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
