//! Rows in a file that may be larger than memory, with a checksum per block and a cache of the rows in use.
//!
//! Blocks are verified when one of their rows is first touched. On a CPU rows are looked up in the mapped file itself, as in any array. On a
//! GPU they are looked up in a cache on that GPU: rows that it does not have yet are sent there, and take the places of rows that were not asked
//! for lately. What does not fit into the cache, or onto the GPU, comes from the file.
#![allow(unsafe_code)]

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use crossover_array::{Array, DType, Device, Runtime, current_device, with_device};
use crossover_io::Map;
use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    Error, Result,
    embedder::{all_inside, check_kind},
    file::{self, Header},
    hot::{Hot, Kind},
};

/// What a table has been used for.
///
/// ```
/// use crossover_array::Array;
/// use crossover_embed::{Table, TableStats};
/// # let path = std::env::temp_dir().join(format!("crossover-table-stats-{}", std::process::id()));
/// Table::write(&path, [Array::zeros::<f32>([1000, 16])])?;
/// // SAFETY: nobody else knows this file.
/// let table = unsafe { Table::open(&path, 0) }?;
/// let tokens = Array::from([5i64, 6, 7, 8]);
/// table.lookup(&tokens)?;
/// table.lookup(&tokens)?;
/// // The first row had its block verified, which all of them lie in.
/// let stats = table.stats();
/// assert_eq!(stats, TableStats { hits: 7, misses: 1, verified: 1, ..stats });
/// assert_eq!(stats.hit_rate(), 0.875);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), crossover_embed::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableStats {
    /// Rows that needed nothing but a copy: on a GPU those in its cache, on a CPU those of blocks that were verified before.
    pub hits: u64,
    /// Rows that had to be fetched or verified first; several requests of a row in one call are one.
    pub misses: u64,
    /// Rows of the cache that made room for others.
    pub evictions: u64,
    /// Blocks that were verified.
    pub verified: u64,
    /// Calls that were answered from the cache.
    pub served: u64,
}

impl TableStats {
    /// Hits as a share of all rows asked for.
    pub fn hit_rate(&self) -> f64 {
        let all = self.hits + self.misses;
        if all == 0 { 0.0 } else { self.hits as f64 / all as f64 }
    }
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
/// assert_eq!((table.rows(), table.columns(), table.stats().misses), (3, 2, 1));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), crossover_embed::Error>(())
/// ```
pub struct Table {
    path: PathBuf,
    map: Map,
    header: Header,
    sums: std::ops::Range<usize>,
    verified: Vec<AtomicBool>,
    /// Rows that the host looked up: hits and misses.
    counts: [AtomicU64; 2],
    hot: Mutex<Hot>,
}

impl Table {
    /// Writes a table: arrays of one floating-point dtype, `[rows, columns]`, one after another. The file appears when it is complete.
    pub fn write(path: impl AsRef<Path>, parts: impl IntoIterator<Item = Array>) -> Result<()> {
        file::write(path.as_ref(), parts)
    }

    /// Opens a table with a cache of at most so many rows on a GPU; 0 for none. Only the footer is read and verified.
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
        let hot = Mutex::new(Hot::new(hot_rows.min(header.rows)));
        let path = path.to_path_buf();
        Ok(Table { path, map, header, sums, verified, counts: Default::default(), hot })
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
    ///
    /// ```
    /// use crossover_array::{Array, DType};
    /// use crossover_embed::Table;
    /// # let path = std::env::temp_dir().join(format!("crossover-table-dtype-{}", std::process::id()));
    /// Table::write(&path, [Array::ones::<f32>([8, 4]).astype(DType::BF16)])?;
    /// // SAFETY: nobody else knows this file.
    /// let table = unsafe { Table::open(&path, 0) }?;
    /// assert_eq!((table.dtype(), table.rows(), table.columns()), (DType::BF16, 8, 4));
    /// # std::fs::remove_file(&path).ok();
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn dtype(&self) -> DType {
        self.header.dtype
    }

    /// What the table has been used for.
    pub fn stats(&self) -> TableStats {
        let verified = self.verified.iter().filter(|block| block.load(Relaxed)).count() as u64;
        let [hits, misses] = [0, 1].map(|i| self.counts[i].load(Relaxed));
        let cache = self.hot.lock().stats;
        TableStats { verified, hits: cache.hits + hits, misses: cache.misses + misses, ..cache }
    }

