//! What can go wrong with vectors, memories and stores.

use std::path::PathBuf;

use crossover_array::{DType, Shape};

use crate::{Model, Space, store::Damage};

/// Result of an operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong.
///
/// ```
/// use crossover_hrr::{Model, Space};
/// let space = Space::new(Model::Hrr, 64)?;
/// let short = Space::new(Model::Hrr, 32)?.named("cat")?;
/// let error = space.bind(&space.named("cat")?, &short).unwrap_err();
/// assert!(error.to_string().starts_with("bind: wants f32 vectors of 64 numbers along the last axis"));
/// # Ok::<(), crossover_hrr::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An array operation failed.
    #[error(transparent)]
    Array(#[from] crossover_array::Error),
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] crossover_io::Error),
    /// Vectors that are none of the space.
    #[error(
        "{op}: wants {dtype} vectors of {d} numbers along the last axis, not {given_dtype} of shape {given}"
    )]
    Vector {
        /// The operation that was asked for.
        op: &'static str,
        /// Dtype of the space's vectors.
        dtype: DType,
        /// Numbers of a vector.
        d: usize,
        /// Dtype that was given.
        given_dtype: DType,
        /// Shape that was given.
        given: Shape,
    },
    /// A value that is not allowed.
    #[error("{op}: {what}")]
    Value {
        /// The operation that was asked for.
        op: &'static str,
        /// The value and the rule it breaks.
        what: String,
    },
    /// What a model does not have.
    #[error("{op}: {model} has none: {why}")]
    Model {
        /// The operation that was asked for.
        op: &'static str,
        /// The model.
        model: Model,
        /// Why there is none, and what to use.
        why: &'static str,
    },
    /// Items of another space than that of a memory of pairs.
    #[error(
        "{op}: the pairs are of the space {wanted}, and the items of {given}; use items of the same space"
    )]
    Space {
        /// The operation that was asked for.
        op: &'static str,
        /// The space of the pairs.
        wanted: Space,
        /// The space of the items.
        given: Space,
    },
    /// A pair that is certainly not among those of a memory.
    #[error(
        "forget: pair {pair} is not among the {pairs} that are stored: its share of their sum is {share:.2}, and that of a stored one about 1"
    )]
    NotStored {
        /// Which of the pairs that were given.
        pair: usize,
        /// Its share of the sum.
        share: f64,
        /// Pairs that are stored.
        pairs: usize,
    },
    /// A name that a memory does not hold, or a state.
    #[error("no item is named {name:?}; there are {items} items")]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// Items that there are.
        items: usize,
    },
    /// A name that a memory holds already.
    #[error("an item is named {name:?} already; remove it first, or give the new one another name")]
    Taken {
        /// The name that was given.
        name: String,
    },
    /// A store that is not as it was written.
    #[error("{}: the store is damaged: {}", folder.display(), listed(damage))]
    Corrupt {
        /// The store.
        folder: PathBuf,
        /// What is damaged, and where.
        damage: Vec<Damage>,
    },
    /// A store of a version that this library does not read.
    #[error("{}: the store has format {found}, and formats up to {newest} are read; update the library", folder.display())]
    Version {
        /// The store.
        folder: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that is read.
        newest: u32,
    },
    /// A store of something else.
    #[error("{}: holds {found:?}, and {wanted:?} was asked for", folder.display())]
    Kind {
        /// The store.
        folder: PathBuf,
        /// What it holds.
        found: String,
        /// What was asked for.
        wanted: &'static str,
    },
    /// Somebody else writes to a store, or has since it was opened.
    #[error("{}: {what}", folder.display())]
    Busy {
        /// The store.
        folder: PathBuf,
        /// What was found, and what to do.
        what: &'static str,
    },
}

impl Error {
    /// Why the operating system refused, where that is what went wrong.
    ///
    /// ```
    /// use crossover_hrr::Store;
    /// let error = Store::open("no/such/folder").unwrap_err();
    /// assert_eq!(error.io_kind(), Some(std::io::ErrorKind::NotFound));
    /// ```
    pub fn io_kind(&self) -> Option<std::io::ErrorKind> {
        match self {
            Error::Io(crossover_io::Error::Io { kind, .. }) => Some(*kind),
            _ => None,
        }
    }

    pub(crate) fn value(op: &'static str, what: impl Into<String>) -> Error {
        Error::Value { op, what: what.into() }
    }
}

/// Definitions of kernels: ours are right, so this is a bug of ours.
impl From<crossover_core::Error> for Error {
    #[track_caller]
    fn from(error: crossover_core::Error) -> Error {
        Error::Array(error.into())
    }
}

/// The first findings, and how many there are.
fn listed(damage: &[Damage]) -> String {
    let first: Vec<String> = damage.iter().take(3).map(ToString::to_string).collect();
    match damage.len() {
        0..=3 => first.join("; "),
        n => format!("{}; and {} more; `verify` lists them", first.join("; "), n - 3),
    }
}
