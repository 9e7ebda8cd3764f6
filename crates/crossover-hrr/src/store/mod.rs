//! Arrays on disk that come back bit for bit, or are refused.
//!
//! A store is a folder:
//!
//! | file | what | written |
//! | --- | --- | --- |
//! | `NNNNNN.safetensors` | one segment: arrays and text | once, beside its name, then renamed; never changed |
//! | `history` | one line per operation: a hash, a space, JSON | appended to |
//! | `head` | version, lines and bytes of the history that count, hash of the last line, check of itself | replaced by renaming, last |
//!
//! Every line's hash is BLAKE3 of the hash before it and its own JSON, which names the segment's length and hash and those of its arrays. So the
//! head fixes every byte of the store. What always holds: an operation is done when the new head is in place; whatever a writer that is killed
//! leaves behind (a segment without a line, a part of a line) lies outside of what the head names and is ignored, and the next writer
//! writes over it. Reading verifies everything before it returns anything.
//!
//! Versions: lines of version 2 say when they were written. A store of version 1 is read as it is and becomes one of version 2 with the next
//! operation, whose head says so; nothing that is there is written again. A store of a newer version is refused.

mod file;
mod history;
mod salvage;
mod segment;
mod verify;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crossover_array::Array;

use self::{
    file::{Steps, failed},
    history::{Head, Record, Segment},
};
pub use self::{
    salvage::Salvaged,
    verify::{Damage, Report},
};
use crate::{Error, Result};

/// The newest format that is read and written.
pub(crate) const VERSION: u32 = 2;

/// What an operation keeps beside its arrays.
pub type Notes = BTreeMap<String, String>;

/// A store on disk.
///
/// ```
/// use crossover_array::Array;
/// use crossover_hrr::Store;
/// let folder = std::env::temp_dir().join(format!("crossover-store-{}", std::process::id()));
/// let mut store = Store::create(&folder, "example", Default::default())?;
/// store.append("first", &[("x", &Array::arange(3))], Default::default())?;
/// let again = Store::open(&folder)?;
/// let (_, arrays) = again.read(1)?;
/// assert_eq!(arrays["x"].to_vec::<i64>()?, [0, 1, 2]);
/// assert!(again.verify()?.is_intact());
/// # std::fs::remove_dir_all(folder).ok();
/// # Ok::<(), crossover_hrr::Error>(())
/// ```
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    head: Head,
    records: Vec<Record>,
    steps: Steps,
}

/// One operation, as the history tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What was done.
    pub operation: String,
    /// What was kept beside the arrays.
    pub notes: Notes,
    /// Names of the arrays.
    pub arrays: Vec<String>,
    /// When it was done, to the second, by the clock of the writer; unknown in stores of version 1.
    pub time: Option<SystemTime>,
}

impl Store {
    /// A new store for something of a kind; the folder must not exist, or be empty.
    pub fn create(folder: impl AsRef<Path>, kind: &str, notes: Notes) -> Result<Store> {
        Store::create_with(folder.as_ref(), kind, notes, Steps::default())
    }

    fn create_with(folder: &Path, kind: &str, mut notes: Notes, steps: Steps) -> Result<Store> {
        fs::create_dir_all(folder).map_err(failed(folder, "create"))?;
        let is_new = fs::read_dir(folder).map_err(failed(folder, "list"))?.next().is_none();
        if !is_new {
            return Err(Error::value("store", format!("{} exists and is not empty", folder.display())));
        }
        notes.insert("kind".to_string(), kind.to_string());
        let mut store =
            Store { folder: folder.to_path_buf(), head: Head::start(), records: Vec::new(), steps };
        store.commit("create", notes, None)?;
        Ok(store)
    }

    /// Opens a store and verifies its head and its history. Arrays are verified when they are [read](Store::read); [`verify`](Store::verify) looks at
    /// everything.
    pub fn open(folder: impl AsRef<Path>) -> Result<Store> {
        let folder = folder.as_ref();
        let head = history::read_head(folder)?;
        let records = history::read_history(folder, &head)?;
        Ok(Store { folder: folder.to_path_buf(), head, records, steps: Steps::default() })
    }

