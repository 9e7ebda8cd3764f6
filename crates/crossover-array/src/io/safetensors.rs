//! Safetensors: named arrays and free text.

use std::{borrow::Cow, collections::BTreeMap, fs::File, panic::Location, path::Path};

use crossover_io::{Safetensors, safetensors};

use super::{Arrays, Caller, Rows, filled, open, replace, wrong};
use crate::{Array, Result};

/// Reads all arrays of a safetensors file.
///
/// The reader is strict: every byte of the data must belong to exactly one tensor.
///
/// ```
/// use crossover_array::{Array, bf16, io};
/// let path = std::env::temp_dir().join(format!("crossover-load-{}.safetensors", std::process::id()));
/// io::save_safetensors(&path, &[("x", &Array::from([bf16::ONE]))], &[])?;
/// assert_eq!(io::load_safetensors(&path)?["x"].to_vec::<bf16>()?, [bf16::ONE]);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn load_safetensors(path: impl AsRef<Path>) -> Result<Arrays> {
    let location = Location::caller();
    let mut reader = reader(path.as_ref(), location)?;
    let mut arrays = Arrays::new();
    for index in 0..reader.tensors().len() {
        let tensor = reader.tensors()[index].clone();
        let array = filled(tensor.dtype, tensor.shape, location, |to| reader.read(index, to))?;
        arrays.insert(tensor.name, array);
    }
    Ok(arrays)
}

/// The free text of a safetensors file.
///
/// ```
/// use crossover_array::{Array, io};
/// let path = std::env::temp_dir().join(format!("crossover-text-{}.safetensors", std::process::id()));
/// io::save_safetensors(&path, &[("x", &Array::arange(3))], &[("step", "12")])?;
/// assert_eq!(io::safetensors_metadata(&path)?["step"], "12");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn safetensors_metadata(path: impl AsRef<Path>) -> Result<BTreeMap<String, String>> {
    Ok(reader(path.as_ref(), Location::caller())?.metadata().clone())
}

/// Writes arrays, and text about them, as a safetensors file. A file of that name is replaced once the new one is
/// complete. The format has no `c128`.
///
/// ```
/// use crossover_array::{Array, io};
/// let path = std::env::temp_dir().join(format!("crossover-save-{}.safetensors", std::process::id()));
/// let x = Array::linspace(0.0, 1.0, 4).reshape([2, 2]);
/// io::save_safetensors(&path, &[("x", &x), ("transposed", &x.t())], &[])?;
/// assert_eq!(io::load_safetensors(&path)?["transposed"].to_vec::<f64>()?, x.t().to_vec::<f64>()?);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn save_safetensors(
    path: impl AsRef<Path>,
    arrays: &[(&str, &Array)],
    metadata: &[(&str, &str)],
) -> Result<()> {
    let location = Location::caller();
    let all: Vec<&Array> = arrays.iter().map(|(_, array)| *array).collect();
    crate::eval_all(&all)?;
    let mut parts = Vec::with_capacity(arrays.len());
    for (name, array) in arrays {
        parts.push((*name, Rows::of(array)?));
    }
    let mut bytes: Vec<Cow<'_, [u8]>> = Vec::with_capacity(parts.len());
    for (_, rows) in &parts {
        bytes.push(rows.bytes(location)?);
    }
    let entries: Vec<safetensors::Entry<'_>> = parts
        .iter()
        .zip(&bytes)
        .map(|((name, rows), data)| safetensors::Entry { name, dtype: rows.dtype, shape: rows.shape(), data })
        .collect();
    replace(path.as_ref(), location, |to| safetensors::write(to, &entries, metadata))
}

pub(super) fn reader(path: &Path, location: Caller) -> Result<Safetensors<File>> {
    let (file, length) = open(path, location)?;
    Safetensors::new(file, length, path.display().to_string()).map_err(|e| wrong(e, location))
}
