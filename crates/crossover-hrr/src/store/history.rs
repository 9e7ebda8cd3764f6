//! The head and the history: what was done, each line fixed by the hash of the next.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::{Seek, SeekFrom, Write},
    ops::Range,
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::{
    Notes, VERSION,
    file::{failed, reaching, step},
    segment::{self, Place},
    verify::Damage,
};
use crate::{Error, Result};

const TITLE: &str = "crossover hrr store";
/// Bytes that a head has at most.
const LONGEST: u64 = 1024;
/// Characters of a hash.
const HASH: usize = 64;
/// How every line goes on after its hash; no text within JSON can look like it, since its quotes would be escaped.
const START: &[u8] = b" {\"number\":";

/// How far the history goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// The format that was last written.
    pub version: u32,
    /// Lines.
    pub records: u64,
    /// Bytes.
    pub bytes: u64,
    /// The last line's hash.
    pub chain: String,
}

impl Head {
    /// Of a store without a line: one that is being created, or whose creation was cut off.
    pub fn start() -> Head {
        Head { version: VERSION, records: 0, bytes: 0, chain: "0".repeat(HASH) }
    }

    /// The one text that says this.
    pub fn text(&self) -> String {
        let body = format!(
            "{TITLE}\nversion {}\nrecords {}\nhistory {}\nchain {}\n",
            self.version, self.records, self.bytes, self.chain
        );
        let check = blake3::hash(body.as_bytes()).to_hex();
        format!("{body}check {check}\n")
    }

    /// The head that a text is, of any version up to ours; `None` if it is none, down to the last bit.
    pub fn parse(text: &str) -> Option<Head> {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        let head = Head {
            version: value("version")?.parse().ok()?,
            records: value("records")?.parse().ok()?,
            bytes: value("history")?.parse().ok()?,
            chain: value("chain")?.to_string(),
        };
        ((1..=VERSION).contains(&head.version) && head.text() == text).then_some(head)
    }
}

/// A segment: where arrays are, and what they must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Segment {
    pub file: String,
    pub bytes: u64,
    pub hash: String,
    /// Hashes of the arrays' elements.
    pub arrays: BTreeMap<String, String>,
    /// Where they are, as the file's header says too; unknown in segments that were written by earlier versions of the library.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub places: BTreeMap<String, Place>,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub number: u64,
    pub operation: String,
    pub notes: Notes,
    pub segment: Option<Segment>,
    /// When it was done, in seconds since 1970; unknown before version 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<u64>,
}

impl Record {
    /// Whether its segment is the file that is the operation's.
    fn is_at_home(&self) -> bool {
        self.segment.as_ref().is_none_or(|segment| segment.file == segment::file_name(self.number as usize))
    }

    /// The line after one with this hash, and its own.
    pub fn line(&self, before: &str) -> (String, String) {
        // A structure of strings and numbers has a JSON form.
        let body = serde_json::to_string(self).unwrap_or_default();
        let chain = chained(before, &body);
        (format!("{chain} {body}\n"), chain)
    }
}

fn chained(before: &str, body: &str) -> String {
    let mut hash = blake3::Hasher::new_derive_key("crossover-hrr 2026 history");
    hash.update(before.as_bytes());
    hash.update(body.as_bytes());
    hash.finalize().to_hex().to_string()
}

fn corrupt(folder: &Path, damage: Damage) -> Error {
    Error::Corrupt { folder: folder.to_path_buf(), damage: vec![damage] }
}

pub(super) fn read_head(folder: &Path) -> Result<Head> {
    let path = folder.join("head");
    let length = fs::metadata(&path).map_err(failed(&path, "open"))?.len();
    let wrong = |what: &str| corrupt(folder, Damage::head(what));
    if length > LONGEST {
        return Err(wrong("it is longer than a head is"));
    }
    let bytes = fs::read(&path).map_err(failed(&path, "read"))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("it is no text"))?;
    if let Some(head) = Head::parse(&text) {
        return Ok(head);
    }
    match version(&text) {
        Some(found) if found > VERSION => {
            Err(Error::Version { folder: folder.to_path_buf(), found, newest: VERSION })
        }
        _ => Err(wrong("it does not have the check that it says")),
    }
}

/// The version of a head that is whole, whatever else it says.
fn version(text: &str) -> Option<u32> {
    let (body, check) = text.rsplit_once("check ")?;
    if blake3::hash(body.as_bytes()).to_hex().as_str() != check.strip_suffix('\n')? {
        return None;
    }
    body.strip_prefix(TITLE)?.strip_prefix("\nversion ")?.lines().next()?.parse().ok()
}

