//! What can go wrong once a device is involved.

/// An error of execution, or of the request that led to it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request itself is wrong: shapes, dtypes, axes, indices, sizes, graph text.
    #[error(transparent)]
    Invalid(#[from] crossover_core::Error),
    /// A device that this machine does not have, or cannot use.
    #[error("there is no device {device}: {reason}")]
    NoDevice {
        /// The device asked for.
        device: String,
        /// What is missing, and the remedy.
        reason: String,
    },
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
    #[error(
        "out of memory on {device}: {requested} bytes requested, {free} free, {reserved} reserved, \
         largest block {largest}"
    )]
    OutOfMemory {
        /// Name of the device.
        device: String,
        /// Bytes asked for.
        requested: u64,
        /// Bytes free.
        free: u64,
        /// Bytes held by live buffers and the pool.
        reserved: u64,
        /// Bytes of the largest block that could be had, as far as that is known.
        largest: u64,
    },
    /// Something this backend cannot do; the caller tries another.
    #[error("{device} cannot run {what}")]
    Unsupported {
        /// Name of the device.
        device: String,
        /// The kernel or dtype.
        what: String,
    },
    /// CUDA source of a user's that the compiler refused.
    #[error("{kernel}: the CUDA source does not compile for {architecture}{}:\n{log}", at(*line))]
    Source {
        /// The kernel.
        kernel: &'static str,
        /// What it was compiled for, such as `sm_90a`.
        architecture: String,
        /// The line of the user's source that the first error names, from 1; `None` if it lies elsewhere, as for a
        /// signature that does not fit.
        line: Option<usize>,
        /// The compiler's messages, with lines of the user's source.
        log: String,
    },
    /// The operating system refused to read or write a file.
    #[error("could not {action} {file}: {reason}")]
    Io {
        /// The file.
        file: String,
        /// What was tried.
        action: &'static str,
        /// The kind of refusal.
        kind: std::io::ErrorKind,
        /// What the system said.
        reason: String,
    },
    /// A file that is damaged, cut short or made to mislead.
    #[error("{file} is not a valid {format} file: {what}")]
    Corrupt {
        /// The file.
        file: String,
        /// The format.
        format: &'static str,
        /// What was found and what was expected.
        what: String,
    },
    /// A valid file with something that arrays do not have, or a file that cannot hold what it was asked to.
    #[error("{file}: {what}")]
    Format {
        /// The file.
        file: String,
        /// What is not supported, and the remedy.
        what: String,
    },
    /// A setting that does not exist, or a value that it does not take.
    #[error("{place}: {}{what}{}", colon(key), suggestion(*nearest))]
    Setting {
        /// The file and line, or the variable.
        place: String,
        /// The name of the setting as it was written; empty where none could be read.
        key: String,
        /// The setting whose name is most like it, where there is none of this name.
        nearest: Option<&'static str>,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// The process is the child of one that has computed: threads and devices stayed with the parent.
    #[error(
        "this process was forked from one that had computed already, and the threads and devices of a runtime do not survive that; \
         fork before the first computation, or start processes anew (in Python: multiprocessing.set_start_method(\"spawn\"))"
    )]
    Forked,
    /// Somebody did not want to wait for the result any longer.
    #[error(
        "interrupted before the result was there; nothing has changed, and what was asked for can be asked for again"
    )]
    Interrupted,
    /// A broken invariant of ours.
    #[error("internal error: {0}; please report it")]
    Internal(String),
}

fn colon(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("{key}: ") }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

fn at(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(", line {line}"))
}

/// Result of execution.
pub type Result<T, E = Error> = std::result::Result<T, E>;
