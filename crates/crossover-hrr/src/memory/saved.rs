//! Item memories as operations of a store.
//!
//! An addition is blocks of rows and, beside each, the block's names; a removal is names. Blocks have hashes of their own, so that damage costs one
//! block.

use std::{collections::BTreeMap, path::Path};

use crossover_array::{Array, DType, s};

use super::ItemMemory;
use crate::{
    Error, Report, Result, Space, Store,
    space::complex,
    store::{Damage, Notes},
};

const KIND: &str = "item memory";
/// Rows of a block.
const BLOCK: usize = 1024;

/// What says which space vectors are of.
pub(super) fn about(space: &Space) -> Notes {
    let entries = [
        ("model", space.model().to_string()),
        ("d", space.d().to_string()),
        ("dtype", space.dtype().to_string()),
        ("seed", space.seed().to_string()),
    ];
    entries.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}

pub(super) fn create(folder: &Path, space: &Space) -> Result<Store> {
    Store::create(folder, KIND, about(space))
}

/// The space of a store's vectors.
pub(super) fn space(store: &Store) -> Result<Space> {
    store.expect_kind(KIND)?;
    space_of(store.notes())
}

pub(super) fn space_of(notes: &Notes) -> Result<Space> {
    let wrong = || Error::value("open", "the store does not say which space its vectors are of");
    let value = |key: &str| notes.get(key).ok_or_else(wrong);
    let model = value("model")?.parse().map_err(|what| Error::value("open", what))?;
    let name = value("dtype")?;
    let dtype = DType::ALL.into_iter().find(|dtype| dtype.to_string() == *name).ok_or_else(wrong)?;
    let d = value("d")?.parse().map_err(|_| wrong())?;
    let seed = value("seed")?.parse().map_err(|_| wrong())?;
    Ok(Space::new(model, d)?.with_dtype(dtype)?.with_seed(seed))
}

/// The format has no 128-bit complex numbers: they are two columns of real ones.
fn stored(rows: &Array) -> Array {
    match rows.dtype() {
        DType::C128 => Array::concat(&[&rows.real(), &rows.imag()], -1),
        _ => rows.copy(),
    }
}

fn unstored(rows: &Array, space: &Space) -> Array {
    match space.dtype() {
        DType::C128 => {
            let d = space.d();
            complex(&rows.slice(s![.., 0..d]), &rows.slice(s![.., d..2 * d]))
        }
        _ => rows.clone(),
    }
}

pub(super) fn add(store: &mut Store, names: &[String], rows: &Array, space: &Space) -> Result<()> {
    let mut arrays = Vec::new();
    for (i, some) in names.chunks(BLOCK).enumerate() {
        let first = i * BLOCK;
        let text = serde_json::to_vec(some).map_err(|e| Error::value("save", e.to_string()))?;
        arrays.push((format!("names/{i}"), Array::from_vec(text.clone(), [text.len()])));
        arrays.push((format!("vectors/{i}"), stored(&rows.slice(s![first..first + some.len()]))));
    }
    debug_assert!(rows.dtype() == space.dtype());
    let arrays: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (name.as_str(), array)).collect();
    store.append("add", &arrays, Notes::from([("items".to_string(), names.len().to_string())]))
}

pub(super) fn remove(store: &mut Store, names: &[String]) -> Result<()> {
    let text = serde_json::to_string(names).map_err(|e| Error::value("save", e.to_string()))?;
    store.append("remove", &[], Notes::from([("names".to_string(), text)]))
}

/// Names and rows of an operation's blocks; a block of which a part is missing is `None`.
type Blocks = Vec<Option<(Vec<String>, Array)>>;

fn blocks(arrays: &BTreeMap<String, Array>, count: usize) -> Result<Blocks> {
    let block = |i: usize| -> Result<Option<(Vec<String>, Array)>> {
        let (Some(names), Some(rows)) =
            (arrays.get(&format!("names/{i}")), arrays.get(&format!("vectors/{i}")))
        else {
            return Ok(None);
        };
        let names: Vec<String> = serde_json::from_slice(&names.to_vec::<u8>()?)
            .map_err(|e| Error::value("open", format!("names of a block: {e}")))?;
        Ok(Some((names, rows.clone())))
    };
    (0..count).map(block).collect()
}

fn count(notes: &Notes) -> usize {
    notes.get("items").and_then(|n| n.parse::<usize>().ok()).map_or(0, |n| n.div_ceil(BLOCK))
}

fn removed(notes: &Notes) -> Result<Vec<String>> {
    let text = notes.get("names").map_or("[]", String::as_str);
    serde_json::from_str(text).map_err(|e| Error::value("open", format!("names of a removal: {e}")))
}

fn removed_of(store: &Store, number: usize) -> Result<Vec<String>> {
    match store.history().nth(number) {
        Some(entry) if entry.operation == "remove" => removed(&entry.notes),
        _ => Ok(Vec::new()),
    }
}

/// Does to a memory what was done to the store.
pub(super) fn replay(store: &Store, memory: &mut ItemMemory) -> Result<()> {
    for number in 0..store.len() {
        let (notes, arrays) = store.read(number)?;
        for (names, rows) in blocks(&arrays, count(notes))?.into_iter().flatten() {
            let rows = unstored(&rows, memory.space());
            memory.add_vectors(&names, &rows)?;
        }
        for name in removed_of(store, number)? {
            memory.remove(&name)?;
        }
    }
    Ok(())
}

/// As [`replay`], with rows in the memory of the store's files.
///
/// # Safety
///
/// As for [`Store::map`].
#[allow(unsafe_code)]
pub(super) unsafe fn replay_mapped(store: &Store, memory: &mut ItemMemory) -> Result<()> {
    // After a removal rows are the memory's own, and others come after them.
    let mut is_base = true;
    for number in 0..store.len() {
        // SAFETY: the caller's promise.
        let (notes, arrays) = unsafe { store.map(number) }?;
        for (names, rows) in blocks(&arrays, count(notes))?.into_iter().flatten() {
            let rows = unstored(&rows, memory.space());
            match is_base {
                true => memory.add_base(&names, rows)?,
                false => memory.add_vectors(&names, &rows)?,
            }
        }
        for name in removed_of(store, number)? {
            memory.remove(&name)?;
            is_base = false;
        }
    }
    Ok(())
}

pub(super) fn salvage(folder: &Path) -> Result<(ItemMemory, Report)> {
    let found = Store::salvage(folder)?;
    let mut report = found.report;
    let Some((_, notes, _)) = found.operations.first() else {
        return Err(Error::Corrupt { folder: folder.to_path_buf(), damage: report.damage });
    };
    let mut memory = ItemMemory::new(space_of(notes)?);
    for (operation, notes, arrays) in &found.operations {
        if operation == "remove" {
            for name in removed(notes)? {
                if memory.contains(&name) {
                    memory.remove(&name)?;
                }
            }
            continue;
        }
        for (i, block) in blocks(arrays, count(notes))?.into_iter().enumerate() {
            let Some((names, rows)) = block else {
                let what = "items that were here are lost".to_string();
                report.damage.push(Damage::lost(operation, i, what));
                continue;
            };
            let rows = unstored(&rows, memory.space());
            memory.add_vectors(&names, &rows)?;
        }
    }
    Ok((memory, report))
}
