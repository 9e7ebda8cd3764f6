//! Arrays whose memory is a file.
//!
//! Nothing is read until it is used, and pages are shared between processes. Such arrays are read like any other;
//! assigning to one makes a copy in memory, so a file is never written. Where the bytes cannot be used as they are
//! (big endian, or not aligned for their dtype) the array is a copy.
#![allow(unsafe_code)]

use std::{panic::Location, path::Path, sync::Arc};

use crossover_core::{DType, Element, Error as CoreError, Shape, graph::Type};
use crossover_io::{Map, npy as format};
use crossover_runtime::Buffer;

use super::{Arrays, Caller, npy, open, safetensors, wrong};
use crate::{Array, Error, Result, runtime::Runtime};

/// An array of the mapped bytes; `None` if they are not aligned.
fn mapped(map: Map, dtype: DType, shape: Shape, location: Caller) -> Option<Array> {
    let align = dtype.real().size();
    let buffer = Buffer::from_owner(Runtime::current().machine(), Arc::new(map), align)?;
    Some(Array::from_buffer(buffer, Type { dtype, shape }, location))
}

/// A part of a map that was found to lie inside the file when its header was read.
fn part(map: &Map, start: usize, length: usize, path: &Path, location: Caller) -> Result<Map> {
    map.part(start, length).ok_or_else(|| {
        let what = format!("bytes {start} to {} are beyond its end", start.saturating_add(length));
        Error::new(crossover_runtime::Error::Format { file: path.display().to_string(), what }, location)
    })
}

/// An array whose memory is a `.npy` file.
///
/// # Safety
///
/// Nobody may change or shorten the file while this array or anything made from it without being evaluated exists.
/// Replacing it by renaming another file over it, as [`Array::save`] does, is fine.
///
/// ```
/// use crossover_array::{Array, io};
/// let path = std::env::temp_dir().join(format!("crossover-map-{}.npy", std::process::id()));
/// Array::arange(1000).save(&path)?;
/// // SAFETY: nobody else knows this file.
/// let x = unsafe { io::map_npy(&path) }?;
/// assert_eq!(x.slice(500..).sum(()).item::<i64>()?, 374_750);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub unsafe fn map_npy(path: impl AsRef<Path>) -> Result<Array> {
    let (path, location) = (path.as_ref(), Location::caller());
    let name = path.display().to_string();
    // SAFETY: the caller promises that the file does not change.
    let map = unsafe { Map::open(path) }.map_err(|e| wrong(e, location))?;
    let (header, start) = format::parse(map.as_ref(), &name).map_err(|e| wrong(e, location))?;
    let data = part(&map, start, header.bytes, path, location)?;
    if !header.big_endian {
        format::check_in_place(&header, data.as_ref(), &name).map_err(|e| wrong(e, location))?;
        let stored = if header.fortran_order { npy::reversed(&header.shape) } else { header.shape };
        if let Some(array) = mapped(data, header.dtype, stored, location) {
            return Ok(npy::ordered(array, header.fortran_order));
        }
    }
    let reader = crossover_io::Npy::new(map.as_ref(), map.as_ref().len() as u64, name);
    npy::read(reader.map_err(|e| wrong(e, location))?, location)
}

/// Arrays whose memory is a safetensors file.
///
/// # Safety
///
/// Nobody may change or shorten the file while these arrays or anything made from them without being evaluated
/// exists. Replacing it by renaming another file over it, as [`save_safetensors`](super::save_safetensors) does, is
/// fine.
///
/// ```
/// use crossover_array::{Array, io};
/// let path = std::env::temp_dir().join(format!("crossover-map-{}.safetensors", std::process::id()));
/// io::save_safetensors(&path, &[("x", &Array::arange(10))], &[])?;
/// // SAFETY: nobody else knows this file.
/// let arrays = unsafe { io::map_safetensors(&path) }?;
/// assert_eq!(arrays["x"].max(()).item::<i64>()?, 9);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub unsafe fn map_safetensors(path: impl AsRef<Path>) -> Result<Arrays> {
    let (path, location) = (path.as_ref(), Location::caller());
    let mut reader = safetensors::reader(path, location)?;
    // SAFETY: the caller promises that the file does not change.
    let map = unsafe { Map::open(path) }.map_err(|e| wrong(e, location))?;
    let mut arrays = Arrays::new();
    for index in 0..reader.tensors().len() {
        let tensor = reader.tensors()[index].clone();
        // The header was read from a file of this length, so every offset fits.
        let data = part(&map, tensor.range.start as usize, tensor.bytes(), path, location)?;
        reader.check_in_place(index, data.as_ref()).map_err(|e| wrong(e, location))?;
        let array = match mapped(data, tensor.dtype, tensor.shape.clone(), location) {
            Some(array) => array,
            None => super::filled(tensor.dtype, tensor.shape, location, |to| reader.read(index, to))?,
        };
        arrays.insert(tensor.name, array);
    }
    Ok(arrays)
}

