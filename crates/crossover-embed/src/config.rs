//! What an embedder is to be like.

use crossover_array::{DType, Device};

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
        if !self.temperature.is_finite() || self.temperature == 0.0 {
            let given = self.temperature.to_string();
            return Err(Error::Config { setting: "temperature", given, wanted: "it is finite and not 0" });
        }
        self.sinusoid().map(drop)
    }
}
