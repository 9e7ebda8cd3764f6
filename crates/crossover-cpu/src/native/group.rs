//! Finding the runs of instructions that become one loop.

use crossover_core::{
    DType,
    lane::Recorder,
    ops::{reduce::ReduceOp, type_of},
};

use super::{Code, Fold, NativeFn, PORTS, Source, Target, assembler::Assembler, select, write};
use crate::program::{Count, Instr, Reg, Stage, What};

/// What is known about registers.
pub struct Context<'a> {
    /// Whether a register is a place of one tile, which nothing outside the list reads.
    pub is_local: &'a dyn Fn(Reg) -> bool,
    /// How many bytes ahead of what is read through a register lines are fetched; 0 for none.
    pub ahead: &'a dyn Fn(Reg) -> usize,
    /// Whether what is written through a register should go past the caches.
    pub streams: &'a dyn Fn(Reg) -> bool,
    /// Elements of a tile that is always one whole row.
    pub row: Option<usize>,
}

/// A run as it grows.
#[derive(Default)]
struct Run {
    /// How many elements its instructions are for: all the same.
    count: Option<Count>,
    recorder: Recorder,
    sources: Vec<Source>,
    /// Input of the recording for each source.
    loaded: Vec<u32>,
    /// The value each register holds, for those the run has written.
    written: Vec<(Reg, u32, usize)>,
    /// Elements of a tile that is one row.
    row: Option<usize>,
    /// The reduction that ends the run.
    fold: Option<Fold>,
}

/// Replaces runs of elementwise instructions in the bodies of stages by loops of machine code. Returns the code, which
/// the instructions point into, or `None` when nothing was replaced.
pub fn replace(stages: &mut [Stage], context: &Context<'_>) -> Option<Code> {
    let mut asm = Assembler::default();
    let mut plans: Vec<Vec<Found>> = Vec::new();
    for stage in stages.iter() {
        let reduced: Vec<Reg> = stage.reductions.iter().map(|r| r.from).collect();
        plans.push(plan(&stage.body, &reduced, context, &mut asm));
    }
    if plans.iter().all(Vec::is_empty) {
        return None;
    }
    let code = Code::new(&asm.finish()?)?;
    for (stage, plan) in stages.iter_mut().zip(plans) {
        for Found { start, end, offset, count } in plan.into_iter().rev() {
            // SAFETY: a whole function of this signature starts there.
            #[allow(unsafe_code)]
            let f = unsafe { std::mem::transmute::<*const u8, NativeFn>(code.at(offset)) };
            stage.body.splice(start..end, [Instr::Native { f, count }]);
        }
    }
    Some(code)
}

/// A run of a list: first instruction, end, where its code starts, and how many elements it is for.
struct Found {
    start: usize,
    end: usize,
    offset: usize,
    count: Count,
}

/// The runs of a list.
fn plan(list: &[Instr], reduced: &[Reg], context: &Context<'_>, asm: &mut Assembler) -> Vec<Found> {
    let mut found = Vec::new();
    let mut start = 0;
    while start < list.len() {
        let fresh = || Run { row: context.row, ..Run::default() };
        let mut run = fresh();
        let mut end = start;
        while end < list.len() && run.push(&list[end]).is_some() {
            end += 1;
        }
        // A result that finds no place ends the run before it; so does one that has no code.
        while end > start {
            match run.finish(&list[end..], reduced, context) {
                Some(targets) if !worth(end - start, &run, &targets) => break,
                Some(targets) => {
                    for source in &mut run.sources {
                        source.ahead = if source.one { 0 } else { (context.ahead)(source.reg) };
                    }
                    if let Some(offset) = write(asm, &run.recorder, &run.sources, &targets, run.fold.as_ref()) {
                        let count = run.count.unwrap_or(Count::Full);
                        found.push(Found { start, end, offset, count });
                        break;
                    }
                }
                None => {}
            }
            end -= 1;
            run = fresh();
            for instruction in &list[start..end] {
                if run.push(instruction).is_none() {
                    break;
                }
            }
        }
        start = end.max(start + 1);
    }
    found
}

/// A single tile function is as good as a loop, unless its result should go past the caches.
fn worth(length: usize, run: &Run, targets: &[Target]) -> bool {
    length > 1 || run.fold.is_some() || targets.iter().any(|t| t.stream)
}