/// An array whose memory is a part of a map that is there already: little-endian elements, row by row, from byte `offset` on. What was looked at in the map
/// is what the array has, whatever has become of the file's name.
///
/// ```
/// use crossover_array::{DType, io};
/// let path = std::env::temp_dir().join(format!("crossover-from-map-{}.bin", std::process::id()));
/// std::fs::write(&path, [0, 0, 128, 63, 0, 0, 0, 64])?;
/// // SAFETY: nobody else knows this file.
/// let map = unsafe { crossover_io::Map::open(&path) }?;
/// let x = io::from_map(&map, 4, DType::F32, [1])?;
/// assert_eq!(x.to_vec::<f32>()?, [2.0]);
/// assert!(io::from_map(&map, 4, DType::F32, [2]).is_err());
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn from_map(map: &Map, offset: usize, dtype: DType, shape: impl Into<Shape>) -> Result<Array> {
    const OP: &str = "from_map";
    let location = Location::caller();
    let shape = Shape::checked(OP, shape.into().iter().copied()).map_err(|e| Error::new(e, location))?;
    let wrong = |what| Error::new(CoreError::Value { op: OP, what }, location);
    let bytes = shape.size() * dtype.size();
    let Some(data) = map.part(offset, bytes) else {
        let length = map.as_ref().len();
        return Err(wrong(format!("{bytes} bytes from {offset} on are wanted, and the map has {length}")));
    };
    if dtype == DType::Bool
        && let Some(at) = data.as_ref().iter().position(|&byte| byte > 1)
    {
        let what = format!("byte {} is {}, and a bool is 0 or 1", offset + at, data.as_ref()[at]);
        return Err(wrong(what));
    }
    match mapped(data.clone(), dtype, shape.clone(), location) {
        Some(array) => Ok(array),
        None => super::filled(dtype, shape, location, |to| {
            to.copy_from_slice(data.as_ref());
            Ok(())
        }),
    }
}

/// An array whose memory is a part of any file: little-endian elements, row by row, from byte `offset` on.
///
/// # Safety
///
/// Nobody may change or shorten the file while this array or anything made from it without being evaluated exists.
///
/// ```
/// use crossover_array::io;
/// let path = std::env::temp_dir().join(format!("crossover-raw-{}.bin", std::process::id()));
/// std::fs::write(&path, [0, 0, 0, 0, 0, 0, 128, 63, 0, 0, 0, 64])?;
/// // SAFETY: nobody else knows this file.
/// let x = unsafe { io::map_raw::<f32>(&path, 4, [2]) }?;
/// assert_eq!(x.to_vec::<f32>()?, [1.0, 2.0]);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub unsafe fn map_raw<T: Element>(
    path: impl AsRef<Path>,
    offset: u64,
    shape: impl Into<Shape>,
) -> Result<Array> {
    let (path, location) = (path.as_ref(), Location::caller());
    let shape =
        Shape::checked("map_raw", shape.into().iter().copied()).map_err(|e| Error::new(e, location))?;
    let bytes = shape.size() * T::DTYPE.size();
    let length = open(path, location)?.1;
    if offset.checked_add(bytes as u64).is_none_or(|end| end > length) {
        let ty = Type { dtype: T::DTYPE, shape };
        let what = format!("{ty} takes {bytes} bytes from {offset} on, but the file has {length}");
        let file = path.display().to_string();
        return Err(Error::new(crossover_runtime::Error::Format { file, what }, location));
    }
    // SAFETY: the caller promises that the file does not change.
    let map = unsafe { Map::open(path) }.map_err(|e| wrong(e, location))?;
    let data = part(&map, offset as usize, bytes, path, location)?;
    if T::DTYPE == DType::Bool
        && let Some(at) = data.as_ref().iter().position(|&byte| byte > 1)
    {
        let what = format!("byte {} is {}, and a bool is 0 or 1; map it as u8", at, data.as_ref()[at]);
        return Err(Error::new(CoreError::Value { op: "map_raw", what }, location));
    }
    match mapped(data.clone(), T::DTYPE, shape.clone(), location) {
        Some(array) => Ok(array),
        None => super::filled(T::DTYPE, shape, location, |to| {
            to.copy_from_slice(data.as_ref());
            Ok(())
        }),
    }
}
