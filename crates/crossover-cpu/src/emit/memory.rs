//! Loads, stores, and where results go.

use crossover_runtime::Result;

use super::{Emitter, List, Place, Purpose, missing};
use crate::{
    lower::Class,
    program::{Instr, Reg, Rows, Step, What},
};

impl Emitter<'_> {
    /// The register that follows an access.
    pub(super) fn stream(&mut self, access: usize, class: Class, contiguous: bool) -> Reg {
        if let Some(reg) = self.streams[access] {
            return reg;
        }
        let size = self.lowering.accesses[access].size;
        let step = match class {
            Class::Full if contiguous => Step::Full(size),
            Class::Reduced if contiguous && !self.is_one(class) => Step::Reduced(size),
            _ => Step::Line,
        };
        let reg = self.place(Place::Stream { access: access as u16, step, moves: class != Class::One });
        self.streams[access] = Some(reg);
        reg
    }

    /// The rows of a tile where they lie, if each lies side by side.
    fn rows(&mut self, access: usize, class: Class) -> Option<Rows> {
        let pitch = self.lowering.pitches[access].filter(|_| class == Class::Full)?;
        // Rows that are all the same lie at one place; others move with the tile.
        let reg = self.stream(access, class, self.lowering.geometry.pitched);
        Some(Rows { reg, pitch: i32::try_from(pitch).ok()?, size: self.lowering.accesses[access].size })
    }

    /// Where a step's result goes.
    pub(super) fn output(&mut self, s: usize, list: &List<'_>) -> Reg {
        let size = self.dtype(s).size();
        match list.purpose {
            Purpose::Prologue => self.permanent(size),
            Purpose::Setup => {
                let elements = self.lowering.geometry.reduced();
                self.permanent(elements * size)
            }
            Purpose::Body => {
                if let Some(&(_, reg)) = list.keep.iter().find(|&&(k, _)| k as usize == s) {
                    return reg;
                }
                for &i in list.stores {
                    let store = &self.lowering.fused.stores[i];
                    let (class, direct) = self.lowering.stores[i];
                    let same = store.dtype == self.dtype(s) && self.class(s) == class;
                    if self.root(store.step) == s && direct && same && class == Class::Full {
                        return self.stream(self.lowering.fused.loads.len() + i, class, true);
                    }
                }
                // One element per tile gets a place of its own: a slot shared with full values would keep loops from
                // reading it while they write those.
                if self.is_one(self.class(s)) { self.permanent(size) } else { self.slot() }
            }
        }
    }

    pub(super) fn load(&mut self, s: usize, load: usize, list: &mut List<'_>) -> Result<Reg> {
        let tiles = self.lowering.tiles;
        let (class, contiguous) = self.lowering.loads[load];
        let dtype = self.lowering.fused.loads[load].dtype;
        let count = self.count(class);
        let in_place = contiguous || self.is_one(class);
        let half = dtype.is_half();
        let memory = if in_place {
            self.stream(load, class, contiguous)
        } else {
            let out = if half { self.slot() } else { self.output(s, list) };
            let f = (tiles.gather)(dtype.size());
            let rows = self.rows(load, class);
            list.out.push(Instr::Gather { f, access: load as u16, out, count, rows });
            out
        };
        if !half {
            return Ok(memory);
        }
        let f = (tiles.half)(dtype, true).ok_or_else(|| missing("a load", dtype))?;
        let out = self.output(s, list);
        list.out.push(Instr::Apply { f, what: What::Other, a: memory, b: memory, c: memory, out, count });
        if !in_place {
            self.release(memory);
        }
        Ok(out)
    }

    /// Emits two stores that fill a piece of memory in turn.
    pub(super) fn store_pair(&mut self, stores: [usize; 2], list: &mut List<'_>) -> Result<()> {
        let [front, behind] = stores.map(|i| self.root(self.lowering.fused.stores[i].step));
        let from = [self.vector(front, Class::Full, list)?, self.vector(behind, Class::Full, list)?];
        let f = (self.lowering.tiles.interleave)(self.lowering.fused.stores[stores[0]].dtype.size());
        let access = (self.lowering.fused.loads.len() + stores[0]) as u16;
        list.out.push(Instr::Interleave { f, access, from, count: self.count(Class::Full) });
        Ok(())
    }

    /// Emits a store.
    pub(super) fn store(&mut self, i: usize, list: &mut List<'_>) -> Result<()> {
        let tiles = self.lowering.tiles;
        let store = &self.lowering.fused.stores[i];
        let (class, direct) = self.lowering.stores[i];
        let (s, dtype) = (self.root(store.step), store.dtype);
        let access = self.lowering.fused.loads.len() + i;
        let count = self.count(class);
        let size = dtype.size();
        let half = dtype.is_half();
        let to = direct.then(|| self.stream(access, class, true));
        if to.is_some() && to == self.value[s] {
            return Ok(());
        }
        if let (Some(out), false, true) = (to, half, self.is_one(self.class(s)) && !self.is_one(class)) {
            let a = self.value(s)?;
            list.out.push(Instr::Apply {
                f: (tiles.fill)(size),
                what: What::Other,
                a,
                b: a,
                c: a,
                out,
                count,
            });
            return Ok(());
        }
        let mut from = self.vector(s, class, list)?;
        let mut narrowed = None;
        if half {
            let f = (tiles.half)(dtype, false).ok_or_else(|| missing("a store", dtype))?;
            let out = match to {
                Some(out) => out,
                None => *narrowed.insert(self.slot()),
            };
            list.out.push(Instr::Apply { f, what: What::Other, a: from, b: from, c: from, out, count });
            from = out;
        }
        match to {
            Some(_) if half => {}
            Some(out) => {
                let f = (tiles.copy)(size);
                list.out.push(Instr::Apply { f, what: What::Other, a: from, b: from, c: from, out, count });
            }
            None => {
                let f = (tiles.scatter)(size);
                let rows = self.rows(access, class);
                list.out.push(Instr::Scatter { f, access: access as u16, from, count, rows });
            }
        }
        if let Some(reg) = narrowed {
            self.release(reg);
        }
        Ok(())
    }
}
