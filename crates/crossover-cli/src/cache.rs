//! `crossover cache`: compiled kernels on disk.

use std::{fmt::Write as _, time::SystemTime};

use anyhow::{Context, Result};
use crossover_cuda::KernelCache;
use serde::Serialize;

use crate::{report, units};

/// List or remove the compiled kernels on disk.
///
/// Kernels are compiled once per machine and kept in the user's cache directory (`CROSSOVER_CACHE` names another
/// folder, `CROSSOVER_CACHE=off` keeps nothing). Removing them costs time, never results.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// List entries, the one used last first
    Ls {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Remove all entries
    Clear {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
}

/// The JSON shape; see docs/json.md.
#[derive(Serialize)]
struct Listing {
    folder: Option<String>,
    bytes: u64,
    entries: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    file: String,
    bytes: u64,
    hours_since_use: f64,
    made_for: String,
}

#[derive(Serialize)]
struct Cleared {
    folder: Option<String>,
    removed: usize,
    bytes: u64,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let cache = KernelCache::usual_folder().map(KernelCache::new);
    let folder = cache.as_ref().map(|cache| cache.folder().display().to_string());
    match arguments.action {
        Action::Ls { json } => {
            let found = cache.as_ref().map(KernelCache::entries).transpose();
            let found =
                found.with_context(|| format!("could not list {}", folder.as_deref().unwrap_or("")))?;
            let now = SystemTime::now();
            let entry = |e: crossover_cuda::CacheEntry| Entry {
                file: e.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                bytes: e.bytes,
                hours_since_use: now.duration_since(e.used).unwrap_or_default().as_secs_f64() / 3600.0,
                made_for: e.made_for,
            };
            let entries: Vec<Entry> = found.unwrap_or_default().into_iter().map(entry).collect();
            let listing = Listing { folder, bytes: entries.iter().map(|e| e.bytes).sum(), entries };
            if json { report::json(&listing)? } else { report::text(&listing.text())? }
        }
        Action::Clear { json } => {
            let cleared = cache.as_ref().map(KernelCache::clear).transpose();
            let (removed, bytes) = cleared
                .with_context(|| format!("could not clear {}", folder.as_deref().unwrap_or("")))?
                .unwrap_or((0, 0));
            let done = Cleared { folder, removed, bytes };
            if json {
                report::json(&done)?;
            } else {
                let place = done.folder.as_deref().unwrap_or("nowhere: CROSSOVER_CACHE is off");
                report::text(&format!("removed {removed} kernels, {} from {place}\n", units::bytes(bytes)))?;
            }
        }
    }
    Ok(true)
}

impl Listing {
    fn text(&self) -> String {
        let Some(folder) = &self.folder else {
            return "nothing is kept: CROSSOVER_CACHE is off\n".to_owned();
        };
        let mut out = String::new();
        for entry in &self.entries {
            let architecture = entry.made_for.split(' ').next().unwrap_or("");
            let _ = writeln!(
                out,
                "{:<24} {:>10} {:>8.1} h ago  {architecture}",
                entry.file,
                units::bytes(entry.bytes),
                entry.hours_since_use
            );
        }
        let _ = writeln!(out, "{} kernels, {} in {folder}", self.entries.len(), units::bytes(self.bytes));
        out
    }
}
