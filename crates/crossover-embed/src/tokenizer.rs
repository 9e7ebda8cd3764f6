//! Texts to tokens and back, by `tokenizer.json`, the format of the crate `tokenizers`.
//!
//! Tokens are `i64`, as embedders want them. Padding and truncation are settings of the tokenizer and are saved with it. Nothing is fetched
//! from anywhere: a tokenizer is a file, or it is trained.

use std::path::Path;

use crossover_array::Array;
use tokenizers::{
    AddedToken, EncodeInput, Encoding, ModelWrapper, PaddingDirection, PaddingParams, PaddingStrategy,
    TruncationParams,
    models::{
        TrainerWrapper,
        bpe::{BPE, BpeTrainer},
    },
    pre_tokenizers::byte_level::ByteLevel,
};

use crate::{Error, Result};

/// The file of a tokenizer in a folder.
pub(crate) const FILE: &str = "tokenizer.json";

/// How texts of a batch are made equally long.
///
/// ```
/// use crossover_embed::{Padding, Tokenizer};
/// let texts = ["the cat", "the cat sat on the mat"];
/// let tokenizer = Tokenizer::train(&texts, 300, &["<pad>"])?;
/// let longest = tokenizer.clone().padding(Padding::Longest, "<pad>")?.encode_batch(&texts)?;
/// assert_eq!(longest.tokens.shape()[1], tokenizer.encode(texts[1])?.len());
/// let fixed = tokenizer.padding(Padding::To(32), "<pad>")?.encode_batch(&texts)?;
/// assert_eq!(fixed.tokens.shape().dims(), [2, 32]);
/// # Ok::<(), crossover_embed::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Padding {
    /// As long as the longest of the batch.
    Longest,
    /// As long as this; what is longer stays so unless it is truncated.
    To(usize),
}

/// Tokens of several texts.
///
/// ```
/// use crossover_embed::{Padding, Tokenizer};
/// let texts = ["no", "no no no"];
/// let tokenizer = Tokenizer::train(&texts, 300, &["<pad>"])?.padding(Padding::Longest, "<pad>")?;
/// let batch = tokenizer.encode_batch(&texts)?;
/// // The first text is padded at its end with token 0, and the mask says where.
/// assert_eq!(batch.mask.to_vec::<bool>()?, [true, false, false, true, true, true]);
/// assert_eq!(batch.tokens.index(0).to_vec::<i64>()?[1..], [0, 0]);
/// # Ok::<(), crossover_embed::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Tokens {
    /// `[texts, length]`, `i64`.
    pub tokens: Array,
    /// False where a token pads; of the same shape.
    pub mask: Array,
}

/// Texts to tokens and back.
///
/// ```
/// use crossover_embed::{Padding, Tokenizer};
/// let texts = ["the cat sat on the mat", "the dog sat on the cat"];
/// let tokenizer = Tokenizer::train(&texts, 300, &["<pad>", "<end>"])?.padding(Padding::Longest, "<pad>")?;
/// let tokens = tokenizer.encode("the cat<end>")?;
/// assert_eq!(tokens.last(), tokenizer.id("<end>").as_ref());
/// assert_eq!(tokenizer.decode(&tokens)?, "the cat");
/// let batch = tokenizer.encode_batch(&["the cat", "a dog sat on the mat"])?;
/// assert_eq!(batch.tokens.shape().dims()[0], 2);
/// assert_eq!(tokenizer.decode_batch(&batch.tokens)?, ["the cat", "a dog sat on the mat"]);
/// # Ok::<(), crossover_embed::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    /// Tokens are below this.
    vocabulary: usize,
}

fn refused(action: &'static str) -> impl Fn(tokenizers::Error) -> Error {
    move |error| Error::Tokenizer { action, reason: error.to_string() }
}

impl Tokenizer {
    fn new(inner: tokenizers::Tokenizer) -> Tokenizer {
        // Numbers may have gaps, so that the largest counts and not how many there are.
        let vocabulary = inner.get_vocab(true).values().max().map_or(0, |&most| most as usize + 1);
        Tokenizer { inner, vocabulary }
    }

