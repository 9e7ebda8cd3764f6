//! Choosing instructions and registers for the steps of a kernel.
//!
//! Values that outlive a tile (uniform ones, and reduced ones of staged kernels) have permanent places. The others
//! live in slots of one tile each, reused after the last instruction that reads them, so that the live set stays
//! in the first-level cache. An instruction's output never shares a slot with its operands.

mod memory;
mod stages;

use crossover_core::{DType, ops::MapOp};
use crossover_plan::kernel::{StepId, StepOp};
use crossover_runtime::{Error, Result};

use crate::{
    lower::{Class, Lowering},
    program::{Count, Instr, Reg, ScalarSlot, Step, What},
    tile::{Form, TileFn},
};

/// Where a register points, before the frame is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Persistent(usize),
    Slot(usize),
    Kept { elements: usize, size: usize },
    Stream { access: u16, step: Step, moves: bool },
}

/// What a list of instructions is for; decides where results go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Prologue,
    Setup,
    Body,
}

/// A list being emitted.
struct List<'p> {
    purpose: Purpose,
    out: Vec<Instr>,
    /// Position of the last reader of each step; `None` when nobody in the list reads it.
    last: Vec<Option<usize>>,
    /// Values to keep for later stages.
    keep: &'p [(StepId, Reg)],
    /// Full stores of this list.
    stores: &'p [usize],
    /// Those among them that are made two at a time.
    pairs: Vec<Pair>,
}

/// Two stores that fill a piece of memory in turn, and the position in the list after which both values are there.
#[derive(Debug, Clone, Copy)]
struct Pair {
    stores: [usize; 2],
    at: usize,
}

/// The state of emission.
pub struct Emitter<'a> {
    pub lowering: Lowering<'a>,
    pub places: Vec<Place>,
    pub scalars: Vec<ScalarSlot>,
    pub prologue: Vec<Instr>,
    /// Bytes of permanent places.
    pub persistent: usize,
    /// Number of slots.
    pub slots: usize,
    pub slot_bytes: usize,
    free: Vec<Reg>,
    /// Register of each step's value.
    value: Vec<Option<Reg>>,
    /// Register of each step's value repeated to a full tile, within a list.
    expanded: Vec<Option<Reg>>,
    /// The same, for good.
    filled: Vec<Option<Reg>>,
    streams: Vec<Option<Reg>>,
    /// Instructions that belong at the end of a stage's setup.
    late: Vec<Vec<Instr>>,
}

fn missing(what: impl std::fmt::Display, dtype: DType) -> Error {
    Error::Unsupported { device: "CPU".into(), what: format!("{what} of {dtype}") }
}

