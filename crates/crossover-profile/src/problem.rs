//! What can be wrong with a trace file.

/// Why a text is no trace.
///
/// ```
/// use crossover_profile::{Problem, Trace};
/// assert!(matches!(Trace::from_json("[1, 2"), Err(Problem::NotJson { line: 1, .. })));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file cannot be read.
    #[error("{file} cannot be read: {why}")]
    Unreadable {
        /// Which.
        file: String,
        /// What the system says.
        why: String,
    },
    /// It is no text at all.
    #[error("this is no trace of crossover but {found}")]
    Binary {
        /// What it looks like.
        found: String,
    },
    /// It is not JSON.
    #[error("this is not JSON: {why} (line {line}, column {column})")]
    NotJson {
        /// What the parser says.
        why: String,
        /// Where, from 1.
        line: usize,
        /// Where, from 1.
        column: usize,
    },
    /// It is JSON of something else.
    #[error("this is no trace of crossover: {found}; record one with `profile(…)` and `Trace::save`")]
    Foreign {
        /// What it is instead.
        found: String,
    },
    /// A later version wrote it.
    #[error("this trace has version {found}, this program reads up to {known}: use a newer crossover")]
    Newer {
        /// Of the file.
        found: u64,
        /// The last one known here.
        known: u32,
    },
    /// It says it is a trace and is not.
    #[error("this trace is damaged: {what}")]
    Damaged {
        /// What does not hold.
        what: String,
    },
}
