//! Arrays from files and into files.
//!
//! | format | read | write |
//! | --- | --- | --- |
//! | NumPy's `.npy` | [`Array::load`], [`Array::from_npy`] | [`Array::save`], [`Array::to_npy`] |
//! | NumPy's `.npz` | [`load_npz`] | [`save_npz`], [`save_npz_compressed`] |
//! | safetensors | [`load_safetensors`], [`safetensors_metadata`] | [`save_safetensors`] |
//! | mapped memory | [`map_npy`], [`map_safetensors`], [`map_raw`], [`from_map`] | |
//!
//! Files may be hostile: whatever their bytes are, the answer is arrays or an error that names the file and what is
//! wrong with it, and memory is reserved only for what the bytes can hold. Files are written completely or not at
//! all: a new one appears under its name once it is whole and on disk.
//!
//! ```
//! use crossover_array::{Array, io};
//! let folder = std::env::temp_dir().join(format!("crossover-files-{}", std::process::id()));
//! std::fs::create_dir_all(&folder)?;
//! let (weight, bias) = (Array::arange(6).reshape([2, 3]), Array::from([0.5f32, 1.5]));
//! io::save_npz(folder.join("layer.npz"), &[("weight", &weight), ("bias", &bias)])?;
//! let layer = io::load_npz(folder.join("layer.npz"))?;
//! assert_eq!(layer["weight"].shape().dims(), [2, 3]);
//! assert_eq!(layer["bias"].to_vec::<f32>()?, [0.5, 1.5]);
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod map;
mod npy;
mod npz;
mod safetensors;

use std::{panic::Location, path::Path, sync::Arc};

use crossover_core::{DType, Layout, Shape, graph::Type};
use crossover_runtime::Buffer;

pub use self::{
    map::{from_map, map_npy, map_raw, map_safetensors},
    npz::{load_npz, save_npz, save_npz_compressed},
    safetensors::{load_safetensors, safetensors_metadata, save_safetensors},
};
use crate::{Array, Error, Result, convert, runtime::Runtime};

/// Arrays by name, as files hold them.
pub type Arrays = std::collections::BTreeMap<String, Array>;

type Caller = &'static Location<'static>;

/// An error about a file, at the caller's place.
fn wrong(error: crossover_io::Error, location: Caller) -> Error {
    use crossover_runtime::Error as Kind;
    let kind = match error {
        crossover_io::Error::Io { file, action, kind, reason } => Kind::Io { file, action, kind, reason },
        crossover_io::Error::Corrupt { file, format, what } => Kind::Corrupt { file, format, what },
        crossover_io::Error::Unsupported { file, what } => Kind::Format { file, what },
        other => Kind::Internal(other.to_string()),
    };
    Error::new(kind, location)
}

/// A file to read, with its length.
fn open(path: &Path, location: Caller) -> Result<(std::fs::File, u64)> {
    let refused = |action| {
        move |error: std::io::Error| {
            wrong(crossover_io::Error::io(path.display().to_string(), action, &error), location)
        }
    };
    let file = std::fs::File::open(path).map_err(refused("open"))?;
    let length = file.metadata().map_err(refused("look at"))?.len();
    Ok((file, length))
}

/// An array whose bytes `fill` reads into place.
fn filled(
    dtype: DType,
    shape: Shape,
    location: Caller,
    fill: impl FnOnce(&mut [u8]) -> crossover_io::Result<()>,
) -> Result<Array> {
    let mut outcome = Ok(());
    let bytes = shape.size() * dtype.size();
    let buffer = Buffer::from_fill(Runtime::current().machine(), bytes, |to| outcome = fill(to));
    let buffer = buffer.map_err(|e| Error::new(e, location))?;
    outcome.map_err(|e| wrong(e, location))?;
    Ok(Array::from_buffer(buffer, Type { dtype, shape }, location))
}

/// What a file needs of an array: its elements row by row.
struct Rows {
    buffer: Arc<Buffer>,
    dtype: DType,
    layout: Layout,
}

impl Rows {
    /// The elements of an array, computed if they are not yet.
    fn of(array: &Array) -> Result<Rows> {
        array.check()?;
        let (buffer, layout) = array.contents()?;
        Ok(Rows { buffer, dtype: array.dtype(), layout })
    }

    fn shape(&self) -> &Shape {
        &self.layout.shape
    }

    /// The bytes, copied only where the array is no row-major part of its buffer.
    fn bytes(&self, location: Caller) -> Result<std::borrow::Cow<'_, [u8]>> {
        let size = self.dtype.size();
        let all = self.buffer.host_bytes().map_err(|e| Error::new(e, location))?;
        let length = self.layout.shape.size() * size;
        if length == 0 {
            return Ok((&[]).into());
        }
        if self.layout.is_contiguous() {
            return Ok(all[self.layout.offset * size..][..length].into());
        }
        let mut rows = convert::zeros::<u8>(length).map_err(|e| Error::new(e, location))?;
        convert::copy(all, &self.layout, &mut rows, &Layout::contiguous(self.layout.shape.clone()), size);
        Ok(rows.into())
    }
}

/// Writes a file, completely or not at all.
fn replace(
    path: &Path,
    location: Caller,
    write: impl FnOnce(&mut std::io::BufWriter<std::fs::File>) -> std::io::Result<()>,
) -> Result<()> {
    crossover_io::replace(path, write).map_err(|e| wrong(e, location))
}
