//! From a fused kernel to a [`Program`]: classes, levels and stages. Instructions are chosen in [`crate::emit`].
//!
//! A value has a *class*: how much of a tile it fills. Its *level* is the number of reductions it waits for.
//! An inline kernel is one pass in the order of its steps. Otherwise stage p computes, tile by tile, what the
//! reductions of level p + 1 and the full stores of level p need. Values needed by several stages are recomputed
//! when that is about as cheap as a load, else kept for the whole unit where they fit.

use crossover_core::{DType, ops::Cost};
use crossover_plan::kernel::{Extent, Fused, Kind, StepId, StepOp};
use crossover_runtime::{Error, Result};

use crate::{
    backend::Thresholds,
    emit::{Emitter, Place},
    fused::PIECES,
    geometry::{Geometry, LONG, Merged, Mode, cut},
    grouping, join,
    native::{self, Code, Context, TileRows},
    program::{
        Access, Count, FrameLayout, Home, Instr, Moving, Program, Reduction, Reg, Source, Stage, Step,
    },
    tile::Tiles,
    window::Form,
};

/// How much of a tile a value fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The same for the whole kernel.
    One,
    /// One element per tile.
    Line,
    /// Constant along the reduced axes.
    Reduced,
    /// One element per position.
    Full,
}

impl Class {
    /// The class of a value computed from both.
    pub fn join(self, other: Class) -> Class {
        match (self, other) {
            (Class::Line, Class::Reduced) | (Class::Reduced, Class::Line) => Class::Full,
            (a, b) => a.max(b),
        }
    }
}

/// What is known about a step.
#[derive(Debug, Clone, Copy)]
pub struct Fact {
    pub class: Class,
    pub level: usize,
    /// The step that holds the value: itself, or what an `Expand` repeats.
    pub root: StepId,
    /// Nanoseconds per element to compute it from memory, roughly.
    pub cost: f64,
}

/// Recomputing for less than this many nanoseconds per element beats writing to and reading from a kept array.
const CHEAP: f64 = 0.25;
/// Bytes of all kept values of a unit.
const KEPT_BYTES: usize = 512 << 10;
/// Accumulator results per reduction that are not folded on the way.
pub const RESULTS: usize = 4096;

/// The kernel being lowered, with everything derived from it.
pub struct Lowering<'a> {
    pub fused: &'a Fused,
    pub tiles: &'static Tiles,
    pub geometry: Geometry,
    pub accesses: Vec<Access>,
    pub facts: Vec<Fact>,
    /// Class each load has, and whether a tile of it lies side by side.
    pub loads: Vec<(Class, bool)>,
    /// Bytes from row to row of a load or store whose rows lie side by side, where those of a tile lie apart.
    pub pitches: Vec<Option<isize>>,
    /// As `loads`, for stores.
    pub stores: Vec<(Class, bool)>,
    /// The access and class of each index and random step.
    pub positions: Vec<Option<(u16, Class)>>,
    /// Whether units are spread over threads row by row.
    pub split: bool,
}

/// What a kernel is lowered for.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub tiles: &'static Tiles,
    pub threads: usize,
    pub thresholds: Thresholds,
    /// Whether machine code can be made for this processor.
    pub native: bool,
}

/// Lowers a kernel.
pub fn lower(fused: &Fused, options: Options) -> Result<Program> {
    let Options { tiles, threads, .. } = options;
    let reduces = fused.steps.iter().filter(|s| matches!(s.op, StepOp::Reduce(_))).count();
    let merged = Merged::new(fused);
    let bytes = fused.loads.iter().map(|l| l.dtype.size()).sum();
    let full_store = fused.stores.iter().any(|s| fused.steps[s.step as usize].extent == Extent::Full);
    let phases = reduces > 1 || (reduces == 1 && full_store);
    let geometry = cut(fused.kind, &merged, bytes, phases, threads);
    let mut lowering = Lowering {
        fused,
        tiles,
        geometry,
        accesses: Vec::new(),
        facts: Vec::new(),
        loads: Vec::new(),
        pitches: Vec::new(),
        stores: Vec::new(),
        positions: Vec::new(),
        split: false,
    };
    lowering.open(&merged);
    lowering.learn()?;
    let cost = lowering.price();
    let native = options.native && cost >= options.thresholds.native;
    if native && let Some(rows) = grouping::rows(&lowering, &merged, threads) {
        lowering.geometry.group(rows);
        lowering.open(&merged);
        lowering.learn()?;
    }
    let g = &lowering.geometry;
    lowering.split =
        threads > 1 && cost > options.thresholds.parallel && g.mode != Mode::Inline && g.units() < threads;
    lowering.build(cost, native.then_some(options.thresholds.stream), threads * PIECES)
}

