//! Map kernels: one point at a time, in accesses of 16 bytes where the layout allows.

use crossover_core::DType;
use crossover_plan::kernel::{Extent, Fused, StepOp, Window};

use crate::{
    entry::{Entry, memory_type},
    flat::Flat,
    functions::Uses,
    prelude::Section,
    source::Source,
    stages,
    steps::Point,
};

/// Loads in flight per thread, in bytes, that keep the memory system busy: 48 KiB per multiprocessor of 2048 threads.
const IN_FLIGHT: usize = 32;

/// Threads per block: small blocks come and go smoothly, so that loads of one hide behind the arithmetic of others.
pub(crate) const THREADS: u32 = 128;

/// Steps up to which a kernel is expected to run with the registers that so many resident blocks leave: 40.
const LIGHT: usize = 4;
const RESIDENT: u32 = 12;

/// How many points a thread takes at once.
struct Shape {
    /// Neighbours along the last axis, moved together.
    vector: usize,
    /// Groups of neighbours per thread and iteration.
    unroll: usize,
    /// Whether no group ends past the last point.
    whole: bool,
}

/// The source of a Map kernel, or of any kernel with nothing to reduce.
pub(crate) fn source(kernel: &Fused, flat: &Flat) -> Source {
    let stores: Vec<usize> = (0..kernel.stores.len()).filter(|&i| exists(kernel, i)).collect();
    let roots: Vec<usize> = stores.iter().map(|&i| kernel.stores[i].step as usize).collect();
    let mut uses = Uses::default();
    let mut entry = Entry::new(kernel, flat, &mut uses);
    let is_uniform = |(load, w): (usize, &Window)| {
        w.strides.iter().all(|&s| s == 0) && !taken(kernel).any(|take| take.from == load)
    };
    let uniform: Vec<bool> = flat.loads.iter().enumerate().map(is_uniform).collect();
    let (steps, fixed) = split(kernel, &roots, &uniform);
    let loads: Vec<usize> = stages::loads(kernel, &steps).into_iter().filter(|&l| !uniform[l]).collect();
    let shape = Shape::choose(kernel, flat, &loads, &stores);
    let block = THREADS as usize * shape.unroll;
    let count = flat.size();

    // Short programs fit few registers, and more threads then hide more of what each waits for.
    let is_light = |id: &usize| kernel.steps[*id].dtype.size() <= 4;
    if steps.len() <= LIGHT && steps.iter().all(is_light) {
        entry.resident = Some(RESIDENT);
    }
    write_fixed(&mut entry, &fixed);
    let total = entry.index("count", count);
    let (v, u) = (shape.vector, shape.unroll);
    let scaled = if v == 1 { "group".to_string() } else { format!("group * {v}") };
    entry.body.open(format!(
        "for (index_t group = (index_t)blockIdx.x * {block} + threadIdx.x; {scaled} < {total}; \
         group += (index_t)gridDim.x * {block})"
    ));
    write_reads(&mut entry, &shape, &loads);
    entry.body.unrolled("u", u);
    let at = open_point(&mut entry, &shape);
    write_points(&mut entry, &shape, &steps, &loads, &stores, &at);
    entry.body.close();
    entry.body.close();
    entry.body.close();

    let comment =
        format!("// {} points, {v} at a time; any grid.", if v == 1 { "Strided" } else { "Contiguous" });
    let groups = count.div_ceil(v);
    let (text, launch) = entry.finish(&comment, "xo_map", THREADS, groups.div_ceil(block));
    Source { text: uses.assemble(flat.wide, &[text]), launches: vec![launch], scratch: 0, wide: flat.wide }
}

/// Whether a store has any points left: with nothing to reduce, stores along the reduced axes have none.
fn exists(kernel: &Fused, store: usize) -> bool {
    let hollow = !kernel.space.reduce.is_empty() && kernel.space.reduce_size() == 0;
    let step = kernel.stores[store].step as usize;
    !hollow || kernel.steps[step].extent != Extent::Full
}

