//! Tells the program which commit it was built from, for `doctor` and bug reports.
//!
//! Reads the files of `.git` and starts no program: a build without git, or from an archive, says "unknown".

use std::{
    fs,
    path::{Path, PathBuf},
};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let commit = git_folder().and_then(|git| commit(&git)).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=CROSSOVER_COMMIT={commit}");
}

fn git_folder() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
    let git = root.join(".git");
    git.is_dir().then_some(git)
}

/// The short hash that HEAD stands for.
fn commit(git: &Path) -> Option<String> {
    let watched = |path: PathBuf| {
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
        fs::read_to_string(path).ok()
    };
    let head = watched(git.join("HEAD"))?;
    let hash = match head.trim().strip_prefix("ref: ") {
        None => head,
        Some(name) => watched(git.join(name)).or_else(|| packed(&watched(git.join("packed-refs"))?, name))?,
    };
    hash.trim().get(..12).map(str::to_owned)
}

/// A branch that git has moved into its one file of references.
fn packed(references: &str, name: &str) -> Option<String> {
    references
        .lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(_, packed)| *packed == name)
        .map(|(hash, _)| hash.to_owned())
}
