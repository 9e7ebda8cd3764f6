//! Reports on standard output, as text or as JSON, and the files that they may be written to.

use std::{
    io::{ErrorKind, Write},
    path::Path,
};

use anyhow::{Context, Result, bail};
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

/// Looks, before anything takes long, whether a file can be where something is to be written, and refuses to write over what is read.
pub fn check_target(target: &Path, read: &[impl AsRef<Path>]) -> Result<()> {
    if let Some(file) = read.iter().map(AsRef::as_ref).find(|file| is_one_file(file, target)) {
        bail!(
            "{} is read, and would be written over as {}: name another file to write to",
            file.display(),
            target.display()
        );
    }
    if target.is_dir() {
        bail!("{} is a folder: name a file in it to write to", target.display());
    }
    match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            bail!("{} cannot be written: there is no folder {}", target.display(), folder.display())
        }
        _ => Ok(()),
    }
}

/// Whether two names lead to one file: as they are, through links, or as two links of it.
fn is_one_file(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    let file = |path: &Path| {
        use std::os::unix::fs::MetadataExt;
        path.metadata().ok().filter(std::fs::Metadata::is_file).map(|of| (of.dev(), of.ino()))
    };
    #[cfg(not(unix))]
    let file = |path: &Path| path.canonicalize().ok();
    file(one).is_some_and(|found| file(other) == Some(found))
}
