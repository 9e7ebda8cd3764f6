//! The last launch of long columns: every element again, with what was reduced.
//!
//! Nothing is carried from row to row, so a thread takes few rows, and where the layout allows it four columns at
//! once in accesses of 16 bytes. What does not vary down the column is computed once per thread.

use crossover_core::ops::cast::cuda_type;
use crossover_plan::kernel::{Extent, Fused, Window};

use crate::{
    column::{Columns, THREADS, column_coordinates, open_items},
    entry::{Entry, memory_type},
    flat::{Flat, Group},
    functions::Uses,
    prelude::Section,
    row::{write_known, write_once},
    scratch::Scratch,
    source::Launch,
    stages::{self, Pass, Stages, store_roots},
    steps::Point,
};

/// Rows per thread; all of them are read before any is used.
const ROWS: usize = 4;
/// Columns per thread where they are moved at once.
const WIDE: usize = 4;

/// The entry point that stores.
pub(crate) fn entry(columns: Columns<'_>, uses: &mut Uses, pass: &Pass, once: &[usize]) -> (String, Launch) {
    let Columns { kernel, flat, stages, scratch } = columns;
    let space = &kernel.space;
    let every_element = !pass.stores.is_empty();
    let vector = if every_element && is_wide(kernel, flat, pass) { WIDE } else { 1 };
    let spans = if every_element { space.reduce_size().div_ceil(ROWS) } else { 1 };
    let groups = space.inner_size() / vector;
    let mut entry = Entry::new(kernel, flat, uses);
    let inner = entry.index("inner", space.inner_size());
    let outer = entry.index("outer", space.outer_size());
    let (total, across) = (entry.index("spans", spans), entry.index("groups", groups));
    open_items(&mut entry, &format!("{outer} * {total} * {across}"));
    entry.divide("item", "groups", groups, "above", "group");
    entry.divide("above", "spans", spans, "o", "span");
    entry.body.line(format!("const index_t i = group{};", if vector > 1 { " * 4" } else { "" }));
    if every_element {
        entry.body.line(format!("const index_t begin = span * {ROWS};"));
    }
    let at = column_coordinates(&mut entry);
    let walk = Walk { pass, vector, kept: kept(kernel, pass) };
    walk.write_constants(&mut entry, stages, scratch, once, &at, &format!("o * {inner} + i"));
    if every_element {
        let length = entry.index("length", space.reduce_size());
        walk.write_rows(&mut entry, &at, &length);
    }
    entry.body.close();
    let blocks = (space.outer_size() * spans * groups).div_ceil(THREADS as usize);
    entry.finish("// Stores, from the reduced values; any grid.", "xo_column_finish", THREADS, blocks)
}

/// What a thread does.
struct Walk<'p> {
    pass: &'p Pass,
    /// Columns at once.
    vector: usize,
    /// Steps that do not vary down the column and are used by ones that do.
    kept: Vec<usize>,
}

