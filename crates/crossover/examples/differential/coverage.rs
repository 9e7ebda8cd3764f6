//! Which public operations there are, by the sources of `crossover-array`, and which of them are compared elsewhere.
//!
//! Reads text, not compiled code: methods of `Array`, functions of the modules below, and what the macros beside them make.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Modules whose functions are operations too.
const MODULES: [&str; 5] = ["contract", "fft", "linalg", "random", "signal"];

/// What has no counterpart of its own: why, and the names.
const ELSEWHERE: [(&str, &str); 6] = [
    (
        "what an array is, where it is and how it is computed: there are no values to compare",
        "base check check_made device dtype eval eval_async eval_if_small explain explain_analyze \
         failing find_nan frozen graph is_still ndim peak_bytes prefetch refused shape size to_device",
    ),
    (
        "the way of operands in and of results out, which every case takes",
        "borrow_bytes detach device_view from_bytes from_device from_slice from_vec host_view \
         into_host_memory item pinned scalar to_scalar to_vec",
    ),
    ("files: tests/files.rs of crossover-array reads NumPy's own", "from_npy load save to_npy"),
    ("types of other crates: examples beside them", "to_faer to_ndarray"),
    (
        "another spelling of an operation that is compared, or the form of it that is called for that",
        "arange_from convolve_with correlate_with cumulative_prod_with cumulative_sum_with eye_dtype \
         fill full_dtype histogram_between histogram_edges_with index meshgrid_xy ones ones_dtype \
         rows std_with var_with vector_norm_with zeros zeros_dtype fft_with fft2_with fftn_with \
         hfft_with ifft_with ifft2_with ifftn_with ihfft_with irfft_with irfft2_with irfftn_with \
         rfft_with rfft2_with rfftn_with",
    ),
    (
        "random numbers: the distributions are tested by tests/distributions of crossover-array",
        "bernoulli categorical choice exponential exponential_dtype gamma gamma_dtype integers \
         integers_dtype normal normal_dtype permutation poisson poisson_dtype shuffle uniform \
         uniform_dtype",
    ),
];

fn sources() -> Vec<PathBuf> {
    fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("the sources of crossover-array are there") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push(path);
            }
        }
    }
    let mut out = Vec::new();
    walk(&root(), &mut out);
    out
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crossover-array/src")
}

/// The public operations of a file; `free` says whether functions outside of `Array` count.
fn operations(text: &str, free: bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let (mut inside, mut hidden, mut made) = (false, false, false);
    for line in text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")) {
        let words = line.trim();
        if line.starts_with("impl Array {") {
            inside = true;
        } else if line.starts_with('}') {
            (inside, made) = (false, false);
        } else if line.ends_with("! {") && line.starts_with(|c: char| c.is_lowercase()) {
            made = !line.starts_with("macro_rules!");
        }
        let starts = ["pub fn ", "pub const fn ", "pub unsafe fn "];
        let public = starts.iter().find_map(|start| words.strip_prefix(start));
        if let Some(rest) = public.filter(|_| !hidden && (inside || (free && !line.starts_with(' ')))) {
            found.extend(rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_owned));
        } else if made {
            found.extend(entries(words).map(str::to_owned));
        }
        hidden = words == "#[doc(hidden)]" || (hidden && words.starts_with("#["));
    }
    found
}

/// The names before the documentation in an entry of a macro: `det "The determinant."`, `fft fft_with "…"`, `exp Exp "…"`.
fn entries(line: &str) -> impl Iterator<Item = &str> {
    let names =
        line.split_once(" \"").map_or("", |(names, rest)| if rest.ends_with('"') { names } else { "" });
    let fits = names.split(' ').all(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
    names.split(' ').filter(move |name| fits && name.starts_with(|c: char| c.is_lowercase()))
}

/// Every public operation of `crossover-array`.
fn public() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in sources() {
        let text = fs::read_to_string(&path).expect("a readable source");
        let inside = path.strip_prefix(root()).expect("below the root").to_path_buf();
        let module = inside
            .iter()
            .next()
            .and_then(|first| Path::new(first).file_stem())
            .and_then(|stem| stem.to_str());
        found.append(&mut operations(&text, module.is_some_and(|module| MODULES.contains(&module))));
    }
    // `where` is a word of Rust.
    found.into_iter().map(|name| name.trim_end_matches('_').to_owned()).collect()
}

#[test]
fn every_public_operation_is_compared_or_is_known_to_be_tested_elsewhere() {
    let compared: BTreeSet<String> = super::table()
        .iter()
        .map(|entry| entry["name"].as_str().expect("entries have names").to_owned())
        .collect();
    let public = public();
    for known in ["sum_dtype", "where", "exp", "det", "rfft", "einsum", "uniform", "convolve"] {
        assert!(public.contains(known), "{known} was not found in the sources");
    }
    let elsewhere: BTreeSet<&str> =
        ELSEWHERE.iter().flat_map(|(_, names)| names.split_whitespace()).collect();
    let missing: Vec<_> = public
        .iter()
        .filter(|name| !compared.contains(*name) && !elsewhere.contains(name.as_str()))
        .collect();
    assert!(missing.is_empty(), "{missing:?} are neither compared nor listed in coverage.rs");
    let gone: Vec<_> =
        elsewhere.iter().filter(|name| !public.contains(**name) || compared.contains(**name)).collect();
    assert!(gone.is_empty(), "{gone:?} are listed in coverage.rs and are compared, or are no operations");
}
