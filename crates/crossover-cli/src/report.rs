//! Reports on standard output, as text or as JSON.

use std::io::{ErrorKind, Write};

use anyhow::{Context, Result};
use serde::Serialize;

/// Prints a report. A reader that closes the pipe early (`| head`) has seen enough; that is no error.
pub fn text(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("could not write to standard output"),
    }
}

/// Prints one JSON object.
pub fn json(report: &impl Serialize) -> Result<()> {
    text(&(serde_json::to_string_pretty(report)? + "\n"))
}
