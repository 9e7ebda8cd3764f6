//! Rows in a file that may be larger than memory, with a checksum per block and a cache of the rows in use.
//!
//! Blocks are verified when one of their rows is first touched. Rows that are asked for become *hot*; when all rows of a call are, they
//! are looked up in an array of hot rows, which stays where it was used last: on a GPU, nothing but indices moves then.
#![allow(unsafe_code)]

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use crossover_array::{Array, DType};
use crossover_io::Map;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    Error, Result,
    embedder::check_tokens,
    file::{self, Header},
};

/// What a table has been used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableStats {
    /// Rows that were hot when they were asked for.
    pub hits: u64,
    /// Rows that were not.
    pub misses: u64,
    /// Hot rows that made room for others.
    pub evictions: u64,
    /// Blocks that were verified.
    pub verified: u64,
    /// Calls that were served by the array of hot rows.
    pub served: u64,
}

impl TableStats {
    /// Hits as a share of all rows asked for.
    pub fn hit_rate(&self) -> f64 {
        let all = self.hits + self.misses;
        if all == 0 { 0.0 } else { self.hits as f64 / all as f64 }
    }
}

/// The rows in use.
struct Hot {
    capacity: usize,
    slots: FxHashMap<u64, u32>,
    /// Row of each slot, and in which call it was used last.
    rows: Vec<(u64, u64)>,
    /// Where the search for a slot to reuse goes on.
    hand: usize,
    call: u64,
    /// The rows of all slots, unless they have changed since.
    array: Option<Array>,
    stats: TableStats,
}

/// A table of rows in a file; see the methods for how to write and read one.
///
/// ```
/// use crossover_array::Array;
/// use crossover_embed::Table;
/// let path = std::env::temp_dir().join(format!("crossover-table-{}", std::process::id()));
/// Table::write(&path, [Array::from([[1.0f32, 2.0], [3.0, 4.0]]), Array::from([[5.0f32, 6.0]])])?;
/// // SAFETY: nobody else knows this file.
/// let table = unsafe { Table::open(&path, 1000) }?;
/// assert_eq!(table.lookup(&Array::from([2i64, 0]))?.to_vec::<f32>()?, [5.0, 6.0, 1.0, 2.0]);
/// assert_eq!((table.rows(), table.columns(), table.stats().misses), (3, 2, 2));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), crossover_embed::Error>(())
/// ```
pub struct Table {
    path: PathBuf,
    map: Map,
    header: Header,
    sums: std::ops::Range<usize>,
    verified: Vec<AtomicBool>,
    hot: Mutex<Hot>,
}

impl Table {
    /// Writes a table: arrays of one floating-point dtype, `[rows, columns]`, one after another. The file appears when it is complete.
    pub fn write(path: impl AsRef<Path>, parts: impl IntoIterator<Item = Array>) -> Result<()> {
        file::write(path.as_ref(), parts)
    }

    /// Opens a table with a cache of at most so many hot rows. Only the footer is read and verified.
    ///
    /// # Safety
    ///
    /// Nobody may change or shorten the file while the table is open: it is mapped. Replacing it by renaming another over it, as
    /// [`Table::write`] does, is fine.
    pub unsafe fn open(path: impl AsRef<Path>, hot_rows: usize) -> Result<Table> {
        let path = path.as_ref();
        // SAFETY: the caller promises that the file does not change.
        let map = unsafe { Map::open(path) }.map_err(|error| Error::io(path, "open", &error))?;
        let (header, sums) = file::read(map.as_ref(), path)?;
        let verified = (0..header.blocks()).map(|_| AtomicBool::new(false)).collect();
        let hot = Hot {
            capacity: hot_rows,
            slots: FxHashMap::default(),
            rows: Vec::new(),
            hand: 0,
            call: 0,
            array: None,
            stats: TableStats::default(),
        };
        Ok(Table { path: path.to_path_buf(), map, header, sums, verified, hot: Mutex::new(hot) })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.header.rows
    }

    /// Length of a row.
    pub fn columns(&self) -> usize {
        self.header.columns
    }

    /// Dtype of the elements.
    pub fn dtype(&self) -> DType {
        self.header.dtype
    }

    /// What the table has been used for.
    pub fn stats(&self) -> TableStats {
        let verified = self.verified.iter().filter(|block| block.load(Relaxed)).count() as u64;
        TableStats { verified, ..self.hot.lock().stats }
    }