    /// The version of the format that was last written; the next operation makes it the newest.
    pub fn version(&self) -> u32 {
        self.head.version
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the store is of, as [`create`](Store::create) was told.
    pub fn kind(&self) -> &str {
        self.notes().get("kind").map_or("", String::as_str)
    }

    /// What was kept at the store's creation.
    pub fn notes(&self) -> &Notes {
        static NONE: Notes = Notes::new();
        self.records.first().map_or(&NONE, |record| &record.notes)
    }

    /// Refuses a store of another kind.
    pub(crate) fn expect_kind(&self, wanted: &'static str) -> Result<()> {
        if self.kind() == wanted {
            return Ok(());
        }
        Err(Error::Kind { folder: self.folder.clone(), found: self.kind().to_string(), wanted })
    }

    /// Operations so far, the creation among them.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether nothing was done yet; a store has at least its creation.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// What was done, in order.
    pub fn history(&self) -> impl Iterator<Item = Entry> + '_ {
        self.records.iter().map(|record| Entry {
            operation: record.operation.clone(),
            notes: record.notes.clone(),
            arrays: record.segment.iter().flat_map(|s| s.arrays.keys().cloned()).collect(),
            time: record.time.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds))),
        })
    }

    /// The hash of the last operation, which fixes all before it: two stores with equal hashes are equal.
    pub fn hash(&self) -> String {
        self.head.chain.clone()
    }

    /// Adds an operation with its arrays. When this returns it is on disk; if it fails, or the process dies, the store is as it was.
    pub fn append(&mut self, operation: &str, arrays: &[(&str, &Array)], notes: Notes) -> Result<()> {
        let _lock = file::lock(&self.folder)?;
        // Somebody else may have written since this was opened; the history would fork.
        if history::read_head(&self.folder)? != self.head {
            let what = "another writer has changed it since it was opened; open it again";
            return Err(Error::Busy { folder: self.folder.clone(), what });
        }
        let segment = match arrays {
            [] => None,
            arrays => Some(segment::write(&self.folder, self.records.len(), arrays, &self.steps)?),
        };
        self.commit(operation, notes, segment)
    }

    /// The line, then the head.
    fn commit(&mut self, operation: &str, notes: Notes, segment: Option<Segment>) -> Result<()> {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs());
        let (number, operation) = (self.records.len() as u64, operation.to_string());
        let record = Record { number, operation, notes, segment, time };
        let (line, chain) = record.line(&self.head.chain);
        let bytes = self.head.bytes + line.len() as u64;
        history::write_line(&self.folder, self.head.bytes, line.as_bytes(), &self.steps)?;
        let head = Head { version: VERSION, records: self.head.records + 1, bytes, chain };
        history::write_head(&self.folder, &head, &self.steps)?;
        self.head = head;
        self.records.push(record);
        Ok(())
    }

    /// What an operation kept: its text, and its arrays if they are as they were written.
    pub fn read(&self, number: usize) -> Result<(&Notes, BTreeMap<String, Array>)> {
        let record = self.record(number)?;
        let arrays = match &record.segment {
            Some(segment) => segment::read(&self.folder, segment)?,
            None => BTreeMap::new(),
        };
        Ok((&record.notes, arrays))
    }

    /// As [`read`](Store::read), but the arrays' memory is the file, which is verified all the same.
    ///
    /// # Safety
    ///
    /// Nobody may change the store's segments while the arrays, or what was made from them without being evaluated, exist. This library never
    /// does: segments are written once, under a name of their own.
    #[allow(unsafe_code)]
    pub unsafe fn map(&self, number: usize) -> Result<(&Notes, BTreeMap<String, Array>)> {
        let record = self.record(number)?;
        let arrays = match &record.segment {
            // SAFETY: the caller promises that segments do not change.
            Some(segment) => unsafe { segment::map(&self.folder, segment)? },
            None => BTreeMap::new(),
        };
        Ok((&record.notes, arrays))
    }

    fn record(&self, number: usize) -> Result<&Record> {
        self.records.get(number).ok_or_else(|| {
            Error::value(
                "store",
                format!("operation {number} was asked for, and there are {}", self.records.len()),
            )
        })
    }

    /// Looks at every byte and says what is damaged, and where.
    pub fn verify(&self) -> Result<Report> {
        verify::verify(&self.folder)
    }

    /// As [`verify`](Store::verify), of a store that does not open.
    pub fn verify_folder(folder: impl AsRef<Path>) -> Result<Report> {
        verify::verify(folder.as_ref())
    }

    /// What can still be read of a damaged store: arrays and rows whose hashes are right.
    pub fn salvage(folder: impl AsRef<Path>) -> Result<Salvaged> {
        salvage::salvage(folder.as_ref())
    }
}

#[cfg(test)]
mod tests;
