//! Compiled kernels on disk, shared by all processes of a user.
//!
//! An entry is named by a hash of its key and holds the whole key, so that equal hashes of different keys do no harm,
//! and a checksum, so that a damaged entry is found and compiled again. Entries are written beside their place and
//! moved there, so that nobody sees half of one. A folder that cannot be written is read all the same. When the
//! entries grow past a limit, those used longest ago go.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

/// Bytes that entries may take together.
const LIMIT: u64 = 256 << 20;
/// Entries written before their sizes are added up again.
const EVERY: u64 = 32;
/// An entry that is read gets a new date when its own is older than this.
const FRESH: Duration = Duration::from_secs(24 * 3600);
/// Unfinished entries older than this were left by a process that died.
const ABANDONED: Duration = Duration::from_secs(3600);
const MAGIC: [u8; 8] = *b"XOCUBIN1";
const EXTENSION: &str = "cubin";

/// What a cache did since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Entries found.
    pub hits: u64,
    /// Entries that were not there.
    pub misses: u64,
    /// Entries that were there and damaged.
    pub damaged: u64,
    /// Entries written.
    pub written: u64,
    /// Entries that could not be written.
    pub refused: u64,
}

/// One compiled kernel on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    /// Its file.
    pub path: PathBuf,
    /// Bytes it takes.
    pub bytes: u64,
    /// When it was used last, to within a day.
    pub used: SystemTime,
    /// Architecture, flags and compiler it was made for and by.
    pub made_for: String,
    /// The text that was compiled.
    pub source: String,
}

#[derive(Debug, Default)]
struct Counters {
    hits: AtomicU64,
    misses: AtomicU64,
    damaged: AtomicU64,
    written: AtomicU64,
    refused: AtomicU64,
}

/// A folder of compiled kernels.
///
/// ```
/// use crossover_cuda::KernelCache;
/// let folder = std::env::temp_dir().join(format!("crossover-cache-{}", std::process::id()));
/// let cache = KernelCache::new(&folder);
/// assert_eq!(cache.find("a source"), None);
/// cache.store("a source", b"machine code");
/// assert_eq!(cache.find("a source").as_deref(), Some(&b"machine code"[..]));
/// # std::fs::remove_dir_all(folder).ok();
/// ```
#[derive(Debug)]
pub struct KernelCache {
    folder: PathBuf,
    limit: u64,
    counters: Counters,
}

impl KernelCache {
    /// The cache in a folder, which is made when the first entry is written.
    pub fn new(folder: impl Into<PathBuf>) -> KernelCache {
        KernelCache { folder: folder.into(), limit: LIMIT, counters: Counters::default() }
    }

    /// With another limit on the bytes of all entries.
    pub fn limit(mut self, bytes: u64) -> KernelCache {
        self.limit = bytes;
        self
    }

    /// The folder of this user: `CROSSOVER_CACHE`, or `crossover/kernels` in the cache directory of the system. `None`
    /// where there is neither, or where `CROSSOVER_CACHE` is empty or `off`.
    pub fn usual_folder() -> Option<PathBuf> {
        crossover_runtime::cache_folder("kernels")
    }

