//! What can be wrong with an embedding.

/// An error of an encoding, an embedder or a table.
///
/// ```
/// use crossover_array::Array;
/// use crossover_embed::{EmbedConfig, Embedder, Error};
/// let embedder = Embedder::new(EmbedConfig::new(100, 8))?;
/// // A program can give a token that the vocabulary lacks a row of its own.
/// let (tokens, unknown) = (Array::from([5i64, 100]), Array::from([5i64, 0]));
/// let rows = match embedder.lookup(&tokens) {
///     Err(Error::Token { token: 100, at: 1, .. }) => embedder.lookup(&unknown)?,
///     found => found?,
/// };
/// assert_eq!(rows.shape().dims(), [2, 8]);
/// let error = Embedder::new(EmbedConfig::new(0, 8)).unwrap_err();
/// assert_eq!(error.to_string(), "vocabulary is 0; a vocabulary has at least one token");
/// # Ok::<(), crossover_embed::Error>(())
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A token that the vocabulary does not have.
    #[error("token {token} at position {at} is outside the vocabulary of {vocabulary}")]
    Token {
        /// The token.
        token: i64,
        /// Its row-major position.
        at: usize,
        /// Tokens are below this.
        vocabulary: usize,
    },
    /// Tokens or positions of a dtype or shape that cannot be looked up.
    #[error("{op}: {what}")]
    Operand {
        /// What was asked for.
        op: &'static str,
        /// The dtype and shape, and what would fit.
        what: String,
    },
    /// A setting that no embedding can have.
    #[error("{setting} is {given}; {wanted}")]
    Config {
        /// The setting.
        setting: &'static str,
        /// Its value.
        given: String,
        /// What it must be.
        wanted: &'static str,
    },
    /// A file that is damaged, cut short or of another kind.
    #[error("{file} is not valid: {what}")]
    Corrupt {
        /// The file.
        file: String,
        /// What was found and what was expected.
        what: String,
    },
    /// The system refused to read or write a file.
    #[error("could not {action} {file}: {reason}")]
    Io {
        /// The file.
        file: String,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        reason: String,
    },
    /// Something that a tokenizer cannot do.
    #[error("the tokenizer could not {action}: {reason}")]
    Tokenizer {
        /// What was asked for.
        action: &'static str,
        /// What it said.
        reason: String,
    },
    /// Memory that is too small for a batch of one.
    #[error(
        "one sequence takes {needed} bytes or more and the budget is {budget}; use shorter sequences or more memory"
    )]
    Memory {
        /// Bytes of a batch of one.
        needed: u64,
        /// Bytes allowed.
        budget: u64,
    },
    /// An error of the arrays underneath.
    #[error(transparent)]
    Array(#[from] crossover_array::Error),
}

/// Result of an embedding.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn io(file: &std::path::Path, action: &'static str, error: &dyn std::fmt::Display) -> Error {
        Error::Io { file: file.display().to_string(), action, reason: error.to_string() }
    }
}
