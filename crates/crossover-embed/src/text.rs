//! Texts to vectors: a tokenizer and an embedder that belong together, in one folder.
//!
//! The folder has `tokenizer.json` and `embedder.safetensors`, whose metadata holds the configuration and a checksum of the other file, so that
//! two halves of different models are not taken for one.

use std::path::Path;

use crossover_array::Array;
use xxhash_rust::xxh3::xxh3_64;

use crate::{Embedder, Error, Result, Tokenizer, Tokens, tokenizer};

const EMBEDDER: &str = "embedder.safetensors";
/// The metadata that names the tokenizer by its checksum.
const CHECKSUM: &str = "tokenizer";

/// A tokenizer and the embedder of its tokens.
///
/// ```
/// use crossover_embed::{EmbedConfig, Embedder, Padding, TextEmbedder, Tokenizer};
/// let texts = ["one fish", "two fish", "red fish", "blue fish"];
/// let tokenizer = Tokenizer::train(&texts, 280, &["<pad>"])?.padding(Padding::Longest, "<pad>")?;
/// let embedder = Embedder::new(EmbedConfig::new(tokenizer.vocabulary(), 16))?;
/// let model = TextEmbedder::new(tokenizer, embedder)?;
/// let (vectors, tokens) = model.embed(&texts)?;
/// assert_eq!(vectors.shape().dims()[..2], *tokens.mask.shape().dims());
/// let folder = std::env::temp_dir().join(format!("crossover-text-{}", std::process::id()));
/// model.save(&folder)?;
/// let again = TextEmbedder::load(&folder)?;
/// assert_eq!(again.embed(&texts)?.0.to_vec::<f32>()?, vectors.to_vec::<f32>()?);
/// # std::fs::remove_dir_all(&folder).ok();
/// # Ok::<(), crossover_embed::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TextEmbedder {
    tokenizer: Tokenizer,
    embedder: Embedder,
}

impl TextEmbedder {
    /// Both as one. The embedder must have a row for each token.
    pub fn new(tokenizer: Tokenizer, embedder: Embedder) -> Result<TextEmbedder> {
        let (tokens, rows) = (tokenizer.vocabulary(), embedder.config().vocabulary);
        if tokens > rows {
            let what = format!("the tokenizer has tokens below {tokens} and the embedder {rows} rows");
            return Err(Error::Operand { op: "text embedder", what });
        }
        Ok(TextEmbedder { tokenizer, embedder })
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The embedder.
    pub fn embedder(&self) -> &Embedder {
        &self.embedder
    }

    /// The vectors of texts, `[texts, length, dimensions]`, and their tokens.
    pub fn embed(&self, texts: &[impl AsRef<str>]) -> Result<(Array, Tokens)> {
        let tokens = self.tokenizer.encode_batch(texts)?;
        Ok((self.embedder.embed(&tokens.tokens)?, tokens))
    }

    /// Saves both, and the configuration, into a folder, which is made if it is not there.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        std::fs::create_dir_all(folder).map_err(|error| Error::io(folder, "make", &error))?;
        self.tokenizer.save(folder.join(tokenizer::FILE))?;
        let sum = checksum(&self.tokenizer.to_json()?);
        self.embedder.save_with(&folder.join(EMBEDDER), &[(CHECKSUM, &sum)])
    }

    /// Loads what [`save`](TextEmbedder::save) has saved.
    pub fn load(folder: impl AsRef<Path>) -> Result<TextEmbedder> {
        let (text, file) = (folder.as_ref().join(tokenizer::FILE), folder.as_ref().join(EMBEDDER));
        let found = std::fs::read_to_string(&text).map_err(|error| Error::io(&text, "read", &error))?;
        let (embedder, metadata) = Embedder::load_with(&file)?;
        let (found, wanted) = (checksum(&found), metadata.get(CHECKSUM));
        if wanted != Some(&found) {
            let wanted = wanted.map_or("none", String::as_str);
            let what = format!("its checksum is {found} and the embedder beside it was saved with {wanted}");
            return Err(Error::Corrupt { file: text.display().to_string(), what });
        }
        TextEmbedder::new(Tokenizer::load(&text)?, embedder)
    }
}

fn checksum(text: &str) -> String {
    format!("{:016x}", xxh3_64(text.as_bytes()))
}
