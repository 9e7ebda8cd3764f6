//! One pass of a warp over its part of a row.

use crossover_core::ops::cast::cuda_type;

use crate::{
    entry::{Entry, memory_type},
    flat::Group,
    prelude::Section,
    row::GROUP,
    stages::{self, Pass},
    steps::Point,
};

/// How a warp walks over its part of a row.
#[derive(Debug)]
pub(crate) struct Team {
    /// Groups of 128 elements.
    pub(crate) groups: usize,
    /// Whether a thread moves its four elements of a group at once.
    pub(crate) vector: bool,
    /// The variable that holds the first element of the warp's chunk, if it is not 0.
    pub(crate) first: Option<&'static str>,
    /// Whether every group of every warp is full, so that nobody has to ask where the row ends.
    pub(crate) whole: bool,
}

impl Team {
    /// Lanes of the warp's chunk that exist.
    pub(crate) fn present(&self) -> String {
        match self.first {
            _ if self.whole => GROUP.to_string(),
            Some(first) => format!("(int)(length - {first} < {GROUP} ? length - {first} : {GROUP})"),
            None => format!("(int)(length < {GROUP} ? length : {GROUP})"),
        }
    }

    /// Declares the registers that keep values between passes.
    pub(crate) fn declare_kept(&self, entry: &mut Entry<'_>, passes: &[Pass]) {
        let mut kept: Vec<usize> = passes.iter().flat_map(|p| p.from.iter().copied()).collect();
        kept.sort_unstable();
        kept.dedup();
        for id in kept {
            let dtype = entry.kernel.steps[id].dtype;
            entry.uses.dtype(dtype);
            entry.body.line(format!("{} k{id}[{}][4];", cuda_type(dtype), self.groups));
        }
    }

    /// Opens the scope of the thread's four elements of group `g`.
    ///
    /// What lies past the end of the row is computed like the rest, from zeros, and neither joined nor stored: a branch
    /// around every group would cost more registers than it saves work.
    fn open_group(&self, entry: &mut Entry<'_>) {
        entry.body.unrolled("g", self.groups);
        let base = self.first.map_or(String::new(), |first| format!("{first} + "));
        entry.body.line(format!("const index_t r = {base}g * {GROUP} + 4 * t;"));
    }

    fn close_group(&self, entry: &mut Entry<'_>) {
        entry.body.close();
    }

    /// The condition that the thread's element `k` of a group exists; all four do together if they are moved at once.
    fn exists(&self) -> Option<&'static str> {
        match (self.whole, self.vector) {
            (true, _) => None,
            (false, true) => Some("r < length"),
            (false, false) => Some("r + k < length"),
        }
    }

    /// Opens the scope of element `k` and returns the coordinates of the point.
    fn open_element(&self, entry: &mut Entry<'_>, outer: &[(usize, String)]) -> Vec<(usize, String)> {
        entry.body.unrolled("k", 4);
        let mut at = outer.to_vec();
        if entry.flat.group(Group::Reduce).len() > 1 {
            entry.body.line("const index_t e = r + k;");
            at.extend(entry.coordinates(Group::Reduce, 'y', "e"));
        } else {
            at.extend(entry.coordinates(Group::Reduce, 'y', "r + k"));
        }
        at
    }

    fn close_element(&self, entry: &mut Entry<'_>) {
        entry.body.close();
    }

    /// Whether an operand with this stride along the row is moved as a pack.
    fn packs(&self, stride: Option<isize>) -> bool {
        self.vector && stride == Some(1)
    }
}

