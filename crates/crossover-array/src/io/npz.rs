//! `.npz`: several arrays in a zip archive.

use std::{io::BufReader, panic::Location, path::Path};

use crossover_io::{Npz, npz};

use super::{Arrays, Rows, npy, open, replace, wrong};
use crate::{Array, Result};

/// Reads all arrays of a `.npz` file, stored or deflated.
///
/// Names are those that NumPy shows, without `.npy`. Archives whose members overlap, claim more than they can hold or
/// have names that lead out of a folder are refused.
///
/// ```
/// use crossover_array::{Array, io};
/// let path = std::env::temp_dir().join(format!("crossover-load-{}.npz", std::process::id()));
/// io::save_npz(&path, &[("x", &Array::arange(3))])?;
/// assert_eq!(io::load_npz(&path)?["x"].to_vec::<i64>()?, [0, 1, 2]);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn load_npz(path: impl AsRef<Path>) -> Result<Arrays> {
    let (path, location) = (path.as_ref(), Location::caller());
    let (file, _) = open(path, location)?;
    let archive = Npz::new(BufReader::with_capacity(1 << 18, file), path.display().to_string());
    let mut archive = archive.map_err(|e| wrong(e, location))?;
    let names = archive.names().to_vec();
    let mut arrays = Arrays::new();
    for (index, name) in names.into_iter().enumerate() {
        let member = archive.member(index).map_err(|e| wrong(e, location))?;
        arrays.insert(name, npy::read(member, location)?);
    }
    Ok(arrays)
}

/// Writes arrays as a `.npz` file without compression. A file of that name is replaced once the new one is complete.
///
/// ```
/// use crossover_array::{Array, io};
/// let path = std::env::temp_dir().join(format!("crossover-save-{}.npz", std::process::id()));
/// let x = Array::arange(3);
/// io::save_npz(&path, &[("x", &x), ("y/z", &(&x * 2))])?;
/// assert!(io::save_npz(&path, &[("../x", &x)]).is_err());
/// assert_eq!(io::load_npz(&path)?.len(), 2);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn save_npz(path: impl AsRef<Path>, arrays: &[(&str, &Array)]) -> Result<()> {
    save(path.as_ref(), arrays, false)
}

/// Writes arrays as a `.npz` file, deflated.
///
/// ```
/// use crossover_array::{Array, io};
/// let path = std::env::temp_dir().join(format!("crossover-packed-{}.npz", std::process::id()));
/// io::save_npz_compressed(&path, &[("zeros", &Array::zeros::<f64>([1000]))])?;
/// assert!(std::fs::metadata(&path)?.len() < 1000);
/// assert_eq!(io::load_npz(&path)?["zeros"].to_vec::<f64>()?, [0.0; 1000]);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn save_npz_compressed(path: impl AsRef<Path>, arrays: &[(&str, &Array)]) -> Result<()> {
    save(path.as_ref(), arrays, true)
}

#[track_caller]
fn save(path: &Path, arrays: &[(&str, &Array)], compressed: bool) -> Result<()> {
    let location = Location::caller();
    // Everything is computed before a file is begun, together where arrays have something in common.
    let all: Vec<&Array> = arrays.iter().map(|(_, array)| *array).collect();
    crate::eval_all(&all)?;
    let mut parts = Vec::with_capacity(arrays.len());
    for (name, array) in arrays {
        parts.push((*name, Rows::of(array)?));
    }
    let mut failure = None;
    let written = replace(path, location, |to| {
        let mut writer = npz::Writer::new(to, compressed);
        for (name, rows) in &parts {
            match rows.bytes(location) {
                Ok(bytes) => writer.add(name, rows.dtype, rows.shape(), &bytes)?,
                Err(error) => {
                    failure = Some(error);
                    return Err(std::io::Error::other("an array could not be read"));
                }
            }
        }
        writer.finish().map(drop)
    });
    failure.map_or(written, Err)
}
