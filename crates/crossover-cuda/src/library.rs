//! Where CUDA's libraries are to be found.
//!
//! A variable names a file and nothing else is tried; otherwise the usual names, the folders of a CUDA toolkit, and the
//! `nvidia/*` packages of Python environments.

#![allow(unsafe_code)]

use std::{
    mem::ManuallyDrop,
    path::{Path, PathBuf},
};

use libloading::Library;

use crate::{Error, Result};

/// A library that stays open until the process ends. The end takes libraries apart by itself, and one that a thread closes at that moment crashes.
pub(crate) type Opened = ManuallyDrop<Library>;

/// Finds and opens a library.
///
/// # Safety
/// Its initialisers must have no preconditions.
pub(crate) unsafe fn open(stem: &'static str, variable: &str) -> Result<Opened> {
    let mut last = "no candidates".to_string();
    for candidate in candidates(stem, variable) {
        // SAFETY: the caller's contract.
        match unsafe { Library::new(&candidate) } {
            Ok(library) => return Ok(Opened::new(library)),
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
    // As a Python package this code lies in a folder beside them, also where nobody has activated the environment.
    if let Some(site) = own_folder().as_deref().and_then(Path::parent) {
        out.extend(in_wheels(site, stem));
    }
    for prefix in prefixes.chain(on_path.into_iter().flatten()) {
        for python in children(&prefix.join("lib")).into_iter().filter(|p| named(p, "python3")) {
            out.extend(in_wheels(&python.join("site-packages"), stem));
        }
    }
    out
}

/// The files of a library in the packages of a Python environment.
fn in_wheels(site: &Path, stem: &str) -> Vec<PathBuf> {
    children(&site.join("nvidia")).iter().flat_map(|part| libraries(&part.join("lib"), stem)).collect()
}

/// The folder of the file that this code was loaded from, where the system says so.
fn own_folder() -> Option<PathBuf> {
    let here = own_folder as fn() -> Option<PathBuf> as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let [start, end] = [start, end].map(|at| usize::from_str_radix(at, 16).ok());
        let file = Path::new(rest.get(rest.find('/')?..)?);
        (start? <= here && here < end?).then(|| file.parent().map(Path::to_path_buf)).flatten()
    })
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found_in_the_wheels_beside_this_code() {
        let program = std::env::current_exe().unwrap();
        let folder = own_folder().unwrap();
        assert_eq!(folder.canonicalize().unwrap(), program.parent().unwrap().canonicalize().unwrap());
        let site = std::env::temp_dir().join(format!("crossover-wheels-{}", std::process::id()));
        let parts =
            ["nvidia/cu13/lib/libnvrtc.so.13", "nvidia/cufft/lib/libcufft.so.12"].map(|file| site.join(file));
        for file in &parts {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        assert_eq!(in_wheels(&site, "libnvrtc"), parts[..1]);
        assert_eq!(in_wheels(&site, "libcufft"), parts[1..]);
        std::fs::remove_dir_all(&site).unwrap();
    }
}
