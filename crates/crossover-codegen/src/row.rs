//! Row kernels: reductions along the last axis in the canonical order of rows.
//!
//! Up to [`CHUNK`] elements a warp owns the row; up to [`LONGEST`] a block does, one warp per chunk. Both read
//! the row once and keep it in registers. Longer rows are cut into chunks over several launches, each reading the
//! row again and passing chunk results through scratch memory.
//!
//! Thread t of a warp owns elements 4t to 4t+3 of every group of 128: exactly lanes 4t to 4t+3 of the canonical
//! order, so that quads combine inside a thread.

use crossover_core::canonical::CHUNK;
use crossover_plan::kernel::{Fused, StepOp, Window};

use crate::{
    entry::{Entry, THREADS},
    flat::{Flat, Group},
    functions::Uses,
    pass::{Team, write_pass},
    prelude::Section,
    scratch::{self, Scratch},
    source::Source,
    stages::{self, Stages},
    steps::Point,
};

/// Longest row that one block reduces.
const LONGEST: usize = 32 * CHUNK;
/// Rows per block where a warp owns a row.
const ROWS: usize = 4;
/// Elements of a row that a warp reads at once.
pub(crate) const GROUP: usize = 128;

/// The source of a Row kernel.
pub(crate) fn source(kernel: &Fused, flat: &Flat) -> Source {
    if kernel.space.reduce_size() > LONGEST { long(kernel, flat) } else { short(kernel, flat) }
}

fn short(kernel: &Fused, flat: &Flat) -> Source {
    let length = kernel.space.reduce_size();
    let rows = kernel.space.outer_size();
    let warps = length.div_ceil(CHUNK);
    let stages = Stages::new(kernel);
    let (full, once) = stages::split_stores(kernel, flat);
    let groups = if warps > 1 { CHUNK / GROUP } else { group_class(length) };
    let first = (warps > 1).then_some("first");
    let whole = length == groups * warps * GROUP;
    let team = Team { groups, vector: is_vector(kernel, flat), first, whole };
    let mut passes = stages::passes(kernel, &stages, &full, true);
    if stages::kept_bytes(kernel, &passes) * groups > register_budget(warps) {
        passes = stages::passes(kernel, &stages, &full, false);
    }

    let mut uses = Uses::default();
    uses.section(Section::Row);
    let mut entry = Entry::new(kernel, flat, &mut uses);
    let (total, _) = (entry.index("rows", rows), entry.index("length", length));
    entry.body.line("const int t = threadIdx.x % 32;");
    let threads = if warps > 1 { block_class(warps) * 32 } else { ROWS * 32 };
    if warps > 1 {
        entry.body.line(format!("const index_t first = threadIdx.x / 32 * {CHUNK};"));
        entry.body.line("const int warps = (int)((length + 1023) / 1024);");
        entry.body.open(format!("for (index_t row = blockIdx.x; row < {total}; row += gridDim.x)"));
    } else {
        entry.body.open(format!(
            "for (index_t row = (index_t)blockIdx.x * {ROWS} + threadIdx.x / 32; row < {total}; \
             row += (index_t)gridDim.x * {ROWS})"
        ));
    }
    let outer = entry.coordinates(Group::Outer, 'x', "row");
    team.declare_kept(&mut entry, &passes);
    for (level, pass) in passes.iter().enumerate() {
        for id in stages.constants(kernel, level) {
            write_constant(&mut entry, id, &outer);
        }
        let lanes = write_pass(&mut entry, &team, &passes, level, &outer);
        for (id, lane) in pass.reductions.iter().zip(lanes) {
            let join = entry.join(*id);
            let chunk = format!("xo_warp_reduce<{join}>({lane}, {})", team.present());
            if warps > 1 {
                let kind = entry.combined_type(*id);
                entry.body.line(format!("__shared__ {kind} chunks{id}[32];"));
                entry.body.line(format!("const {kind} c{id} = {chunk};"));
                entry.body.line(format!("if (t == 0) chunks{id}[threadIdx.x / 32] = c{id};"));
            } else {
                entry.reduced(*id, &chunk);
            }
        }
        if warps > 1 && !pass.reductions.is_empty() {
            entry.body.line("__syncthreads();");
            for &id in &pass.reductions {
                let join = entry.join(id);
                entry.reduced(id, &format!("xo_chunks_reduce<{join}>(chunks{id}, warps)"));
            }
        }
    }
    let leader = if warps > 1 { "threadIdx.x == 0" } else { "t == 0" };
    write_once(&mut entry, &once, &outer, leader);
    if warps > 1 {
        entry.body.line("__syncthreads();");
    }
    entry.body.close();
    let blocks = if warps > 1 { rows } else { rows.div_ceil(ROWS) };
    let what = if warps > 1 { "One block per row, one warp per chunk" } else { "One warp per row" };
    let (text, mut launch) = entry.finish(&format!("// {what}; any grid."), "xo_row", threads as u32, blocks);
    launch.threads = if warps > 1 { warps as u32 * 32 } else { threads as u32 };
    Source { text: uses.assemble(flat.wide, &[text]), launches: vec![launch], scratch: 0, wide: flat.wide }
}