impl Run {
    /// Adds an instruction; `None`, and nothing has changed, where it cannot be part of the run.
    fn push(&mut self, instruction: &Instr) -> Option<()> {
        if self.fold.is_some() {
            return None;
        }
        if let &Instr::Reduce { op, dtype, from, out, .. } = instruction {
            return self.push_reduction(op, dtype, from, out);
        }
        let &Instr::Apply { what, a, b, c, out, count, .. } = instruction else { return None };
        if self.count.is_some_and(|other| other != count) {
            return None;
        }
        let (before, sources) = (self.recorder.nodes().len(), self.sources.len());
        let added = self.record(what, [a, b, c]);
        let fits = |run: &Run| {
            let nodes = &run.recorder.nodes()[before..];
            let mut regs: Vec<Reg> = run.sources.iter().map(|s| s.reg).collect();
            regs.extend(run.written.iter().map(|w| w.0));
            regs.push(out);
            regs.sort_unstable();
            regs.dedup();
            nodes.iter().all(select::supported) && regs.len() <= PORTS
        };
        match added {
            Some(value) if fits(self) => {
                let size = self.recorder.nodes()[value as usize].result().size();
                self.written.retain(|w| w.0 != out);
                self.written.push((out, value, size));
                self.count = Some(count);
                Some(())
            }
            _ => {
                self.recorder.truncate(before);
                self.sources.truncate(sources);
                self.loaded.truncate(sources);
                None
            }
        }
    }

    /// Ends the run with a reduction of whole rows.
    fn push_reduction(&mut self, op: ReduceOp, dtype: DType, from: Reg, out: Reg) -> Option<()> {
        let row = self.row?;
        let ty = type_of(dtype)?;
        if self.count.is_some_and(|count| count != Count::Full) || self.sources.len() + 2 > PORTS {
            return None;
        }
        let (before, sources) = (self.recorder.nodes().len(), self.sources.len());
        let value = self.operand(from, false, ty);
        let accumulator = self.recorder.input(ty);
        self.sources.push(Source { reg: out, one: false, ahead: 0 });
        self.loaded.push(accumulator);
        let combined = self.recorder.map(op.combine(), dtype, &[accumulator, value]);
        match combined {
            Some(value) if self.recorder.nodes()[before..].iter().all(select::supported) => {
                self.fold = Some(Fold { op, dtype, accumulator, value, out, row });
                self.count = Some(Count::Full);
                Some(())
            }
            _ => {
                self.recorder.truncate(before);
                self.sources.truncate(sources);
                self.loaded.truncate(sources);
                None
            }
        }
    }

    fn record(&mut self, what: What, regs: [Reg; 3]) -> Option<u32> {
        match what {
            What::Map { op, dtype, ones } => {
                let mut args = [0; 3];
                for (i, arg) in args.iter_mut().enumerate().take(op.arity()) {
                    *arg = self.operand(regs[i], ones & (1 << i) != 0, type_of(dtype)?);
                }
                self.recorder.map(op, dtype, &args[..op.arity()])
            }
            What::Cast(step) => {
                let crossover_core::ops::cast::Step::Plain(from, _) = step else { return None };
                let arg = self.operand(regs[0], false, type_of(from)?);
                self.recorder.cast(step, arg)
            }
            What::Canonical(dtype) => {
                let arg = self.operand(regs[0], false, type_of(dtype)?);
                self.recorder.canonical(dtype, arg)
            }
            What::Select { dtype, ones } => {
                let ty = type_of(dtype)?;
                let mask = self.operand(regs[0], false, type_of(DType::Bool)?);
                let yes = self.operand(regs[1], ones & 2 != 0, ty);
                let no = self.operand(regs[2], ones & 4 != 0, ty);
                Some(self.recorder.select(mask, yes, no))
            }
            What::Other => None,
        }
    }

    /// The value a register holds now.
    fn operand(&mut self, reg: Reg, one: bool, ty: crossover_core::lane::Type) -> u32 {
        if let Some(&(_, value, _)) = self.written.iter().find(|w| w.0 == reg) {
            return value;
        }
        let same = |s: &Source| s.reg == reg && s.one == one;
        if let Some(at) = self.sources.iter().position(same) {
            return self.loaded[at];
        }
        let input = self.recorder.input(ty);
        self.sources.push(Source { reg, one, ahead: 0 });
        self.loaded.push(input);
        input
    }

