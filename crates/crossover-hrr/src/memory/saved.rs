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
    store::{Damage, Notes, Operation},
};

const KIND: &str = "item memory";
/// The note that says what a compact memory's vectors are kept in.
const KEPT: &str = "kept";
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

/// The same of an item memory, and what its vectors are kept in.
pub(super) fn about_items(space: &Space, kept: Option<DType>) -> Notes {
    let mut notes = about(space);
    notes.extend(kept.map(|dtype| (KEPT.to_string(), dtype.to_string())));
    notes
}

/// A store's memory before its first operation.
pub(super) fn empty(store: &Store) -> Result<ItemMemory> {
    store.expect_kind(KIND)?;
    empty_of(store.notes())
}

fn empty_of(notes: &Notes) -> Result<ItemMemory> {
    let kept = match notes.get(KEPT) {
        None => None,
        Some(name) => Some(
            dtype_of(name).filter(|dtype| matches!(dtype, DType::F16 | DType::BF16)).ok_or_else(|| {
                Error::value(
                    "open",
                    format!("the store keeps its vectors in {name}, which is neither f16 nor bf16"),
                )
            })?,
        ),
    };
    Ok(ItemMemory::reserved(space_of(notes)?, kept, 0))
}

fn dtype_of(name: &str) -> Option<DType> {
    DType::ALL.into_iter().find(|dtype| dtype.to_string() == name)
}

pub(super) fn space_of(notes: &Notes) -> Result<Space> {
    let wrong = || Error::value("open", "the store does not say which space its vectors are of");
    let value = |key: &str| notes.get(key).ok_or_else(wrong);
    let model = value("model")?.parse().map_err(|what| Error::value("open", what))?;
    let dtype = dtype_of(value("dtype")?).ok_or_else(wrong)?;
    let d = value("d")?.parse().map_err(|_| wrong())?;
    let seed = value("seed")?.parse().map_err(|_| wrong())?;
    Ok(Space::new(model, d)?.with_dtype(dtype)?.with_seed(seed))
}

/// The store that a folder has, which must be as it was when a memory was last the same.
pub(super) fn there(folder: &Path, chain: Option<&str>) -> Result<Option<Store>> {
    let store = Store::is_there(folder)?.then(|| Store::open(folder)).transpose()?;
    // The hash fixes everything that was ever done to the store.
    if store.as_ref().is_some_and(|store| chain != Some(&*store.hash())) {
        let what = "it is not what this memory was opened from or saved as; save elsewhere";
        return Err(Error::Busy { folder: folder.to_path_buf(), what });
    }
    Ok(store)
}

/// The format has no 128-bit complex numbers: they are two columns of real ones.
pub(super) fn stored(rows: &Array) -> Array {
    match rows.dtype() {
        DType::C128 => Array::concat(&[&rows.real(), &rows.imag()], -1),
        _ => rows.copy(),
    }
}

pub(super) fn unstored(rows: &Array, space: &Space) -> Array {
    match space.dtype() {
        DType::C128 => {
            let d = space.d();
            complex(&rows.slice(s![.., 0..d]), &rows.slice(s![.., d..2 * d]))
        }
        _ => rows.clone(),
    }
}

/// What there is to be saved: names that are gone, and items that are new.
pub(super) struct Changes<'a> {
    pub removed: &'a [String],
    pub names: &'a [String],
    pub rows: Array,
}

impl Changes<'_> {
    /// Does them to a store, or makes one of them: all together, or nothing at all.
    pub fn save(&self, folder: &Path, store: Option<Store>, about: &Notes) -> Result<Store> {
        let blocks = self.blocks()?;
        let mut operations = Vec::new();
        if !self.removed.is_empty() {
            let text =
                serde_json::to_string(self.removed).map_err(|e| Error::value("save", e.to_string()))?;
            let notes = Notes::from([("names".to_string(), text)]);
            operations.push(Operation { name: "remove", arrays: Vec::new(), notes });
        }
        if !self.names.is_empty() {
            // The space once more: its vectors can be salvaged without the creation's line.
            let mut notes = about.clone();
            notes.insert("items".to_string(), self.names.len().to_string());
            let arrays = blocks.iter().map(|(name, array)| (name.as_str(), array)).collect();
            operations.push(Operation { name: "add", arrays, notes });
        }
        match store {
            Some(mut store) if !operations.is_empty() => store.append_all(&operations).map(|()| store),
            Some(store) => Ok(store),
            None => Store::create_with(folder, KIND, about.clone(), &operations),
        }
    }

    /// Names and vectors, by blocks.
    fn blocks(&self) -> Result<Vec<(String, Array)>> {
        let mut arrays = Vec::new();
        for (i, some) in self.names.chunks(BLOCK).enumerate() {
            let first = i * BLOCK;
            let text = serde_json::to_vec(some).map_err(|e| Error::value("save", e.to_string()))?;
            let length = text.len();
            arrays.push((format!("names/{i}"), Array::from_vec(text, [length])));
            let rows = self.rows.slice(s![first..first + some.len()]);
            arrays.push((format!("vectors/{i}"), stored(&rows)));
        }
        Ok(arrays)
    }
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
            memory.add_kept(&names, &taken(&rows, memory))?;
        }
        for name in removed_of(store, number)? {
            memory.remove(&name)?;
        }
    }
    Ok(())
}

/// Rows of a memory from those of its store.
fn taken(rows: &Array, memory: &ItemMemory) -> Array {
    if memory.kept().is_some() { rows.clone() } else { unstored(rows, memory.space()) }
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
            let rows = taken(&rows, memory);
            match is_base {
                true => memory.add_base(&names, rows)?,
                false => memory.add_kept(&names, &rows)?,
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
    let kind = found.operations.first().and_then(|(_, notes, _)| notes.get("kind"));
    if let Some(found) = kind.filter(|kind| *kind != KIND) {
        return Err(Error::Kind { folder: folder.to_path_buf(), found: found.clone(), wanted: KIND });
    }
    let Some(mut memory) = found.operations.iter().find_map(|(_, notes, _)| empty_of(notes).ok()) else {
        return Err(Error::Corrupt { folder: folder.to_path_buf(), damage: report.damage });
    };
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
            // A name that is there is one whose removal is among what is lost.
            for name in names.iter().filter(|name| memory.contains(name)).cloned().collect::<Vec<_>>() {
                memory.remove(&name)?;
            }
            memory.add_kept(&names, &taken(&rows, &memory))?;
        }
    }
    Ok((memory, report))
}
