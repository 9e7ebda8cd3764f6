//! Host memory for arrays: aligned to 64 bytes, recycled by size class.
//!
//! Fresh pages cost more than most kernels (a page fault per 4 KiB), so freed blocks are kept, up to a limit. Small
//! blocks go through a list per thread and cost no lock. The budget counts live and cached bytes; what does not fit
//! is an error, since the kernel would otherwise kill the process on first touch.
#![allow(unsafe_code)]

use std::{
    alloc::{Layout, alloc, dealloc},
    cell::RefCell,
    collections::{BTreeMap, HashMap},
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
/// Sizes of large blocks are this far apart at most.
const STEP: usize = 64 << 10;
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

/// Free blocks by size; within a size, the oldest first. No list is empty.
#[derive(Debug, Default)]
struct Cache {
    blocks: BTreeMap<usize, Vec<(u64, usize)>>,
    /// Sizes of the blocks by the time they were freed at.
    ages: BTreeMap<u64, usize>,
    /// Sizes of blocks in use that are larger than their class, by address.
    larger: HashMap<usize, usize>,
    bytes: u64,
    clock: u64,
}

impl Cache {
    /// The block that was freed last among those of `size`, or of the next size there is that is up to an eighth larger: fresh pages
    /// cost more than the difference.
    fn take(&mut self, size: usize) -> Option<(usize, usize)> {
        let found = *self.blocks.range(size..=size + size / 8).next()?.0;
        let (stamp, address) = self.remove(found, Vec::pop)?;
        self.ages.remove(&stamp);
        if found > size {
            self.larger.insert(address, found);
        }
        Some((address, found))
    }

    fn keep(&mut self, address: usize, size: usize) {
        self.clock += 1;
        self.bytes += size as u64;
        self.ages.insert(self.clock, size);
        self.blocks.entry(size).or_default().push((self.clock, address));
    }

    /// The oldest blocks, taken out until at most `bytes` remain.
    fn shrunk(&mut self, bytes: u64) -> Vec<(usize, usize)> {
        let mut out = Vec::new();
        while self.bytes > bytes {
            let Some(oldest) = self.oldest() else { break };
            out.push(oldest);
        }
        out
    }

    /// The block that was freed first, and its size.
    fn oldest(&mut self) -> Option<(usize, usize)> {
        let (_, size) = self.ages.pop_first()?;
        let (_, address) = self.remove(size, |list| Some(list.remove(0)))?;
        Some((address, size))
    }

    fn remove(
        &mut self,
        size: usize,
        which: impl FnOnce(&mut Vec<(u64, usize)>) -> Option<(u64, usize)>,
    ) -> Option<(u64, usize)> {
        let list = self.blocks.get_mut(&size)?;
        let removed = which(list)?;
        if list.is_empty() {
            self.blocks.remove(&size);
        }
        self.bytes -= size as u64;
        Some(removed)
    }
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

/// Bytes of the block that serves a request. Above 4 KiB there are four classes per power of two, and one per 64 KiB where that is
/// finer: at most a quarter is unused, and less than 64 KiB.
fn class_bytes(bytes: usize) -> Option<usize> {
    if bytes <= COARSE {
        return Some(bytes.next_power_of_two().max(ALIGN));
    }
    let step = bytes.checked_next_power_of_two()? / 8;
    bytes.checked_next_multiple_of(step.min(STEP))
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
        let reused = if size <= SMALL { take_small(size) } else { self.reuse(size) };
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
        self.admit(size)?;
        let reserved = live + self.cache.lock().bytes;
        self.peak_reserved.fetch_max(reserved, Ordering::Relaxed);
        let address = obtain(size).or_else(|| {
            self.shrink(0);
            obtain(size)
        });
        address.ok_or_else(|| self.full(size))
    }

    /// Whether the system has room for so many bytes, in a block or elsewhere: what is available changes while other programs run, and
    /// whoever touches more than there is gets killed. Cached blocks give way.
    pub fn admit(&self, bytes: usize) -> Result<()> {
        if bytes < WATCHED || bytes as u64 <= available() {
            return Ok(());
        }
        self.shrink(0);
        let left = available();
        if bytes as u64 <= left {
            return Ok(());
        }
        Err(Error::OutOfMemory {
            device: "CPU".into(),
            requested: bytes as u64,
            free: left,
            reserved: self.stats().live,
            largest: left,
        })
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

    fn reuse(&self, size: usize) -> Option<usize> {
        let (address, found) = self.cache.lock().take(size)?;
        // What was cached was within the budget, so the rest of a larger block is.
        let more = (found - size) as u64;
        if more > 0 {
            let live = self.live.fetch_add(more, Ordering::Relaxed) + more;
            self.peak.fetch_max(live, Ordering::Relaxed);
        }
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(address)
    }

    /// Takes a block back.
    #[inline]
    pub fn free(&self, block: Block) {
        if block.bytes == 0 {
            return;
        }
        let Some(class) = class_bytes(block.bytes) else { return };
        let address = block.address.0 as usize;
        if class <= SMALL {
            self.live.fetch_sub(class as u64, Ordering::Relaxed);
            return put_small(address, class);
        }
        let mut cache = self.cache.lock();
        let size = cache.larger.remove(&address).unwrap_or(class);
        self.live.fetch_sub(size as u64, Ordering::Relaxed);
        if size as u64 > self.keep {
            drop(cache);
            return release(address, size);
        }
        let released = cache.shrunk(self.keep - size as u64);
        cache.keep(address, size);
        drop(cache);
        released.into_iter().for_each(|(address, size)| release(address, size));
    }

    /// Releases the oldest cached blocks until at most `bytes` remain.
    fn shrink(&self, bytes: u64) {
        let removed = self.cache.lock().shrunk(bytes);
        removed.into_iter().for_each(|(address, size)| release(address, size));
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
    fn class_sizes_waste_at_most_a_quarter_and_64_kib() {
        let large = [524_289, 2_097_153, 80_000_000, (1 << 30) + 1];
        for bytes in (1..200_000).step_by(97).chain(large) {
            let size = class_bytes(bytes).unwrap();
            assert!(size < bytes + STEP, "{bytes} {size}");
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
    fn a_cached_block_that_is_a_little_larger_serves_too() {
        let pool = Pool::new(1 << 30, 1 << 28);
        let large = pool.allocate(8_800_000).unwrap();
        let address = large.address;
        pool.free(large);
        let held = pool.stats().cached;
        assert_ne!(
            pool.allocate(7_500_000).map(|b| (pool.free(b), b.address).1).unwrap(),
            address,
            "too much larger"
        );
        let small = pool.allocate(8_000_000).unwrap();
        assert_eq!((small.address, small.bytes), (address, 8_000_000));
        assert_eq!(pool.stats().live, held, "all of the block counts while it is in use");
        pool.free(small);
        assert_eq!(pool.stats().live, 0);
        let again = pool.allocate(8_800_000).unwrap();
        assert_eq!(again.address, address, "it is as large as it was");
        pool.free(again);
        pool.trim(0);
        assert_eq!((pool.stats().cached, pool.stats().live), (0, 0));
    }

    #[test]
    fn the_oldest_blocks_give_way_first() {
        let pool = Pool::new(1 << 30, 3 << 20);
        let blocks: Vec<Block> =
            [1 << 20, 3 << 19, 1 << 20].map(|bytes| pool.allocate(bytes).unwrap()).into();
        blocks.iter().for_each(|block| pool.free(*block));
        assert_eq!(pool.stats().cached, 5 << 19, "the first had to go");
        let again = [1 << 20, 3 << 19].map(|bytes| pool.allocate(bytes).unwrap());
        assert_eq!(again.map(|block| block.address), [blocks[2].address, blocks[1].address]);
        again.into_iter().for_each(|block| pool.free(block));
    }

    #[test]
    fn more_than_the_system_has_is_not_admitted() {
        let pool = Pool::new(1 << 20, 0);
        assert!(pool.admit(2 << 20).is_ok(), "the budget is that of blocks");
        assert!(
            matches!(pool.admit(1 << 50), Err(Error::OutOfMemory { requested, .. }) if requested == 1 << 50)
        );
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
