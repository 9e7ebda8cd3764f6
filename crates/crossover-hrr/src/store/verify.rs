//! What is damaged, and where.

use std::{collections::BTreeSet, fmt, fs, path::Path};

use super::{
    file::failed,
    history::{self, Head, Record},
    segment,
};
use crate::{Error, Result};

/// Something that is not as it was written.
///
/// ```
/// use crossover_array::Array;
/// use crossover_hrr::{Store, store::Notes};
/// # let folder = std::env::temp_dir().join(format!("crossover-hrr-damage-{}", std::process::id()));
/// let mut store = Store::create(&folder, "example", Notes::new())?;
/// store.append("first", &[("x", &Array::arange(3))], Notes::new())?;
/// let file = folder.join("000001.safetensors");
/// let mut bytes = std::fs::read(&file)?;
/// *bytes.last_mut().expect("a segment") ^= 1; // a bit that a disk has lost
/// std::fs::write(&file, bytes)?;
/// let report = store.verify()?;
/// let damage = &report.damage[0];
/// assert_eq!((damage.file.as_str(), damage.place.as_deref()), ("000001.safetensors", Some("array \"x\"")));
/// assert_eq!(damage.what, "its elements are not those that were written");
/// # std::fs::remove_dir_all(folder).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The file.
    pub file: String,
    /// The line of the history, or the array of the segment, where it is known.
    pub place: Option<String>,
    /// What is wrong.
    pub what: String,
}

impl Damage {
    pub(super) fn head(what: &str) -> Damage {
        Damage { file: "head".to_string(), place: None, what: what.to_string() }
    }

    pub(super) fn history(line: u64, what: &str) -> Damage {
        Damage { file: "history".to_string(), place: Some(format!("line {line}")), what: what.to_string() }
    }

    pub(super) fn segment(file: &str, what: String) -> Damage {
        Damage { file: file.to_string(), place: None, what }
    }

    pub(crate) fn lost(operation: &str, block: usize, what: String) -> Damage {
        Damage { file: "items".to_string(), place: Some(format!("{operation}, block {block}")), what }
    }

    pub(super) fn array(file: &str, name: &str) -> Damage {
        let what = "its elements are not those that were written".to_string();
        Damage { file: file.to_string(), place: Some(format!("array {name:?}")), what }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{}, {place}: {}", self.file, self.what),
            None => write!(f, "{}: {}", self.file, self.what),
        }
    }
}

/// What a look at every byte has found.
///
/// ```
/// use crossover_hrr::{Store, store::Notes};
/// # let folder = std::env::temp_dir().join(format!("crossover-hrr-report-{}", std::process::id()));
/// let store = Store::create(&folder, "example", Notes::new())?;
/// std::fs::write(folder.join("shopping.txt"), "milk")?;
/// let report = store.verify()?;
/// assert!(report.is_intact());
/// assert_eq!((report.operations, report.strays), (1, vec!["shopping.txt".to_owned()]));
/// # std::fs::remove_dir_all(folder).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Operations whose line and arrays are as they were written.
    pub operations: usize,
    /// Bytes that were looked at.
    pub bytes: u64,
    /// What is damaged.
    pub damage: Vec<Damage>,
    /// Files, or ends of files, that belong to no operation: what a writer that was killed left, or somebody else put there. Harmless.
    pub strays: Vec<String>,
}

impl Report {
    /// Whether everything is as it was written.
    pub fn is_intact(&self) -> bool {
        self.damage.is_empty()
    }
}

/// What can be trusted of a store's head and history.
pub(super) struct Known {
    pub head: Option<Head>,
    /// All lines, or those that are as they were written.
    pub records: Vec<Record>,
}

/// The head and the lines that can be trusted.
pub(super) fn records(folder: &Path, report: &mut Report) -> Result<Known> {
    // What of a file is damage, as long as the folder is there.
    let damage = |file: &str, error: Error| match error {
        Error::Corrupt { damage, .. } => Ok(damage),
        Error::Io(error) if folder.is_dir() => {
            Ok(vec![Damage { file: file.to_string(), place: None, what: error.to_string() }])
        }
        other => Err(other),
    };
    let head = match history::read_head(folder) {
        Ok(head) => Some(head),
        Err(error) => {
            report.damage.extend(damage("head", error)?);
            None
        }
    };
    let Some(head) = head else {
        return Ok(Known { head: None, records: history::trusted(folder, None) });
    };
    if head.records == 0 {
        return Err(super::unfinished(folder));
    }
    let records = match history::read_history(folder, &head) {
        Ok(records) => records,
        Err(error) => {
            let found = damage("history", error)?;
            let records = history::trusted(folder, Some(&head));
            let first = found.first().and_then(|damage| damage.place.clone());
            report.damage.extend(found);
            let mut known = records.iter().map(|record| record.number).peekable();
            for number in 0..head.records {
                if known.next_if_eq(&number).is_none() && first.as_deref() != Some(&format!("line {number}"))
                {
                    report.damage.push(Damage::history(number, "it is not there as it was written"));
                }
            }
            records
        }
    };
    Ok(Known { head: Some(head), records })
}

pub(super) fn verify(folder: &Path) -> Result<Report> {
    let mut report = Report::default();
    let mut known = BTreeSet::from(["head".to_string(), "history".to_string()]);
    let Known { head, records } = records(folder, &mut report)?;
    for record in &records {
        let Some(segment) = &record.segment else {
            report.operations += 1;
            continue;
        };
        known.insert(segment.file.clone());
        let found = match fs::read(folder.join(&segment.file)) {
            Ok(bytes) => {
                report.bytes += bytes.len() as u64;
                segment::damage(segment, &bytes)
            }
            Err(error) => vec![Damage::segment(&segment.file, format!("it cannot be read: {error}"))],
        };
        report.operations += usize::from(found.is_empty());
        report.damage.extend(found);
    }
    if let Some(head) = head {
        report.bytes += head.bytes + head.text().len() as u64;
        let length = fs::metadata(folder.join("history")).map_or(0, |found| found.len());
        if length > head.bytes {
            report.strays.push(format!("history: {} bytes after the last operation", length - head.bytes));
        }
    }
    for entry in fs::read_dir(folder).map_err(failed(folder, "list"))? {
        let name = entry.map_err(failed(folder, "list"))?.file_name().to_string_lossy().into_owned();
        if !known.contains(&name) && (!name.ends_with(".safetensors") || report.is_intact()) {
            report.strays.push(name);
        }
    }
    report.strays.sort();
    Ok(report)
}
