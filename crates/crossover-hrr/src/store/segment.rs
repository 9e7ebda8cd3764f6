//! Segments: the arrays of one operation, as one safetensors file.
#![allow(unsafe_code)]

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs,
    io::{Cursor, Write as _},
    path::Path,
};

use crossover_array::{Array, DType, io};
use crossover_io::{Map, Safetensors, safetensors};
use serde::{Deserialize, Serialize};

use super::{
    file::{failed, reaching, step},
    history::Segment,
    verify::Damage,
};
use crate::{Error, Result};

/// The file of an operation's arrays.
pub(super) fn file_name(number: usize) -> String {
    format!("{number:06}.safetensors")
}

fn hex(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Where an array is in its file, and what it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Place {
    dtype: String,
    shape: Vec<usize>,
    /// Bytes of the file before it.
    start: u64,
}

impl Place {
    fn dtype(&self) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.to_string() == self.dtype)
    }

    /// The array that is there, if its elements have this hash.
    fn array(&self, bytes: &[u8], hash: &str) -> Option<Array> {
        let dtype = self.dtype()?;
        let size = self.shape.iter().try_fold(dtype.size(), |size, &length| size.checked_mul(length))?;
        let start = usize::try_from(self.start).ok()?;
        let data = bytes.get(start..start.checked_add(size)?)?;
        (hex(data) == hash).then(|| Array::from_bytes(data, dtype, &*self.shape, None, 0))
    }
}

/// Places by name, as a file's header tells them; `None` if it cannot be read.
fn places(file: &str, bytes: &[u8]) -> Option<BTreeMap<String, Place>> {
    let reader = Safetensors::new(Cursor::new(bytes), bytes.len() as u64, file).ok()?;
    let place = |tensor: &safetensors::Tensor| Place {
        dtype: tensor.dtype.to_string(),
        shape: tensor.shape.dims().to_vec(),
        start: tensor.range.start,
    };
    Some(reader.tensors().iter().map(|tensor| (tensor.name.clone(), place(tensor))).collect())
}

/// Writes arrays as the segment of an operation.
pub(super) fn write(folder: &Path, number: usize, arrays: &[(&str, &Array)]) -> Result<Segment> {
    crossover_array::eval_all(&arrays.iter().map(|(_, array)| *array).collect::<Vec<_>>())?;
    let mut views = Vec::with_capacity(arrays.len());
    for (name, array) in arrays {
        // A view with gaps is copied.
        let view = array.host_view()?;
        let view = if view.is_contiguous() { view } else { array.copy().host_view()? };
        views.push((*name, view));
    }
    let mut parts = Vec::with_capacity(views.len());
    for (name, view) in &views {
        let bytes = view.bytes()?.map_or_else(|| Cow::Owned(Vec::new()), Cow::Borrowed);
        parts.push((*name, view, bytes));
    }
    let entries: Vec<safetensors::Entry<'_>> = parts
        .iter()
        .map(|(name, view, data)| safetensors::Entry { name, dtype: view.dtype(), shape: view.shape(), data })
        .collect();
    let mut whole = Vec::new();
    let file = file_name(number);
    let path = folder.join(&file);
    safetensors::write(&mut whole, &entries, &[]).map_err(failed(&path, "write"))?;
    crossover_io::replace(&path, |to| {
        step()?;
        to.write_all(&whole[..reaching(whole.len())])?;
        to.flush()?;
        step()
    })?;
    let arrays = parts.iter().map(|(name, _, bytes)| (name.to_string(), hex(bytes))).collect();
    let places = places(&file, &whole).unwrap_or_default();
    Ok(Segment { file, bytes: whole.len() as u64, hash: hex(&whole), arrays, places })
}

/// What is wrong with a segment's bytes; nothing if they are those that were written.
pub(super) fn damage(segment: &Segment, bytes: &[u8]) -> Vec<Damage> {
    if bytes.len() as u64 == segment.bytes && hex(bytes) == segment.hash {
        return Vec::new();
    }
    let mut found = Vec::new();
    let length = bytes.len() as u64;
    if length != segment.bytes {
        found.push(Damage::segment(
            &segment.file,
            format!("it has {length} bytes instead of {}", segment.bytes),
        ));
    }
    let (_, broken) = intact(segment, bytes);
    let is_readable = places(&segment.file, bytes).is_some();
    if !is_readable && length == segment.bytes {
        found.push(Damage::segment(&segment.file, "its header cannot be read".to_string()));
    } else if broken.is_empty() && found.is_empty() {
        found.push(Damage::segment(&segment.file, "its header is not as it was written".to_string()));
    }
    if is_readable || !segment.places.is_empty() {
        found.extend(broken.into_iter().map(|name| Damage::array(&segment.file, &name)));
    }
    found
}

