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
//! Every line's hash is BLAKE3 of the hash before it and its own JSON, which names the segment's length and hash, and its arrays' hashes and places. So
//! the head fixes every byte of the store. What always holds: an operation is done when the new head is in place; whatever a writer that is killed
//! leaves behind (a segment without a line, a part of a line) lies outside of what the head names and is ignored, and the next writer
//! writes over it. A store begins with a head that names no line; until another one is in place nothing has been created. Operations that are done
//! together have one head, so that all of them are there or none. Reading verifies everything before it returns anything.
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
    file::failed,
    history::{Head, Record},
};
pub use self::{
    salvage::Salvaged,
    verify::{Damage, Report},
};
use crate::{Error, Result};

/// The newest format that is read and written.
pub(crate) const VERSION: u32 = 2;

/// What an operation keeps beside its arrays.
///
/// ```
/// use crossover_hrr::{Store, store::Notes};
/// # let folder = std::env::temp_dir().join(format!("crossover-hrr-notes-{}", std::process::id()));
/// let mut store = Store::create(&folder, "example", Notes::new())?;
/// let notes = Notes::from([("author".to_owned(), "Ada".to_owned())]);
/// store.append("signed", &[], notes.clone())?;
/// let (found, arrays) = store.read(1)?;
/// assert_eq!((found, arrays.len()), (&notes, 0));
/// # std::fs::remove_dir_all(folder).ok();
/// # Ok::<(), crossover_hrr::Error>(())
/// ```
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
}

/// An operation that is to be done.
pub(crate) struct Operation<'a> {
    pub name: &'a str,
    pub arrays: Vec<(&'a str, &'a Array)>,
    pub notes: Notes,
}

