//! Host memory for arrays: aligned to 64 bytes, recycled by size class.
//!
//! Fresh pages cost more than most kernels (a page fault per 4 KiB), so freed blocks are kept, up to a limit. Small
//! blocks go through a list per thread and cost no lock. The budget counts live and cached bytes; what does not fit
//! is an error, since the kernel would otherwise kill the process on first touch.
#![allow(unsafe_code)]

use std::{
    alloc::{Layout, alloc, dealloc},
    cell::RefCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use crossover_runtime::{Address, Block, Error, Result};
use parking_lot::Mutex;

/// Alignment of every block: a cache line, and the widest vector.
const ALIGN: usize = 64;
/// Blocks up to here have a class per power of two.
const COARSE: usize = 4096;
/// Largest block of the per-thread lists.
const SMALL: usize = 64 << 10;
/// Small classes: those per power of two, and four per power of two above.
const CLASSES: usize = class_index(SMALL) + 1;
/// Bytes of each small class that a thread keeps, and how many blocks at most.
const PER_CLASS: (usize, usize) = (128 << 10, 64);
/// Blocks from here on are aligned to huge pages and ask for them.
const HUGE: usize = 4 << 20;
const HUGE_PAGE: usize = 2 << 20;
/// Blocks from here on are fresh only if the system has that much: asking it takes as long as entering a megabyte.
const WATCHED: usize = 64 << 20;

/// Counters of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryStats {
    /// Bytes in use, as rounded to size classes.
    pub live: u64,
    /// Bytes kept for reuse; the lists of threads are not counted.
    pub cached: u64,
    /// Allocations above 64 KiB served from the cache.
    pub hits: u64,
    /// Allocations that went to the system.
    pub misses: u64,
    /// Most bytes that live and cached blocks may have together.
    pub budget: u64,
    /// Most bytes that were in use at once.
    pub peak: u64,
    /// Most bytes that were in use and kept at once.
    pub peak_reserved: u64,
}

/// A pool of host memory.
#[derive(Debug)]
pub struct Pool {
    live: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
    peak: AtomicU64,
    peak_reserved: AtomicU64,
    budget: u64,
    keep: u64,
    cache: Mutex<Cache>,
}

/// Free blocks by size; within a size, the oldest first.
#[derive(Debug, Default)]
struct Cache {
    blocks: BTreeMap<usize, Vec<(u64, usize)>>,
    bytes: u64,
    clock: u64,
}

/// Free small blocks of a thread, by class.
struct Small {
    lists: [Vec<usize>; CLASSES],
}

impl Drop for Small {
    fn drop(&mut self) {
        for (class, list) in self.lists.iter().enumerate() {
            list.iter().for_each(|&address| release(address, class_size(class)));
        }
    }
}

thread_local! {
    static SMALL_BLOCKS: RefCell<Small> = const { RefCell::new(Small { lists: [const { Vec::new() }; CLASSES] }) };
}

/// Bytes of the block that serves a request. Four classes per power of two above 4 KiB: at most a quarter is unused.
fn class_bytes(bytes: usize) -> Option<usize> {
    if bytes <= COARSE {
        return Some(bytes.next_power_of_two().max(ALIGN));
    }
    let step = bytes.checked_next_power_of_two()? / 8;
    bytes.checked_next_multiple_of(step)
}

fn layout(bytes: usize) -> Option<Layout> {
    let align = if bytes >= HUGE { HUGE_PAGE } else { ALIGN };
    Layout::from_size_align(bytes, align).ok()
}

/// Gives a block of exactly `bytes`, a class size, back to the system.
fn release(address: usize, bytes: usize) {
    if let Some(layout) = layout(bytes) {
        // SAFETY: `address` came from `obtain` with the same size, and nobody else has it.
        unsafe { dealloc(address as *mut u8, layout) };
    }
}

/// A block of exactly `bytes`, a class size, from the system.
fn obtain(bytes: usize) -> Option<usize> {
    let layout = layout(bytes)?;
    // SAFETY: class sizes are not zero.
    let start = unsafe { alloc(layout) };
    if start.is_null() {
        return None;
    }
    #[cfg(target_os = "linux")]
    if bytes >= HUGE {
        // SAFETY: the range is ours; the advice changes how it is backed, never what it holds.
        unsafe { libc::madvise(start.cast(), bytes, libc::MADV_HUGEPAGE) };
    }
    Some(start as usize)
}

