//! Map kernels: one point at a time, in accesses of 16 bytes where the layout allows.

mod shape;

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
pub use shape::STREAMED;
use shape::{RESIDENT_APART, Shape, braids, taken};

/// Threads per block: small blocks come and go smoothly, so that loads of one hide behind the arithmetic of others.
pub(crate) const THREADS: u32 = 128;

/// Steps up to which a kernel is expected to run with the registers that so many resident blocks leave: 40.
const LIGHT: usize = 4;
const RESIDENT: u32 = 12;

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
    // Groups that lie apart are found by the place of the first.
    let (block, count) = match shape.apart {
        true => (THREADS as usize, flat.size() / shape.unroll),
        false => (THREADS as usize * shape.unroll, flat.size()),
    };

    // Short programs fit few registers, and more threads then hide more of what each waits for.
    let is_light = |id: &usize| kernel.steps[*id].dtype.size() <= 4;
    if steps.len() <= LIGHT && steps.iter().all(is_light) {
        entry.resident = Some(if shape.apart { RESIDENT_APART } else { RESIDENT });
    }
    write_fixed(&mut entry, &fixed);
    let total = entry.index("count", count);
    let v = shape.vector;
    let scaled = if v == 1 { "group".to_string() } else { format!("group * {v}") };
    entry.body.open(format!(
        "for (index_t group = (index_t)blockIdx.x * {block} + threadIdx.x; {scaled} < {total}; \
         group += (index_t)gridDim.x * {block})"
    ));
    if shape.apart {
        entry.body.line(format!("const index_t i = {scaled};"));
        let axes: Vec<usize> = (0..flat.axes.len()).collect();
        entry.split(&axes, 'x', "i");
    }
    write_reads(&mut entry, &shape, &loads);
    let at = open_point(&mut entry, &shape);
    write_points(&mut entry, &shape, &steps, &loads, &stores, &at);
    close_point(&mut entry, &shape);
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
        let many = if shape.shares(load) { String::new() } else { format!("[{}]", shape.unroll) };
        entry.body.line(format!("{kind} m{load}{many};"));
    }
    let (shared, own): (Vec<usize>, Vec<usize>) = loads.iter().copied().partition(|&load| shape.shares(load));
    let at: Vec<(usize, String)> =
        (0..entry.flat.axes.len()).map(|axis| (axis, format!("x{axis}"))).collect();
    for load in shared {
        write_read(entry, shape, load, &at);
    }
    // Entries are looked up once it is known for the whole iteration which.
    let (entries, plain): (Vec<usize>, Vec<usize>) =
        own.into_iter().partition(|&load| taken(entry.kernel).any(|take| take.from == load));
    for loads in [plain, entries] {
        if loads.is_empty() {
            continue;
        }
        let at = open_point(entry, shape);
        for load in loads {
            write_read(entry, shape, load, &at);
        }
        close_point(entry, shape);
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
        let which = if is_fixed { format!("{}[0]", entry.load(take.at)) } else { shape.held(take.at) };
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
    entry.body.line(format!("{} = {value};", shape.held(load)));
}

/// Opens the loop over the groups of this iteration and declares the coordinates of group `u`.
fn open_point(entry: &mut Entry<'_>, shape: &Shape) -> Vec<(usize, String)> {
    entry.body.unrolled("u", shape.unroll);
    if shape.apart {
        entry.body.line(format!("const index_t y0 = x0 * {} + u;", shape.unroll));
        return (0..entry.flat.axes.len())
            .map(|axis| (axis, if axis == 0 { "y0".to_string() } else { format!("x{axis}") }))
            .collect();
    }
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

fn close_point(entry: &mut Entry<'_>, shape: &Shape) {
    if !shape.apart {
        entry.body.close();
    }
    entry.body.close();
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
        true if packed[load] => format!("{}.v[k]", shape.held(load)),
        true => shape.held(load),
        false => format!("in{load}[0]"),
    };
    let braids = braids(entry.kernel, entry.flat, stores);
    if v > 1 {
        for braid in &braids {
            let dtype = entry.kernel.stores[braid[0]].dtype;
            entry.uses.section(Section::Pack);
            if shape.streams {
                entry.uses.section(Section::Stream);
            }
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
            let write = if shape.streams { "xo_stream" } else { "xo_write" };
            entry.body.line(format!("{write}<{width}>({pointer} + {offset}, w{store}, {left});"));
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