/// One operation, as the history tells it.
///
/// ```
/// use std::time::SystemTime;
/// use crossover_array::Array;
/// use crossover_hrr::{Store, store::Notes};
/// # let folder = std::env::temp_dir().join(format!("crossover-hrr-entry-{}", std::process::id()));
/// let mut store = Store::create(&folder, "example", Notes::new())?;
/// store.append("measured", &[("a", &Array::arange(2)), ("b", &Array::arange(3))], Notes::new())?;
/// let entry = store.history().last().expect("there are two");
/// assert_eq!((entry.operation.as_str(), entry.arrays), ("measured", vec!["a".to_owned(), "b".to_owned()]));
/// assert!(entry.time.is_some_and(|time| time <= SystemTime::now()));
/// # std::fs::remove_dir_all(folder).ok();
/// # Ok::<(), crossover_hrr::Error>(())
/// ```
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
    /// A new store for something of a kind; the folder must not exist, or be empty but for what a creation that was cut off has left.
    pub fn create(folder: impl AsRef<Path>, kind: &str, notes: Notes) -> Result<Store> {
        Store::create_with(folder.as_ref(), kind, notes, &[])
    }

    /// As [`create`](Store::create), with its first operations. A process that dies leaves all of it, or nothing that would be in the way.
    pub(crate) fn create_with(
        folder: &Path,
        kind: &str,
        mut notes: Notes,
        operations: &[Operation<'_>],
    ) -> Result<Store> {
        fs::create_dir_all(folder).map_err(failed(folder, "create"))?;
        can_hold_a_store(folder)?;
        let _lock = file::lock(folder, true)?;
        // Somebody else may have created one until now.
        can_hold_a_store(folder)?;
        let head = Head::start();
        history::write_head(folder, &head)?;
        notes.insert("kind".to_string(), kind.to_string());
        let mut store = Store { folder: folder.to_path_buf(), head, records: Vec::new() };
        let creation = Operation { name: "create", arrays: Vec::new(), notes };
        store.commit(&[&creation].into_iter().chain(operations).collect::<Vec<_>>())?;
        Ok(store)
    }

    /// Whether a folder has a store: one whose creation was finished.
    pub(crate) fn is_there(folder: &Path) -> Result<bool> {
        Ok(folder.join("head").exists() && history::read_head(folder)?.records > 0)
    }

    /// Opens a store and verifies its head and its history. Arrays are verified when they are [read](Store::read); [`verify`](Store::verify) looks at
    /// everything.
    pub fn open(folder: impl AsRef<Path>) -> Result<Store> {
        let folder = folder.as_ref();
        let head = history::read_head(folder)?;
        if head.records == 0 {
            return Err(unfinished(folder));
        }
        let records = history::read_history(folder, &head)?;
        Ok(Store { folder: folder.to_path_buf(), head, records })
    }

    /// The version of the format that was last written; the next operation makes it the newest.
    ///
    /// ```
    /// use crossover_hrr::{Store, store::Notes};
    /// # let folder = std::env::temp_dir().join(format!("crossover-hrr-version-{}", std::process::id()));
    /// let store = Store::create(&folder, "example", Notes::new())?;
    /// assert_eq!(store.version(), 2);
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn version(&self) -> u32 {
        self.head.version
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the store is of, as [`create`](Store::create) was told.
    ///
    /// ```
    /// use crossover_hrr::{ItemMemory, Model, Space, Store};
    /// # let folder = std::env::temp_dir().join(format!("crossover-hrr-kind-{}", std::process::id()));
    /// ItemMemory::new(Space::new(Model::Hrr, 64)?).save(&folder)?;
    /// // A program that finds a folder can ask what it is.
    /// assert_eq!(Store::open(&folder)?.kind(), "item memory");
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn kind(&self) -> &str {
        self.notes().get("kind").map_or("", String::as_str)
    }

    /// What was kept at the store's creation.
    ///
    /// ```
    /// use crossover_hrr::{ItemMemory, Model, Space, Store};
    /// # let folder = std::env::temp_dir().join(format!("crossover-hrr-store-notes-{}", std::process::id()));
    /// ItemMemory::new(Space::new(Model::Hrr, 64)?).save(&folder)?;
    /// let store = Store::open(&folder)?;
    /// assert_eq!((store.notes()["model"].as_str(), store.notes()["d"].as_str()), ("hrr", "64"));
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
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
    ///
    /// ```
    /// use crossover_hrr::{Store, store::Notes};
    /// # let folder = std::env::temp_dir().join(format!("crossover-hrr-len-{}", std::process::id()));
    /// let mut store = Store::create(&folder, "example", Notes::new())?;
    /// assert_eq!((store.len(), store.is_empty()), (1, false));
    /// store.append("first", &[], Notes::new())?;
    /// assert_eq!(store.len(), 2);
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether nothing was done yet; a store has at least its creation.
    ///
    /// ```
    /// use crossover_hrr::{Store, store::Notes};
    /// # let folder = std::env::temp_dir().join(format!("crossover-hrr-is-empty-{}", std::process::id()));
    /// let store = Store::create(&folder, "example", Notes::new())?;
    /// assert!(!store.is_empty()); // it was created
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// What was done, in order.
    ///
    /// ```
    /// use crossover_array::Array;
    /// use crossover_hrr::{Store, store::Notes};
    /// # let folder = std::env::temp_dir().join(format!("crossover-hrr-history-{}", std::process::id()));
    /// let mut store = Store::create(&folder, "example", Notes::new())?;
    /// store.append("first", &[("x", &Array::arange(3))], Notes::new())?;
    /// store.append("second", &[("x", &Array::arange(4))], Notes::new())?;
    /// let done: Vec<String> = store.history().map(|entry| entry.operation).collect();
    /// assert_eq!(done, ["create", "first", "second"]);
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn history(&self) -> impl Iterator<Item = Entry> + '_ {
        self.records.iter().map(|record| Entry {
            operation: record.operation.clone(),
            notes: record.notes.clone(),
            arrays: record.segment.iter().flat_map(|s| s.arrays.keys().cloned()).collect(),
            time: record.time.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds))),
        })
    }

    /// The hash of the last operation, which fixes all before it: two stores with equal hashes are equal.
    ///
    /// ```
    /// use crossover_hrr::{Store, store::Notes};
    /// # let folder = std::env::temp_dir().join(format!("crossover-hrr-hash-{}", std::process::id()));
    /// let mut store = Store::create(&folder, "example", Notes::new())?;
    /// let before = store.hash();
    /// assert_eq!(Store::open(&folder)?.hash(), before);
    /// store.append("first", &[], Notes::new())?;
    /// assert_ne!(store.hash(), before);
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn hash(&self) -> String {
        self.head.chain.clone()
    }

    /// Adds an operation with its arrays. When this returns it is on disk; if it fails, or the process dies, the store is as it was.
    pub fn append(&mut self, operation: &str, arrays: &[(&str, &Array)], notes: Notes) -> Result<()> {
        self.append_all(&[Operation { name: operation, arrays: arrays.to_vec(), notes }])
    }

    /// Adds operations: all of them, or none.
    pub(crate) fn append_all(&mut self, operations: &[Operation<'_>]) -> Result<()> {
        let _lock = file::lock(&self.folder, false)?;
        // Somebody else may have written since this was opened; the history would fork.
        if history::read_head(&self.folder)? != self.head {
            let what = "another writer has changed it since it was opened; open it again";
            return Err(Error::Busy { folder: self.folder.clone(), what });
        }
        self.commit(&operations.iter().collect::<Vec<_>>())
    }

    /// The segments, the lines, then the head.
    fn commit(&mut self, operations: &[&Operation<'_>]) -> Result<()> {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs());
        let (mut head, mut lines, mut records) = (self.head.clone(), String::new(), Vec::new());
        for operation in operations {
            let segment = match operation.arrays.as_slice() {
                [] => None,
                arrays => Some(segment::write(&self.folder, head.records as usize, arrays)?),
            };
            let (name, notes) = (operation.name.to_string(), operation.notes.clone());
            let record = Record { number: head.records, operation: name, notes, segment, time };
            let (line, chain) = record.line(&head.chain);
            let bytes = head.bytes + line.len() as u64;
            head = Head { version: VERSION, records: head.records + 1, bytes, chain };
            lines.push_str(&line);
            records.push(record);
        }
        history::write_lines(&self.folder, self.head.bytes, lines.as_bytes())?;
        history::write_head(&self.folder, &head)?;
        self.head = head;
        self.records.append(&mut records);
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
    ///
    /// ```
    /// use crossover_array::Array;
    /// use crossover_hrr::{Store, store::Notes};
    /// # let folder = std::env::temp_dir().join(format!("crossover-hrr-map-{}", std::process::id()));
    /// let mut store = Store::create(&folder, "example", Notes::new())?;
    /// store.append("first", &[("x", &Array::arange(3))], Notes::new())?;
    /// // SAFETY: nobody else knows this folder.
    /// let (_, arrays) = unsafe { store.map(1) }?;
    /// assert_eq!(arrays["x"].to_vec::<i64>()?, [0, 1, 2]);
    /// # drop(arrays);
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
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
    ///
    /// ```
    /// use crossover_hrr::{Error, Store, store::Notes};
    /// # let folder = std::env::temp_dir().join(format!("crossover-hrr-verify-folder-{}", std::process::id()));
    /// Store::create(&folder, "example", Notes::new())?;
    /// std::fs::write(folder.join("head"), "something else")?;
    /// assert!(matches!(Store::open(&folder), Err(Error::Corrupt { .. })));
    /// let report = Store::verify_folder(&folder)?;
    /// assert_eq!((report.damage.len(), report.damage[0].file.as_str()), (1, "head"));
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify_folder(folder: impl AsRef<Path>) -> Result<Report> {
        verify::verify(folder.as_ref())
    }

    /// What can still be read of a damaged store: arrays and rows whose hashes are right.
    ///
    /// ```
    /// use crossover_array::Array;
    /// use crossover_hrr::{Store, store::Notes};
    /// # let folder = std::env::temp_dir().join(format!("crossover-hrr-salvage-{}", std::process::id()));
    /// let mut store = Store::create(&folder, "example", Notes::new())?;
    /// store.append("first", &[("x", &Array::arange(3))], Notes::new())?;
    /// store.append("second", &[("x", &Array::arange(4))], Notes::new())?;
    /// let file = folder.join("000002.safetensors");
    /// let mut bytes = std::fs::read(&file)?;
    /// *bytes.last_mut().expect("a segment") ^= 1; // a bit that a disk has lost
    /// std::fs::write(&file, bytes)?;
    /// let found = Store::salvage(&folder)?;
    /// let (operation, _, arrays) = &found.operations[1];
    /// assert_eq!((operation.as_str(), arrays["x"].to_vec::<i64>()?), ("first", vec![0, 1, 2]));
    /// assert!(found.operations[2].2.is_empty());
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn salvage(folder: impl AsRef<Path>) -> Result<Salvaged> {
        salvage::salvage(folder.as_ref())
    }
}

/// Refuses a folder that has something in it, but for what is left where a creation was cut off: drafts of files, a history without a byte, or anything
/// beside a head that says that nothing counts.
fn can_hold_a_store(folder: &Path) -> Result<()> {
    if folder.join("head").exists() {
        if history::read_head(folder)?.records == 0 {
            return Ok(());
        }
        return Err(Error::value("store", format!("{} has a store already; open it", folder.display())));
    }
    for entry in fs::read_dir(folder).map_err(failed(folder, "list"))? {
        let entry = entry.map_err(failed(folder, "list"))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_draft = name.starts_with(".head.") && name.ends_with(".part");
        let is_empty = || entry.metadata().is_ok_and(|found| found.is_file() && found.len() == 0);
        if !(is_draft || name == "history" && is_empty()) {
            return Err(Error::value("store", format!("{} exists and is not empty", folder.display())));
        }
    }
    Ok(())
}

fn unfinished(folder: &Path) -> Error {
    let what =
        "it is being created, or its creation was cut off; nothing is in it, and it can be created again";
    Error::Busy { folder: folder.to_path_buf(), what }
}

#[cfg(test)]
mod tests;
