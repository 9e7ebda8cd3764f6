//! Finding the runs of instructions that become one loop.

use crossover_core::{
    DType,
    lane::{Node, Primitive, Recorder, Type},
    ops::type_of,
};

use super::{
    Code, Fold, NativeFn, NativeRowsFn, PORTS, Pitch, Recording, Source, Target, assembler::Assembler, fold,
    write,
};
use crate::program::{Combine, Count, Instr, Reduction, Reg, Rows, Stage, What};

/// What is known about registers.
pub struct Context<'a> {
    /// Whether a register is a place of one tile, which nothing outside the list reads.
    pub is_local: &'a dyn Fn(Reg) -> bool,
    /// How many bytes ahead of what is read through a register lines are fetched; 0 where the processor does so by
    /// itself.
    pub ahead: &'a dyn Fn(Reg) -> i32,
    /// Whether what is written through a register should go past the caches.
    pub streams: &'a dyn Fn(Reg) -> bool,
    /// What the rows of a tile are.
    pub rows: TileRows,
    /// Elements of one of them.
    pub columns: usize,
}

/// What the rows of a tile are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TileRows {
    /// Nothing to loops: they take a tile as one run of elements.
    None,
    /// Whole rows, each reduced by itself.
    Whole,
    /// A tile is one part of a row; what it reduces to is combined with that of others.
    Chunk,
    /// Parts of rows that lie apart in memory.
    Parts,
}

impl TileRows {
    /// Whether loops go from row to row.
    fn are_walked(self) -> bool {
        matches!(self, TileRows::Whole | TileRows::Parts)
    }
}

/// A run as it grows.
struct Run {
    /// How many elements its instructions are for: all the same.
    count: Option<Count>,
    recorder: Recorder,
    sources: Vec<Source>,
    /// Input of the recording for each source.
    loaded: Vec<u32>,
    /// The value each register holds, for those the run has written.
    written: Vec<(Reg, u32, usize)>,
    /// Values that go to rows in memory.
    stored: Vec<(Rows, u32)>,
    /// The reduction that ends the run.
    fold: Option<Fold>,
    /// Whether it ends with rows that are combined into one.
    accumulates: bool,
    /// What the rows of a tile are.
    rows: TileRows,
}

