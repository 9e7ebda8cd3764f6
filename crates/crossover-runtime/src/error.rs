//! What can go wrong once a device is involved.

/// An error of execution, or of the request that led to it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request itself is wrong: shapes, dtypes, axes, indices, sizes, graph text.
    #[error(transparent)]
    Invalid(#[from] crossover_core::Error),
    /// A device failed; arrays whose only copy was there are lost.
    #[error("device {device} failed while {during}: {reason}")]
    Device {
        /// Name of the device.
        device: String,
        /// What it was doing.
        during: &'static str,
        /// What it said.
        reason: String,
    },
    /// An allocation that fits nowhere.
    #[error("out of memory on {device}: {requested} bytes requested, {free} free, {reserved} reserved")]
    OutOfMemory {
        /// Name of the device.
        device: String,
        /// Bytes asked for.
        requested: u64,
        /// Bytes free.
        free: u64,
        /// Bytes held by live buffers and the pool.
        reserved: u64,
    },
    /// Something this backend cannot do; the caller tries another.
    #[error("{device} cannot run {what}")]
    Unsupported {
        /// Name of the device.
        device: String,
        /// The kernel or dtype.
        what: String,
    },
    /// A broken invariant of ours.
    #[error("internal error: {0}; please report it")]
    Internal(String),
}

/// Result of execution.
pub type Result<T, E = Error> = std::result::Result<T, E>;