    /// Verifies all blocks that nobody has touched yet.
    ///
    /// ```
    /// use crossover_array::Array;
    /// use crossover_embed::Table;
    /// # let path = std::env::temp_dir().join(format!("crossover-table-verify-{}", std::process::id()));
    /// Table::write(&path, [Array::ones::<f32>([8, 4])])?;
    /// let mut bytes = std::fs::read(&path)?;
    /// bytes[20] ^= 4; // a bit that a disk has lost
    /// std::fs::write(&path, bytes)?;
    /// // SAFETY: nobody else knows this file.
    /// let table = unsafe { Table::open(&path, 0) }?;
    /// let error = table.verify().unwrap_err();
    /// assert!(error.to_string().contains("rows 0 to 7 have checksum"));
    /// # std::fs::remove_file(&path).ok();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify(&self) -> Result<()> {
        (0..self.header.blocks()).try_for_each(|block| self.check(block).map(drop))
    }

    /// The rows of tokens, one more axis than these have.
    pub fn lookup(&self, tokens: &Array) -> Result<Array> {
        check_kind(tokens)?;
        let mut shape = tokens.shape().dims().to_vec();
        shape.push(self.columns());
        let device = self.cached_on();
        if let Some(device) = device
            && let Some(found) = self.device_rows(device, tokens)
        {
            return Ok(found.reshape(shape));
        }
        let wanted = tokens.astype(DType::I64).to_vec::<i64>()?;
        all_inside(&wanted, self.rows())?;
        if let Some(device) = device.filter(|_| !wanted.is_empty())
            && let Some(found) = self.cached_rows(device, &wanted)?
        {
            return Ok(found.reshape(shape));
        }
        let mut misses = 0;
        for &token in &wanted {
            misses += u64::from(self.check(token as usize / self.header.block_rows)?);
        }
        self.counts[0].fetch_add(wanted.len() as u64 - misses, Relaxed);
        self.counts[1].fetch_add(misses, Relaxed);
        Ok(self.file_rows(wanted)?.reshape(shape))
    }

    /// The GPU whose memory rows are to be kept in.
    fn cached_on(&self) -> Option<Device> {
        if self.hot.lock().capacity() == 0 || Runtime::current().device_count() == 0 {
            return None;
        }
        match current_device() {
            Device::Cpu => None,
            Device::Auto => Some(Device::Cuda(0)),
            told => Some(told),
        }
    }

    /// Rows of verified blocks, by the host.
    fn file_rows(&self, rows: Vec<i64>) -> Result<Array> {
        let bytes = self.rows() * self.header.row_bytes();
        let map = self.map.part(0, bytes).map(Arc::new);
        // Made anew each time, since arrays belong to the runtime that they were made under: a pointer and a count.
        let shape = [self.rows(), self.columns()];
        let whole = map.and_then(|map| Array::borrow_bytes(map, self.dtype(), shape));
        let whole = whole.ok_or_else(|| Error::Corrupt {
            file: self.path.display().to_string(),
            what: format!("its rows are not {bytes} aligned bytes"),
        })?;
        let count = rows.len();
        let found = with_device(Device::Cpu, || {
            let found = whole.take(&Array::from_vec(rows, [count]), 0);
            found.eval().map(|_| found.clone())
        })?;
        Ok(found)
    }

    /// Rows that are all in the cache, by the GPU alone; `None` where they are not, or the GPU fails.
    fn device_rows(&self, device: Device, tokens: &Array) -> Option<Array> {
        let mut hot = self.hot.lock();
        hot.all_there(device, tokens).unwrap_or_else(|error| {
            tracing::debug!(target: "crossover::fallback", %error, "a table is read by the host");
            hot.clear();
            None
        })
    }

    /// Rows by way of the cache; `None` where it has too few places, or its GPU cannot do it.
    fn cached_rows(&self, device: Device, wanted: &[i64]) -> Result<Option<Array>> {
        let mut hot = self.hot.lock();
        let Some(touched) = hot.touch(device, wanted) else { return Ok(None) };
        let fresh: Vec<i64> = touched.fresh.iter().map(|(row, _)| *row as i64).collect();
        let checked =
            fresh.iter().try_for_each(|&row| self.check(row as usize / self.header.block_rows).map(drop));
        let rows = match checked {
            Ok(()) if fresh.is_empty() => Ok(None),
            Ok(()) => self.file_rows(fresh).map(Some),
            Err(error) => Err(error),
        };
        // A bit has changed, or the host has no memory: the places stay empty, and what else is there stays.
        let rows = rows.inspect_err(|_| hot.forget(&touched))?;
        let kind = Kind { rows: self.rows(), columns: self.columns(), dtype: self.dtype() };
        let found = hot.look_up(device, rows, &touched, kind);
        if let Err(error) = &found {
            tracing::debug!(target: "crossover::fallback", %error, "a table is read by the host");
            hot.clear();
        }
        Ok(found.ok())
    }

    /// That a block is what was written; whether that was not known before.
    fn check(&self, block: usize) -> Result<bool> {
        if self.verified[block].load(Relaxed) {
            return Ok(false);
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
        Ok(true)
    }
}
