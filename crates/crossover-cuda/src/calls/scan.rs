//! Running sums and products.

use crossover_codegen::element;
use crossover_core::{canonical::RUN, ops::reduce::ReduceOp};
use crossover_plan::kernel::Call;

use super::{
    program::{Cells, Program, Room, Step, blocks},
    views::{Views, is_wide, without},
};

const VIEWS: &str = include_str!("../kernels/views.cuh");
const SCAN: &str = include_str!("../kernels/scan.cu");

/// Runs of a line from which staging them side by side pays.
const STAGED: usize = 32;

/// One level: what is scanned, and how it lies. Level 0 is the operand, level k + 1 the run totals of level k.
struct Level {
    /// Bytes in scratch, from level 1 on.
    at: usize,
    length: usize,
    line_step: usize,
    run_step: usize,
}

/// A scan in the canonical order.
pub(super) fn scan(call: &Call, op: ReduceOp, axis: usize) -> Program {
    let (source, wide) = (&call.operands[0], is_wide(call));
    let dims = source.layout.shape.dims();
    let length = dims[axis];
    let views = Views::new(
        &without(dims, axis),
        [&without(&source.layout.strides, axis), &without(&call.layout.strides, axis)],
    );
    let lines = views.size();
    let strides = [source.layout.strides[axis], call.layout.strides[axis]];
    let rows = strides == [1, 1] && length.div_ceil(RUN) >= STAGED;
    let held = call.dtype.compute().size();
    // A third of the shared memory that every device has.
    let threads = if held > 8 { 32 } else { 512 / held.max(4) };
    let mut text = format!("{}\n{VIEWS}\n", element(call.dtype, Some(op.combine()), wide));
    text.push_str(&format!("constexpr int RANK = {}, THREADS = {threads};\n", views.rank()));
    text.push_str(if rows { "#define ROWS\n\n" } else { "\n" });
    text.push_str(SCAN);

    let mut room = Room::default();
    let mut levels = vec![Level { at: 0, length, line_step: 0, run_step: 0 }];
    while levels[levels.len() - 1].length > RUN {
        let length = levels[levels.len() - 1].length.div_ceil(RUN);
        let (line_step, run_step) = if rows { (length, 1) } else { (1, lines) };
        levels.push(Level { at: room.take(lines * length * held), length, line_step, run_step });
    }
    let start = source.layout.offset * source.dtype.size();
    let first = |totals: bool, runs: usize, entry: &'static str, cells: Cells, steps: [usize; 2]| -> Step {
        let cells =
            cells.views(&views).indices(&[lines as isize, length as isize, runs as isize, strides[0]]);
        let cells = if totals { cells } else { cells.indices(&strides[1..]) };
        let cells = cells.indices(&steps.map(|s| s as isize));
        match rows {
            true => cells.step(entry, lines * runs.div_ceil(threads), threads as u32),
            false => cells.step(entry, blocks(lines * runs, 256, 1), 256),
        }
    };
    let later = |totals: bool, level: &Level, entry: &'static str, cells: Cells, steps: [usize; 2]| -> Step {
        let runs = level.length.div_ceil(RUN);
        let step = level.line_step as isize;
        let cells = cells.group(&[lines as isize, step, step]);
        let cells =
            cells.indices(&[lines as isize, level.length as isize, runs as isize, level.run_step as isize]);
        let cells = if totals { cells } else { cells.indices(&[level.run_step as isize]) };
        cells.indices(&steps.map(|s| s as isize)).step(entry, blocks(lines * runs, 256, 1), 256)
    };
    let mut steps = Vec::new();
    for (k, pair) in levels.windows(2).enumerate() {
        let (below, above) = (&pair[0], &pair[1]);
        let strides = [above.line_step, above.run_step];
        steps.push(if k == 0 {
            let cells = Cells::new(wide).input(0, start).scratch(above.at);
            first(true, above.length, "scan_totals", cells, strides)
        } else {
            later(true, below, "carry_totals", Cells::new(wide).scratch(below.at).scratch(above.at), strides)
        });
    }
    for k in (0..levels.len()).rev() {
        let level = &levels[k];
        // The last level is one run, which needs no carries.
        let (carries, strides) = levels.get(k + 1).map_or((0, [0, 0]), |l| (l.at, [l.line_step, l.run_step]));
        steps.push(if k == 0 {
            let cells = Cells::new(wide).input(0, start).scratch(carries).output();
            first(false, length.div_ceil(RUN), "scan_finish", cells, strides)
        } else {
            let cells = Cells::new(wide).scratch(level.at).scratch(carries).scratch(level.at);
            later(false, level, "carry_finish", cells, strides)
        });
    }
    Program { text, scratch: room.bytes(), steps }
}