impl Pool {
    /// A pool with a budget, keeping at most `keep` bytes for reuse.
    pub fn new(budget: u64, keep: u64) -> Pool {
        Pool {
            live: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            peak_reserved: AtomicU64::new(0),
            budget,
            keep,
            cache: Mutex::new(Cache::default()),
        }
    }

    /// A block of at least `bytes` with undefined contents.
    #[inline]
    pub fn allocate(&self, bytes: usize) -> Result<Block> {
        if bytes == 0 {
            // Never dereferenced, but aligned and not null.
            return Ok(Block { address: Address(ALIGN as u64), bytes: 0 });
        }
        let size = class_bytes(bytes).ok_or_else(|| self.full(bytes))?;
        let live = self.live.fetch_add(size as u64, Ordering::Relaxed) + size as u64;
        if live > self.budget {
            self.live.fetch_sub(size as u64, Ordering::Relaxed);
            return Err(self.full(bytes));
        }
        if live > self.peak.load(Ordering::Relaxed) {
            self.peak.fetch_max(live, Ordering::Relaxed);
        }
        let reused = if size <= SMALL { take_small(size) } else { self.take(size) };
        let address = match reused {
            Some(address) => address,
            None => self.fresh(size, live).inspect_err(|_| {
                self.live.fetch_sub(size as u64, Ordering::Relaxed);
            })?,
        };
        Ok(Block { address: Address(address as u64), bytes })
    }

    #[cold]
    fn fresh(&self, size: usize, live: u64) -> Result<usize> {
        self.misses.fetch_add(1, Ordering::Relaxed);
        // Cached blocks of other sizes give way before the budget is exceeded.
        self.shrink(self.budget.saturating_sub(live));
        // What is available changes while other programs run, and the system kills whoever touches more than there is.
        if size >= WATCHED && size as u64 > available() {
            self.shrink(0);
            let left = available();
            if size as u64 > left {
                return Err(Error::OutOfMemory {
                    device: "CPU".into(),
                    requested: size as u64,
                    free: left,
                    reserved: self.stats().live,
                    largest: left,
                });
            }
        }
        let reserved = live + self.cache.lock().bytes;
        self.peak_reserved.fetch_max(reserved, Ordering::Relaxed);
        let address = obtain(size).or_else(|| {
            self.shrink(0);
            obtain(size)
        });
        address.ok_or_else(|| self.full(size))
    }

    fn full(&self, bytes: usize) -> Error {
        let stats = self.stats();
        Error::OutOfMemory {
            device: "CPU".into(),
            requested: bytes as u64,
            free: self.budget.saturating_sub(stats.live),
            reserved: stats.live + stats.cached,
            largest: self.budget.saturating_sub(stats.live),
        }
    }

    fn take(&self, size: usize) -> Option<usize> {
        let mut cache = self.cache.lock();
        let (_, address) = cache.blocks.get_mut(&size)?.pop()?;
        cache.bytes -= size as u64;
        drop(cache);
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(address)
    }

    /// Takes a block back.
    #[inline]
    pub fn free(&self, block: Block) {
        if block.bytes == 0 {
            return;
        }
        let Some(size) = class_bytes(block.bytes) else { return };
        let address = block.address.0 as usize;
        self.live.fetch_sub(size as u64, Ordering::Relaxed);
        if size <= SMALL { put_small(address, size) } else { self.keep(address, size) }
    }

    fn keep(&self, address: usize, size: usize) {
        if size as u64 > self.keep {
            return release(address, size);
        }
        self.shrink(self.keep - size as u64);
        let mut cache = self.cache.lock();
        cache.clock += 1;
        let stamp = cache.clock;
        cache.bytes += size as u64;
        cache.blocks.entry(size).or_default().push((stamp, address));
    }

    /// Releases the oldest cached blocks until at most `bytes` remain.
    fn shrink(&self, bytes: u64) {
        let mut cache = self.cache.lock();
        while cache.bytes > bytes {
            let oldest = cache.blocks.iter().filter_map(|(&size, list)| Some((list.first()?.0, size))).min();
            let Some((_, size)) = oldest else { return };
            let Some(list) = cache.blocks.get_mut(&size) else { return };
            let (_, address) = list.remove(0);
            if list.is_empty() {
                cache.blocks.remove(&size);
            }
            cache.bytes -= size as u64;
            release(address, size);
        }
    }