/// Several launches: per reduction that others wait for, one pass over the chunks and one to combine them.
fn long(kernel: &Fused, flat: &Flat) -> Source {
    let length = kernel.space.reduce_size();
    let rows = kernel.space.outer_size();
    let chunks = length.div_ceil(CHUNK);
    let stages = Stages::new(kernel);
    let (full, once) = stages::split_stores(kernel, flat);
    let passes = stages::passes(kernel, &stages, &full, false);
    let team = Team {
        groups: CHUNK / GROUP,
        vector: is_vector(kernel, flat),
        first: Some("first"),
        whole: length.is_multiple_of(CHUNK),
    };
    let scratch = Scratch::new(kernel, CHUNK);
    let mut uses = Uses::default();
    uses.section(Section::Row);
    let (mut texts, mut launches) = (Vec::new(), Vec::new());

    for (level, pass) in passes.iter().enumerate() {
        let last = level + 1 == passes.len();
        let every_element = !last || !pass.stores.is_empty();
        if last && full.is_empty() && once.is_empty() {
            continue;
        }
        let mut entry = Entry::new(kernel, flat, &mut uses);
        let (total, n) = (entry.index("rows", rows), entry.index("length", length));
        if every_element {
            entry.body.line("const int t = threadIdx.x % 32;");
            entry.body.line(format!("const index_t chunks = ({n} + {}) / {CHUNK};", CHUNK - 1));
            entry.body.open(format!(
                "for (index_t item = (index_t)blockIdx.x * 8 + threadIdx.x / 32; item < {total} * chunks; \
                 item += (index_t)gridDim.x * 8)"
            ));
            entry.body.line("const index_t row = item / chunks;");
            entry.body.line(format!("const index_t first = item % chunks * {CHUNK};"));
        } else {
            entry.body.open(format!(
                "for (index_t row = (index_t)blockIdx.x * {THREADS} + threadIdx.x; row < {total}; \
                 row += (index_t)gridDim.x * {THREADS})"
            ));
        }
        let outer = entry.coordinates(Group::Outer, 'x', "row");
        write_known(&mut entry, &stages, &scratch, level, &outer, "row");
        if every_element {
            let lanes = write_pass(&mut entry, &team, &passes, level, &outer);
            for (id, lane) in pass.reductions.iter().zip(lanes) {
                let join = entry.join(*id);
                let kind = entry.combined_type(*id);
                let to = entry.parameter(&format!("{kind}*"), format!("partial{id}"), scratch.partial(*id));
                let chunk = format!("xo_warp_reduce<{join}>({lane}, {})", team.present());
                entry.body.line(format!("const {kind} c{id} = {chunk};"));
                entry.body.line(format!("if (t == 0) {to}[item] = c{id};"));
            }
        }
        if last {
            write_once(&mut entry, &once, &outer, if every_element { "first == 0 && t == 0" } else { "" });
        }
        entry.body.close();
        let (name, what) = if last {
            ("xo_row_finish".to_string(), "Stores, from the reduced values")
        } else {
            (format!("xo_row_pass{level}"), "Reduces chunks, one warp each")
        };
        let blocks =
            if every_element { (rows * chunks).div_ceil(8) } else { rows.div_ceil(THREADS as usize) };
        let (text, launch) = entry.finish(&format!("// {what}; any grid."), &name, THREADS, blocks);
        texts.push(text);
        launches.push(launch);
        for &id in &pass.reductions {
            let (text, climbs) = scratch::combine(kernel, &mut uses, &scratch, id, true);
            if !texts.contains(&text) {
                texts.push(text);
            }
            launches.extend(climbs);
        }
    }
    Source { text: uses.assemble(flat.wide, &texts), launches, scratch: scratch.bytes, wide: flat.wide }
}