    /// Where entries are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Counters since the cache was opened.
    pub fn counts(&self) -> CacheCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CacheCounts {
            hits: read(&self.counters.hits),
            misses: read(&self.counters.misses),
            damaged: read(&self.counters.damaged),
            written: read(&self.counters.written),
            refused: read(&self.counters.refused),
        }
    }

    /// The code stored under a key.
    pub fn find(&self, key: &str) -> Option<Vec<u8>> {
        let path = self.path(key);
        let Ok(bytes) = fs::read(&path) else {
            self.counters.misses.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        match decode(&bytes, key) {
            Decoded::Code(code) => {
                self.counters.hits.fetch_add(1, Ordering::Relaxed);
                refresh(&path);
                Some(code.to_vec())
            }
            Decoded::OtherKey => {
                self.counters.misses.fetch_add(1, Ordering::Relaxed);
                None
            }
            Decoded::Damaged => {
                self.counters.damaged.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    /// Stores code under a key. Where that is not possible, nothing happens: the cache only saves time.
    pub fn store(&self, key: &str, code: &[u8]) {
        let done = fs::create_dir_all(&self.folder).and_then(|()| self.write(key, code));
        let counter = if done.is_ok() { &self.counters.written } else { &self.counters.refused };
        let before = counter.fetch_add(1, Ordering::Relaxed);
        if done.is_ok() && before.is_multiple_of(EVERY) {
            self.shrink();
        }
    }

    fn write(&self, key: &str, code: &[u8]) -> std::io::Result<()> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let place = self.path(key);
        let beside = place.with_extension(format!("{}-{number}.part", std::process::id()));
        let written = fs::File::create_new(&beside)
            .and_then(|mut file| file.write_all(&encode(key, code)))
            .and_then(|()| fs::rename(&beside, &place));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written
    }

    /// Removes what was used longest ago until three quarters of the limit are left.
    fn shrink(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let now = SystemTime::now();
        let mut found: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in entries.flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            let used = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let path = entry.path();
            match path.extension().and_then(|e| e.to_str()) {
                Some(EXTENSION) => found.push((used, meta.len(), path)),
                Some("part") if now.duration_since(used).is_ok_and(|age| age > ABANDONED) => {
                    let _ = fs::remove_file(path);
                }
                _ => {}
            }
        }
        let mut total: u64 = found.iter().map(|entry| entry.1).sum();
        if total <= self.limit {
            return;
        }
        found.sort();
        for (_, bytes, path) in found {
            if total <= self.limit / 4 * 3 {
                break;
            }
            // Another process may have removed it; it is gone either way.
            let _ = fs::remove_file(path);
            total -= bytes;
        }
    }

    /// The entries on disk, the one used last first. A folder that does not exist has none.
    ///
    /// ```
    /// use crossover_cuda::KernelCache;
    /// let folder = std::env::temp_dir().join(format!("crossover-list-{}", std::process::id()));
    /// let cache = KernelCache::new(&folder);
    /// assert!(cache.entries()?.is_empty());
    /// cache.store("sm_90a flags nvrtc 13.0\nthe text", b"machine code");
    /// assert_eq!(cache.entries()?[0].made_for, "sm_90a flags nvrtc 13.0");
    /// assert_eq!(cache.clear()?.0, 1);
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn entries(&self) -> std::io::Result<Vec<CacheEntry>> {
        let mut out: Vec<CacheEntry> = Vec::new();
        for (path, meta) in self.files()? {
            // Another process may just have removed it.
            let Ok(bytes) = fs::read(&path) else { continue };
            let key = key_of(&bytes).unwrap_or("damaged");
            let (made_for, source) = key.split_once('\n').unwrap_or((key, ""));
            out.push(CacheEntry {
                bytes: meta.len(),
                used: meta.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                made_for: made_for.to_string(),
                source: source.to_string(),
                path,
            });
        }
        out.sort_by_key(|entry| std::cmp::Reverse(entry.used));
        Ok(out)
    }

    /// Removes every entry; how many there were, and their bytes. Processes that use them compile again.
    pub fn clear(&self) -> std::io::Result<(usize, u64)> {
        let (mut count, mut bytes) = (0, 0);
        for (path, meta) in self.files()? {
            match fs::remove_file(&path) {
                Ok(()) => (count, bytes) = (count + 1, bytes + meta.len()),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok((count, bytes))
    }

    /// Files of entries.
    fn files(&self) -> std::io::Result<Vec<(PathBuf, fs::Metadata)>> {
        let listing = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let is_entry = |path: &Path| path.extension().is_some_and(|extension| extension == EXTENSION);
        let found = listing.flatten().map(|entry| (entry.path(), entry.metadata()));
        Ok(found
            .filter(|(path, _)| is_entry(path))
            .filter_map(|(path, meta)| Some((path, meta.ok()?)))
            .collect())
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{:016x}.{EXTENSION}", hash(key.as_bytes())))
    }
}

/// FNV-1a over 64 bits: the same on every machine and in every version.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ b as u64).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The key that an entry was stored under, if it is one of ours.
fn key_of(bytes: &[u8]) -> Option<&str> {
    let rest = bytes.strip_prefix(&MAGIC)?.get(8..)?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    std::str::from_utf8(rest.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)?).ok()
}

enum Decoded<'a> {
    Code(&'a [u8]),
    OtherKey,
    Damaged,
}

/// Magic, checksum of the rest, length of the key, key, code.
fn encode(key: &str, code: &[u8]) -> Vec<u8> {
    let mut rest = (key.len() as u64).to_le_bytes().to_vec();
    rest.extend_from_slice(key.as_bytes());
    rest.extend_from_slice(code);
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&hash(&rest).to_le_bytes());
    out.extend_from_slice(&rest);
    out
}

fn decode<'a>(bytes: &'a [u8], key: &str) -> Decoded<'a> {
    let Some(([magic, checksum, length], rest)) = bytes.split_first_chunk::<24>().map(|(head, rest)| {
        let word = |i: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&head[8 * i..8 * i + 8]);
            word
        };
        ([word(0), word(1), word(2)], rest)
    }) else {
        return Decoded::Damaged;
    };
    if magic != MAGIC || hash(&bytes[16..]) != u64::from_le_bytes(checksum) {
        return Decoded::Damaged;
    }
    let length = u64::from_le_bytes(length);
    match usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length)) {
        Some((held, code)) if held == key.as_bytes() => Decoded::Code(code),
        Some(_) => Decoded::OtherKey,
        None => Decoded::Damaged,
    }
}