impl<'a> Emitter<'a> {
    pub fn new(lowering: Lowering<'a>) -> Emitter<'a> {
        let fused = lowering.fused;
        let steps = fused.steps.len();
        let widest = fused.steps.iter().map(|s| s.dtype.size());
        let widest = widest.chain(fused.loads.iter().map(|l| l.dtype.size())).max().unwrap_or(1);
        // A few lines between slots keep equal positions of different slots out of each other's cache set.
        let slot_bytes = (lowering.geometry.tile * widest).next_multiple_of(64) + 192;
        let levels = lowering.facts.iter().map(|f| f.level + 1).max().unwrap_or(1);
        let accesses = lowering.accesses.len();
        Emitter {
            lowering,
            places: Vec::new(),
            scalars: Vec::new(),
            prologue: Vec::new(),
            persistent: 0,
            slots: 0,
            slot_bytes,
            free: Vec::new(),
            value: vec![None; steps],
            expanded: vec![None; steps],
            filled: vec![None; steps],
            streams: vec![None; accesses],
            late: vec![Vec::new(); levels],
        }
    }

    fn place(&mut self, place: Place) -> Reg {
        self.places.push(place);
        (self.places.len() - 1) as Reg
    }

    fn permanent(&mut self, bytes: usize) -> Reg {
        let offset = self.persistent.next_multiple_of(if bytes <= 16 { 16 } else { 64 });
        self.persistent = offset + bytes;
        self.place(Place::Persistent(offset))
    }

    fn slot(&mut self) -> Reg {
        if let Some(reg) = self.free.pop() {
            return reg;
        }
        let offset = self.slots * self.slot_bytes;
        self.slots += 1;
        self.place(Place::Slot(offset))
    }

    fn release(&mut self, reg: Reg) {
        if matches!(self.places[reg as usize], Place::Slot(_)) {
            self.free.push(reg);
        }
    }

    fn root(&self, step: StepId) -> usize {
        self.lowering.facts[step as usize].root as usize
    }

    fn class(&self, step: usize) -> Class {
        self.lowering.facts[step].class
    }

    fn dtype(&self, step: usize) -> DType {
        self.lowering.fused.steps[step].dtype
    }

    /// Whether values of a class are one element per tile.
    fn is_one(&self, class: Class) -> bool {
        match class {
            Class::One | Class::Line => true,
            Class::Reduced => self.lowering.geometry.reduced_is_one,
            Class::Full => false,
        }
    }

    fn count(&self, class: Class) -> Count {
        match class {
            Class::Full => Count::Full,
            _ if self.is_one(class) => Count::One,
            _ => Count::Reduced,
        }
    }

    /// The register of a step's value, which has been computed.
    fn value(&self, step: usize) -> Result<Reg> {
        self.value[step].ok_or_else(|| Error::Internal(format!("step {step} is used before it is computed")))
    }

    /// Uniform steps, computed once per thread.
    pub fn prologue(&mut self) -> Result<()> {
        let steps: Vec<StepId> = self.steps_where(|c, _| c == Class::One);
        let mut list = self.list(Purpose::Prologue, &steps, &[], &[], &[]);
        for &s in &steps {
            self.step(s as usize, &mut list)?;
        }
        let mut out = list.out;
        out.append(&mut self.prologue);
        self.prologue = out;
        Ok(())
    }

    /// All steps in one pass.
    pub fn inline(&mut self) -> Result<Vec<Instr>> {
        let steps: Vec<StepId> = self.steps_where(|c, _| c != Class::One);
        let stores: Vec<usize> = (0..self.lowering.fused.stores.len()).collect();
        self.body(&steps, &[], &stores, &[])
    }

    fn steps_where(&self, keep: impl Fn(Class, usize) -> bool) -> Vec<StepId> {
        let facts = self.lowering.facts.iter().enumerate();
        facts
            .filter(|(i, f)| f.root as usize == *i && keep(f.class, f.level))
            .map(|(i, _)| i as StepId)
            .collect()
    }

    /// The pairs among some stores whose values some steps compute.
    fn pairs(&self, steps: &[StepId], stores: &[usize]) -> Vec<Pair> {
        let ready = |i: usize| {
            let step = self.root(self.lowering.fused.stores[i].step) as StepId;
            steps.binary_search(&step).ok().filter(|_| stores.contains(&i))
        };
        let front = |&i: &usize| {
            let behind = self.lowering.behind(i)?;
            Some(Pair { stores: [i, behind], at: ready(i)?.max(ready(behind)?) })
        };
        stores.iter().filter_map(front).collect()
    }

    fn list<'p>(
        &self,
        purpose: Purpose,
        steps: &[StepId],
        ends: &[StepId],
        stores: &'p [usize],
        keep: &'p [(StepId, Reg)],
    ) -> List<'p> {
        let mut last = vec![None; self.value.len()];
        for (at, &s) in steps.iter().enumerate() {
            for &arg in &self.lowering.fused.steps[s as usize].args {
                last[self.root(arg)] = Some(at);
            }
        }
        let pairs = self.pairs(steps, stores);
        for pair in &pairs {
            for i in pair.stores {
                let value = &mut last[self.root(self.lowering.fused.stores[i].step)];
                *value = (*value).max(Some(pair.at));
            }
        }
        for &s in ends {
            last[s as usize] = Some(usize::MAX);
        }
        List { purpose, out: Vec::new(), last, keep, stores, pairs }
    }

    /// Steps of a tile in order, each followed by its stores.
    fn body(
        &mut self,
        steps: &[StepId],
        ends: &[StepId],
        stores: &[usize],
        keep: &[(StepId, Reg)],
    ) -> Result<Vec<Instr>> {
        let mut list = self.list(Purpose::Body, steps, ends, stores, keep);
        let inside = |s: usize| steps.binary_search(&(s as StepId)).is_ok();
        for &i in stores {
            if !inside(self.root(self.lowering.fused.stores[i].step)) {
                self.store(i, &mut list)?;
            }
        }
        for (at, &s) in steps.iter().enumerate() {
            let s = s as usize;
            self.step(s, &mut list)?;
            for &i in stores {
                let single = list.pairs.iter().all(|pair| !pair.stores.contains(&i));
                if single && self.root(self.lowering.fused.stores[i].step) == s {
                    self.store(i, &mut list)?;
                }
            }
            let args = self.lowering.fused.steps[s].args.iter();
            let mut used: Vec<usize> = args.map(|&a| self.root(a)).chain([s]).collect();
            while let Some(next) = list.pairs.iter().position(|pair| pair.at == at) {
                let pair = list.pairs.swap_remove(next);
                self.store_pair(pair.stores, &mut list)?;
                used.extend(pair.stores.map(|i| self.root(self.lowering.fused.stores[i].step)));
            }
            used.sort_unstable();
            used.dedup();
            for dead in used {
                if list.last[dead].is_none_or(|last| last <= at) {
                    self.retire(dead, inside(dead));
                }
            }
        }
        Ok(list.out)
    }

    /// Frees the slots of a value that nothing reads any more.
    fn retire(&mut self, step: usize, own: bool) {
        if let Some(reg) = self.expanded[step].take() {
            self.release(reg);
        }
        if own
            && let Some(reg) = self.value[step]
            && matches!(self.places[reg as usize], Place::Slot(_))
        {
            self.release(reg);
            self.value[step] = None;
        }
    }

    /// A step's value as one element per position of `want`.
    fn vector(&mut self, s: usize, want: Class, list: &mut List<'_>) -> Result<Reg> {
        let (class, size) = (self.class(s), self.dtype(s).size());
        let from = self.value(s)?;
        let geometry = &self.lowering.geometry;
        let (staged, grouped) = (geometry.mode != crate::geometry::Mode::Inline, geometry.grouped);
        if class == want || self.is_one(want) || (class == Class::Reduced && !self.is_one(class) && !grouped)
        {
            return Ok(from);
        }
        if let Some(reg) = self.filled[s].or(self.expanded[s]) {
            return Ok(reg);
        }
        let permanent = class == Class::One || (class == Class::Reduced && staged);
        let out = if permanent { self.permanent(self.slot_bytes) } else { self.slot() };
        let instr = if self.is_one(class) {
            let f = (self.lowering.tiles.fill)(size);
            Instr::Apply { f, what: What::Other, a: from, b: from, c: from, out, count: Count::Full }
        } else if staged {
            Instr::Rows { f: (self.lowering.tiles.repeat_all)(size), size, from, out }
        } else {
            Instr::Rows { f: (self.lowering.tiles.repeat_each)(size), size, from, out }
        };
        if !permanent {
            self.expanded[s] = Some(out);
            list.out.push(instr);
            return Ok(out);
        }
        self.filled[s] = Some(out);
        match class {
            Class::One if list.purpose == Purpose::Prologue => list.out.push(instr),
            Class::One => self.prologue.push(instr),
            _ => {
                let level = self.lowering.facts[s].level;
                self.late[level].push(instr);
            }
        }
        Ok(out)
    }

    /// A step's value as an operand, and whether it is a scalar.
    fn operand(&mut self, s: usize, want: Class, list: &mut List<'_>) -> Result<(Reg, bool)> {
        if !self.is_one(want) && self.is_one(self.class(s)) {
            return Ok((self.value(s)?, true));
        }
        Ok((self.vector(s, want, list)?, false))
    }

    /// Emits one step.
    fn step(&mut self, s: usize, list: &mut List<'_>) -> Result<()> {
        let step = &self.lowering.fused.steps[s];
        let class = self.class(s);
        let count = self.count(class);
        let tiles = self.lowering.tiles;
        let arg = |i: usize| self.root(step.args[i]);
        let reg = match &step.op {
            StepOp::Load(load) => self.load(s, *load as usize, list)?,
            StepOp::Take { .. } => {
                return Err(Error::Internal(format!("step {s} looks an operand up, which lowering refuses")));
            }
            StepOp::Scalar(slot) => {
                let reg = self.permanent(step.dtype.size());
                self.scalars.push(ScalarSlot { slot: *slot, reg, dtype: step.dtype });
                reg
            }
            StepOp::Index { divisor, modulus, .. } => {
                let access = self.position(s)?;
                let out = self.output(s, list);
                let (divisor, modulus) = (*divisor as i64, *modulus as i64);
                list.out.push(Instr::Index { f: tiles.index, access, divisor, modulus, out, count });
                out
            }
            StepOp::Random { key, stream, .. } => {
                let access = self.position(s)?;
                let out = self.output(s, list);
                let (key, stream) = (*key, *stream);
                list.out.push(Instr::Random { f: tiles.random, access, key, stream, out, count });
                out
            }
            StepOp::Map(op) => {
                let args: Vec<usize> = step.args.iter().map(|&a| self.root(a)).collect();
                let (f, what, [a, b, c]) = self.map(*op, &args, class, list)?;
                let out = self.output(s, list);
                list.out.push(Instr::Apply { f, what, a, b, c, out, count });
                out
            }
            StepOp::Cast(conversion) => {
                let f = (tiles.cast)(*conversion).ok_or_else(|| missing("a conversion", step.dtype))?;
                self.simple(s, arg(0), f, What::Cast(*conversion), list)?
            }
            StepOp::Canonical => {
                let f = (tiles.canonical)(step.dtype).ok_or_else(|| missing("canonical NaNs", step.dtype))?;
                self.simple(s, arg(0), f, What::Canonical(step.dtype), list)?
            }
            StepOp::Where => {
                let (mask, yes, no) = (arg(0), arg(1), arg(2));
                let a = self.vector(mask, class, list)?;
                let (b, yes) = self.operand(yes, class, list)?;
                let (c, no) = self.operand(no, class, list)?;
                let f = (tiles.select)(step.dtype.size(), yes, no);
                let what = What::Select { dtype: step.dtype, ones: (yes as u8) << 1 | (no as u8) << 2 };
                let out = self.output(s, list);
                list.out.push(Instr::Apply { f, what, a, b, c, out, count });
                out
            }
            StepOp::Reduce(op) => {
                let (from, dtype) = (arg(0), self.dtype(arg(0)));
                let op = *op;
                let from = self.vector(from, Class::Full, list)?;
                let out = self.output(s, list);
                if op.is_arg() {
                    let f = (tiles.arg_rows)(op, dtype).ok_or_else(|| missing(op, dtype))?;
                    let best = self.slot();
                    list.out.push(Instr::ArgRows { f, from, best, out });
                    self.release(best);
                } else {
                    let f = (tiles.rows)(op, dtype, self.lowering.geometry.columns)
                        .ok_or_else(|| missing(op, dtype))?;
                    list.out.push(Instr::Reduce { f, op, dtype, from, out });
                }
                out
            }
            StepOp::Expand => self.value(self.root(s as StepId))?,
        };
        self.value[s] = Some(reg);
        Ok(())
    }

    fn position(&self, s: usize) -> Result<u16> {
        let found = self.lowering.positions[s].map(|(access, _)| access);
        found.ok_or_else(|| Error::Internal(format!("step {s} has no positions")))
    }

    /// A step of one operand with the operand's class.
    fn simple(&mut self, s: usize, arg: usize, f: TileFn, what: What, list: &mut List<'_>) -> Result<Reg> {
        let count = self.count(self.class(s));
        let a = self.value(arg)?;
        let out = self.output(s, list);
        list.out.push(Instr::Apply { f, what, a, b: a, c: a, out, count });
        Ok(out)
    }

    /// The function and operands of an elementwise op.
    fn map(
        &mut self,
        op: MapOp,
        args: &[usize],
        want: Class,
        list: &mut List<'_>,
    ) -> Result<(TileFn, What, [Reg; 3])> {
        let dtype = self.dtype(args[0]);
        let find = self.lowering.tiles.map;
        if let [a, b] = *args {
            let ((ra, sa), (rb, sb)) = (self.operand(a, want, list)?, self.operand(b, want, list)?);
            let divide_by = self.lowering.tiles.divide_by;
            let right = |op| match op {
                MapOp::Divide => divide_by(dtype, false),
                _ => find(op, dtype, Form::ScalarRight),
            };
            let choice = match (sa, sb) {
                (false, true) => right(op).map(|f| (f, op, 2, ra, rb)),
                (true, false) => {
                    let left = find(op, dtype, Form::ScalarLeft).map(|f| (f, op, 1, ra, rb));
                    left.or_else(|| {
                        let swapped = mirrored(op)?;
                        right(swapped).map(|f| (f, swapped, 2, rb, ra))
                    })
                }
                _ => None,
            };
            if let Some((f, op, ones, a, b)) = choice {
                return Ok((f, What::Map { op, dtype, ones }, [a, b, a]));
            }
        }
        let f = find(op, dtype, Form::Vectors).ok_or_else(|| missing(op, dtype))?;
        let mut regs = [0; 3];
        for (i, &arg) in args.iter().enumerate() {
            regs[i] = self.vector(arg, want, list)?;
        }
        for i in args.len()..3 {
            regs[i] = regs[0];
        }
        Ok((f, What::Map { op, dtype, ones: 0 }, regs))
    }
}

/// The op that gives the same result with its operands swapped.
fn mirrored(op: MapOp) -> Option<MapOp> {
    match op {
        MapOp::Less => Some(MapOp::Greater),
        MapOp::LessEqual => Some(MapOp::GreaterEqual),
        MapOp::Greater => Some(MapOp::Less),
        MapOp::GreaterEqual => Some(MapOp::LessEqual),
        _ => op.info().facts.commutative.then_some(op),
    }
}