impl Walk<'_> {
    /// Everything that does not vary down the column, and the stores of it.
    fn write_constants(
        &self,
        entry: &mut Entry<'_>,
        stages: &Stages,
        scratch: &Scratch,
        once: &[usize],
        at: &[(usize, String)],
        place: &str,
    ) {
        let leader = if self.pass.stores.is_empty() { "" } else { "begin == 0" };
        if self.vector == 1 {
            write_known(entry, stages, scratch, stages.passes - 1, at, place);
            write_once(entry, once, at, leader);
            return;
        }
        for &id in &self.kept {
            let kind = cuda_type(entry.kernel.steps[id].dtype);
            entry.uses.dtype(entry.kernel.steps[id].dtype);
            entry.body.line(format!("{kind} k{id}[{}];", self.vector));
        }
        entry.body.unrolled("k", self.vector);
        let here = beside(at);
        write_known(entry, stages, scratch, stages.passes - 1, &here, &format!("{place} + k"));
        for &id in &self.kept {
            entry.body.line(format!("k{id}[k] = s{id};"));
        }
        write_once(entry, once, &here, leader);
        entry.body.close();
    }

    fn write_rows(&self, entry: &mut Entry<'_>, at: &[(usize, String)], length: &str) {
        let loads = stages::loads(entry.kernel, &self.pass.steps);
        let wide = |window: &Window| self.vector > 1 && window.strides.last() == Some(&1);
        for &load in &loads {
            let dtype = entry.kernel.loads[load].dtype;
            entry.uses.dtype(dtype);
            let kind = if wide(&entry.flat.loads[load]) {
                entry.uses.section(Section::Pack);
                format!("xo_pack<{}, {}>", memory_type(dtype), self.vector)
            } else {
                memory_type(dtype).to_string()
            };
            entry.body.line(format!("{kind} m{load}[{ROWS}];"));
        }
        if !loads.is_empty() {
            let here = open_row(entry, at, length);
            for &load in &loads {
                let pointer = entry.load(load);
                let window = entry.flat.loads[load].clone();
                let offset = entry.offset(&window, &format!("in{load}"), &here);
                let value = match wide(&window) {
                    true => format!("xo_read<{0}>({pointer} + {offset}, {0})", self.vector),
                    false => format!("{pointer}[{offset}]"),
                };
                entry.body.line(format!("m{load}[u] = {value};"));
            }
            entry.body.close();
            entry.body.close();
        }
        let here = open_row(entry, at, length);
        let packed: Vec<bool> = entry.flat.loads.iter().map(wide).collect();
        let element = |load: usize| match packed[load] {
            true => format!("m{load}[u].v[k]"),
            false => format!("m{load}[u]"),
        };
        if self.vector == 1 {
            self.write_element(entry, &here, &element);
        } else {
            self.write_wide(entry, &here, &element);
        }
        entry.body.close();
        entry.body.close();
    }

    /// One element, stored by itself.
    fn write_element(
        &self,
        entry: &mut Entry<'_>,
        at: &[(usize, String)],
        element: &dyn Fn(usize) -> String,
    ) {
        for &id in &self.pass.steps {
            entry.step(id, &Point { element, at, quads: false });
        }
        for &store in &self.pass.stores {
            let pointer = entry.store(store);
            let window = entry.flat.stores[store].clone();
            let offset = entry.offset(&window, &format!("out{store}"), at);
            let value = entry.stored(store);
            entry.body.line(format!("{pointer}[{offset}] = {value};"));
        }
    }

    /// Neighbours of one row, stored at once.
    ///
    /// A quotient of `f32` has a slow path for operands near the ends of their range, and a branch behind each would
    /// make them wait for one another: the first attempt leaves it out and notes whether it was needed.
    fn write_wide(&self, entry: &mut Entry<'_>, at: &[(usize, String)], element: &dyn Fn(usize) -> String) {
        for &store in &self.pass.stores {
            let dtype = entry.kernel.stores[store].dtype;
            entry.uses.section(Section::Pack);
            entry.uses.dtype(dtype);
            entry.body.line(format!("xo_pack<{}, {}> w{store};", memory_type(dtype), self.vector));
        }
        let divides = self.pass.steps.iter().any(|&id| entry.is_quick(id));
        if divides {
            entry.body.line("bool fine = true;");
            entry.quick = true;
            self.write_neighbours(entry, at, element);
            entry.quick = false;
            entry.body.open("if (!fine)");
        }
        self.write_neighbours(entry, at, element);
        if divides {
            entry.body.close();
        }
        for &store in &self.pass.stores {
            let pointer = entry.store(store);
            let window = entry.flat.stores[store].clone();
            let offset = entry.offset(&window, &format!("out{store}"), at);
            entry.body.line(format!("xo_write<{0}>({pointer} + {offset}, w{store}, {0});", self.vector));
        }
    }

    fn write_neighbours(
        &self,
        entry: &mut Entry<'_>,
        at: &[(usize, String)],
        element: &dyn Fn(usize) -> String,
    ) {
        entry.body.unrolled("k", self.vector);
        for &id in &self.kept {
            let kind = cuda_type(entry.kernel.steps[id].dtype);
            entry.body.line(format!("const {kind} s{id} = k{id}[k];"));
        }
        let here = beside(at);
        for &id in &self.pass.steps {
            entry.step(id, &Point { element, at: &here, quads: false });
        }
        for &store in &self.pass.stores {
            let value = entry.stored(store);
            entry.body.line(format!("w{store}.v[k] = {value};"));
        }
        entry.body.close();
    }
}

/// Steps that do not vary down the column and are used by ones that do, or stored for every element.
fn kept(kernel: &Fused, pass: &Pass) -> Vec<usize> {
    let used = pass.steps.iter().flat_map(|&id| kernel.steps[id].args.iter().map(|&a| a as usize));
    let stored = pass.stores.iter().flat_map(|&s| store_roots(kernel, s));
    let mut out: Vec<usize> =
        used.chain(stored).filter(|&id| kernel.steps[id].extent != Extent::Full).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// The coordinates of neighbour `k`: neighbours lie along the last axis.
fn beside(at: &[(usize, String)]) -> Vec<(usize, String)> {
    let mut here = at.to_vec();
    let last = here.iter_mut().max_by_key(|(axis, _)| *axis);
    if let Some((_, coordinate)) = last {
        *coordinate = format!("{coordinate} + k");
    }
    here
}

/// Opens the scope of row `u` of the thread.
fn open_row(entry: &mut Entry<'_>, at: &[(usize, String)], length: &str) -> Vec<(usize, String)> {
    entry.body.unrolled("u", ROWS);
    entry.body.line("const index_t r = begin + u;");
    entry.body.open(format!("if (r < {length})"));
    let mut here = at.to_vec();
    here.extend(entry.coordinates(Group::Reduce, 'y', "r"));
    here
}

/// Whether four columns can be moved at once at aligned addresses, by every operand of the pass.
fn is_wide(kernel: &Fused, flat: &Flat, pass: &Pass) -> bool {
    let [axis] = flat.group(Group::Inner)[..] else { return false };
    let size = |window: &Window| {
        let others = window.strides.iter().enumerate().filter(|&(a, _)| a != axis);
        window.offset.is_multiple_of(WIDE)
            && others.into_iter().all(|(_, s)| s.unsigned_abs().is_multiple_of(WIDE))
    };
    let moves = |window: &Window| window.strides[axis] == 1 && size(window);
    let loads = stages::loads(kernel, &pass.steps);
    kernel.space.inner_size().is_multiple_of(WIDE)
        && loads.iter().all(|&l| flat.loads[l].strides[axis] == 0 || moves(&flat.loads[l]))
        && pass.stores.iter().all(|&s| moves(&flat.stores[s]))
}