/// The arrays whose elements are as they were written, and the names of those that are not.
pub(super) fn intact(segment: &Segment, bytes: &[u8]) -> (BTreeMap<String, Array>, Vec<String>) {
    // The history says where arrays are too, so that a damaged header costs none of them.
    let told = match segment.places.is_empty() {
        true => places(&segment.file, bytes).unwrap_or_default(),
        false => BTreeMap::new(),
    };
    let (mut good, mut broken) = (BTreeMap::new(), Vec::new());
    for (name, hash) in &segment.arrays {
        let place = segment.places.get(name).or(told.get(name));
        match place.and_then(|place| place.array(bytes, hash)) {
            Some(array) => drop(good.insert(name.clone(), array)),
            None => broken.push(name.clone()),
        }
    }
    (good, broken)
}

fn verified(folder: &Path, segment: &Segment, bytes: &[u8]) -> Result<()> {
    let damage = damage(segment, bytes);
    if damage.is_empty() { Ok(()) } else { Err(Error::Corrupt { folder: folder.to_path_buf(), damage }) }
}

fn missing(folder: &Path, segment: &Segment) -> Error {
    let damage = vec![Damage::segment(&segment.file, "it is missing".to_string())];
    Error::Corrupt { folder: folder.to_path_buf(), damage }
}

/// The arrays of a segment.
pub(super) fn read(folder: &Path, segment: &Segment) -> Result<BTreeMap<String, Array>> {
    let path = folder.join(&segment.file);
    if !path.exists() {
        return Err(missing(folder, segment));
    }
    let bytes = fs::read(&path).map_err(failed(&path, "read"))?;
    verified(folder, segment, &bytes)?;
    Ok(intact(segment, &bytes).0)
}

/// The arrays of a segment, in the file's own memory.
///
/// # Safety
///
/// Nobody may change the file while the arrays exist.
pub(super) unsafe fn map(folder: &Path, segment: &Segment) -> Result<BTreeMap<String, Array>> {
    let path = folder.join(&segment.file);
    if !path.exists() {
        return Err(missing(folder, segment));
    }
    // SAFETY: the caller promises that the file does not change.
    let map = unsafe { Map::open(&path) }?;
    verified(folder, segment, map.as_ref())?;
    in_map(segment, &map)
}

/// The arrays of a segment that was verified, in the memory where it was: not what has its file's name by now.
fn in_map(segment: &Segment, map: &Map) -> Result<BTreeMap<String, Array>> {
    let told = match segment.places.is_empty() {
        true => places(&segment.file, map.as_ref()).unwrap_or_default(),
        false => BTreeMap::new(),
    };
    let array = |name: &String| -> Result<(String, Array)> {
        let place = segment.places.get(name).or(told.get(name));
        let found = place.and_then(|place| Some((place, place.dtype()?, usize::try_from(place.start).ok()?)));
        let Some((place, dtype, start)) = found else {
            return Err(Error::value("map", format!("{} does not say where {name:?} is", segment.file)));
        };
        Ok((name.clone(), io::from_map(map, start, dtype, &*place.shape)?))
    };
    segment.arrays.keys().map(array).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_arrays_are_those_that_were_verified() {
        let folder = tempfile::tempdir().unwrap();
        let x = Array::arange(6).reshape([2, 3]);
        let truth = Array::from([true, false, true]);
        let segment = write(folder.path(), 1, &[("x", &x), ("truth", &truth)]).unwrap();
        let path = folder.path().join(&segment.file);
        // SAFETY: nobody else knows this folder, and other files take the name only.
        let map = unsafe { Map::open(&path) }.unwrap();
        verified(folder.path(), &segment, map.as_ref()).unwrap();
        write(folder.path(), 1, &[("x", &(x + 1)), ("truth", &!truth)]).unwrap();
        let without = Segment { places: BTreeMap::new(), ..segment.clone() };
        for segment in [segment, without] {
            let arrays = in_map(&segment, &map).unwrap();
            assert_eq!(arrays["x"].to_vec::<i64>().unwrap(), [0, 1, 2, 3, 4, 5]);
            assert_eq!(arrays["x"].shape().dims(), [2, 3]);
            assert_eq!(arrays["truth"].to_vec::<bool>().unwrap(), [true, false, true]);
        }
    }
}
