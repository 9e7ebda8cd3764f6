//! How the points of a Map kernel are shared out among threads.

use crossover_core::DType;
use crossover_plan::kernel::{Fused, StepOp, Window};

use crate::flat::Flat;

/// Loads in flight per thread, in bytes, that keep the memory system busy: 48 KiB per multiprocessor of 2048 threads.
const IN_FLIGHT: usize = 32;

/// Bytes of results from which they should not push out of the cache what is looked up: a third of what large devices have.
pub const STREAMED: usize = 16 << 20;

/// Bytes that no multiprocessor keeps by itself.
const FAR: usize = 512 << 10;

/// Numbers of groups that lie apart which a thread may take, and how many blocks then fit beside each other.
const APART: [usize; 3] = [8, 4, 2];
pub(super) const RESIDENT_APART: u32 = 8;

/// How many points a thread takes at once.
pub(super) struct Shape {
    /// Neighbours along the last axis, moved together.
    pub(super) vector: usize,
    /// Groups of neighbours per thread and iteration.
    pub(super) unroll: usize,
    /// Whether no group ends past the last point.
    pub(super) whole: bool,
    /// Whether the groups of an iteration follow one another along the first axis.
    pub(super) apart: bool,
    /// By load: whether it is the same for all groups of an iteration, and read once.
    shared: Vec<bool>,
    /// Whether results are the first to leave the cache.
    pub(super) streams: bool,
}

impl Shape {
    pub(super) fn choose(kernel: &Fused, flat: &Flat, loads: &[usize], stores: &[usize]) -> Shape {
        let dtypes: Vec<DType> = (loads.iter().map(|&l| kernel.loads[l].dtype))
            .chain(stores.iter().map(|&s| kernel.stores[s].dtype))
            .collect();
        let smallest = dtypes.iter().map(|d| d.size()).min().unwrap_or(4);
        let largest = dtypes.iter().map(|d| d.size()).max().unwrap_or(4);
        // At most 64 bytes of one operand per group: wider groups cost registers and gain nothing.
        let vector = (16 / smallest).min(64 / largest).max(1);
        // Neighbours of a braid are stored by one access of 16 bytes: a warp then writes whole stretches of memory.
        let strands = braids(kernel, flat, stores).iter().map(Vec::len).max().unwrap_or(1);
        let vector = if vector / strands > 1 { vector / strands } else { vector };
        let fits = vector > 1 && aligned(kernel, flat, loads, stores, vector);
        let vector = if fits { vector } else { 1 };
        let bytes: usize = loads.iter().map(|&l| kernel.loads[l].dtype.size() * vector).sum();
        // Operands that are read again and again cost little; threads then need more to do.
        let fresh = loads.iter().any(|&l| flat.loads[l].strides.iter().all(|&s| s != 0))
            || taken(kernel).next().is_some();
        let most = if fits && fresh { 2 } else { 4 };
        let unroll = (IN_FLIGHT / bytes.max(1)).clamp(if fresh { 1 } else { most }, most);
        // Which entry is known only after another load: others must be on their way meanwhile.
        let unroll = if taken(kernel).next().is_some() { unroll.max(2) } else { unroll };
        let whole = flat.size().is_multiple_of(vector);
        let unroll = if loads.is_empty() { 1 } else { unroll };
        // Entries are read again where an index repeats; results are not.
        let written: usize = stores.iter().map(|&s| kernel.stores[s].dtype.size() * flat.size()).sum();
        let streams = taken(kernel).next().is_some() && vector > 1 && written >= STREAMED;
        let shape =
            Shape { vector, unroll, whole, apart: false, shared: vec![false; flat.loads.len()], streams };
        shape.taken_apart(kernel, flat)
    }

    /// With groups that follow one another along the first axis, if that spares reading an operand again that is not at
    /// hand. They are written far from one another, which is slower unless results stream.
    fn taken_apart(self, kernel: &Fused, flat: &Flat) -> Shape {
        let Some((first, rest)) = flat.axes.split_first().filter(|(_, rest)| !rest.is_empty()) else {
            return self;
        };
        let Some(groups) = APART.into_iter().find(|&groups| first.length.is_multiple_of(groups)) else {
            return self;
        };
        let points: usize = rest.iter().map(|axis| axis.length).product();
        let shared: Vec<bool> = (flat.loads.iter().enumerate())
            .map(|(load, window)| window.strides[0] == 0 && !taken(kernel).any(|take| take.from == load))
            .collect();
        let is_far = |load: usize| {
            let varies = flat.loads[load].strides[1..].iter().all(|&s| s != 0);
            shared[load] && varies && kernel.loads[load].dtype.size() * points >= FAR
        };
        if !self.streams || !(0..shared.len()).any(is_far) {
            return self;
        }
        Shape { unroll: groups, apart: true, shared, ..self }
    }

