//! The index space of a kernel with axes of length 1 dropped and axes that walk together merged.
//!
//! Merging never crosses a group, and an axis pair merges only if every window of the kernel agrees, positions of
//! `Index` and `Random` included. What is left is what the text is generated from.

use crossover_plan::kernel::{Fused, StepOp, Window};

/// Which group of the space an axis belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Outer,
    Reduce,
    Inner,
}

/// One axis that is left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    pub(crate) group: Group,
    pub(crate) length: usize,
}

/// The simplified space, with the windows of the kernel over it.
#[derive(Debug)]
pub(crate) struct Flat {
    pub(crate) axes: Vec<Axis>,
    /// One per load.
    pub(crate) loads: Vec<Window>,
    /// One per store.
    pub(crate) stores: Vec<Window>,
    /// One per step; `None` unless the step is `Index` or `Random`.
    pub(crate) positions: Vec<Option<Window>>,
    /// Whether 32-bit index arithmetic could overflow.
    pub(crate) wide: bool,
}

impl Flat {
    pub(crate) fn new(kernel: &Fused) -> Flat {
        let space = &kernel.space;
        let groups =
            [(Group::Outer, &space.outer), (Group::Reduce, &space.reduce), (Group::Inner, &space.inner)];
        let axes = groups
            .into_iter()
            .flat_map(|(group, dims)| dims.iter().map(move |&length| Axis { group, length }))
            .collect();
        let position = |op: &StepOp| match op {
            StepOp::Index { window, .. } | StepOp::Random { window, .. } => Some(window.clone()),
            _ => None,
        };
        let mut flat = Flat {
            axes,
            loads: kernel.loads.iter().map(|l| l.window.clone()).collect(),
            stores: kernel.stores.iter().map(|s| s.window.clone()).collect(),
            positions: kernel.steps.iter().map(|s| position(&s.op)).collect(),
            wide: false,
        };
        // With nothing to reduce only the points around the reduced axes are left.
        let hollow = space.reduce_size() == 0;
        for axis in (0..flat.axes.len()).rev() {
            let Axis { group, length } = flat.axes[axis];
            if length == 1 || (hollow && group == Group::Reduce) {
                flat.remove(axis);
            }
        }
        for axis in (1..flat.axes.len()).rev() {
            flat.merge(axis);
        }
        // Entries that are looked up reach further than the window of the first.
        let entries = kernel.steps.iter().map(|step| match step.op {
            StepOp::Take { stride, length, .. } => stride as i128 * length as i128,
            _ => 0,
        });
        flat.wide = flat.needs_wide(entries.max().unwrap_or(0));
        flat
    }

    fn windows(&self) -> impl Iterator<Item = &Window> {
        self.loads.iter().chain(&self.stores).chain(self.positions.iter().flatten())
    }

    fn windows_mut(&mut self) -> impl Iterator<Item = &mut Window> {
        self.loads.iter_mut().chain(&mut self.stores).chain(self.positions.iter_mut().flatten())
    }

    fn remove(&mut self, axis: usize) {
        self.axes.remove(axis);
        self.windows_mut().for_each(|w| {
            w.strides.remove(axis);
        });
    }

    /// Merges an axis into the one before it, if every window allows it.
    fn merge(&mut self, axis: usize) {
        let length = self.axes[axis].length;
        let fits = |w: &Window| w.strides[axis - 1] == w.strides[axis] * length as isize;
        if self.axes[axis - 1].group == self.axes[axis].group && self.windows().all(fits) {
            self.axes[axis - 1].length *= length;
            self.axes.remove(axis);
            self.windows_mut().for_each(|w| {
                w.strides.remove(axis - 1);
            });
        }
    }

    /// Positions of the axes of a group.
    pub(crate) fn group(&self, group: Group) -> Vec<usize> {
        (0..self.axes.len()).filter(|&a| self.axes[a].group == group).collect()
    }

    /// Points of the whole space.
    pub(crate) fn size(&self) -> usize {
        self.axes.iter().map(|a| a.length).product()
    }

    /// Whether a window varies along a group.
    pub(crate) fn varies(&self, window: &Window, group: Group) -> bool {
        self.group(group).iter().any(|&a| window.strides[a] != 0)
    }

    fn needs_wide(&self, entries: i128) -> bool {
        // Loops step past the end by at most one grid, hence the spare bit.
        const POINTS: usize = 1 << 30;
        const REACH: i128 = i32::MAX as i128;
        let reach = |w: &Window| -> i128 {
            let steps = self.axes.iter().zip(&w.strides);
            steps.map(|(a, &s)| (a.length as i128) * (s as i128).abs()).sum()
        };
        let far = |w: &Window| reach(w) + entries > REACH;
        self.size() > POINTS
            || self.loads.iter().chain(&self.stores).any(far)
            || self.positions.iter().flatten().any(|w| reach(w) + w.offset as i128 > REACH)
    }
}
