//! What can still be read of a damaged store.

use std::{collections::BTreeMap, fs, path::Path};

use crossover_array::Array;

use super::{Notes, Report, segment, verify};
use crate::Result;

/// The operations of a damaged store that are intact, wholly or in part.
///
/// ```
/// use crossover_hrr::{Store, store::Notes};
/// # let folder = std::env::temp_dir().join(format!("crossover-hrr-salvaged-{}", std::process::id()));
/// let notes = Notes::from([("author".to_owned(), "Ada".to_owned())]);
/// Store::create(&folder, "example", notes)?;
/// std::fs::remove_file(folder.join("head"))?;
/// // Without its head, the lines of the history are still known by their hashes.
/// let found = Store::salvage(&folder)?;
/// let (operation, notes, _) = &found.operations[0];
/// assert_eq!((operation.as_str(), notes["author"].as_str()), ("create", "Ada"));
/// assert_eq!(found.report.damage[0].file, "head");
/// # std::fs::remove_dir_all(folder).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Salvaged {
    /// For each operation whose line could be trusted: what was done, its text, and those of its arrays that are as they were written.
    pub operations: Vec<(String, Notes, BTreeMap<String, Array>)>,
    /// What was found damaged.
    pub report: Report,
}

pub(super) fn salvage(folder: &Path) -> Result<Salvaged> {
    let report = verify::verify(folder)?;
    let records = verify::records(folder, &mut Report::default())?.records;
    let operations = records.into_iter().map(|record| {
        let arrays = record.segment.as_ref().and_then(|segment| {
            let bytes = fs::read(folder.join(&segment.file)).ok()?;
            Some(segment::intact(segment, &bytes).0)
        });
        (record.operation, record.notes, arrays.unwrap_or_default())
    });
    Ok(Salvaged { operations: operations.collect(), report })
}
