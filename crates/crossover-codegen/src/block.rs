//! Long columns of which one block reduces many side by side: one launch, and nothing in scratch memory.
//!
//! Teams of threads take the segments in turns, each thread one column; what segments gave is combined from shared memory, in their order. It pays where
//! there are enough columns to fill a device with blocks. Kernels that store every element again are not for it.

use crossover_core::canonical::SEGMENT;
use crossover_plan::kernel::{Fused, Step, StepOp};

use crate::{
    column::{column_coordinates, write_walk},
    entry::Entry,
    flat::Flat,
    functions::{Uses, join_size},
    row::{write_constant, write_once},
    source::Source,
    stages::{Pass, Stages},
};

/// Columns side by side: a row of them is read at once.
const COLUMNS: usize = 128;
/// Teams, each of a thread per column.
const TEAMS: usize = 4;
/// Blocks from which a device is busy.
const ENOUGH: usize = 256;
/// Bytes of shared memory that every device has for a block.
const SHARED: usize = 48 << 10;

/// The source, where this form is the one for the kernel.
pub(crate) fn source(
    kernel: &Fused,
    flat: &Flat,
    stages: &Stages,
    passes: &[Pass],
    once: &[usize],
) -> Option<Source> {
    let space = &kernel.space;
    let spans = class(space.reduce_size().div_ceil(SEGMENT))?;
    let groups = space.inner_size().div_ceil(COLUMNS);
    let blocks = space.outer_size() * groups;
    let joined = |step: &Step| match step.op {
        StepOp::Reduce(op) => join_size(op, kernel.steps[step.args[0] as usize].dtype),
        _ => 0,
    };
    let bytes: usize = kernel.steps.iter().map(joined).sum();
    let stores = passes.iter().any(|pass| !pass.stores.is_empty());
    let full = 2 * space.inner_size() >= COLUMNS * groups;
    if stores || !full || blocks < ENOUGH || spans * COLUMNS * bytes > SHARED {
        return None;
    }
    let mut uses = Uses::default();
    let mut entry = Entry::new(kernel, flat, &mut uses);
    let inner = entry.index("inner", space.inner_size());
    let outer = entry.index("outer", space.outer_size());
    let length = entry.index("length", space.reduce_size());
    let (groups, total) =
        (entry.index("groups", groups), entry.index("spans", space.reduce_size().div_ceil(SEGMENT)));
    entry.body.line(format!("const int column = threadIdx.x % {COLUMNS}, team = threadIdx.x / {COLUMNS};"));
    entry.body.open(format!("for (index_t tile = blockIdx.x; tile < {outer} * {groups}; tile += gridDim.x)"));
    entry.body.line(format!("const index_t o = tile / {groups};"));
    entry.body.line(format!("const index_t place = (tile - o * {groups}) * {COLUMNS} + column;"));
    // Threads beside the last column read it too, and store nothing.
    entry.body.line(format!("const index_t i = place < {inner} ? place : {inner} - 1;"));
    let at = column_coordinates(&mut entry);
    for (level, pass) in passes.iter().enumerate() {
        for id in stages.constants(kernel, level) {
            write_constant(&mut entry, id, &at);
        }
        if pass.reductions.is_empty() {
            continue;
        }
        for &id in &pass.reductions {
            entry.join(id);
            let kind = entry.combined_type(id);
            entry.body.line(format!("__shared__ {kind} partial{id}[{spans}][{COLUMNS}];"));
        }
        entry.body.open(format!("for (index_t span = team; span < {total}; span += {TEAMS})"));
        entry.body.line(format!("const index_t begin = span * {SEGMENT};"));
        entry.body.line(format!(
            "const index_t end = begin + {SEGMENT} < {length} ? begin + {SEGMENT} : {length};"
        ));
        write_walk(&mut entry, pass, level, &at, "begin", "end");
        for &id in &pass.reductions {
            entry.body.line(format!("partial{id}[span][column] = r{id};"));
        }
        entry.body.close();
        entry.body.line("__syncthreads();");
        for &id in &pass.reductions {
            let (join, kind) = (entry.join(id), entry.combined_type(id));
            entry.body.line(format!("{kind} c{id} = partial{id}[0][column];"));
            entry.body.open(format!("for (index_t span = 1; span < {total}; ++span)"));
            entry.body.line(format!("c{id} = {join}::join(c{id}, partial{id}[span][column]);"));
            entry.body.close();
            entry.reduced(id, &format!("c{id}"));
        }
    }
    write_once(&mut entry, once, &at, &format!("team == 0 && place < {inner}"));
    // The next columns are written where these are read.
    entry.body.line("__syncthreads();");
    entry.body.close();
    let comment = "// A block for many columns side by side, their segments by teams in turns; any grid.";
    let (text, launch) = entry.finish(comment, "xo_column_block", (TEAMS * COLUMNS) as u32, blocks);
    Some(Source {
        text: uses.assemble(flat.wide, &[text]),
        launches: vec![launch],
        scratch: 0,
        wide: flat.wide,
    })
}

/// Segments that shared memory has room for, as one of a few classes so that few sources serve all lengths. `None` where segments of segments would
/// have to be combined.
fn class(spans: usize) -> Option<usize> {
    [4, 8, 16, 32, 64, SEGMENT].into_iter().find(|&class| class >= spans)
}
