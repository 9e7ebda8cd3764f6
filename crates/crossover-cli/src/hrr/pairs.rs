//! Pairs of items in one vector.

use std::path::Path;

use anyhow::{Context, Result, bail};
use crossover::hrr::{AssociativeMemory, ItemMemory};
use serde::Serialize;

use crate::report;

/// The JSON shapes; see docs/json.md.
#[derive(Serialize)]
struct Stored {
    folder: String,
    pairs: usize,
    items: usize,
    capacity: usize,
    probability: f64,
    reliable: bool,
}

#[derive(Serialize)]
struct Recalled {
    answers: Vec<Answer>,
}

#[derive(Serialize)]
struct Answer {
    key: String,
    /// What was stored with it, if that is known.
    value: Option<String>,
    similarity: Option<f64>,
}

fn opened(folder: &Path) -> Result<AssociativeMemory> {
    AssociativeMemory::open(folder).with_context(|| format!("opening the pairs {}", folder.display()))
}

/// To be read only: the sum stays in the store's file.
#[allow(unsafe_code)]
fn mapped(folder: &Path) -> Result<AssociativeMemory> {
    // SAFETY: as for items, see `super::mapped`.
    let memory = unsafe { AssociativeMemory::map(folder) };
    memory.with_context(|| format!("opening the pairs {}", folder.display()))
}

pub fn store(folder: &Path, items: &Path, names: &[String], json: bool) -> Result<bool> {
    let items = super::mapped(items)?;
    let (pairs, rest) = names.as_chunks::<2>();
    if let [key] = rest {
        bail!("{key:?} has no value: give keys and values in turns");
    }
    let mut memory = match folder.join("head").exists() {
        true => opened(folder)?,
        false => AssociativeMemory::new(items.space().clone()),
    };
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|[key, value]| (&**key, &**value)).collect();
    memory.store_all(&items, &pairs)?;
    memory.save(folder)?;
    about(folder, &memory, &items, json)
}

fn about(folder: &Path, memory: &AssociativeMemory, items: &ItemMemory, json: bool) -> Result<bool> {
    let found = memory.reliability(items);
    let stored = Stored {
        folder: folder.display().to_string(),
        pairs: found.pairs,
        items: found.items,
        capacity: found.capacity,
        probability: found.probability,
        reliable: found.is_reliable(),
    };
    if json {
        report::json(&stored)?;
        return Ok(true);
    }
    let Stored { folder, pairs, items, capacity, probability, reliable } = stored;
    let mut text =
        format!("{folder}: {pairs} pairs in one vector, of {items} items; up to {capacity} are reliable\n");
    if !reliable {
        text.push_str(&format!(
            "an answer is right with probability {probability:.3} only; use a larger --d or several folders\n"
        ));
    }
    report::text(&text)?;
    Ok(true)
}

pub fn recall(folder: &Path, items: &Path, keys: &[String], threshold: f64, json: bool) -> Result<bool> {
    let (memory, items) = (mapped(folder)?, super::mapped(items)?);
    let found = memory.recall_all(&items, keys, threshold)?;
    let answers: Vec<Answer> = keys
        .iter()
        .zip(found)
        .map(|(key, found)| Answer {
            key: key.clone(),
            similarity: found.as_ref().map(|found| found.similarity),
            value: found.map(|found| found.name),
        })
        .collect();
    let all_known = answers.iter().all(|answer| answer.value.is_some());
    if json {
        report::json(&Recalled { answers })?;
        return Ok(all_known);
    }
    let line = |answer: &Answer| match (&answer.value, answer.similarity) {
        (Some(value), Some(similarity)) => format!("{similarity:>7.3}  {}: {value}\n", answer.key),
        _ => format!("unknown  {}: no item is that alike; --threshold asks for less\n", answer.key),
    };
    report::text(&answers.iter().map(line).collect::<String>())?;
    Ok(all_known)
}

/// Writes the newest pairs that are intact as new ones, and says how many they are.
pub fn salvaged(folder: &Path, to: &Path) -> Result<usize> {
    let salvaged = AssociativeMemory::salvage(folder);
    let (mut found, _) = salvaged.with_context(|| format!("salvaging {}", folder.display()))?;
    found.save(to).with_context(|| format!("saving {}", to.display()))?;
    Ok(found.pairs())
}