impl<'a> Lowering<'a> {
    /// Turns windows into accesses and classifies them.
    fn open(&mut self, merged: &Merged) {
        let fused = self.fused;
        self.accesses.clear();
        self.loads.clear();
        self.pitches.clear();
        self.stores.clear();
        self.positions.clear();
        let (loads, stores) = (fused.loads.len(), fused.stores.len());
        for (i, load) in fused.loads.iter().enumerate() {
            let class = self.window_class(merged, i, None);
            let form = self.access(merged, i, Source::Input(i as u16), load.dtype.size(), class);
            let apart = self.geometry.pitched && class == Class::Full;
            let contiguous = form == Form::Contiguous;
            self.loads.push((class, contiguous && !apart));
            let pitch = self.pitch(i, form, class).filter(|_| !load.dtype.is_half());
            self.pitches.push(pitch);
        }
        for (i, store) in fused.stores.iter().enumerate() {
            let extent = fused.steps[store.step as usize].extent;
            let class = self.window_class(merged, loads + i, Some(extent));
            let form = self.access(merged, loads + i, Source::Output(i as u16), store.dtype.size(), class);
            let single = match class {
                Class::Full => self.geometry.tile == 1,
                _ => self.geometry.reduced() == 1,
            };
            let apart = self.geometry.pitched && class == Class::Full;
            self.stores.push((class, (form == Form::Contiguous && !apart) || single));
            let pitch = self.pitch(loads + i, form, class).filter(|_| !store.dtype.is_half());
            self.pitches.push(pitch);
        }
        let mut next = loads + stores;
        for step in &fused.steps {
            if !matches!(step.op, StepOp::Index { .. } | StepOp::Random { .. }) {
                self.positions.push(None);
                continue;
            }
            let class = self.window_class(merged, next, None);
            self.access(merged, next, Source::Position, 1, class);
            self.positions.push(Some((next as u16, class)));
            next += 1;
        }
    }

    /// Bytes from row to row of an access whose rows lie side by side, where those of a tile lie apart.
    fn pitch(&self, access: usize, form: Form, class: Class) -> Option<isize> {
        let geometry = &self.geometry;
        let Access { line, flat, .. } = &self.accesses[access];
        match geometry.mode {
            _ if class != Class::Full => None,
            Mode::Columns if geometry.pitched && form == Form::Contiguous => line.last().copied(),
            Mode::Inline if geometry.grouped && flat.repeats(geometry.columns) => Some(0),
            _ => None,
        }
    }

    /// The store that goes into the gaps which a store of every second element leaves, each behind one of its own.
    pub fn behind(&self, store: usize) -> Option<usize> {
        let stores = &self.fused.stores;
        let access = |i: usize| &self.accesses[self.fused.loads.len() + i];
        let scattered = |i: usize| self.stores[i] == (Class::Full, false) && !stores[i].dtype.is_half();
        let front = access(store);
        let fits = |&other: &usize| {
            let behind = access(other);
            let size = front.size as isize;
            scattered(other)
                && stores[other].buffer == stores[store].buffer
                && (behind.size, behind.offset) == (front.size, front.offset + size)
                && (&behind.flat, &behind.line) == (&front.flat, &front.line)
        };
        (scattered(store) && front.flat.skips_one()).then(|| (0..stores.len()).find(fits)).flatten()
    }

    /// The class of a window: of what it varies over, or for a store of what its value was declared to vary over.
    fn window_class(&self, merged: &Merged, window: usize, store: Option<Extent>) -> Class {
        let kind = self.fused.kind;
        let strides = &merged.windows[window];
        // Axes of length 1 are gone after merging.
        let varies = |s: &[isize]| s.iter().any(|&s| s != 0);
        let reduced = !varies(&strides.reduce);
        if let Some(extent) = store {
            return match extent {
                _ if kind == Kind::Map => Class::Full,
                Extent::Full => Class::Full,
                Extent::One if !reduced => Class::Full,
                _ => Class::Reduced,
            };
        }
        if reduced && !varies(&strides.outer) && !varies(&strides.inner) {
            return Class::One;
        }
        if kind != Kind::Map && reduced {
            return Class::Reduced;
        }
        let (_, flat) = merged.split(strides, kind, &self.geometry, Extent::Full);
        let line = flat.form() == Form::Uniform && !self.geometry.pitched;
        if line { Class::Line } else { Class::Full }
    }

