//! What can still be read of a damaged store.

use std::{collections::BTreeMap, fs, path::Path};

use crossover_array::Array;

use super::{
    Notes, Report,
    history::{Head, Record},
    segment, verify,
};
use crate::Result;

/// The operations of a damaged store that are intact, wholly or in part.
#[derive(Debug)]
pub struct Salvaged {
    /// For each operation whose line could be trusted: what was done, its text, and those of its arrays that are as they were written.
    pub operations: Vec<(String, Notes, BTreeMap<String, Array>)>,
    /// What was found damaged.
    pub report: Report,
}

pub(super) fn salvage(folder: &Path) -> Result<Salvaged> {
    let report = verify::verify(folder)?;
    let records = match verify::records(folder, &mut Report::default())? {
        Some((_, records)) => records,
        None => prefix(folder),
    };
    let operations = records.into_iter().map(|record| {
        let arrays = record.segment.as_ref().and_then(|segment| {
            let bytes = fs::read(folder.join(&segment.file)).ok()?;
            Some(segment::intact(segment, &bytes).ok()?.0)
        });
        (record.operation, record.notes, arrays.unwrap_or_default())
    });
    Ok(Salvaged { operations: operations.collect(), report })
}

/// The lines of a history that follow from its start, up to the first that does not.
fn prefix(folder: &Path) -> Vec<Record> {
    let bytes = fs::read(folder.join("history")).unwrap_or_default();
    let (mut chain, mut found) = (Head::start().chain, Vec::new());
    for line in bytes.split_inclusive(|&b| b == b'\n') {
        let Some(record) = std::str::from_utf8(line)
            .ok()
            .and_then(|line| line.strip_suffix('\n')?.split_once(' '))
            .and_then(|(_, body)| serde_json::from_str::<Record>(body).ok())
        else {
            break;
        };
        let (again, next) = record.line(&chain);
        if again.as_bytes() != line {
            break;
        }
        chain = next;
        found.push(record);
    }
    found
}
