//! Column kernels: reductions along axes other than the last, in the canonical order of columns.
//!
//! A thread walks down one segment of one column; neighbouring threads walk neighbouring columns, so accesses
//! coalesce. Columns of one segment take a single launch, and so do many longer ones side by side ([`crate::block`]).
//! Few long ones take, per reduction that others wait for, one launch over the segments and one to combine them, and a
//! last one that stores, which walks in a way of its own ([`crate::finish`]).

use crossover_core::canonical::SEGMENT;
use crossover_plan::kernel::Fused;

use crate::{
    block,
    entry::{Entry, memory_type},
    finish,
    flat::{Flat, Group},
    functions::Uses,
    prelude::Section,
    row::{write_constant, write_known, write_once},
    scratch::{self, Scratch},
    source::{Launch, Source},
    stages::{self, Pass, Stages},
    steps::Point,
};

/// Bytes a thread reads before it uses any of them: a column has few threads, so each keeps many loads in flight.
const AHEAD_BYTES: usize = 64;
/// Threads per block: columns are few, so blocks are small, for there to be enough of them.
pub(crate) const THREADS: u32 = 128;

/// The source of a Column kernel.
pub(crate) fn source(kernel: &Fused, flat: &Flat) -> Source {
    let stages = Stages::new(kernel);
    let (full, once) = stages::split_stores(kernel, flat);
    let passes = stages::passes(kernel, &stages, &full, false);
    if kernel.space.reduce_size() <= SEGMENT {
        return single(kernel, flat, &stages, &passes, &once);
    }
    block::source(kernel, flat, &stages, &passes, &once)
        .unwrap_or_else(|| several(kernel, flat, &stages, &passes, &once))
}

/// One thread per column.
fn single(kernel: &Fused, flat: &Flat, stages: &Stages, passes: &[Pass], once: &[usize]) -> Source {
    let columns = kernel.space.outer_size() * kernel.space.inner_size();
    let mut uses = Uses::default();
    let mut entry = Entry::new(kernel, flat, &mut uses);
    let inner = entry.index("inner", kernel.space.inner_size());
    let outer = entry.index("outer", kernel.space.outer_size());
    let length = entry.index("length", kernel.space.reduce_size());
    open_items(&mut entry, &format!("{outer} * {inner}"));
    entry.divide("item", "inner", kernel.space.inner_size(), "o", "i");
    let at = column_coordinates(&mut entry);
    for (level, pass) in passes.iter().enumerate() {
        for id in stages.constants(kernel, level) {
            write_constant(&mut entry, id, &at);
        }
        write_walk(&mut entry, pass, level, &at, "0", &length);
        for &id in &pass.reductions {
            entry.reduced(id, &format!("r{id}"));
        }
    }
    write_once(&mut entry, once, &at, "");
    entry.body.close();
    let blocks = columns.div_ceil(THREADS as usize);
    let (text, launch) = entry.finish("// One thread per column; any grid.", "xo_column", THREADS, blocks);
    Source { text: uses.assemble(flat.wide, &[text]), launches: vec![launch], scratch: 0, wide: flat.wide }
}

/// One thread per segment, over several launches.
fn several(kernel: &Fused, flat: &Flat, stages: &Stages, passes: &[Pass], once: &[usize]) -> Source {
    let scratch = Scratch::new(kernel, SEGMENT);
    let columns = Columns { kernel, flat, stages, scratch: &scratch };
    let mut uses = Uses::default();
    uses.section(Section::Column);
    let (mut texts, mut launches) = (Vec::new(), Vec::new());
    for (level, pass) in passes.iter().enumerate() {
        let last = level + 1 == passes.len();
        if last && pass.stores.is_empty() && once.is_empty() {
            continue;
        }
        let (text, launch) = if last {
            finish::entry(columns, &mut uses, pass, once)
        } else {
            segments(columns, &mut uses, pass, level)
        };
        texts.push(text);
        launches.push(launch);
        for &id in &pass.reductions {
            let (text, climbs) = scratch::combine(kernel, &mut uses, &scratch, id, false);
            if !texts.contains(&text) {
                texts.push(text);
            }
            launches.extend(climbs);
        }
    }
    Source { text: uses.assemble(flat.wide, &texts), launches, scratch: scratch.bytes, wide: flat.wide }
}

/// A kernel over several launches, as all its entry points see it.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    pub(crate) kernel: &'a Fused,
    pub(crate) flat: &'a Flat,
    pub(crate) stages: &'a Stages,
    pub(crate) scratch: &'a Scratch,
}