    fn access(&mut self, merged: &Merged, window: usize, source: Source, size: usize, class: Class) -> Form {
        let strides = &merged.windows[window];
        let extent = if class == Class::Reduced { Extent::Reduced } else { Extent::Full };
        let (mut line, flat) = merged.split(strides, self.fused.kind, &self.geometry, extent);
        line.iter_mut().for_each(|s| *s *= size as isize);
        let form = flat.form();
        self.accesses.push(Access { source, size, offset: strides.offset * size as isize, line, flat });
        form
    }

    /// Classes, levels and costs of all steps.
    fn learn(&mut self) -> Result<()> {
        self.facts.clear();
        for (i, step) in self.fused.steps.iter().enumerate() {
            let mut fact = Fact { class: Class::One, level: 0, root: i as StepId, cost: 0.0 };
            for &arg in &step.args {
                let Some(a) = self.facts.get(arg as usize) else {
                    return Err(Error::Internal(format!("step {i} uses step {arg}, which comes later")));
                };
                fact.class = fact.class.join(a.class);
                fact.level = fact.level.max(a.level);
                fact.cost += a.cost;
            }
            match &step.op {
                StepOp::Load(load) => {
                    let (class, contiguous) = self.loads[*load as usize];
                    fact.class = class;
                    let pitched = self.pitches[*load as usize].is_some();
                    fact.cost = if contiguous || pitched { 0.0 } else { 0.3 };
                }
                StepOp::Take { .. } => {
                    let what = "a kernel that looks its operands up".to_string();
                    return Err(Error::Unsupported { device: "CPU".into(), what });
                }
                StepOp::Scalar(_) => {}
                StepOp::Index { .. } | StepOp::Random { .. } => {
                    fact.class = self.positions[i].map_or(Class::One, |(_, class)| class);
                    fact.cost = if matches!(step.op, StepOp::Random { .. }) { 1.0 } else { 0.2 };
                }
                StepOp::Expand => fact.root = self.facts[step.args[0] as usize].root,
                StepOp::Reduce(_) => {
                    let arg = self.facts[step.args[0] as usize];
                    fact = Fact { class: Class::Reduced, level: arg.level + 1, root: i as StepId, cost: 0.0 };
                }
                StepOp::Map(op) => fact.cost += price_of(op.info().cost, step.dtype),
                _ => fact.cost += price_of(Cost::Simple, step.dtype),
            }
            if fact.class < Class::Full {
                fact.cost = 0.0;
            }
            self.facts.push(fact);
        }
        Ok(())
    }

    /// Estimated nanoseconds of the whole kernel on one thread.
    fn price(&self) -> f64 {
        let steps: f64 = (self.fused.steps.iter().zip(&self.facts))
            .map(|(step, fact)| match &step.op {
                _ if fact.class < Class::Full && !matches!(step.op, StepOp::Reduce(_)) => 0.0,
                StepOp::Map(op) => price_of(op.info().cost, step.dtype),
                StepOp::Random { .. } => 1.0,
                _ => price_of(Cost::Simple, step.dtype),
            })
            .sum();
        let loads = self.fused.loads.iter().zip(&self.loads);
        let read: usize = loads.filter(|(_, l)| l.0 == Class::Full).map(|(l, _)| l.dtype.size()).sum();
        let stores = self.fused.stores.iter().zip(&self.stores);
        let written: usize = stores.filter(|(_, s)| s.0 == Class::Full).map(|(s, _)| s.dtype.size()).sum();
        // About 16 GB/s for one core from the last-level cache and beyond.
        let memory = (read + written) as f64 / 16.0;
        self.fused.space.size() as f64 * (steps + memory)
    }