/// Replaces runs of elementwise instructions in the bodies of stages by loops of machine code. Returns the code, which
/// the instructions point into, or `None` when nothing was replaced.
pub fn replace(stages: &mut [Stage], context: &Context<'_>) -> Option<Code> {
    let mut asm = Assembler::default();
    let mut plans: Vec<Vec<Found>> = Vec::new();
    let mut runs = Vec::new();
    for (number, stage) in stages.iter_mut().enumerate() {
        if stage.direct {
            for (i, reduction) in stage.reductions.iter().enumerate() {
                runs.extend(plan_chunks(reduction, context, &mut asm).map(|offset| (number, i, offset)));
            }
        }
        if let (TileRows::Chunk | TileRows::Parts, [reduction]) = (context.rows, &mut stage.reductions[..])
            && let Some(found) = plan_folded(&stage.body, reduction, context, &mut asm)
        {
            plans.push(found);
            continue;
        }
        let reduced: Vec<Reg> = stage.reductions.iter().map(|r| r.from).collect();
        plans.push(plan(&stage.body, &reduced, context, &mut asm));
    }
    if plans.iter().all(Vec::is_empty) && runs.is_empty() {
        return None;
    }
    let code = Code::new(&asm.finish()?)?;
    for (stage, reduction, offset) in runs {
        let at = code.at(offset);
        // SAFETY: a whole function of this signature starts there.
        #[allow(unsafe_code)]
        let f = unsafe { std::mem::transmute::<*const u8, NativeRowsFn>(at) };
        stages[stage].reductions[reduction].chunks = Some(f);
    }
    for (stage, plan) in stages.iter_mut().zip(plans) {
        for Found { start, end, offset, count, rows } in plan.into_iter().rev() {
            let at = code.at(offset);
            // SAFETY: a whole function of this signature starts there.
            #[allow(unsafe_code)]
            let instruction = unsafe {
                match rows {
                    true => Instr::NativeRows { f: std::mem::transmute::<*const u8, NativeRowsFn>(at) },
                    false => Instr::Native { f: std::mem::transmute::<*const u8, NativeFn>(at), count },
                }
            };
            stage.body.splice(start..end, [instruction]);
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
    rows: bool,
}

/// The runs of a list whose last one ends with the reduction of the stage: of a row, it then takes one element per tile; of
/// columns nothing is left of it.
fn plan_folded(
    list: &[Instr],
    reduction: &mut Reduction,
    context: &Context<'_>,
    asm: &mut Assembler,
) -> Option<Vec<Found>> {
    let (Combine::Ordered { rows: f, .. }, Some(out)) = (reduction.combine, reduction.partial) else {
        return None;
    };
    let Reduction { op, dtype, from, pitch, .. } = *reduction;
    // Rows that follow each other are one run through memory; where they lie apart the tile function fetches ahead, and
    // chunks that lie in memory are reduced many at a time.
    let alone = context.rows == TileRows::Parts && pitch == Some((context.columns * dtype.size()) as isize);
    if list.is_empty() && !alone {
        return None;
    }
    let pitch = pitch.map(i32::try_from).transpose().ok()?;
    let mut longer = list.to_vec();
    longer.push(match context.rows {
        TileRows::Parts => Instr::Accumulate { op, dtype, from, pitch, into: out },
        _ => Instr::Reduce { f, op, dtype, from, out },
    });
    let before = asm.lengths();
    let mut found = plan(&longer, &[], context, asm);
    let ends = |f: &&mut Found| f.end == longer.len() && (f.start < list.len() || alone);
    let Some(last) = found.last_mut().filter(ends) else {
        asm.rewind(before);
        return None;
    };
    last.end = list.len();
    reduction.from = out;
    Some(found)
}

/// A loop over chunks that lie in memory one after another, each reduced by itself: where they are is the first pointer of
/// its table, where the results go the second.
fn plan_chunks(reduction: &Reduction, context: &Context<'_>, asm: &mut Assembler) -> Option<usize> {
    let Combine::Ordered { rows: f, .. } = reduction.combine else { return None };
    let Reduction { op, dtype, .. } = *reduction;
    let mut run = Run::new(TileRows::Whole);
    run.push(&Instr::Reduce { f, op, dtype, from: 0, out: 1 })?;
    run.write(&[], context, asm).map(|(offset, _)| offset)
}

/// The runs of a list.
fn plan(list: &[Instr], reduced: &[Reg], context: &Context<'_>, asm: &mut Assembler) -> Vec<Found> {
    let mut found = Vec::new();
    let mut start = 0;
    while start < list.len() {
        let fresh = || Run::new(context.rows);
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
                    if let Some((offset, rows)) = run.write(&targets, context, asm) {
                        let count = run.count.unwrap_or(Count::Full);
                        found.push(Found { start, end, offset, count, rows });
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

/// A single tile function is as good as a loop, unless its result should go past the caches or it has an operation for which
/// only code written here uses the machine's own.
fn worth(length: usize, run: &Run, targets: &[Target]) -> bool {
    let powers = |node: &Node| node.op == Primitive::TimesPower;
    let reduces = run.fold.is_some() || run.accumulates;
    length > 1 || reduces || targets.iter().any(|t| t.stream) || run.recorder.nodes().iter().any(powers)
}

impl Run {
    fn new(rows: TileRows) -> Run {
        Run {
            count: None,
            recorder: Recorder::default(),
            sources: Vec::new(),
            loaded: Vec::new(),
            written: Vec::new(),
            stored: Vec::new(),
            fold: None,
            accumulates: false,
            rows,
        }
    }

    /// Adds an instruction; `None`, and nothing has changed, where it cannot be part of the run.
    fn push(&mut self, instruction: &Instr) -> Option<()> {
        if self.fold.is_some() || self.accumulates {
            return None;
        }
        let count = match *instruction {
            Instr::Apply { count, .. } => count,
            Instr::Reduce { .. } if self.rows == TileRows::Chunk => Count::Full,
            _ if !self.rows.are_walked() => return None,
            Instr::Gather { count, .. } | Instr::Scatter { count, .. } => count,
            Instr::Rows { .. } | Instr::Reduce { .. } | Instr::Accumulate { .. } => Count::Full,
            _ => return None,
        };
        if self.count.is_some_and(|other| other != count) {
            return None;
        }
        let before = (self.recorder.nodes().len(), self.sources.len());
        let added = self.add(instruction);
        let fits = |run: &Run| {
            let nodes = &run.recorder.nodes()[before.0..];
            let mut regs: Vec<Reg> = run.sources.iter().map(|s| s.reg).collect();
            regs.extend(run.written.iter().map(|w| w.0));
            regs.extend(run.stored.iter().map(|(rows, _)| rows.reg));
            regs.extend(instruction.writes());
            regs.sort_unstable();
            regs.dedup();
            super::supports(nodes) && regs.len() <= PORTS
        };
        match added {
            Some(added) if fits(self) => {
                match added {
                    Added::Value(out, value) => {
                        let size = self.recorder.nodes()[value as usize].result().size();
                        self.written.retain(|w| w.0 != out);
                        self.written.push((out, value, size));
                    }
                    Added::Store(rows, value) => self.stored.push((rows, value)),
                    Added::Accumulation(rows, value) => {
                        self.stored.push((rows, value));
                        self.accumulates = true;
                    }
                    Added::Fold(fold) => self.fold = Some(fold),
                }
                self.count = Some(count);
                Some(())
            }
            _ => {
                self.recorder.truncate(before.0);
                self.sources.truncate(before.1);
                self.loaded.truncate(before.1);
                None
            }
        }
    }

    /// Records an instruction.
    fn add(&mut self, instruction: &Instr) -> Option<Added> {
        match *instruction {
            Instr::Apply { what, a, b, c, out, .. } => {
                self.record(what, [a, b, c]).map(|value| Added::Value(out, value))
            }
            Instr::Gather { out, rows: Some(Rows { reg, pitch, size }), .. } => {
                let ty = bits_of(size)?;
                Some(Added::Value(out, self.source(reg, false, Pitch::Bytes(pitch), ty)))
            }
            Instr::Scatter { from, rows: Some(rows), .. } => {
                let value = self.operand(from, false, bits_of(rows.size)?);
                Some(Added::Store(rows, value))
            }
            // One element for each row.
            Instr::Rows { size, from, out, .. } if self.rows == TileRows::Whole => {
                let ty = bits_of(size)?;
                Some(Added::Value(out, self.source(from, true, Pitch::Bytes(size as i32), ty)))
            }
            Instr::Reduce { op, dtype, from, out, .. } => {
                if !matches!(self.rows, TileRows::Whole | TileRows::Chunk) {
                    return None;
                }
                let ty = type_of(dtype)?;
                let value = self.operand(from, false, ty);
                let accumulator = self.source(out, false, Pitch::Bytes(dtype.size() as i32), ty);
                let value = self.recorder.map(op.combine(), dtype, &[accumulator, value])?;
                Some(Added::Fold(Fold { op, dtype, accumulator, value, out }))
            }
            // Every row meets the same one.
            Instr::Accumulate { op, dtype, from, pitch, into } if self.rows == TileRows::Parts => {
                let ty = type_of(dtype).filter(|_| fold::identity(op, dtype).is_some())?;
                let value = match pitch {
                    Some(pitch) => self.source(from, false, Pitch::Bytes(pitch), ty),
                    None => self.operand(from, false, ty),
                };
                let so_far = self.source(into, false, Pitch::Bytes(0), ty);
                let value = self.recorder.map(op.combine(), dtype, &[so_far, value])?;
                Some(Added::Accumulation(Rows { reg: into, pitch: 0, size: ty.size() }, value))
            }
            _ => None,
        }
    }

    /// Writes the run; returns where it starts and whether it is for rows.
    fn write(
        &mut self,
        targets: &[Target],
        context: &Context<'_>,
        asm: &mut Assembler,
    ) -> Option<(usize, bool)> {
        let rows = self.rows.are_walked() && self.count == Some(Count::Full);
        let accumulator = self.fold.as_ref().map(|f| f.out);
        for source in &mut self.sources {
            let near = source.one || Some(source.reg) == accumulator;
            source.ahead = if near { 0 } else { (context.ahead)(source.reg) };
        }
        let recording = Recording {
            recorder: &self.recorder,
            sources: &self.sources,
            targets,
            fold: self.fold.as_ref(),
            rows,
        };
        write(asm, &recording).map(|offset| (offset, rows))
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
    fn operand(&mut self, reg: Reg, one: bool, ty: Type) -> u32 {
        if let Some(&(_, value, _)) = self.written.iter().find(|w| w.0 == reg) {
            return value;
        }
        let pitch = if one { Pitch::Bytes(0) } else { Pitch::Dense(ty.size()) };
        self.source(reg, one, pitch, ty)
    }

    /// The value that is read through a register.
    fn source(&mut self, reg: Reg, one: bool, pitch: Pitch, ty: Type) -> u32 {
        let same = |s: &Source| s.reg == reg && s.one == one && s.pitch == pitch;
        if let Some(at) = self.sources.iter().position(same) {
            return self.loaded[at];
        }
        let input = self.recorder.input(ty);
        self.sources.push(Source { reg, one, pitch, ahead: 0 });
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
            let stream = !read && (context.streams)(reg);
            targets.push(Target { value, reg, pitch: Pitch::Dense(size), stream });
        }
        for &(Rows { reg, pitch, .. }, value) in &self.stored {
            let stream = (context.streams)(reg);
            targets.push(Target { value, reg, pitch: Pitch::Bytes(pitch), stream });
        }
        Some(targets)
    }
}

/// What an instruction adds to a run.
enum Added {
    /// The value of a register.
    Value(Reg, u32),
    /// A value that goes to memory.
    Store(Rows, u32),
    /// A value that takes the place of the row it was combined with.
    Accumulation(Rows, u32),
    Fold(Fold),
}

/// A type for elements of which only the size is known.
fn bits_of(size: usize) -> Option<Type> {
    match size {
        1 => Some(Type::U8),
        2 => Some(Type::U16),
        4 => Some(Type::U32),
        8 => Some(Type::U64),
        _ => None,
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
    use crossover_core::ops::{MapOp, reduce::ReduceOp};

    /// An op on registers; the tile function is not called.
    fn apply(op: MapOp, dtype: DType, [a, b]: [Reg; 2], out: Reg) -> Instr {
        let what = What::Map { op, dtype, ones: 0 };
        Instr::Apply { f: (Tiles::of(Simd::Scalar).copy)(4), what, a, b, c: a, out, count: Count::Full }
    }

    /// Replaces runs of a list in which registers from 10 on are memory, and says what is left.
    fn replaced(body: Vec<Instr>, streams: bool, rows: TileRows) -> Option<Vec<Instr>> {
        let mut stages = [Stage { body, ..Stage::default() }];
        let context = Context {
            is_local: &|reg| reg < 10,
            ahead: &|_| 0,
            streams: &|reg| streams && reg >= 10,
            rows,
            columns: 768,
        };
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
        let body = replaced(body, false, TileRows::None).expect("code");
        assert!(matches!(body[..], [Instr::Native { count: Count::Full, .. }]), "{body:?}");
    }

    #[test]
    fn a_reduction_of_whole_rows_ends_a_run() {
        let f = (Tiles::of(Simd::Scalar).rows)(ReduceOp::Sum, DType::F32, 768).expect("a function");
        let sum = Instr::Reduce { f, op: ReduceOp::Sum, dtype: DType::F32, from: 0, out: 1 };
        let body = || {
            let first = apply(MapOp::Square, DType::F32, [10, 10], 0);
            vec![first, sum.clone(), apply(MapOp::Add, DType::F32, [0, 10], 12)]
        };
        let left = |rows| replaced(body(), false, rows).map(|body| body.len());
        assert_eq!(left(TileRows::Whole), Some(2));
        assert_eq!(left(TileRows::None), None, "tiles of other shapes keep the tile function");
    }

    #[test]
    fn rows_that_follow_each_other_are_added_up_where_they_are_computed() {
        let tiles = Tiles::of(Simd::Scalar);
        let combine = Combine::Ordered {
            rows: (tiles.rows)(ReduceOp::Sum, DType::F32, 768).expect("a function"),
            columns: (tiles.columns)(ReduceOp::Sum, DType::F32).expect("a function"),
        };
        let left = |body: Vec<Instr>, from: Reg, pitch: Option<isize>| {
            let (op, dtype) = (ReduceOp::Sum, DType::F32);
            let sum = Reduction { op, dtype, combine, from, pitch, out: 12, partial: Some(13), chunks: None };
            let mut stages = [Stage { body, reductions: vec![sum], ..Stage::default() }];
            let (is_local, ahead, streams) = (|reg| reg < 10, |_| 0, |_| false);
            let (is_local, ahead, streams) = (&is_local, &ahead, &streams);
            let context = Context { is_local, ahead, streams, rows: TileRows::Parts, columns: 768 };
            drop(replace(&mut stages, &context));
            let [Stage { body, reductions, .. }] = stages;
            (body.len(), reductions[0].is_folded())
        };
        assert_eq!(left(vec![], 10, Some(768 * 4)), (1, true));
        assert_eq!(left(vec![], 10, Some(1000 * 4)), (0, false), "rows that lie apart");
        assert_eq!(left(vec![apply(MapOp::Square, DType::F32, [10, 10], 0)], 0, None), (1, true));
        assert_eq!(left(vec![apply(MapOp::Sin, DType::F32, [10, 10], 0)], 0, None), (1, false));
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
        let body = replaced(body, false, TileRows::None).expect("code");
        assert!(
            matches!(body[..], [Instr::Native { .. }, Instr::Apply { .. }, Instr::Native { .. }]),
            "{body:?}"
        );
    }

    #[test]
    fn one_instruction_is_worth_a_loop_if_its_result_goes_past_the_caches_or_powers_of_two_are_applied() {
        assert!(
            replaced(vec![apply(MapOp::Exp2, DType::F32, [10, 10], 12)], false, TileRows::None).is_some()
        );
        let body = || vec![apply(MapOp::BitwiseXor, DType::U8, [10, 11], 12)];
        assert!(replaced(body(), false, TileRows::None).is_none());
        assert!(matches!(replaced(body(), true, TileRows::None).as_deref(), Some([Instr::Native { .. }])));
    }
}
