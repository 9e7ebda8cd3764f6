//! Where things are kept on disk between runs.

use std::path::PathBuf;

/// A folder of this user's for one kind of thing (`kernels`, `profiles`), or `None` where nothing is kept.
///
/// `CROSSOVER_CACHE` names the folder of kernels, and other kinds lie inside it; empty or `off` keeps nothing. Without it the
/// folder is `crossover/KIND` in the cache directory of the system.
///
/// ```
/// if let Some(folder) = crossover_runtime::cache_folder("profiles") {
///     println!("profiles are in {}", folder.display());
/// }
/// ```
pub fn cache_folder(kind: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(chosen) = std::env::var_os("CROSSOVER_CACHE") {
        let chosen = (!chosen.is_empty() && chosen != "off").then(|| PathBuf::from(chosen));
        return chosen.map(|folder| if kind == "kernels" { folder } else { folder.join(kind) });
    }
    let base = match std::env::consts::OS {
        "windows" => set("LOCALAPPDATA"),
        "macos" => set("HOME").map(|home| home.join("Library/Caches")),
        _ => set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache"))),
    };
    base.map(|base| base.join("crossover").join(kind))
}