/// Writes a pass; returns the names of the lanes of each of its reductions.
pub(crate) fn write_pass(
    entry: &mut Entry<'_>,
    team: &Team,
    passes: &[Pass],
    level: usize,
    outer: &[(usize, String)],
) -> Vec<String> {
    let pass = &passes[level];
    if pass.reductions.is_empty() && pass.stores.is_empty() {
        return Vec::new();
    }
    entry.body.line(format!("// Pass {}.", level + 1));
    // Operands that all rows share are in the nearest cache; reading them ahead would cost registers for nothing.
    let (near, ahead): (Vec<usize>, Vec<usize>) = stages::loads(entry.kernel, &pass.steps)
        .into_iter()
        .partition(|&load| is_near(entry, team, level, load));
    write_reads(entry, team, level, &ahead, outer);
    let mut lanes = Vec::new();
    for &id in &pass.reductions {
        // Joining first brings the type of values with an index.
        entry.join(id);
        let kind = entry.combined_type(id);
        entry.body.line(format!("{kind} r{id}[4] = {{}};"));
        lanes.push(format!("r{id}"));
    }
    team.open_group(entry);
    write_near(entry, team, level, &near, outer);
    let packed: Vec<usize> =
        pass.stores.iter().copied().filter(|&s| team.packs(row_stride(entry, s))).collect();
    for &store in &packed {
        let dtype = entry.kernel.stores[store].dtype;
        entry.uses.section(Section::Pack);
        entry.uses.dtype(dtype);
        entry.body.line(format!("xo_pack<{}, 4> w{store};", memory_type(dtype)));
        if entry.settles(store) {
            entry.body.line(format!("float f{store}[4];"));
        }
    }
    let at = team.open_element(entry, outer);
    write_element(entry, team, passes, level, &near, &packed, &at);
    team.close_element(entry);
    for &store in &packed {
        let pointer = entry.store(store);
        let window = entry.flat.stores[store].clone();
        let mut start = outer.to_vec();
        start.extend(entry.coordinates(Group::Reduce, 'y', "r"));
        let offset = entry.offset(&window, &format!("out{store}"), &start);
        if entry.settles(store) {
            entry.body.line(format!("xo_settle_{}(w{store}.v, f{store});", entry.kernel.stores[store].dtype));
        }
        let guard = if team.whole { "" } else { "if (r < length) " };
        entry.body.line(format!("{guard}xo_write<4>({pointer} + {offset}, w{store}, 4);"));
    }
    team.close_group(entry);
    lanes
}

/// The elements of an operand that a thread holds during a pass; a later pass may read the operand again.
fn memory_name(level: usize, load: usize) -> String {
    if level == 0 { format!("m{load}") } else { format!("m{load}_{level}") }
}

/// Whether a pass reads an operand group by group: all rows share it, and other reads have been waited for already.
fn is_near(entry: &Entry<'_>, team: &Team, level: usize, load: usize) -> bool {
    level > 0
        && team.packs(load_stride(entry, load))
        && !entry.flat.varies(&entry.flat.loads[load], Group::Outer)
}

fn load_stride(entry: &Entry<'_>, load: usize) -> Option<isize> {
    let axis = entry.flat.group(Group::Reduce).first().copied()?;
    Some(entry.flat.loads[load].strides[axis])
}

/// Reads the thread's four elements of group `g` of operands that all rows share.
fn write_near(entry: &mut Entry<'_>, team: &Team, level: usize, loads: &[usize], outer: &[(usize, String)]) {
    for &load in loads {
        entry.uses.section(Section::Pack);
        let dtype = entry.kernel.loads[load].dtype;
        entry.uses.dtype(dtype);
        let (name, kind) = (memory_name(level, load), memory_type(dtype));
        let zeros = if team.whole { "" } else { " = {}" };
        entry.body.line(format!("xo_pack<{kind}, 4> {name}{zeros};"));
        let pointer = entry.load(load);
        let window = entry.flat.loads[load].clone();
        let mut at = outer.to_vec();
        at.extend(entry.coordinates(Group::Reduce, 'y', "r"));
        let offset = entry.offset(&window, &format!("in{load}"), &at);
        let guard = if team.whole { "" } else { "if (r < length) " };
        entry.body.line(format!("{guard}{name} = xo_read<4>({pointer} + {offset}, 4);"));
    }
}