    /// The tokenizer of a file, or of the file `tokenizer.json` in a folder.
    ///
    /// ```
    /// use crossover_embed::Tokenizer;
    /// # let folder = std::env::temp_dir().join(format!("crossover-tokenizer-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let tokenizer = Tokenizer::train(&["the cat sat on the mat"], 300, &["<pad>", "<end>"])?;
    /// tokenizer.save(folder.join("tokenizer.json"))?;
    /// let again = Tokenizer::load(&folder)?; // or the file itself
    /// assert_eq!(again.encode("the mat")?, tokenizer.encode("the mat")?);
    /// # std::fs::remove_dir_all(&folder).ok();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<Tokenizer> {
        let path = path.as_ref();
        let file = if path.is_dir() { path.join(FILE) } else { path.to_path_buf() };
        let text = std::fs::read_to_string(&file).map_err(|error| Error::io(&file, "read", &error))?;
        Tokenizer::from_json(&text).map_err(|error| match error {
            Error::Tokenizer { reason, .. } => {
                Error::Corrupt { file: file.display().to_string(), what: reason }
            }
            other => other,
        })
    }

    /// The tokenizer that a text describes.
    ///
    /// ```
    /// use crossover_embed::Tokenizer;
    /// let words = r#"{
    ///     "model": { "type": "WordLevel", "vocab": { "yes": 0, "no": 1, "<unk>": 2 }, "unk_token": "<unk>" },
    ///     "pre_tokenizer": { "type": "Whitespace" }
    /// }"#;
    /// let tokenizer = Tokenizer::from_json(words)?;
    /// assert_eq!(tokenizer.encode("no no perhaps yes")?, [1, 1, 2, 0]);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn from_json(text: &str) -> Result<Tokenizer> {
        let inner = tokenizers::Tokenizer::from_bytes(text).map_err(refused("read a description"))?;
        Ok(Tokenizer::new(inner))
    }

    /// The text that describes this tokenizer.
    ///
    /// ```
    /// use crossover_embed::Tokenizer;
    /// let tokenizer = Tokenizer::train(&["the cat sat on the mat"], 300, &["<pad>", "<end>"])?;
    /// let text = tokenizer.to_json()?;
    /// assert!(text.contains("\"<end>\""));
    /// assert_eq!(Tokenizer::from_json(&text)?.vocabulary(), tokenizer.vocabulary());
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn to_json(&self) -> Result<String> {
        self.inner.to_string(true).map_err(refused("write a description"))
    }

    /// Saves the description to a file.
    ///
    /// ```
    /// use crossover_embed::Tokenizer;
    /// # let path = std::env::temp_dir().join(format!("crossover-tokenizer-{}.json", std::process::id()));
    /// let tokenizer = Tokenizer::train(&["the cat sat on the mat"], 300, &["<pad>", "<end>"])?;
    /// tokenizer.save(&path)?;
    /// assert_eq!(Tokenizer::load(&path)?.to_json()?, tokenizer.to_json()?);
    /// # std::fs::remove_file(&path).ok();
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let (path, text) = (path.as_ref(), self.to_json()?);
        crossover_io::replace(path, |file| std::io::Write::write_all(file, text.as_bytes()))
            .map_err(|error| Error::io(path, "write", &error))
    }

    /// A tokenizer of pairs of bytes that occur often in texts, with at most so many tokens: the special ones first, then the 256 bytes, so that
    /// every text can be encoded and comes back as it was.
    pub fn train(texts: &[impl AsRef<str>], vocabulary: usize, special: &[&str]) -> Result<Tokenizer> {
        let least = 256 + special.len();
        if vocabulary < least {
            let wanted = "it must have room for the 256 bytes and the special tokens";
            return Err(Error::Config { setting: "vocabulary", given: vocabulary.to_string(), wanted });
        }
        let mut inner = tokenizers::Tokenizer::new(BPE::default());
        let bytes = ByteLevel::new(false, true, true);
        inner.with_pre_tokenizer(Some(bytes)).with_decoder(Some(bytes)).with_post_processor(Some(bytes));
        let trainer = BpeTrainer::builder()
            .vocab_size(vocabulary)
            .min_frequency(2)
            .show_progress(false)
            .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
            .special_tokens(special.iter().map(|token| AddedToken::from(*token, true)).collect())
            .build();
        // The model is one of several behind an enum, and so is what trains it.
        let mut trainer = TrainerWrapper::from(trainer);
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        inner.train(&mut trainer, texts.into_iter()).map_err(refused("train"))?;
        debug_assert!(matches!(inner.get_model(), ModelWrapper::BPE(_)));
        Ok(Tokenizer::new(inner))
    }

    /// Makes texts of a batch equally long with a token of the vocabulary, at their ends.
    pub fn padding(mut self, padding: Padding, token: &str) -> Result<Tokenizer> {
        let pad_id = self.inner.token_to_id(token).ok_or_else(|| Error::Config {
            setting: "padding token",
            given: format!("{token:?}"),
            wanted: "it must be a token of the vocabulary",
        })?;
        let strategy = match padding {
            Padding::Longest => PaddingStrategy::BatchLongest,
            Padding::To(length) => PaddingStrategy::Fixed(length),
        };
        self.inner.with_padding(Some(PaddingParams {
            strategy,
            direction: PaddingDirection::Right,
            pad_id,
            pad_token: token.to_string(),
            ..PaddingParams::default()
        }));
        Ok(self)
    }

    /// Keeps at most so many tokens of a text, special ones included.
    ///
    /// ```
    /// use crossover_embed::Tokenizer;
    /// let text = "a long sentence";
    /// let tokenizer = Tokenizer::train(&[text], 256, &[])?; // bytes alone
    /// let short = tokenizer.clone().truncation(6)?;
    /// assert_eq!((tokenizer.encode(text)?.len(), short.encode(text)?.len()), (15, 6));
    /// assert_eq!(short.decode(&short.encode(text)?)?, "a long");
    /// assert_eq!(short.whole().encode(text)?.len(), 15);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn truncation(mut self, length: usize) -> Result<Tokenizer> {
        let params = TruncationParams { max_length: length, ..TruncationParams::default() };
        self.inner.with_truncation(Some(params)).map_err(|error| Error::Tokenizer {
            action: "truncate",
            reason: format!("to {length}: {error}"),
        })?;
        Ok(self)
    }

    /// Neither pads nor truncates.
    ///
    /// ```
    /// use crossover_embed::{Padding, Tokenizer};
    /// let tokenizer = Tokenizer::train(&["abc"], 257, &["<pad>"])?.padding(Padding::To(8), "<pad>")?;
    /// assert_eq!(tokenizer.encode_batch(&["abc"])?.tokens.shape()[1], 8);
    /// assert_eq!(tokenizer.whole().encode_batch(&["abc"])?.tokens.shape()[1], 3);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn whole(mut self) -> Tokenizer {
        self.inner.with_padding(None);
        // Taking a limit away cannot fail: only one that leaves no room for special tokens does.
        _ = self.inner.with_truncation(None);
        self
    }

    /// Tokens are below this.
    ///
    /// ```
    /// use crossover_embed::{EmbedConfig, Embedder, Tokenizer};
    /// let tokenizer = Tokenizer::train(&["abc"], 300, &["<pad>"])?;
    /// // The special token and 256 bytes: no pair occurs twice.
    /// assert_eq!(tokenizer.vocabulary(), 257);
    /// let embedder = Embedder::new(EmbedConfig::new(tokenizer.vocabulary(), 16))?;
    /// # assert_eq!(embedder.table().shape()[0], 257);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// The number of a token.
    pub fn id(&self, token: &str) -> Option<i64> {
        self.inner.token_to_id(token).map(i64::from)
    }

    /// The token of a number, as the vocabulary spells it.
    ///
    /// ```
    /// use crossover_embed::Tokenizer;
    /// let tokenizer = Tokenizer::train(&["the cat sat on the mat"], 300, &["<pad>", "<end>"])?;
    /// assert_eq!(tokenizer.token(1).as_deref(), Some("<end>"));
    /// assert_eq!(tokenizer.token(-1), None);
    /// let parts: Option<Vec<String>> = tokenizer.encode("the cat")?.into_iter().map(|id| tokenizer.token(id)).collect();
    /// assert_eq!(parts.map(|parts| parts.concat()).as_deref(), Some("theĠcat")); // Ġ stands for a space
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn token(&self, id: i64) -> Option<String> {
        self.inner.id_to_token(u32::try_from(id).ok()?)
    }

    /// The special tokens and their numbers, in order of these.
    ///
    /// ```
    /// use crossover_embed::Tokenizer;
    /// let tokenizer = Tokenizer::train(&["the cat sat on the mat"], 300, &["<pad>", "<end>"])?;
    /// assert_eq!(tokenizer.special(), [("<pad>".to_owned(), 0), ("<end>".to_owned(), 1)]);
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn special(&self) -> Vec<(String, i64)> {
        let added = self.inner.get_added_tokens_decoder();
        let special = added.into_iter().filter(|(_, token)| token.special);
        let mut special: Vec<(String, i64)> =
            special.map(|(id, token)| (token.content, i64::from(id))).collect();
        special.sort_by_key(|(_, id)| *id);
        special
    }

    /// The tokens of a text, with those that the tokenizer puts around it.
    pub fn encode(&self, text: &str) -> Result<Vec<i64>> {
        let encoding = self.inner.encode_fast(text, true).map_err(refused("encode"))?;
        Ok(ids(&encoding).collect())
    }

    /// The tokens of several texts as one array.
    pub fn encode_batch(&self, texts: &[impl AsRef<str>]) -> Result<Tokens> {
        let inputs: Vec<EncodeInput<'_>> = texts.iter().map(|text| text.as_ref().into()).collect();
        let encodings = self.inner.encode_batch_fast(inputs, true).map_err(refused("encode"))?;
        let length = encodings.first().map_or(0, Encoding::len);
        if let Some((at, other)) = encodings.iter().enumerate().find(|(_, other)| other.len() != length) {
            let what = format!(
                "text 0 has {length} tokens and text {at} {}; set a padding to make them equally long",
                other.len()
            );
            return Err(Error::Operand { op: "encode_batch", what });
        }
        let shape = [encodings.len(), length];
        let tokens: Vec<i64> = encodings.iter().flat_map(ids).collect();
        let mask: Vec<bool> =
            encodings.iter().flat_map(|one| one.get_attention_mask()).map(|&shown| shown != 0).collect();
        Ok(Tokens { tokens: Array::from_vec(tokens, shape), mask: Array::from_vec(mask, shape) })
    }

    /// The text of tokens; special ones are left out.
    pub fn decode(&self, tokens: &[i64]) -> Result<String> {
        self.text(tokens, true)
    }

    /// As [`decode`](Tokenizer::decode), with special tokens spelled out.
    ///
    /// ```
    /// use crossover_embed::Tokenizer;
    /// let tokenizer = Tokenizer::train(&["the cat sat on the mat"], 300, &["<pad>", "<end>"])?;
    /// let tokens = tokenizer.encode("the cat<end>")?;
    /// assert_eq!(tokenizer.decode(&tokens)?, "the cat");
    /// assert_eq!(tokenizer.decode_all(&tokens)?, "the cat<end>");
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn decode_all(&self, tokens: &[i64]) -> Result<String> {
        self.text(tokens, false)
    }

    fn text(&self, tokens: &[i64], skip: bool) -> Result<String> {
        let vocabulary = self.vocabulary;
        let checked = tokens.iter().enumerate().map(|(at, &token)| {
            let id = u32::try_from(token).ok().filter(|&id| (id as usize) < vocabulary);
            id.ok_or(Error::Token { token, at, vocabulary })
        });
        self.inner.decode(&checked.collect::<Result<Vec<u32>>>()?, skip).map_err(refused("decode"))
    }

    /// The texts of rows of tokens; special ones are left out.
    pub fn decode_batch(&self, tokens: &Array) -> Result<Vec<String>> {
        tokens.check()?;
        let (&[rows, length], true) = (tokens.shape().dims(), tokens.dtype().is_int()) else {
            let what = format!("{}{}: rows of whole numbers are needed", tokens.dtype(), tokens.shape());
            return Err(Error::Operand { op: "decode_batch", what });
        };
        let values = tokens.astype(crossover_array::DType::I64).to_vec::<i64>()?;
        (0..rows).map(|row| self.decode(&values[row * length..(row + 1) * length])).collect()
    }
}

fn ids(encoding: &Encoding) -> impl Iterator<Item = i64> + '_ {
    encoding.get_ids().iter().map(|&id| i64::from(id))
}