/// The lines that the head names.
pub(super) fn read_history(folder: &Path, head: &Head) -> Result<Vec<Record>> {
    let path = folder.join("history");
    let mut bytes = fs::read(&path).map_err(failed(&path, "read"))?;
    let wrong = |line: u64, what: &str| corrupt(folder, Damage::history(line, what));
    if (bytes.len() as u64) < head.bytes {
        return Err(wrong(head.records.saturating_sub(1), "the file ends before it"));
    }
    // What is beyond was never committed.
    bytes.truncate(head.bytes as usize);
    let text = String::from_utf8(bytes).map_err(|_| wrong(0, "the history is no text"))?;
    let (mut records, mut chain) = (Vec::new(), Head::start().chain);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let number = number as u64;
        let parts = line.strip_suffix('\n').and_then(|line| line.split_once(' '));
        let (hash, body) = parts.ok_or_else(|| wrong(number, "it is no line of a history"))?;
        if chained(&chain, body) != hash {
            return Err(wrong(number, "its hash is not that of its text and of the line before"));
        }
        let record: Record =
            serde_json::from_str(body).map_err(|_| wrong(number, "its text cannot be read"))?;
        if record.number != number {
            return Err(wrong(number, "it has the number of another line"));
        }
        if !record.is_at_home() {
            return Err(wrong(number, "its segment has the name of another one"));
        }
        chain = hash.to_string();
        records.push(record);
    }
    if records.len() as u64 != head.records || chain != head.chain {
        return Err(wrong(records.len() as u64, "the head names another last line"));
    }
    Ok(records)
}

/// Of a damaged history, the lines that can be trusted, in order: their hash is that of their text and of the line before, as the lines around them tell
/// it. With a head, only those that it counts.
pub(super) fn trusted(folder: &Path, head: Option<&Head>) -> Vec<Record> {
    let bytes = fs::read(folder.join("history")).unwrap_or_default();
    let lines = lines(&bytes);
    let start = Head::start().chain;
    // For every line its hash, as it says it or as a trusted line after it proves it; and what it can be by its text.
    let mut is_trusted = vec![false; lines.len()];
    let mut made: Vec<Vec<(String, usize)>> = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        let near = at.saturating_sub(NEAR)..(at + NEAR + 1).min(lines.len());
        let told = near.clone().filter(|&other| other != at).filter_map(|other| lines[other].hash);
        let proven = made[near.start..].iter().flatten().map(|(hash, of)| (hash.as_str(), Some(*of)));
        let before =
            std::iter::once((start.as_str(), None)).chain(told.map(|hash| (hash, None))).chain(proven);
        let Some(body) = line.body else {
            made.push(Vec::new());
            continue;
        };
        let mut hashes = Vec::new();
        for (before, of) in before {
            let hash = chained(before, body);
            let is_last = head.is_some_and(|head| head.chain == hash);
            if line.hash == Some(&*hash) || is_last {
                is_trusted[at] = true;
                if let Some(of) = of {
                    is_trusted[of] = true;
                }
                hashes = vec![(hash, at)];
                break;
            }
            hashes.push((hash, at));
        }
        made.push(hashes);
    }
    let mut found: Vec<Record> = Vec::new();
    for (_, line) in is_trusted.iter().zip(&lines).filter(|(is_trusted, _)| **is_trusted) {
        let record = line.body.and_then(|body| serde_json::from_str::<Record>(body).ok());
        found
            .extend(record.filter(|record| {
                record.is_at_home() && head.is_none_or(|head| record.number < head.records)
            }));
    }
    found.sort_by_key(|record| record.number);
    found.dedup_by_key(|record| record.number);
    found
}

/// Lines around a line that can tell the hash of the one before it: damage can cut a line into two, join two, or exchange two.
const NEAR: usize = 3;

/// What is left of a line.
struct Line<'a> {
    hash: Option<&'a str>,
    body: Option<&'a str>,
}

/// The lines of a history that may be damaged: where one ends, and where one starts.
fn lines(bytes: &[u8]) -> Vec<Line<'_>> {
    let mut found = Vec::new();
    for mut rest in bytes.split_inclusive(|&byte| byte == b'\n') {
        // The end of a line can be what is damaged.
        let later = |rest: &[u8]| {
            let from = HASH + START.len();
            let at = rest.get(from..)?.windows(START.len()).position(|part| part == START)?;
            (at + from).checked_sub(HASH).filter(|&at| at > from)
        };
        while let Some(at) = later(rest) {
            found.push(line(&rest[..at]));
            rest = &rest[at..];
        }
        found.push(line(rest));
    }
    found
}

/// A line, with the byte that ends it or without.
fn line(bytes: &[u8]) -> Line<'_> {
    let end = bytes.len() - usize::from(bytes.last() != Some(&b'}'));
    let part = |range: Range<usize>| std::str::from_utf8(bytes.get(range)?).ok();
    Line { hash: part(0..HASH), body: part(HASH + 1..end) }
}

/// Puts lines after the first `at` bytes of the history; whatever is there was never committed.
pub(super) fn write_lines(folder: &Path, at: u64, lines: &[u8]) -> Result<()> {
    let path = folder.join("history");
    let failed = failed(&path, "write");
    step().map_err(&failed)?;
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(false).open(&path).map_err(&failed)?;
    file.set_len(at).map_err(&failed)?;
    file.seek(SeekFrom::Start(at)).map_err(&failed)?;
    file.write_all(&lines[..reaching(lines.len())]).map_err(&failed)?;
    step().map_err(&failed)?;
    file.sync_all().map_err(&failed)
}

/// Replaces the head: from now on the new lines count.
pub(super) fn write_head(folder: &Path, head: &Head) -> Result<()> {
    let path = folder.join("head");
    crossover_io::replace(&path, |to| {
        step()?;
        let text = head.text();
        to.write_all(&text.as_bytes()[..reaching(text.len())])?;
        to.flush()?;
        step()
    })?;
    Ok(())
}
