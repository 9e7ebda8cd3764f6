//! What can be wrong with a file.

use std::io;

/// A file that cannot be read or written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("could not {action} {file}: {reason}")]
    Io {
        /// The file.
        file: String,
        /// What was tried.
        action: &'static str,
        /// The kind of refusal.
        kind: io::ErrorKind,
        /// What the system said.
        reason: String,
    },
    /// The bytes are not what the format asks for: damaged, cut short, or made to mislead.
    #[error("{file} is not a valid {format} file: {what}")]
    Corrupt {
        /// The file.
        file: String,
        /// The format.
        format: &'static str,
        /// What was found and what was expected.
        what: String,
    },
    /// A valid file, or a request, with something that arrays here do not have.
    #[error("{file}: {what}")]
    Unsupported {
        /// The file.
        file: String,
        /// What is not supported, and the remedy.
        what: String,
    },
}

/// Result of reading or writing a file.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The system's refusal to do something with a file.
    ///
    /// ```
    /// let refusal = std::io::Error::from(std::io::ErrorKind::NotFound);
    /// let error = crossover_io::Error::io("x.npy", "open", &refusal);
    /// assert_eq!(error.to_string(), "could not open x.npy: entity not found");
    /// ```
    pub fn io(file: impl Into<String>, action: &'static str, error: &io::Error) -> Error {
        Error::Io { file: file.into(), action, kind: error.kind(), reason: error.to_string() }
    }
}

/// What is wrong, while the name of the file is not at hand.
#[derive(Debug)]
pub(crate) enum Fault {
    Corrupt(String),
    Unsupported(String),
    Io(io::Error),
}

impl Fault {
    pub fn corrupt<T>(what: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::Corrupt(what.into()))
    }

    pub fn unsupported<T>(what: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::Unsupported(what.into()))
    }

    /// The fault of a file that was being read.
    pub fn reading(self, file: &str, format: &'static str) -> Error {
        let file = file.to_string();
        match self {
            Fault::Corrupt(what) => Error::Corrupt { file, format, what },
            Fault::Unsupported(what) => Error::Unsupported { file, what },
            // The length was checked before; a reader that ends early was cut meanwhile, or its codes are damaged.
            Fault::Io(error) => match error.kind() {
                io::ErrorKind::UnexpectedEof => {
                    Error::Corrupt { file, format, what: "it ends before its data does".to_string() }
                }
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                    Error::Corrupt { file, format, what: error.to_string() }
                }
                _ => Error::io(file, "read", &error),
            },
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        Fault::Io(error)
    }
}
