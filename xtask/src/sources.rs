//! The source files of the repository, as git sees them: tracked or new, never ignored.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// One source file.
pub struct Source {
    /// Path relative to the root.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

impl Source {
    /// The file name's extension, or nothing.
    pub fn extension(&self) -> &str {
        self.path.extension().and_then(|extension| extension.to_str()).unwrap_or("")
    }
}

/// Reads every file with one of the extensions.
pub fn with_extensions(extensions: &[&str]) -> Result<Vec<Source>> {
    let mut command = workspace::command("git");
    command.args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
    let output = command.output().context("could not start git")?;
    if !output.status.success() {
        bail!("`{}` failed: {}", workspace::spell(&command), String::from_utf8_lossy(&output.stderr).trim());
    }
    let listing = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    let mut sources = Vec::new();
    for path in listing.split('\0').filter(|path| !path.is_empty()).map(Path::new) {
        let wanted = path.extension().and_then(|e| e.to_str()).is_some_and(|e| extensions.contains(&e));
        let file = workspace::root().join(path);
        // A deleted file stays in the index until the deletion is staged.
        if !wanted || !file.is_file() {
            continue;
        }
        let text =
            std::fs::read_to_string(&file).with_context(|| format!("could not read {}", path.display()))?;
        sources.push(Source { path: path.to_owned(), text });
    }
    Ok(sources)
}