    /// `stream` is the size from which results go past the caches, where machine code is made; `pieces` how many threads
    /// take at a time.
    fn build(self, cost: f64, stream: Option<usize>, pieces: usize) -> Result<Program> {
        let split = self.split;
        let kept = if split { None } else { self.geometry.kept() };
        let plan = if self.geometry.mode == Mode::Inline { Vec::new() } else { self.plan(kept) };
        let mut emitter = Emitter::new(self);
        emitter.prologue()?;
        let mut stages = if plan.is_empty() {
            vec![Stage { body: emitter.inline()?, ..Stage::default() }]
        } else {
            emitter.stages(&plan, kept)?
        };
        let Emitter { lowering, places, scalars, prologue, persistent, slots, slot_bytes, .. } = emitter;
        let Lowering { mut geometry, accesses, tiles, .. } = lowering;
        for stage in &mut stages {
            let run =
                |r: &Reduction| matches!(places[r.from as usize], Place::Stream { step: Step::Full(_), .. });
            stage.direct =
                geometry.mode == Mode::Rows && stage.body.is_empty() && stage.reductions.iter().all(run);
        }
        let code = stream.and_then(|far| compile(&mut stages, &geometry, &accesses, &places, far));
        if prologue.is_empty() && is_one_loop(&geometry, &stages) {
            geometry.stretch(pieces);
        }
        let is_local = |reg: Reg| matches!(places[reg as usize], Place::Slot(_));
        stages.iter_mut().for_each(|stage| join::stage(stage, tiles, &is_local));
        finish(
            geometry,
            accesses,
            places,
            scalars,
            prologue,
            stages,
            code,
            persistent,
            slots * slot_bytes,
            split,
            cost,
        )
    }

    /// Which steps each stage computes, and which it keeps.
    fn plan(&self, kept: Option<usize>) -> Vec<Pass> {
        let mut passes: Vec<Pass> = Vec::new();
        let pass = |passes: &mut Vec<Pass>, level: usize, root: Option<StepId>| {
            while passes.len() <= level {
                passes.push(Pass::default());
            }
            passes[level].roots.extend(root);
        };
        for (i, step) in self.fused.steps.iter().enumerate() {
            pass(&mut passes, self.facts[i].level, None);
            if matches!(step.op, StepOp::Reduce(_)) {
                let arg = self.facts[step.args[0] as usize];
                pass(&mut passes, arg.level, Some(arg.root));
                passes[arg.level].reductions.push(i as StepId);
            }
        }
        for (i, store) in self.fused.stores.iter().enumerate() {
            let fact = self.facts[store.step as usize];
            if self.stores[i].0 == Class::Full {
                pass(&mut passes, fact.level, Some(fact.root));
                passes[fact.level].stores.push(i);
            }
        }
        let mut budget = KEPT_BYTES;
        let mut home = vec![false; self.fused.steps.len()];
        let mut computed = vec![false; self.fused.steps.len()];
        for pass in &mut passes {
            let mut needed = vec![false; self.fused.steps.len()];
            let mut stack = pass.roots.clone();
            while let Some(s) = stack.pop() {
                let s = self.facts[s as usize].root as usize;
                let fact = self.facts[s];
                if needed[s] || !matches!(fact.class, Class::Full | Class::Line) {
                    continue;
                }
                if computed[s] && !home[s] && fact.cost > CHEAP && fact.class == Class::Full {
                    let bytes = kept.map(|n| n * self.fused.steps[s].dtype.size());
                    if let Some(bytes) = bytes
                        && bytes <= budget
                    {
                        budget -= bytes;
                        home[s] = true;
                    }
                }
                if home[s] {
                    continue;
                }
                needed[s] = true;
                stack.extend(self.fused.steps[s].args.iter().copied());
            }
            for (s, &is) in needed.iter().enumerate() {
                computed[s] |= is;
            }
            pass.steps = (0..needed.len() as StepId).filter(|&s| needed[s as usize]).collect();
        }
        for pass in &mut passes {
            pass.keep = pass.steps.iter().copied().filter(|&s| home[s as usize]).collect();
        }
        // A value is written by the first stage that computes it; later ones read it.
        let mut written = vec![false; self.fused.steps.len()];
        for pass in &mut passes {
            pass.keep.retain(|&s| !std::mem::replace(&mut written[s as usize], true));
        }
        passes
    }
}

/// What one stage does.
#[derive(Debug, Default)]
pub struct Pass {
    roots: Vec<StepId>,
    /// Full and per-line steps it computes, in order.
    pub steps: Vec<StepId>,
    /// Those of them it keeps for later stages.
    pub keep: Vec<StepId>,
    /// Reductions it feeds.
    pub reductions: Vec<StepId>,
    /// Full stores it makes.
    pub stores: Vec<usize>,
}