/// Notes that an entry was used, at most once a day.
fn refresh(path: &Path) {
    let Ok(used) = fs::metadata(path).and_then(|meta| meta.modified()) else { return };
    if used.elapsed().is_ok_and(|age| age > FRESH)
        && let Ok(file) = fs::File::options().append(true).open(path)
    {
        let _ = file.set_modified(SystemTime::now());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tempfile::tempdir;

    use super::*;

    #[test]
    fn every_damaged_byte_is_found_and_a_new_entry_repairs_it() {
        let folder = tempdir().unwrap();
        let cache = KernelCache::new(folder.path());
        cache.store("key", b"some machine code");
        let path = cache.path("key");
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x20;
            fs::write(&path, bytes).unwrap();
            assert_eq!(cache.find("key"), None, "byte {at}");
        }
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(cache.find("key"), None, "cut to {length}");
        }
        assert_eq!(cache.counts().damaged, 2 * whole.len() as u64);
        cache.store("key", b"some machine code");
        assert_eq!(cache.find("key").unwrap(), b"some machine code");
    }

    #[test]
    fn an_entry_of_another_key_with_the_same_name_is_not_used() {
        let folder = tempdir().unwrap();
        let cache = KernelCache::new(folder.path());
        cache.store("one", b"1");
        fs::rename(cache.path("one"), cache.path("two")).unwrap();
        assert_eq!(cache.find("two"), None);
    }

    #[test]
    fn the_limit_removes_what_was_used_longest_ago() {
        let folder = tempdir().unwrap();
        let cache = KernelCache::new(folder.path()).limit(4000);
        for i in 0..10u64 {
            let key = format!("key {i}");
            cache.store(&key, &[7; 500]);
            let date = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + i);
            fs::File::options().append(true).open(cache.path(&key)).unwrap().set_modified(date).unwrap();
        }
        cache.shrink();
        let left: Vec<bool> = (0..10).map(|i| cache.path(&format!("key {i}")).exists()).collect();
        assert!(left[9] && left[8] && !left[0] && !left[1], "{left:?}");
        let bytes: u64 =
            fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).sum();
        assert!(bytes <= 3000, "{bytes}");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_tolerated() {
        let folder = tempdir().unwrap();
        fs::write(folder.path().join("file"), "where a folder should be").unwrap();
        let cache = KernelCache::new(folder.path().join("file/kernels"));
        cache.store("key", b"code");
        assert_eq!((cache.find("key"), cache.counts().refused), (None, 1));
    }

    #[test]
    fn many_writers_of_one_entry_leave_a_whole_one() {
        let folder = tempdir().unwrap();
        std::thread::scope(|scope| {
            for i in 0..8u8 {
                let path = folder.path();
                scope.spawn(move || {
                    let cache = KernelCache::new(path);
                    for _ in 0..50 {
                        cache.store("key", &[i; 5000]);
                        let code = cache.find("key").unwrap();
                        assert!(code.len() == 5000 && code.iter().all(|&b| b == code[0]));
                    }
                    assert_eq!(cache.counts().damaged, 0);
                });
            }
        });
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
