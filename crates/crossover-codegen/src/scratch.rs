//! Where the results of chunks and segments wait for the launch that combines them.

use crossover_core::ops::reduce::ReduceOp;
use crossover_plan::kernel::{Fused, StepOp};

use crate::functions::{Uses, join_size};
use crate::source::{Argument, Launch};

/// Alignment of every region, in bytes.
const ALIGN: usize = 256;

/// The regions of one reduction: level 0 has one value per chunk, the last one value per row or column.
#[derive(Debug, Clone)]
pub(crate) struct Ladder {
    /// Values per row or column, and the offset of the region in bytes.
    pub(crate) levels: Vec<(usize, usize)>,
}

/// Scratch memory under construction.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Bytes reserved so far.
    pub(crate) bytes: usize,
    ladders: Vec<(usize, Ladder)>,
}

impl Scratch {
    /// Reserves the regions of every reduction of a kernel whose rows or columns are cut into pieces of `piece`.
    pub(crate) fn new(kernel: &Fused, piece: usize) -> Scratch {
        let mut scratch = Scratch::default();
        let columns = kernel.space.outer_size() * kernel.space.inner_size();
        for (id, step) in kernel.steps.iter().enumerate() {
            let StepOp::Reduce(op) = step.op else { continue };
            let size = join_size(op, kernel.steps[step.args[0] as usize].dtype);
            let mut levels = Vec::new();
            let mut length = kernel.space.reduce_size();
            while length > 1 || levels.is_empty() {
                length = length.div_ceil(piece);
                levels.push((length, scratch.bytes));
                scratch.bytes += (columns * length * size).next_multiple_of(ALIGN);
            }
            scratch.ladders.push((id, Ladder { levels }));
        }
        scratch
    }

    /// The regions of a `Reduce` step.
    fn ladder(&self, id: usize) -> Option<&Ladder> {
        self.ladders.iter().find(|(step, _)| *step == id).map(|(_, ladder)| ladder)
    }

    /// Where the pieces of a `Reduce` step go.
    pub(crate) fn partial(&self, id: usize) -> Argument {
        Argument::Scratch(self.ladder(id).and_then(|l| l.levels.first()).map_or(0, |&(_, at)| at))
    }

    /// Where the values of a `Reduce` step are in the end.
    pub(crate) fn result(&self, id: usize) -> Argument {
        Argument::Scratch(self.ladder(id).and_then(|l| l.levels.last()).map_or(0, |&(_, at)| at))
    }

    /// Pairs of levels that are combined one after another: length before, argument before, argument after.
    pub(crate) fn climbs(&self, id: usize) -> Vec<(usize, usize, Argument, Argument)> {
        let levels = self.ladder(id).map_or(&[][..], |l| &l.levels);
        let pair =
            |w: &[(usize, usize)]| (w[0].0, w[1].0, Argument::Scratch(w[0].1), Argument::Scratch(w[1].1));
        levels.windows(2).map(pair).collect()
    }
}

/// The entry point that combines pieces of one kind of reduction, and its launches for one step.
pub(crate) fn combine(
    kernel: &Fused,
    uses: &mut Uses,
    scratch: &Scratch,
    id: usize,
    by_row: bool,
) -> (String, Vec<Launch>) {
    let step = &kernel.steps[id];
    let StepOp::Reduce(op) = step.op else { return (String::new(), Vec::new()) };
    let dtype = kernel.steps[step.args[0] as usize].dtype;
    let join = uses.join(op, dtype);
    let name = entry_name(op, &join);
    let (outer, inner) = (kernel.space.outer_size(), kernel.space.inner_size());
    let (parameters, arguments, what) = if by_row {
        ("index_t rows, index_t length", "rows, length", "rows")
    } else {
        ("index_t outer, index_t length, index_t inner", "outer, length, inner", "columns")
    };
    let text = format!(
        "// Combines the pieces of {what}; any grid.\nextern \"C\" __global__ void __launch_bounds__(256)\n\
         {name}(const {join}::type* from, {join}::type* to, {parameters})\n{{\n    xo_wait();\n    \
         xo_combine_{what}<{join}>(from, to, {arguments});\n}}\n"
    );
    let launch = |(length, shorter, from, to): (usize, usize, Argument, Argument)| {
        let mut arguments = vec![from, to, Argument::Index(outer as i64), Argument::Index(length as i64)];
        let items = outer * shorter * inner;
        // One warp per chunk of a row, one thread per segment of a column.
        let blocks = if by_row { items.div_ceil(8) } else { items.div_ceil(256) };
        if !by_row {
            arguments.push(Argument::Index(inner as i64));
        }
        let blocks = blocks.min(i32::MAX as usize);
        Launch { entry: name.clone(), threads: 256, blocks, shared: 0, arguments }
    };
    let launches: Vec<Launch> = scratch.climbs(id).into_iter().map(launch).collect();
    (if launches.is_empty() { String::new() } else { text }, launches)
}

fn entry_name(op: ReduceOp, join: &str) -> String {
    debug_assert!(join.contains(op.name()));
    join.replace("xo_join", "xo_combine")
}