/// Nanoseconds per element on one core with 256-bit vectors, roughly: what threads and kept values are decided by.
fn price_of(cost: Cost, dtype: DType) -> f64 {
    let size = dtype.size() as f64 / 4.0;
    size * match cost {
        Cost::Simple => 0.05,
        Cost::Divide => 0.2,
        Cost::Function => 0.7,
        Cost::Heavy => 2.5,
    }
}

/// Whether a kernel is one loop of machine code from its operands to its results, with nothing in between.
fn is_one_loop(geometry: &Geometry, stages: &[Stage]) -> bool {
    let [Stage { body, .. }] = stages else { return false };
    let one = matches!(body[..], [Instr::Native { count: Count::Full, .. }]);
    one && geometry.mode == Mode::Inline && !geometry.grouped && geometry.reduce == 1
}

/// Turns runs of elementwise instructions into machine code that writes results of `far` bytes past the caches; whether any are.
fn compile(
    stages: &mut [Stage],
    geometry: &Geometry,
    accesses: &[Access],
    places: &[Place],
    far: usize,
) -> Option<(Code, bool)> {
    let points = geometry.lines().saturating_mul(geometry.flat);
    let streams = |reg: Reg| match places[reg as usize] {
        Place::Stream { access, step: Step::Full(size), .. } => {
            let output = matches!(accesses[access as usize].source, Source::Output(_));
            output && points.saturating_mul(size) >= far
        }
        _ => false,
    };
    let is_local = |reg: Reg| matches!(places[reg as usize], Place::Slot(_));
    // Rows that lie apart: the processor does not see from one where the next will be. What is read from front to
    // back it fetches better by itself.
    let ahead = |reg: Reg| match places[reg as usize] {
        Place::Stream { access, step: Step::Full(size), .. } if geometry.pitched => {
            let Access { source, line, .. } = &accesses[access as usize];
            let far = matches!(source, Source::Input(_)) && points.saturating_mul(size) > NEAR;
            let apart = |&&pitch: &&isize| far && pitch != (geometry.columns * size) as isize;
            let pitch = line.last().filter(apart).copied().unwrap_or(0);
            i32::try_from(pitch.saturating_mul(ROWS_AHEAD)).unwrap_or(0)
        }
        _ => 0,
    };
    let rows = match geometry.mode {
        Mode::Inline if geometry.columns >= LONG => TileRows::Whole,
        Mode::Columns if geometry.pitched => TileRows::Parts,
        Mode::Rows => TileRows::Chunk,
        _ => TileRows::None,
    };
    let any = (0..places.len()).any(|reg| streams(reg as Reg));
    let columns = geometry.columns;
    let context = Context { is_local: &is_local, streams: &streams, ahead: &ahead, rows, columns };
    native::replace(stages, &context).map(|code| (code, any))
}

/// Lays out the frame and fixes where registers point.
#[allow(clippy::too_many_arguments)]
fn finish(
    geometry: Geometry,
    accesses: Vec<Access>,
    places: Vec<Place>,
    scalars: Vec<crate::program::ScalarSlot>,
    prologue: Vec<Instr>,
    stages: Vec<Stage>,
    code: Option<(Code, bool)>,
    persistent: usize,
    slot_bytes: usize,
    split: bool,
    cost: f64,
) -> Result<Program> {
    let round = |n: usize| n.next_multiple_of(64);
    let cursors = places.len() * 8;
    let start = round(cursors + accesses.len() * 8);
    let slots = start + round(persistent);
    let kept_start = slots + round(slot_bytes);
    let mut kept = Vec::new();
    let mut kept_end = kept_start;
    let mut moving = Vec::new();
    let mut regs = Vec::new();
    for (reg, place) in places.iter().enumerate() {
        regs.push(match *place {
            Place::Persistent(offset) => Home::Frame(start + offset),
            Place::Slot(offset) => Home::Frame(slots + offset),
            Place::Kept { elements, size } => {
                let at = kept_end;
                kept_end += round(elements * size);
                kept.push((reg as u16, at, size));
                Home::Kept(at, size)
            }
            Place::Stream { access, step, moves } => {
                if moves {
                    moving.push(Moving { reg: reg as u16, access, step });
                }
                Home::Stream { access, step }
            }
        });
    }
    let frame = FrameLayout {
        cursors,
        persistent: (start, persistent),
        accumulators: kept_end,
        bytes: kept_end + crate::accumulate::bytes(&geometry, &stages),
    };
    if places.len() > u16::MAX as usize {
        return Err(Error::Internal(format!("a kernel needs {} registers", places.len())));
    }
    Ok(Program {
        geometry,
        regs,
        accesses,
        scalars,
        moving,
        kept,
        prologue,
        stages,
        frame,
        split,
        cost,
        streams: code.as_ref().is_some_and(|(_, streams)| *streams),
        code: code.map(|(code, _)| code),
    })
}

