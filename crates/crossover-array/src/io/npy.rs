//! `.npy`: one array.

use std::{io::Read, panic::Location, path::Path};

use crossover_core::Shape;
use crossover_io::{Npy, npy};

use super::{Caller, Rows, filled, open, replace, wrong};
use crate::{Array, Error, Result, convert};

impl Array {
    /// Reads an array from a `.npy` file.
    ///
    /// Every dtype that arrays have is read, in either byte order and either memory order; `bf16` is what NumPy calls
    /// `<V2`. The file must hold exactly one array.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let path = std::env::temp_dir().join(format!("crossover-load-{}.npy", std::process::id()));
    /// Array::from([[1, 2], [3, 4]]).save(&path)?;
    /// assert_eq!(Array::load(&path)?.to_vec::<i32>()?, [1, 2, 3, 4]);
    /// # std::fs::remove_file(&path)?;
    /// let error = Array::load("no-such.npy").unwrap_err();
    /// assert!(error.to_string().starts_with("could not open no-such.npy"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn load(path: impl AsRef<Path>) -> Result<Array> {
        let (path, location) = (path.as_ref(), Location::caller());
        let (file, length) = open(path, location)?;
        let reader = Npy::new(file, length, path.display().to_string()).map_err(|e| wrong(e, location))?;
        read(reader, location)
    }

    /// Writes the array as a `.npy` file, little endian and row by row. A file of that name is replaced once the
    /// new one is complete.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let path = std::env::temp_dir().join(format!("crossover-save-{}.npy", std::process::id()));
    /// Array::linspace(0.0, 1.0, 5).flip(()).save(&path)?;
    /// assert_eq!(Array::load(&path)?.to_vec::<f64>()?, [1.0, 0.75, 0.5, 0.25, 0.0]);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let location = Location::caller();
        let rows = Rows::of(self)?;
        let bytes = rows.bytes(location)?;
        replace(path.as_ref(), location, |to| npy::write(to, rows.dtype, rows.shape(), &bytes))
    }

    /// An array from the bytes of a `.npy` file.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let bytes = Array::from([true, false]).to_npy()?;
    /// assert_eq!(Array::from_npy(&bytes)?.to_vec::<bool>()?, [true, false]);
    /// assert!(Array::from_npy(&bytes[..20]).is_err());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn from_npy(bytes: &[u8]) -> Result<Array> {
        let location = Location::caller();
        let reader = Npy::new(bytes, bytes.len() as u64, "the input").map_err(|e| wrong(e, location))?;
        read(reader, location)
    }

    /// The bytes of the array's `.npy` file.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert!(Array::arange(3).to_npy()?.starts_with(b"\x93NUMPY"));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn to_npy(&self) -> Result<Vec<u8>> {
        let location = Location::caller();
        let rows = Rows::of(self)?;
        let bytes = rows.bytes(location)?;
        let mut file = convert::room(bytes.len() + 256).map_err(|e| Error::new(e, location))?;
        npy::write(&mut file, rows.dtype, rows.shape(), &bytes)
            .map_err(|e| Error::new(crossover_runtime::Error::Internal(e.to_string()), location))?;
        Ok(file)
    }
}

/// The array of a file whose header has been read.
pub(super) fn read(reader: Npy<impl Read>, location: Caller) -> Result<Array> {
    let npy::Header { dtype, shape, fortran_order, .. } = reader.header().clone();
    let stored = if fortran_order { reversed(&shape) } else { shape };
    let array = filled(dtype, stored, location, |to| reader.read(to))?;
    Ok(ordered(array, fortran_order))
}

/// The shape of the transposed array.
pub(super) fn reversed(shape: &Shape) -> Shape {
    shape.iter().rev().copied().collect()
}

/// The array itself, or transposed: data whose first axis varies fastest is that of the transposed array.
pub(super) fn ordered(array: Array, fortran_order: bool) -> Array {
    if fortran_order && array.ndim() > 1 { array.t() } else { array }
}