/// A step that does not vary along the row.
pub(crate) fn write_constant(entry: &mut Entry<'_>, id: usize, at: &[(usize, String)]) {
    let mut element = String::new();
    if let StepOp::Load(load) = entry.kernel.steps[id].op {
        let pointer = entry.load(load as usize);
        let window = entry.flat.loads[load as usize].clone();
        element = format!("{pointer}[{}]", entry.offset(&window, &format!("in{load}"), at));
    }
    entry.step(id, &Point { element: &|_| element.clone(), at, quads: false });
}

/// Every step that does not vary along the row and is known at this level, reductions from scratch memory.
pub(crate) fn write_known(
    entry: &mut Entry<'_>,
    stages: &Stages,
    scratch: &Scratch,
    level: usize,
    at: &[(usize, String)],
    place: &str,
) {
    for id in 0..entry.kernel.steps.len() {
        if !stages.is_known(entry.kernel, id, level) {
            continue;
        }
        if matches!(entry.kernel.steps[id].op, StepOp::Reduce(_)) {
            // The join section brings the type of values with an index.
            entry.join(id);
            let kind = format!("const {}*", entry.combined_type(id));
            let from = entry.parameter(&kind, format!("result{id}"), scratch.result(id));
            entry.reduced(id, &format!("{from}[{place}]"));
        } else {
            write_constant(entry, id, at);
        }
    }
}

/// Stores of values that do not vary along the row, by one thread of it.
pub(crate) fn write_once(entry: &mut Entry<'_>, stores: &[usize], at: &[(usize, String)], leader: &str) {
    if stores.is_empty() {
        return;
    }
    if !leader.is_empty() {
        entry.body.open(format!("if ({leader})"));
    }
    for &store in stores {
        let pointer = entry.store(store);
        let window = entry.flat.stores[store].clone();
        let offset = entry.offset(&window, &format!("out{store}"), at);
        let value = entry.stored(store);
        entry.body.line(format!("{pointer}[{offset}] = {value};"));
    }
    if !leader.is_empty() {
        entry.body.close();
    }
}

/// Whether every operand along the row can be moved in fours at aligned addresses.
fn is_vector(kernel: &Fused, flat: &Flat) -> bool {
    let [axis] = flat.group(Group::Reduce)[..] else { return false };
    let whole = |w: &Window| {
        let others = w.strides.iter().enumerate().filter(|&(a, _)| a != axis);
        w.offset.is_multiple_of(4) && others.into_iter().all(|(_, s)| s.unsigned_abs().is_multiple_of(4))
    };
    kernel.space.reduce_size().is_multiple_of(4)
        && flat.loads.iter().all(|w| w.strides[axis] == 0 || (w.strides[axis] == 1 && whole(w)))
        && flat.stores.iter().all(|w| w.strides[axis] == 0 || (w.strides[axis] == 1 && whole(w)))
}

/// Groups of 128 that a warp holds, rounded up to one of a few classes so that few sources serve all lengths.
fn group_class(length: usize) -> usize {
    let groups = length.div_ceil(GROUP).max(1);
    [1, 2, 3, 4, 6, 8].into_iter().find(|&class| class >= groups).unwrap_or(8)
}

/// Warps per block that the compiler plans registers for.
fn block_class(warps: usize) -> usize {
    [4, 8, 16].into_iter().find(|&class| class >= warps).unwrap_or(32)
}

/// Registers a thread may spend on kept elements: a multiprocessor has 65536, and the code needs about 40.
fn register_budget(warps: usize) -> usize {
    match warps {
        0..=8 => 128,
        9..=16 => 64,
        _ => 32,
    }
}
