//! Where CUDA's libraries are to be found.
//!
//! A variable names a file and nothing else is tried; otherwise the usual names, the folders of a CUDA toolkit, and the
//! `nvidia/*` packages of Python environments.

#![allow(unsafe_code)]

use std::path::{Path, PathBuf};

use libloading::Library;

use crate::{Error, Result};

/// Finds and opens a library.
///
/// # Safety
/// Its initialisers must have no preconditions.
pub(crate) unsafe fn open(stem: &'static str, variable: &str) -> Result<Library> {
    let mut last = "no candidates".to_string();
    for candidate in candidates(stem, variable) {
        // SAFETY: the caller's contract.
        match unsafe { Library::new(&candidate) } {
            Ok(library) => return Ok(library),
            Err(error) => last = error.to_string(),
        }
    }
    let why = format!("not found; set {variable} to its path; the last answer was: {last}");
    Err(Error::Library { library: stem, why })
}

/// A function of a library.
///
/// # Safety
/// The function of this name has the type T, and is not called once the library is closed.
pub(crate) unsafe fn symbol<T: Copy>(library: &Library, stem: &'static str, name: &'static str) -> Result<T> {
    // SAFETY: the caller's contract.
    let found = unsafe { library.get::<T>(name.as_bytes()) };
    found.map(|f| *f).map_err(|_| Error::Symbol { library: stem, symbol: name })
}

/// Files to try for a library such as `libnvrtc`, in order.
pub(crate) fn candidates(stem: &str, variable: &str) -> Vec<PathBuf> {
    if let Some(path) = std::env::var_os(variable).filter(|p| !p.is_empty()) {
        return vec![path.into()];
    }
    let mut out: Vec<PathBuf> =
        ["", ".13", ".12"].iter().map(|version| format!("{stem}.so{version}").into()).collect();
    let roots =
        ["/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib", "/usr/lib/x86_64-linux-gnu"];
    out.extend(roots.iter().flat_map(|root| libraries(Path::new(root), stem)));
    // Python environments carry libraries in wheels: <prefix>/lib/python3.x/site-packages/nvidia/<part>/lib.
    let prefixes =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let on_path = std::env::var_os("PATH").map(|p| {
        std::env::split_paths(&p).filter_map(|d| d.parent().map(Path::to_path_buf)).collect::<Vec<_>>()
    });
    for prefix in prefixes.chain(on_path.into_iter().flatten()) {
        for python in children(&prefix.join("lib")).into_iter().filter(|p| named(p, "python3")) {
            for part in children(&python.join("site-packages/nvidia")) {
                out.extend(libraries(&part.join("lib"), stem));
            }
        }
    }
    out
}

fn named(path: &Path, start: &str) -> bool {
    path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(start))
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut out: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
    out.sort();
    out
}

/// The files of a library in a folder.
pub(crate) fn libraries(folder: &Path, stem: &str) -> Vec<PathBuf> {
    let start = format!("{stem}.so");
    let is_library = |p: &PathBuf| named(p, &start) && !p.to_string_lossy().ends_with(".a");
    children(folder).into_iter().filter(is_library).collect()
}
