//! Embeddings of tokens and positions.
//!
//! A [`Sinusoid`] encodes positions, exact to a unit in the last place up to position 2²⁶, in all the layouts that are in use, and
//! [turns](Sinusoid::rotate) pairs for rotary attention. An [`Embedder`] looks tokens up, adds the encoding of their positions and whatever
//! its [`EmbedConfig`] asks for, in one kernel on a GPU. A [`Table`] is a file of rows that may be larger than memory, with a checksum per
//! block and a cache of the rows in use. With the feature `tokenizers`, which the facade has on, a `Tokenizer` turns texts into tokens and
//! back, and a `TextEmbedder` is one with its embedder, in a folder.
//!
//! ```
//! use crossover_array::Array;
//! use crossover_embed::{EmbedConfig, Embedder, Precision};
//! let config = EmbedConfig::new(1000, 64).precision(Precision::MixedBf16);
//! let embedder = Embedder::new(config)?;
//! let tokens = Array::from([[1i64, 2, 3], [999, 0, 5]]);
//! assert_eq!(embedder.embed(&tokens)?.shape().dims(), [2, 3, 64]);
//! let error = embedder.embed(&Array::from([[1000i64]])).unwrap_err();
//! assert_eq!(error.to_string(), "token 1000 at position 0 is outside the vocabulary of 1000");
//! # Ok::<(), crossover_embed::Error>(())
//! ```

mod adapt;
mod advice;
mod config;
mod double;
mod embedder;
mod error;
mod file;
mod hot;
mod relative;
mod rotary;
mod save;
mod sinusoid;
mod table;
#[cfg(feature = "tokenizers")]
mod text;
#[cfg(feature = "tokenizers")]
mod tokenizer;

pub use advice::{Advice, Benchmark, Info};
pub use config::{EmbedConfig, Precision};
pub use crossover_array::Rotary;
pub use embedder::Embedder;
pub use error::{Error, Result};
pub use sinusoid::{Layout, Sinusoid};
pub use table::{Table, TableStats};
#[cfg(feature = "tokenizers")]
pub use text::TextEmbedder;
#[cfg(feature = "tokenizers")]
pub use tokenizer::{Padding, Tokenizer, Tokens};
