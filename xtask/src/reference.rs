//! `cargo xtask reference`: the pages under docs/reference/, from the op table.
//!
//! The crate that owns the table writes them ([`PROGRAM`]); this command puts them where they belong, and
//! `cargo xtask check reference` fails when they differ from what is there.

use std::{collections::BTreeMap, fs};

use anyhow::{Context, Result, bail};

use crate::step::Finding;
use crate::workspace::{self, Metadata};

/// An example of crossover-core that prints every page as JSON.
const PROGRAM: &str = "reference";
const FOLDER: &str = "docs/reference";

/// Writes the pages.
pub fn run() -> Result<bool> {
    let folder = workspace::root().join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("could not make {FOLDER}"))?;
    for (name, text) in pages()? {
        fs::write(folder.join(&name), text).with_context(|| format!("could not write {FOLDER}/{name}"))?;
        println!("wrote {FOLDER}/{name}");
    }
    Ok(true)
}

/// Whether the pages say what the op table says.
pub fn check() -> Result<Finding> {
    let pages = pages()?;
    let folder = workspace::root().join(FOLDER);
    let stale: Vec<String> = pages
        .iter()
        .filter(|(name, text)| fs::read_to_string(folder.join(name)).unwrap_or_default() != **text)
        .map(|(name, _)| format!("{FOLDER}/{name} differs from the op table"))
        .collect();
    Ok(Finding::judge(&stale, format!("{} pages", pages.len()), "cargo xtask reference"))
}

fn pages() -> Result<BTreeMap<String, String>> {
    let mut build = workspace::cargo();
    // With the features of the whole workspace, so that nothing is built that the tests do not build too.
    build.args(["build", "--quiet", "--workspace", "--all-features", "--example", PROGRAM]);
    let built = build.output().context("could not start cargo")?;
    if !built.status.success() {
        bail!("`{}` failed:\n{}", workspace::spell(&build), String::from_utf8_lossy(&built.stderr));
    }
    let program = Metadata::read()?.target_directory.join("debug/examples").join(PROGRAM);
    let output = workspace::command(&program).output().context("could not start the example")?;
    if !output.status.success() {
        bail!("{} failed:\n{}", program.display(), String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("the pages are no JSON object")
}