    /// Whether a load is the same for all groups of an iteration.
    pub(super) fn shares(&self, load: usize) -> bool {
        self.shared[load]
    }

    /// What a thread has read of a load, for group `u`.
    pub(super) fn held(&self, load: usize) -> String {
        if self.shares(load) { format!("m{load}") } else { format!("m{load}[u]") }
    }

    /// Whether a load is moved as a pack; others are the same for all neighbours of a group.
    pub(super) fn packs(&self, window: &Window) -> bool {
        self.vector > 1 && window.strides.last() == Some(&1)
    }

    pub(super) fn pack(&self, kind: &str) -> String {
        format!("xo_pack<{kind}, {}>", self.vector)
    }

    /// Elements left at a group: a row of several axes is always whole groups.
    pub(super) fn left(&self, flat: &Flat) -> String {
        if self.whole || flat.axes.len() > 1 { self.vector.to_string() } else { "count - i".to_string() }
    }
}

/// Whether every operand can be moved in groups of `vector` neighbours at aligned addresses.
///
/// Blocks of memory are aligned to 64 bytes, so offsets and strides decide alone.
fn aligned(kernel: &Fused, flat: &Flat, loads: &[usize], stores: &[usize], vector: usize) -> bool {
    let Some(last) = flat.axes.len().checked_sub(1) else { return false };
    if last > 0 && !flat.axes[last].length.is_multiple_of(vector) {
        return false;
    }
    // Neighbours belong to one entry, and entries start at aligned addresses.
    let alike = |take: Taken| {
        let unit = (16 / kernel.loads[take.from].dtype.size()).clamp(1, vector);
        flat.loads[take.at].strides[last] == 0 && take.stride.is_multiple_of(unit)
    };
    if !taken(kernel).all(alike) {
        return false;
    }
    let whole = |window: &Window, size: usize, strands: usize| {
        let unit = (16 / size).clamp(1, vector * strands);
        let rest = window.strides[..last].iter().all(|s| s.unsigned_abs().is_multiple_of(unit));
        window.strides[last] == strands as isize && rest && window.offset.is_multiple_of(unit)
    };
    loads
        .iter()
        .all(|&l| flat.loads[l].strides[last] == 0 || whole(&flat.loads[l], kernel.loads[l].dtype.size(), 1))
        && braids(kernel, flat, stores)
            .iter()
            .all(|braid| whole(&flat.stores[braid[0]], kernel.stores[braid[0]].dtype.size(), braid.len()))
}

/// A load whose entries are looked up.
pub(super) struct Taken {
    /// The load.
    pub(super) from: usize,
    /// The load that says which entry.
    pub(super) at: usize,
    /// Elements between entries, and their number.
    pub(super) stride: usize,
    pub(super) length: usize,
}

/// The loads of a kernel whose entries are looked up.
pub(super) fn taken(kernel: &Fused) -> impl Iterator<Item = Taken> + '_ {
    kernel.steps.iter().filter_map(|step| match step.op {
        StepOp::Take { from, at, stride, length } => {
            Some(Taken { from: from as usize, at: at as usize, stride, length })
        }
        _ => None,
    })
}

/// Stores that together write every element of a stretch of memory in turn, such as sines and cosines side by side;
/// any other store is alone. In order of the elements.
pub(super) fn braids(kernel: &Fused, flat: &Flat, stores: &[usize]) -> Vec<Vec<usize>> {
    let mut left = stores.to_vec();
    let mut out = Vec::new();
    while let Some(&head) = left.first() {
        let (store, window) = (&kernel.stores[head], &flat.stores[head]);
        let strands = window.strides.last().copied().unwrap_or(0);
        let alike = |i: usize| {
            let other = &kernel.stores[i];
            let same = other.buffer == store.buffer && other.dtype == store.dtype;
            same && flat.stores[i].strides == window.strides
        };
        let mut braid: Vec<usize> = left.iter().copied().filter(|&i| alike(i)).collect();
        braid.sort_by_key(|&i| flat.stores[i].offset);
        let first = flat.stores[braid[0]].offset;
        let in_turn = braid.iter().enumerate().all(|(strand, &i)| flat.stores[i].offset == first + strand);
        if !(strands == 2 || strands == 4) || braid.len() != strands as usize || !in_turn {
            braid = vec![head];
        }
        left.retain(|i| !braid.contains(i));
        out.push(braid);
    }
    out
}