/// Reads the warp's part of every operand before any of it is used.
fn write_reads(entry: &mut Entry<'_>, team: &Team, level: usize, loads: &[usize], outer: &[(usize, String)]) {
    if loads.is_empty() {
        return;
    }
    entry.uses.section(Section::Pack);
    for &load in loads {
        let dtype = entry.kernel.loads[load].dtype;
        entry.uses.dtype(dtype);
        let name = memory_name(level, load);
        let zeros = if team.whole { "" } else { " = {}" };
        entry.body.line(format!("xo_pack<{}, 4> {name}[{}]{zeros};", memory_type(dtype), team.groups));
    }
    team.open_group(entry);
    let (packed, single): (Vec<usize>, Vec<usize>) =
        loads.iter().partition(|&&load| team.packs(load_stride(entry, load)));
    for load in packed {
        let pointer = entry.load(load);
        let window = entry.flat.loads[load].clone();
        let mut at = outer.to_vec();
        at.extend(entry.coordinates(Group::Reduce, 'y', "r"));
        let offset = entry.offset(&window, &format!("in{load}"), &at);
        let name = memory_name(level, load);
        let guard = if team.whole { "" } else { "if (r < length) " };
        entry.body.line(format!("{guard}{name}[g] = xo_read<4>({pointer} + {offset}, 4);"));
    }
    if !single.is_empty() {
        let at = team.open_element(entry, outer);
        for load in single {
            let pointer = entry.load(load);
            let window = entry.flat.loads[load].clone();
            let offset = entry.offset(&window, &format!("in{load}"), &at);
            let guard = team.exists().map_or(String::new(), |condition| format!("if ({condition}) "));
            let name = memory_name(level, load);
            entry.body.line(format!("{guard}{name}[g].v[k] = {pointer}[{offset}];"));
        }
        team.close_element(entry);
    }
    team.close_group(entry);
}

/// The steps of one element, what is kept of it, its part in the reductions and its stores.
fn write_element(
    entry: &mut Entry<'_>,
    team: &Team,
    passes: &[Pass],
    level: usize,
    near: &[usize],
    packed: &[usize],
    at: &[(usize, String)],
) {
    let pass = &passes[level];
    let kept_later = |id: &usize| passes[level + 1..].iter().any(|p| p.from.contains(id));
    let mut ids: Vec<usize> = pass.steps.iter().chain(&pass.from).copied().collect();
    ids.sort_unstable();
    for id in ids {
        if pass.from.contains(&id) {
            let kind = cuda_type(entry.kernel.steps[id].dtype);
            entry.body.line(format!("const {kind} s{id} = k{id}[g][k];"));
            continue;
        }
        let element = |load: usize| {
            let group = if near.contains(&load) { "" } else { "[g]" };
            format!("{}{group}.v[k]", memory_name(level, load))
        };
        // Threads own four neighbours of every group.
        entry.step(id, &Point { element: &element, at, quads: true });
        if kept_later(&id) {
            entry.body.line(format!("k{id}[g][k] = s{id};"));
        }
    }
    for &id in &pass.reductions {
        let join = entry.join(id);
        let value = entry.combined(id, "r + k");
        // Lanes of the first group that do not exist are skipped when lanes combine.
        let joined = format!("{join}::join(r{id}[k], {value})");
        let joined = match team.exists() {
            None => joined,
            Some(condition) => format!("{condition} ? {joined} : r{id}[k]"),
        };
        entry.body.line(format!("r{id}[k] = g == 0 ? {value} : {joined};"));
    }
    for &store in &pass.stores {
        if packed.contains(&store) && entry.settles(store) {
            let root = stages::store_roots(entry.kernel, store)[0];
            entry.body.line(format!("f{store}[k] = s{root};"));
            continue;
        }
        let value = entry.stored(store);
        if packed.contains(&store) {
            entry.body.line(format!("w{store}.v[k] = {value};"));
        } else {
            let pointer = entry.store(store);
            let window = entry.flat.stores[store].clone();
            let offset = entry.offset(&window, &format!("out{store}"), at);
            let guard = team.exists().map_or(String::new(), |condition| format!("if ({condition}) "));
            entry.body.line(format!("{guard}{pointer}[{offset}] = {value};"));
        }
    }
}

fn row_stride(entry: &Entry<'_>, store: usize) -> Option<isize> {
    let axis = entry.flat.group(Group::Reduce).first().copied()?;
    Some(entry.flat.stores[store].strides[axis])
}