/// Rows between what is read and what is fetched, where rows lie apart.
const ROWS_AHEAD: isize = 8;

/// Bytes of an operand that stays in the second-level cache.
const NEAR: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crossover_core::{Graph, reference};
    use crossover_plan::{Options as Planning, Plan, kernel::Kernel};
    use crossover_runtime::{Address, Block, Executable, Launch};

    use super::*;
    use crate::{Simd, fused::FusedKernel, program::Instr, threads::Threads};

    /// Two values of one kernel that fill the last axis of a result in turn.
    const PAIRS: &str = "graph {
        %x = input DTYPE[3, 700]
        %a = square %x
        %b = negative %x
        %c = reshape %a to [3, 700, 1]
        %d = reshape %b to [3, 700, 1]
        %y = concat %c, %d axis 2
        return %y
    }";

    fn options(simd: Simd, native: bool) -> Options {
        let tiles = Tiles::of(simd);
        Options { tiles, threads: 1, thresholds: Thresholds::DEFAULT, native }
    }

    #[test]
    fn two_values_stored_in_turn_are_written_by_one_instruction() {
        for dtype in ["u8", "i16", "f32", "f64", "c128"] {
            let graph = Graph::parse(&PAIRS.replace("DTYPE", dtype)).unwrap();
            let plan = Plan::new(&graph, Planning::default()).unwrap();
            let [launch] = plan.launches.as_slice() else { panic!("{} kernels", plan.launches.len()) };
            let Kernel::Fused(fused) = &launch.kernel else { panic!("a call") };
            let inputs = reference::random_inputs(&graph, 4);
            let want = &reference::evaluate(&graph, &inputs).unwrap()[0];
            for simd in [Simd::Scalar, Simd::detect()] {
                let program = lower(fused, options(simd, false)).unwrap();
                let all = program.stages.iter().flat_map(|stage| &stage.body);
                let (mut pairs, mut scatters) = (0, 0);
                for instr in all {
                    pairs += matches!(instr, Instr::Interleave { .. }) as usize;
                    scatters += matches!(instr, Instr::Scatter { .. }) as usize;
                }
                assert_eq!((pairs, scatters), (1, 0), "{dtype}, {simd:?}");
                for native in [false, simd.makes_code()] {
                    let threads = Arc::new(Threads::own(1).unwrap());
                    let kernel = FusedKernel::new(fused, threads, options(simd, native)).unwrap();
                    let (from, mut to) = (aligned(&inputs[0].bytes), aligned(&vec![0xa5; want.bytes.len()]));
                    let block =
                        |words: &[u128], bytes| Block { address: Address(words.as_ptr() as u64), bytes };
                    let reads: Vec<Block> =
                        launch.kernel.reads().map(|_| block(&from, inputs[0].bytes.len())).collect();
                    let writes: Vec<Block> =
                        launch.kernel.writes().map(|_| block(&to, want.bytes.len())).collect();
                    // Often enough for machine code, where it can be made.
                    for _ in 0..if native { 300 } else { 1 } {
                        to.fill(u128::MAX);
                        kernel.run(&Launch::new(&launch.kernel, &reads, &writes, &[]).unwrap()).unwrap();
                    }
                    let got: Vec<u8> = to.iter_mut().flat_map(|word| word.to_le_bytes()).collect();
                    assert!(got[..want.bytes.len()] == want.bytes, "{dtype}, {simd:?}, native {native}");
                }
            }
        }
    }

    fn aligned(bytes: &[u8]) -> Vec<u128> {
        let word = |part: &[u8]| {
            let mut raw = [0; 16];
            raw[..part.len()].copy_from_slice(part);
            u128::from_le_bytes(raw)
        };
        bytes.chunks(16).map(word).collect()
    }
}