    /// Releases cached blocks until at most `bytes` remain; the caller's own small blocks as well.
    pub fn trim(&self, bytes: u64) {
        self.shrink(bytes);
        SMALL_BLOCKS.with_borrow_mut(|small| *small = Small { lists: [const { Vec::new() }; CLASSES] });
    }

    /// Bytes in use, and the most that were at once.
    pub fn held(&self) -> (u64, u64) {
        (self.live.load(Ordering::Relaxed), self.peak.load(Ordering::Relaxed))
    }

    /// The counters.
    pub fn stats(&self) -> MemoryStats {
        MemoryStats {
            live: self.live.load(Ordering::Relaxed),
            cached: self.cache.lock().bytes,
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            budget: self.budget,
            peak: self.peak.load(Ordering::Relaxed),
            peak_reserved: self.peak_reserved.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

/// The small class whose blocks have this size.
const fn class_index(size: usize) -> usize {
    let coarse = (COARSE / ALIGN).ilog2() as usize;
    if size <= COARSE {
        return (size / ALIGN).ilog2() as usize;
    }
    // Sizes of an octave are 5, 6, 7 and 8 eighths of its end.
    let octave = (size - 1).ilog2() as usize;
    let eighths = size >> (octave - 2);
    coarse + 4 * (octave - COARSE.ilog2() as usize) + eighths - 4
}

/// The size of the blocks of a small class.
const fn class_size(class: usize) -> usize {
    let coarse = (COARSE / ALIGN).ilog2() as usize;
    if class <= coarse {
        return ALIGN << class;
    }
    let (octave, eighths) = ((class - coarse - 1) / 4, (class - coarse - 1) % 4 + 5);
    (eighths * COARSE / 4) << octave
}

#[inline]
fn take_small(size: usize) -> Option<usize> {
    SMALL_BLOCKS.with_borrow_mut(|small| small.lists[class_index(size)].pop())
}

#[inline]
fn put_small(address: usize, size: usize) {
    // At thread exit the lists may be gone already.
    let kept = SMALL_BLOCKS.try_with(|small| {
        let list = &mut small.borrow_mut().lists[class_index(size)];
        let room = list.len() < PER_CLASS.1 && (list.len() + 1) * size <= PER_CLASS.0;
        if room {
            list.push(address);
        }
        room
    });
    if !kept.unwrap_or(false) {
        release(address, size);
    }
}

/// Memory this process may use: what the system has available, or what its container leaves it.
pub fn available() -> u64 {
    let system = meminfo().unwrap_or(8 << 30);
    container().map_or(system, |limit| limit.min(system))
}

fn meminfo() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// What the limits of the container leave, the tightest of those that apply: a group's own, and those of the groups around it.
fn container() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    left_in(Path::new("/sys/fs/cgroup"), &groups)
}

/// As `container`, for a tree of control groups and the process's line in it.
fn left_in(root: &Path, groups: &str) -> Option<u64> {
    let number = |path: PathBuf| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let left = |folder: &Path, limits: &[&str], used: &str, file: &str| {
        let used = number(folder.join(used)).unwrap_or(0);
        // Memory that only caches files is given up before anybody is killed.
        let stat = std::fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let given_up = stat.lines().find_map(|line| line.strip_prefix(file)?.trim().parse::<u64>().ok());
        let used = used.saturating_sub(given_up.unwrap_or(0));
        let limits = limits.iter().filter_map(|limit| number(folder.join(limit)));
        limits.map(|limit| limit.saturating_sub(used)).min()
    };
    let mut least: Option<u64> = None;
    for line in groups.lines().chain(["0::/", "0:memory:/"]) {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(kinds), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (base, limits, used, file): (_, &[&str], _, _) = match kinds {
            "" => (root.to_path_buf(), &["memory.max", "memory.high"], "memory.current", "inactive_file "),
            kinds if kinds.split(',').any(|kind| kind == "memory") => (
                root.join("memory"),
                &["memory.limit_in_bytes"],
                "memory.usage_in_bytes",
                "total_inactive_file ",
            ),
            _ => continue,
        };
        // Inside a container the path may be the one outside; what is not there sets no limit.
        for folder in base.join(path.trim_start_matches('/')).ancestors() {
            least = least.into_iter().chain(left(folder, limits, used, file)).min();
            if folder == base {
                break;
            }
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_recycled() {
        let pool = Pool::new(1 << 30, 1 << 28);
        for bytes in [1, 64, 65, 4096, 4097, 100_000, 5 << 20] {
            let block = pool.allocate(bytes).unwrap();
            assert_eq!(block.address.0 % 64, 0);
            assert_eq!(block.bytes, bytes);
            let address = block.address;
            pool.free(block);
            let again = pool.allocate(bytes).unwrap();
            assert_eq!(again.address, address, "{bytes}");
            pool.free(again);
        }
        assert_eq!(pool.stats().live, 0);
        assert!(pool.stats().cached > 5 << 20);
        pool.trim(0);
        assert_eq!(pool.stats().cached, 0);
    }

    #[test]
    fn the_budget_is_an_error_and_the_cache_gives_way() {
        let pool = Pool::new(1 << 20, 1 << 20);
        assert!(matches!(pool.allocate(2 << 20), Err(Error::OutOfMemory { .. })));
        assert!(matches!(pool.allocate(usize::MAX), Err(Error::OutOfMemory { .. })));
        let block = pool.allocate(600_000).unwrap();
        pool.free(block);
        let other = pool.allocate(900_000).unwrap();
        assert_eq!(pool.stats().cached, 0, "the cached block was released to stay inside the budget");
        assert!(pool.allocate(300_000).is_err());
        pool.free(other);
    }

    #[test]
    fn class_sizes_waste_at_most_a_quarter() {
        for bytes in (1..200_000).step_by(97) {
            let size = class_bytes(bytes).unwrap();
            assert!(
                size >= bytes && (size <= COARSE || size as f64 <= bytes as f64 * 1.26),
                "{bytes} {size}"
            );
            if size <= SMALL {
                assert_eq!(class_size(class_index(size)), size, "{bytes}");
            }
        }
        assert_eq!((class_size(0), class_size(CLASSES - 1)), (ALIGN, SMALL));
    }

    #[test]
    fn threads_keep_few_blocks_of_a_small_class() {
        let pool = Pool::new(1 << 30, 1 << 28);
        let blocks: Vec<Block> = (0..10).map(|_| pool.allocate(SMALL).unwrap()).collect();
        blocks.into_iter().for_each(|block| pool.free(block));
        SMALL_BLOCKS.with_borrow(|small| assert_eq!(small.lists[CLASSES - 1].len(), PER_CLASS.0 / SMALL));
        pool.trim(0);
        SMALL_BLOCKS.with_borrow(|small| assert!(small.lists.iter().all(Vec::is_empty)));
    }

    #[test]
    fn the_tightest_limit_of_all_groups_around_counts() {
        let root = std::env::temp_dir().join(format!("crossover-groups-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(left_in(&root, "0::/a/b\n"), None);
        write("a/memory.max", "1000\n");
        write("a/memory.current", "700\n");
        write("a/b/memory.max", "max\n");
        write("a/b/memory.current", "100\n");
        assert_eq!(left_in(&root, "0::/a/b\n"), Some(300));
        write("a/memory.stat", "anon 1\ninactive_file 200\n");
        assert_eq!(left_in(&root, "0::/a/b\n"), Some(500), "files that are only cached give way");
        write("a/b/memory.high", "150\n");
        assert_eq!(left_in(&root, "0::/a/b\n"), Some(50));
        write("memory/job/memory.limit_in_bytes", "90\n");
        write("memory/job/memory.usage_in_bytes", "60\n");
        assert_eq!(left_in(&root, "4:cpu,memory:/job\n2:pids:/job\n"), Some(30));
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn peaks_are_kept() {
        let pool = Pool::new(1 << 30, 1 << 28);
        let blocks = [pool.allocate(1 << 20).unwrap(), pool.allocate(1 << 20).unwrap()];
        blocks.into_iter().for_each(|block| pool.free(block));
        let stats = pool.stats();
        assert_eq!((stats.live, stats.peak), (0, 2 << 20));
        assert!(stats.peak_reserved >= stats.peak);
    }
}
