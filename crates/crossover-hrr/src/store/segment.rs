//! Segments: the arrays of one operation, as one safetensors file.
#![allow(unsafe_code)]

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs,
    io::{Cursor, Write as _},
    path::Path,
};

use crossover_array::{Array, io};
use crossover_io::{Map, Safetensors, safetensors};

use super::{
    file::{Steps, failed},
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

/// Writes arrays as the segment of an operation.
pub(super) fn write(
    folder: &Path,
    number: usize,
    arrays: &[(&str, &Array)],
    steps: &Steps,
) -> Result<Segment> {
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
        steps.next()?;
        to.write_all(&whole[..steps.reaching(whole.len())])?;
        steps.next()
    })?;
    let arrays = parts.iter().map(|(name, _, bytes)| (name.to_string(), hex(bytes))).collect();
    Ok(Segment { file, bytes: whole.len() as u64, hash: hex(&whole), arrays })
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
    match intact(segment, bytes) {
        Ok((_, broken)) if broken.is_empty() && found.is_empty() => {
            found.push(Damage::segment(&segment.file, "its header is not as it was written".to_string()));
        }
        Ok((_, broken)) => found.extend(broken.into_iter().map(|name| Damage::array(&segment.file, &name))),
        Err(_) => found.push(Damage::segment(&segment.file, "its header cannot be read".to_string())),
    }
    found
}

/// The arrays whose elements are as they were written, and the names of those that are not.
pub(super) fn intact(segment: &Segment, bytes: &[u8]) -> Result<(BTreeMap<String, Array>, Vec<String>)> {
    let reader = Safetensors::new(Cursor::new(bytes), bytes.len() as u64, &segment.file)?;
    let (mut good, mut broken) = (BTreeMap::new(), Vec::new());
    for (name, hash) in &segment.arrays {
        let found = reader.tensors().iter().find(|tensor| tensor.name == *name).and_then(|tensor| {
            let data = bytes.get(tensor.range.start as usize..tensor.range.end as usize)?;
            (hex(data) == *hash).then(|| Array::from_bytes(data, tensor.dtype, tensor.shape.clone(), None, 0))
        });
        match found {
            Some(array) => drop(good.insert(name.clone(), array)),
            None => broken.push(name.clone()),
        }
    }
    Ok((good, broken))
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
    Ok(intact(segment, &bytes)?.0)
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
    // SAFETY: as above; these are the bytes that were just verified.
    Ok(unsafe { io::map_safetensors(&path) }?)
}