/// Steps that vary from point to point, and those that do not.
fn split(kernel: &Fused, roots: &[usize], uniform: &[bool]) -> (Vec<usize>, Vec<usize>) {
    let mut wanted = vec![false; kernel.steps.len()];
    let mut open = roots.to_vec();
    while let Some(id) = open.pop() {
        // Arguments of a reduction over nothing are never looked at.
        if !std::mem::replace(&mut wanted[id], true) && !matches!(kernel.steps[id].op, StepOp::Reduce(_)) {
            open.extend(kernel.steps[id].args.iter().map(|&a| a as usize));
        }
    }
    let mut fixed = vec![false; kernel.steps.len()];
    for (id, step) in kernel.steps.iter().enumerate() {
        fixed[id] = match step.op {
            StepOp::Load(load) => uniform[load as usize],
            StepOp::Index { .. } | StepOp::Random { .. } | StepOp::Take { .. } => false,
            StepOp::Reduce(_) | StepOp::Scalar(_) => true,
            _ => step.args.iter().all(|&a| fixed[a as usize]),
        };
    }
    (0..kernel.steps.len()).filter(|&id| wanted[id]).partition(|&id| !fixed[id])
}

/// A load whose entries are looked up.
struct Taken {
    /// The load.
    from: usize,
    /// The load that says which entry.
    at: usize,
    /// Elements between entries, and their number.
    stride: usize,
    length: usize,
}

/// The loads of a kernel whose entries are looked up.
fn taken(kernel: &Fused) -> impl Iterator<Item = Taken> + '_ {
    kernel.steps.iter().filter_map(|step| match step.op {
        StepOp::Take { from, at, stride, length } => {
            Some(Taken { from: from as usize, at: at as usize, stride, length })
        }
        _ => None,
    })
}

fn write_fixed(entry: &mut Entry<'_>, fixed: &[usize]) {
    let pointers: Vec<String> = (0..entry.kernel.loads.len()).map(|l| format!("in{l}[0]")).collect();
    for load in stages::loads(entry.kernel, fixed) {
        entry.load(load);
    }
    for &id in fixed {
        entry.step(id, &Point { element: &|load| pointers[load].clone(), at: &[], quads: false });
    }
}

/// Reads all elements of an iteration before any of them is used.
fn write_reads(entry: &mut Entry<'_>, shape: &Shape, loads: &[usize]) {
    if loads.is_empty() {
        return;
    }
    for &load in loads {
        let kind = memory_type(entry.kernel.loads[load].dtype);
        entry.uses.dtype(entry.kernel.loads[load].dtype);
        let kind = if shape.packs(&entry.flat.loads[load]) { shape.pack(kind) } else { kind.to_string() };
        entry.body.line(format!("{kind} m{load}[{}];", shape.unroll));
    }
    // Entries are looked up once it is known for the whole iteration which.
    let (entries, plain): (Vec<usize>, Vec<usize>) =
        loads.iter().copied().partition(|&load| taken(entry.kernel).any(|take| take.from == load));
    for loads in [plain, entries] {
        if loads.is_empty() {
            continue;
        }
        entry.body.unrolled("u", shape.unroll);
        let at = open_point(entry, shape);
        for load in loads {
            write_read(entry, shape, load, &at);
        }
        entry.body.close();
        entry.body.close();
    }
}

/// Reads the elements of one load at a group.
fn write_read(entry: &mut Entry<'_>, shape: &Shape, load: usize, at: &[(usize, String)]) {
    let mut pointer = entry.load(load);
    let window = entry.flat.loads[load].clone();
    let kernel = entry.kernel;
    if let Some(take) = taken(kernel).find(|take| take.from == load) {
        entry.uses.section(Section::Entry);
        let is_fixed = entry.flat.loads[take.at].strides.iter().all(|&s| s == 0);
        let which = if is_fixed { format!("{}[0]", entry.load(take.at)) } else { format!("m{}[u]", take.at) };
        let length = entry.index(format!("in{load}_length"), take.length);
        let stride = entry.index(format!("in{load}_entry"), take.stride);
        pointer = format!("{pointer} + xo_entry({which}, {length}) * {stride}");
    }
    let offset = entry.offset(&window, &format!("in{load}"), at);
    let value = if shape.packs(&window) {
        entry.uses.section(Section::Pack);
        format!("xo_read<{}>({pointer} + {offset}, {})", shape.vector, shape.left(entry.flat))
    } else if pointer.contains(' ') {
        format!("({pointer})[{offset}]")
    } else {
        format!("{pointer}[{offset}]")
    };
    entry.body.line(format!("m{load}[u] = {value};"));
}

/// Opens the scope of group `u` of this iteration and declares its coordinates.
fn open_point(entry: &mut Entry<'_>, shape: &Shape) -> Vec<(usize, String)> {
    let group = if shape.unroll == 1 { "group".to_string() } else { format!("group + u * {THREADS}") };
    let first = match (shape.vector, shape.unroll) {
        (1, _) => group,
        (v, 1) => format!("{group} * {v}"),
        (v, _) => format!("({group}) * {v}"),
    };
    entry.body.line(format!("const index_t i = {first};"));
    entry.body.open("if (i < count)");
    let axes: Vec<usize> = (0..entry.flat.axes.len()).collect();
    entry.split(&axes, 'x', "i")
}