/// The entry point that reduces segments of `level`.
fn segments(columns: Columns<'_>, uses: &mut Uses, pass: &Pass, level: usize) -> (String, Launch) {
    let Columns { kernel, flat, stages, scratch } = columns;
    let space = &kernel.space;
    let spans = space.reduce_size().div_ceil(SEGMENT);
    let mut entry = Entry::new(kernel, flat, uses);
    let inner = entry.index("inner", space.inner_size());
    let outer = entry.index("outer", space.outer_size());
    let length = entry.index("length", space.reduce_size());
    let total = entry.index("spans", spans);
    open_items(&mut entry, &format!("{outer} * {total} * {inner}"));
    entry.divide("item", "inner", space.inner_size(), "above", "i");
    entry.divide("above", "spans", spans, "o", "span");
    entry.body.line(format!("const index_t begin = span * {SEGMENT};"));
    entry
        .body
        .line(format!("const index_t end = begin + {SEGMENT} < {length} ? begin + {SEGMENT} : {length};"));
    let at = column_coordinates(&mut entry);
    write_known(&mut entry, stages, scratch, level, &at, "o * inner + i");
    write_walk(&mut entry, pass, level, &at, "begin", "end");
    for &id in &pass.reductions {
        let kind = entry.combined_type(id);
        let to = entry.parameter(&format!("{kind}*"), format!("partial{id}"), scratch.partial(id));
        entry.body.line(format!("{to}[item] = r{id};"));
    }
    entry.body.close();
    let blocks = (space.outer_size() * spans * space.inner_size()).div_ceil(THREADS as usize);
    let name = format!("xo_column_pass{level}");
    entry.finish("// Reduces segments, one thread each; any grid.", &name, THREADS, blocks)
}

pub(crate) fn open_items(entry: &mut Entry<'_>, count: &str) {
    entry.body.open(format!(
        "for (index_t item = (index_t)blockIdx.x * {THREADS} + threadIdx.x; item < {count}; \
         item += (index_t)gridDim.x * {THREADS})"
    ));
}

pub(crate) fn column_coordinates(entry: &mut Entry<'_>) -> Vec<(usize, String)> {
    let mut at = entry.coordinates(Group::Outer, 'x', "o");
    at.extend(entry.coordinates(Group::Inner, 'z', "i"));
    at
}

/// Walks down rows `begin` to `end` of one column, leaving each reduction in `r{id}`.
pub(crate) fn write_walk(
    entry: &mut Entry<'_>,
    pass: &Pass,
    level: usize,
    at: &[(usize, String)],
    begin: &str,
    end: &str,
) {
    if pass.reductions.is_empty() && pass.stores.is_empty() {
        return;
    }
    entry.body.line(format!("// Pass {}.", level + 1));
    for &id in &pass.reductions {
        entry.join(id);
        let kind = entry.combined_type(id);
        entry.body.line(format!("{kind} r{id} = {{}};"));
    }
    let loads = stages::loads(entry.kernel, &pass.steps);
    let bytes: usize = loads.iter().map(|&l| entry.kernel.loads[l].dtype.size()).sum();
    // Rows read before any of them is used; at most what fits registers, and not past what the span holds.
    let ahead = (AHEAD_BYTES / bytes.max(1)).clamp(4, 16);
    entry.body.open(format!("for (index_t b = {begin}; b < {end}; b += {ahead})"));
    for &load in &loads {
        let dtype = entry.kernel.loads[load].dtype;
        entry.uses.dtype(dtype);
        entry.body.line(format!("{} m{load}[{ahead}];", memory_type(dtype)));
    }
    if !loads.is_empty() {
        // Rows past the end are the last one again: a condition around a load lets the compiler move it to its use, and
        // then one waits for the other.
        entry.body.unrolled("u", ahead);
        entry.body.line(format!("const index_t r = b + u < {end} ? b + u : {end} - 1;"));
        let mut here = at.to_vec();
        here.extend(entry.coordinates(Group::Reduce, 'y', "r"));
        for &load in &loads {
            let pointer = entry.load(load);
            let window = entry.flat.loads[load].clone();
            let offset = entry.offset(&window, &format!("in{load}"), &here);
            entry.body.line(format!("m{load}[u] = {pointer}[{offset}];"));
        }
        entry.body.close();
    }
    let here = open_row(entry, ahead, at, end);
    for &id in &pass.steps {
        entry.step(id, &Point { element: &|load| format!("m{load}[u]"), at: &here, quads: false });
    }
    for &id in &pass.reductions {
        let join = entry.join(id);
        let value = entry.combined(id, "r");
        entry.body.line(format!("r{id} = r == {begin} ? {value} : {join}::join(r{id}, {value});"));
    }
    for &store in &pass.stores {
        let pointer = entry.store(store);
        let window = entry.flat.stores[store].clone();
        let offset = entry.offset(&window, &format!("out{store}"), &here);
        let value = entry.stored(store);
        entry.body.line(format!("{pointer}[{offset}] = {value};"));
    }
    entry.body.close();
    entry.body.close();
    entry.body.close();
}

/// Opens the scope of row `u` of the rows being read.
fn open_row(entry: &mut Entry<'_>, ahead: usize, at: &[(usize, String)], end: &str) -> Vec<(usize, String)> {
    entry.body.unrolled("u", ahead);
    entry.body.line("const index_t r = b + u;");
    entry.body.open(format!("if (r < {end})"));
    let mut here = at.to_vec();
    here.extend(entry.coordinates(Group::Reduce, 'y', "r"));
    here
}
