//! Staged kernels: reductions over all tiles of a unit, and what is computed between them.

use crossover_core::{canonical::CHUNK, ops::reduce::ReduceOp};
use crossover_plan::kernel::{StepId, StepOp};
use crossover_runtime::{Error, Result};

use super::{Emitter, List, Place, Purpose, missing};
use crate::{
    geometry::Mode,
    lower::{Class, Pass},
    program::{Combine, Instr, Reduction, Reg, Stage},
};

impl Emitter<'_> {
    /// One stage per level.
    pub fn stages(&mut self, passes: &[Pass], kept: Option<usize>) -> Result<Vec<Stage>> {
        let mut stages = Vec::new();
        for (level, pass) in passes.iter().enumerate() {
            let mut setup = self.setup(level)?;
            let mut keep = Vec::new();
            for &s in &pass.keep {
                let size = self.dtype(s as usize).size();
                keep.push((s, self.place(Place::Kept { elements: kept.unwrap_or(0), size })));
            }
            let mut ends: Vec<StepId> = Vec::new();
            for &r in &pass.reductions {
                ends.push(self.root(self.lowering.fused.steps[r as usize].args[0]) as StepId);
            }
            // Values of earlier stages that are recomputed get fresh slots; kept ones stay where they are.
            let steps: Vec<StepId> =
                pass.steps.iter().copied().filter(|&s| self.in_place(s, pass).is_none()).collect();
            let body = self.body(&steps, &ends, &pass.stores, &keep)?;
            let mut list = self.list(Purpose::Body, &[], &[], &[], &[]);
            list.out = body;
            let mut reductions = Vec::new();
            for &r in &pass.reductions {
                reductions.push(self.reduction(r as usize, pass, &mut list)?);
            }
            let body = list.out;
            self.forget(&pass.steps, &keep);
            setup.append(&mut self.late[level]);
            let decides = self.lowering.geometry.mode == Mode::Rows
                && pass.stores.is_empty()
                && pass.keep.is_empty()
                && matches!(reductions.as_slice(), [only] if only.decisive().is_some());
            stages.push(Stage { setup, body, reductions, direct: false, decides });
        }
        // Repetitions of a value may have been asked for after its own stage was finished.
        for (level, late) in self.late.iter_mut().enumerate() {
            stages[level].setup.append(late);
        }
        Ok(stages)
    }

    /// Steps on reduced values that become known at a level, and their stores.
    fn setup(&mut self, level: usize) -> Result<Vec<Instr>> {
        let steps = self.steps_where(|c, l| c == Class::Reduced && l == level);
        let mut list = self.list(Purpose::Setup, &steps, &[], &[], &[]);
        for &s in &steps {
            if !matches!(self.lowering.fused.steps[s as usize].op, StepOp::Reduce(_)) {
                self.step(s as usize, &mut list)?;
            }
        }
        for (i, store) in self.lowering.fused.stores.iter().enumerate() {
            let fact = self.lowering.facts[store.step as usize];
            if self.lowering.stores[i].0 == Class::Reduced && fact.level == level {
                self.store(i, &mut list)?;
            }
        }
        Ok(list.out)
    }

    /// After a stage: what it computed and did not keep is gone.
    fn forget(&mut self, steps: &[StepId], keep: &[(StepId, Reg)]) {
        for &s in steps {
            let s = s as usize;
            if let Some(reg) = self.expanded[s].take() {
                self.release(reg);
            }
            if let Some(reg) = self.value[s].take() {
                self.release(reg);
            }
        }
        for &(s, reg) in keep {
            self.value[s as usize] = Some(reg);
        }
    }

    /// The load that a pitched stage only reduces, and the bytes between its rows: it is read where it lies.
    fn in_place(&self, s: StepId, pass: &Pass) -> Option<(usize, isize)> {
        let fused = self.lowering.fused;
        let StepOp::Load(load) = fused.steps[s as usize].op else { return None };
        let pitch = self.lowering.pitches[load as usize]?;
        let reads =
            |&user: &StepId| fused.steps[user as usize].args.iter().any(|&a| self.root(a) == s as usize);
        let stored = pass.stores.iter().any(|&i| self.root(fused.stores[i].step) == s as usize);
        (!stored && !pass.steps.iter().any(reads)).then_some((load as usize, pitch))
    }

    /// A reduction over all tiles of a unit; its result has a permanent place.
    fn reduction(&mut self, r: usize, pass: &Pass, list: &mut List<'_>) -> Result<Reduction> {
        let tiles = self.lowering.tiles;
        let step = &self.lowering.fused.steps[r];
        let StepOp::Reduce(op) = step.op else {
            return Err(Error::Internal(format!("step {r} is not a reduction")));
        };
        let arg = self.root(step.args[0]);
        let dtype = self.dtype(arg);
        let bytes = self.lowering.geometry.reduced() * step.dtype.size();
        let none = || missing(op, dtype);
        let combine = if op.is_arg() {
            let extreme = if op == ReduceOp::ArgMax { ReduceOp::Max } else { ReduceOp::Min };
            Combine::Arg {
                rows: (tiles.arg_rows)(op, dtype).ok_or_else(none)?,
                value: (tiles.rows)(extreme, dtype, CHUNK).ok_or_else(none)?,
                row: (tiles.arg_columns)(op, dtype, true).ok_or_else(none)?,
                merge: (tiles.arg_columns)(op, dtype, false).ok_or_else(none)?,
            }
        } else {
            Combine::Ordered {
                rows: (tiles.rows)(op, dtype, CHUNK).ok_or_else(none)?,
                columns: (tiles.columns)(op, dtype).ok_or_else(none)?,
            }
        };
        let (from, pitch) = match self.in_place(arg as StepId, pass) {
            Some((load, pitch)) => (self.stream(load, Class::Full, true), Some(pitch)),
            None => (self.vector(arg, Class::Full, list)?, None),
        };
        let out = self.permanent(bytes);
        self.value[r] = Some(out);
        let geometry = &self.lowering.geometry;
        let foldable = geometry.mode == Mode::Rows || (geometry.mode == Mode::Columns && geometry.pitched);
        let partial = (foldable && !op.is_arg()).then(|| self.permanent(dtype.size()));
        Ok(Reduction { op, dtype, combine, from, pitch, out, partial, chunks: None })
    }
}
