//! Functions of one 16-bit number, looked up.
//!
//! There are 65536 arguments. A first launch computes the results of all of them with the steps of the kernel, so bits
//! are the same as without a table; the second keeps them in shared memory. Where a function takes some thirty
//! instructions or more, looking it up leaves a large kernel to the speed of memory.

use crossover_core::ops::cast;
use crossover_plan::kernel::{Fused, Kind, StepOp, Window};

use crate::{
    Limits,
    entry::Entry,
    flat::Flat,
    functions::Uses,
    prelude::Section,
    source::{Argument, Launch, Source},
    steps::Point,
};

/// Bytes of the table: its size in shared memory, too.
const BYTES: usize = 2 << 16;
/// Threads per block: one block fills a multiprocessor.
const THREADS: usize = 1024;
/// Elements a thread takes at once.
const GROUP: usize = 16;
/// Instructions from which looking up pays, in the prices of [`crossover_core::ops::Cost`].
const PRICE: u64 = 16;

/// The source of a kernel that looks its results up, if it is one that gains by it.
pub(crate) fn source(kernel: &Fused, flat: &Flat, limits: Limits) -> Option<Source> {
    if limits.shared < BYTES || flat.size() < limits.table || flat.wide || !fits(kernel, flat) {
        return None;
    }
    let mut uses = Uses::default();
    let (filling, fill) = write_table(kernel, flat, &mut uses);
    uses.section(Section::Pack);
    uses.section(Section::Table);
    let mut entry = Entry::new(kernel, flat, &mut uses);
    let (from, to) = (entry.load(0), entry.store(0));
    let count = entry.index("count", flat.size());
    let table = entry.parameter("const unsigned short*", "table", Argument::Scratch(0));
    let whole = flat.size().is_multiple_of(8);
    entry.body.line(format!("xo_look_up<{whole}>({from}, {to}, {count}, {table});"));
    let blocks = flat.size().div_ceil(THREADS * GROUP);
    let comment = "// Looks results up, a copy of the table per block; any grid.";
    let (text, mut launch) = entry.finish(comment, "xo_map", THREADS as u32, blocks);
    launch.shared = BYTES;
    let text = uses.assemble(flat.wide, &[filling, text]);
    Some(Source { text, launches: vec![fill, launch], scratch: BYTES, wide: flat.wide })
}

/// The entry point that computes every result once.
fn write_table(kernel: &Fused, flat: &Flat, uses: &mut Uses) -> (String, Launch) {
    const THREADS: usize = 256;
    let mut entry = Entry::new(kernel, flat, uses);
    let table = entry.parameter("unsigned short*", "table", Argument::Scratch(0));
    entry.body.open(format!(
        "for (int i = blockIdx.x * {THREADS} + threadIdx.x; i < 65536; i += gridDim.x * {THREADS})"
    ));
    for id in 0..kernel.steps.len() {
        entry.step(id, &Point { element: &|_| "(unsigned short)i".to_string(), at: &[], quads: false });
    }
    let value = entry.stored(0);
    entry.body.line(format!("{table}[i] = {value};"));
    entry.body.close();
    entry.finish(
        "// The result of every argument; any grid.",
        "xo_table",
        THREADS as u32,
        (1 << 16) / THREADS,
    )
}

/// Whether the kernel is a function of one 16-bit load, stored as 16 bits side by side, that is worth a table.
fn fits(kernel: &Fused, flat: &Flat) -> bool {
    let ([load], [store]) = (&kernel.loads[..], &kernel.stores[..]) else { return false };
    let lies_so = |window: &Window| window.strides[..] == [1] && window.offset.is_multiple_of(8);
    let is_local =
        |op: &StepOp| !matches!(op, StepOp::Index { .. } | StepOp::Random { .. } | StepOp::Reduce(_));
    let price = |op: &StepOp| match op {
        StepOp::Map(op) => op.info().cost.flops(),
        StepOp::Cast(cast::Step::Round(_)) => 2,
        _ => 0,
    };
    kernel.kind == Kind::Map
        && load.dtype.is_half()
        && store.dtype.is_half()
        && flat.axes.len() == 1
        && lies_so(&flat.loads[0])
        && lies_so(&flat.stores[0])
        && kernel.steps.iter().all(|s| is_local(&s.op))
        && kernel.steps.iter().map(|s| price(&s.op)).sum::<u64>() >= PRICE
}