    /// What must be written, given what comes after the run. `None` where a result would overwrite an argument of
    /// another width, whose later elements are yet to be read.
    fn finish(&self, after: &[Instr], reduced: &[Reg], context: &Context<'_>) -> Option<Vec<Target>> {
        let mut targets = Vec::new();
        for &(reg, value, size) in &self.written {
            let read = read_later(reg, after, reduced);
            if (context.is_local)(reg) && !read {
                continue;
            }
            for (source, &input) in self.sources.iter().zip(&self.loaded) {
                let width = self.recorder.nodes()[input as usize].ty.size();
                if source.reg == reg && (source.one || width != size) {
                    return None;
                }
            }
            targets.push(Target { value, reg, stream: !read && (context.streams)(reg) });
        }
        Some(targets)
    }
}

/// Whether instructions read a register before they write it.
fn read_later(reg: Reg, after: &[Instr], reduced: &[Reg]) -> bool {
    for instruction in after {
        if instruction.reads().contains(&reg) {
            return true;
        }
        if instruction.writes() == Some(reg) {
            return false;
        }
    }
    reduced.contains(&reg)
}

#[cfg(test)]
#[cfg(all(target_arch = "x86_64", unix))]
mod tests {
    use super::*;
    use crate::{Simd, program::What, tile::Tiles};
    use crossover_core::ops::MapOp;

    /// An op on registers; the tile function is not called.
    fn apply(op: MapOp, dtype: DType, [a, b]: [Reg; 2], out: Reg) -> Instr {
        let what = What::Map { op, dtype, ones: 0 };
        Instr::Apply { f: (Tiles::of(Simd::Scalar).copy)(4), what, a, b, c: a, out, count: Count::Full }
    }

    /// Replaces runs of a list in which registers from 10 on are memory, and says what is left.
    fn replaced(body: Vec<Instr>, streams: bool, row: Option<usize>) -> Option<Vec<Instr>> {
        let mut stages = [Stage { body, ..Stage::default() }];
        let context =
            Context { is_local: &|reg| reg < 10, ahead: &|_| 0, streams: &|reg| streams && reg >= 10, row };
        let code = replace(&mut stages, &context)?;
        let [Stage { body, .. }] = stages;
        // The instructions point into it; here they are only counted.
        drop(code);
        Some(body)
    }

    #[test]
    fn a_run_becomes_one_loop() {
        let body = vec![
            apply(MapOp::Multiply, DType::F32, [10, 11], 0),
            apply(MapOp::Exp, DType::F32, [0, 0], 1),
            apply(MapOp::Add, DType::F32, [1, 10], 12),
        ];
        let body = replaced(body, false, None).expect("code");
        assert!(matches!(body[..], [Instr::Native { count: Count::Full, .. }]), "{body:?}");
    }

    #[test]
    fn a_reduction_of_whole_rows_ends_a_run() {
        let f = (Tiles::of(Simd::Scalar).rows)(ReduceOp::Sum, DType::F32, 768).expect("a function");
        let sum = Instr::Reduce { f, op: ReduceOp::Sum, dtype: DType::F32, from: 0, out: 1, ahead: 0 };
        let body = || {
            let first = apply(MapOp::Square, DType::F32, [10, 10], 0);
            vec![first, sum.clone(), apply(MapOp::Add, DType::F32, [0, 10], 12)]
        };
        let left = |row| replaced(body(), false, row).map(|body| body.len());
        assert_eq!(left(Some(768)), Some(2));
        assert_eq!(left(None), None, "tiles of other shapes keep the tile function");
    }

    #[test]
    fn what_cannot_be_recorded_stays_and_parts_the_run() {
        let run =
            || [apply(MapOp::Add, DType::F32, [10, 11], 0), apply(MapOp::Square, DType::F32, [0, 0], 1)];
        let mut body: Vec<Instr> = run().into();
        body.push(apply(MapOp::Sin, DType::F32, [1, 1], 12));
        body.extend(run().map(|i| match i {
            Instr::Apply { f, what, a, b, c, out: 1, count } => {
                Instr::Apply { f, what, a, b, c, out: 13, count }
            }
            other => other,
        }));
        let body = replaced(body, false, None).expect("code");
        assert!(
            matches!(body[..], [Instr::Native { .. }, Instr::Apply { .. }, Instr::Native { .. }]),
            "{body:?}"
        );
    }

    #[test]
    fn one_instruction_is_worth_a_loop_only_if_its_result_goes_past_the_caches() {
        let body = || vec![apply(MapOp::BitwiseXor, DType::U8, [10, 11], 12)];
        assert!(replaced(body(), false, None).is_none());
        assert!(matches!(replaced(body(), true, None).as_deref(), Some([Instr::Native { .. }])));
    }
}