fn write_points(
    entry: &mut Entry<'_>,
    shape: &Shape,
    steps: &[usize],
    loads: &[usize],
    stores: &[usize],
    at: &[(usize, String)],
) {
    let v = shape.vector;
    let packed: Vec<bool> = entry.flat.loads.iter().map(|w| shape.packs(w)).collect();
    let element = |load: usize| match loads.contains(&load) {
        true if packed[load] => format!("m{load}[u].v[k]"),
        true => format!("m{load}[u]"),
        false => format!("in{load}[0]"),
    };
    let braids = braids(entry.kernel, entry.flat, stores);
    if v > 1 {
        for braid in &braids {
            let dtype = entry.kernel.stores[braid[0]].dtype;
            entry.uses.section(Section::Pack);
            entry.uses.dtype(dtype);
            let width = v * braid.len();
            entry.body.line(format!("xo_pack<{}, {width}> w{};", memory_type(dtype), braid[0]));
            if settles(entry, braid, v) {
                entry.body.line(format!("float f{}[{v}];", braid[0]));
            }
        }
        entry.body.unrolled("k", v);
    }
    // Neighbours lie along the last axis.
    let mut here = at.to_vec();
    if let (true, Some(last)) = (v > 1, here.last_mut()) {
        last.1 = format!("{} + k", last.1);
    }
    for &id in steps {
        entry.step(id, &Point { element: &element, at: &here, quads: v.is_multiple_of(4) });
    }
    if v > 1 {
        for braid in &braids {
            if settles(entry, braid, v) {
                let root = stages::store_roots(entry.kernel, braid[0])[0];
                entry.body.line(format!("f{}[k] = s{root};", braid[0]));
                continue;
            }
            for (strand, &store) in braid.iter().enumerate() {
                let value = entry.stored(store);
                let place = if braid.len() == 1 {
                    "k".to_string()
                } else {
                    format!("k * {} + {strand}", braid.len())
                };
                entry.body.line(format!("w{}.v[{place}] = {value};", braid[0]));
            }
        }
        entry.body.close();
        for braid in &braids {
            let (store, strands) = (braid[0], braid.len());
            if settles(entry, braid, v) {
                entry
                    .body
                    .line(format!("xo_settle_{}(w{store}.v, f{store});", entry.kernel.stores[store].dtype));
            }
            let pointer = entry.store(store);
            let window = entry.flat.stores[store].clone();
            let offset = entry.offset(&window, &format!("out{store}"), at);
            let left = match (shape.left(entry.flat), strands) {
                (left, 1) => left,
                (left, _) => format!("({left}) * {strands}"),
            };
            let width = v * strands;
            entry.body.line(format!("xo_write<{width}>({pointer} + {offset}, w{store}, {left});"));
        }
        return;
    }
    for &store in stores {
        let pointer = entry.store(store);
        let window = entry.flat.stores[store].clone();
        let offset = entry.offset(&window, &format!("out{store}"), at);
        let value = entry.stored(store);
        entry.body.line(format!("{pointer}[{offset}] = {value};"));
    }
}

/// Whether computed neighbours are rounded to 16 bits together.
fn settles(entry: &mut Entry<'_>, braid: &[usize], vector: usize) -> bool {
    braid.len() == 1 && vector.is_multiple_of(2) && entry.settles(braid[0])
}

/// Stores that together write every element of a stretch of memory in turn, such as sines and cosines side by side;
/// any other store is alone. In order of the elements.
fn braids(kernel: &Fused, flat: &Flat, stores: &[usize]) -> Vec<Vec<usize>> {
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

impl Shape {
    fn choose(kernel: &Fused, flat: &Flat, loads: &[usize], stores: &[usize]) -> Shape {
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
        Shape { vector, unroll: if loads.is_empty() { 1 } else { unroll }, whole }
    }

    /// Whether a load is moved as a pack; others are the same for all neighbours of a group.
    fn packs(&self, window: &Window) -> bool {
        self.vector > 1 && window.strides.last() == Some(&1)
    }

    fn pack(&self, kind: &str) -> String {
        format!("xo_pack<{kind}, {}>", self.vector)
    }

    /// Elements left at a group: a row of several axes is always whole groups.
    fn left(&self, flat: &Flat) -> String {
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
