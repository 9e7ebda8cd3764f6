//! What can be missing or go wrong on the way to a GPU.

/// Why a device, a library or a kernel is not to be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A shared library could not be opened.
    #[error("{library} is not to be had: {why}")]
    Library {
        /// The library.
        library: &'static str,
        /// What was tried, and the loader's message.
        why: String,
    },
    /// A library lacks a function.
    #[error("{library} lacks the function {symbol}")]
    Symbol {
        /// The library.
        library: &'static str,
        /// The function.
        symbol: &'static str,
    },
    /// The driver answered with an error.
    #[error("{call} failed: {why}")]
    Driver {
        /// What was asked of it.
        call: &'static str,
        /// The driver's name for the error.
        why: String,
        /// The driver's number for it.
        code: u32,
    },
    /// A driver from before the oldest CUDA that is supported.
    #[error(
        "the NVIDIA driver supports CUDA {}.{}, and {}.{} is needed: install a newer driver",
        found / 1000, found % 1000 / 10, needed / 1000, needed % 1000 / 10
    )]
    OldDriver {
        /// The driver's version, as it counts: 11080 is 11.8.
        found: i32,
        /// The oldest that will do.
        needed: i32,
    },
    /// No device under this number.
    #[error("there is no CUDA device {ordinal}; the driver counts {count}")]
    NoDevice {
        /// The number asked for.
        ordinal: i32,
        /// How many there are.
        count: i32,
    },
    /// The compiler refused a source.
    #[error("NVRTC refused the source for {architecture}:\n{log}")]
    Compile {
        /// The architecture it was compiled for.
        architecture: String,
        /// The compiler's messages.
        log: String,
    },
    /// The process is ending, and kernels are no longer compiled.
    #[error("the process is ending: no kernel is compiled any more")]
    Ending,
    /// The system refused to start a thread.
    #[error("a thread could not be started: {why}")]
    Thread {
        /// What the system said.
        why: String,
    },
    /// Arguments that do not fit a kernel.
    #[error("launch of {entry}: {why}")]
    Launch {
        /// The entry point.
        entry: String,
        /// What does not fit.
        why: String,
    },
}

impl Error {
    /// Whether the device is unusable from now on.
    pub fn is_sticky(&self) -> bool {
        matches!(self, Error::Driver { code, .. } if crate::driver::is_sticky(*code))
    }
}

/// Results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