    /// Verifies all blocks that nobody has touched yet.
    pub fn verify(&self) -> Result<()> {
        (0..self.header.blocks()).try_for_each(|block| self.check(block))
    }

    /// The rows of tokens, one more axis than these have.
    pub fn lookup(&self, tokens: &Array) -> Result<Array> {
        check_tokens(tokens, self.rows())?;
        let mut shape = tokens.shape().dims().to_vec();
        shape.push(self.columns());
        let wanted = tokens.astype(DType::I64).to_vec::<i64>()?;
        let mut hot = self.hot.lock();
        let Some(slots) = hot.touch(&wanted) else {
            drop(hot);
            // Reading may wait for a disk; others go on meanwhile.
            return self.read(wanted.iter().map(|&token| token as usize), shape);
        };
        hot.stats.served += 1;
        let array = match &hot.array {
            Some(array) => array.clone(),
            None => {
                let rows: Vec<usize> = hot.rows.iter().map(|(row, _)| *row as usize).collect();
                let array = self.read(rows.iter().copied(), vec![rows.len(), self.columns()])?;
                hot.array = Some(array.clone());
                array
            }
        };
        drop(hot);
        let found = array.take(&Array::from_vec(slots, [wanted.len()]), 0).reshape(shape);
        found.eval()?;
        Ok(found)
    }

    fn read(&self, rows: impl ExactSizeIterator<Item = usize>, shape: Vec<usize>) -> Result<Array> {
        let (size, bytes) = (self.header.row_bytes(), self.map.as_ref());
        let mut out = Vec::with_capacity(rows.len() * size);
        for row in rows {
            self.check(row / self.header.block_rows)?;
            out.extend_from_slice(&bytes[row * size..(row + 1) * size]);
        }
        let array = Array::from_bytes(&out, self.dtype(), shape, None, 0);
        array.check()?;
        Ok(array)
    }

    /// That a block is what was written, unless that is known.
    fn check(&self, block: usize) -> Result<()> {
        if self.verified[block].load(Relaxed) {
            return Ok(());
        }
        let bytes = self.map.as_ref();
        let at = self.sums.start + 8 * block;
        let wanted = u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let found = xxh3_64(&bytes[self.header.block(block)]);
        if found != wanted {
            let first = block * self.header.block_rows;
            let last = (first + self.header.block_rows).min(self.rows()) - 1;
            let what = format!(
                "rows {first} to {last} have checksum {found:016x} and not {wanted:016x}: a bit has changed"
            );
            return Err(Error::Corrupt { file: self.path.display().to_string(), what });
        }
        self.verified[block].store(true, Relaxed);
        Ok(())
    }
}

impl Hot {
    /// Makes rows hot; their slots if all of them were so before.
    fn touch(&mut self, wanted: &[i64]) -> Option<Vec<i64>> {
        self.call += 1;
        let mut slots = Vec::with_capacity(wanted.len());
        let mut missed = 0;
        for &row in wanted {
            match self.slots.get(&(row as u64)) {
                Some(&slot) => {
                    self.rows[slot as usize].1 = self.call;
                    slots.push(i64::from(slot));
                }
                None => {
                    missed += 1;
                    self.admit(row as u64);
                }
            }
        }
        // A row that was admitted in this call counts as missed once.
        self.stats.misses += missed;
        self.stats.hits += wanted.len() as u64 - missed;
        (missed == 0).then_some(slots)
    }

    /// Gives a row a slot, unless all of them serve this very call.
    fn admit(&mut self, row: u64) {
        let entry = (row, self.call);
        if self.rows.len() < self.capacity {
            self.slots.insert(row, self.rows.len() as u32);
            self.rows.push(entry);
            self.array = None;
            return;
        }
        // A slot that was not used in the last two calls, or else any not used in this one, from where the last search ended.
        let length = self.rows.len();
        for patience in [1, 0] {
            for _ in 0..length {
                let at = self.hand;
                self.hand = (self.hand + 1) % length;
                if self.rows[at].1 + patience < self.call {
                    self.slots.remove(&self.rows[at].0);
                    self.slots.insert(row, at as u32);
                    self.rows[at] = entry;
                    self.stats.evictions += 1;
                    self.array = None;
                    return;
                }
            }
        }
    }
}
