//! When each step of a kernel with reductions can be computed, and what survives from one pass to the next.
//!
//! Pass p reads every element once; it sees the results of the reductions of earlier passes. A step's level is
//! the number of reductions it has to wait for, one after another; reductions of level p + 1 are computed by
//! pass p, and results are stored by the last pass.

use crossover_core::ops::cast;
use crossover_plan::kernel::{Extent, Fused, StepOp};

use crate::flat::{Flat, Group};

/// The passes of a kernel.
#[derive(Debug)]
pub(crate) struct Stages {
    /// By step.
    level: Vec<usize>,
    /// One more than the number of reductions that wait for one another.
    pub(crate) passes: usize,
}

impl Stages {
    pub(crate) fn new(kernel: &Fused) -> Stages {
        let mut level: Vec<usize> = Vec::with_capacity(kernel.steps.len());
        for step in &kernel.steps {
            let before = step.args.iter().map(|&a| level[a as usize]).max().unwrap_or(0);
            level.push(before + matches!(step.op, StepOp::Reduce(_)) as usize);
        }
        let passes = level.iter().max().map_or(1, |top| top + 1);
        Stages { level, passes }
    }

    /// Reductions that pass `pass` computes.
    pub(crate) fn reductions(&self, kernel: &Fused, pass: usize) -> Vec<usize> {
        let is_reduce = |&id: &usize| matches!(kernel.steps[id].op, StepOp::Reduce(_));
        (0..kernel.steps.len()).filter(is_reduce).filter(|&id| self.level[id] == pass + 1).collect()
    }

    /// Whether a step does not vary along the reduced axes and needs no reduction beyond this level.
    pub(crate) fn is_known(&self, kernel: &Fused, id: usize, level: usize) -> bool {
        kernel.steps[id].extent != Extent::Full && self.level[id] <= level
    }

    /// Steps other than reductions, not varying along the reduced axes, that become known at this level.
    pub(crate) fn constants(&self, kernel: &Fused, level: usize) -> Vec<usize> {
        let fits = |&id: &usize| {
            let step = &kernel.steps[id];
            step.extent != Extent::Full && !matches!(step.op, StepOp::Reduce(_)) && self.level[id] == level
        };
        (0..kernel.steps.len()).filter(fits).collect()
    }
}

/// Steps varying along the row that `roots` need, in order, without looking behind those in `known`.
///
/// Also returns which of `known` are needed.
pub(crate) fn needed(kernel: &Fused, roots: &[usize], known: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let mut wanted = vec![false; kernel.steps.len()];
    let mut kept = Vec::new();
    let mut open: Vec<usize> = roots.to_vec();
    while let Some(id) = open.pop() {
        if wanted[id] || kept.contains(&id) || kernel.steps[id].extent != Extent::Full {
            continue;
        }
        if known.contains(&id) {
            kept.push(id);
            continue;
        }
        wanted[id] = true;
        open.extend(kernel.steps[id].args.iter().map(|&a| a as usize));
    }
    kept.sort_unstable();
    ((0..wanted.len()).filter(|&id| wanted[id]).collect(), kept)
}

/// Loads that a list of steps reads.
pub(crate) fn loads(kernel: &Fused, steps: &[usize]) -> Vec<usize> {
    let mut out: Vec<usize> = steps
        .iter()
        .flat_map(|&id| match kernel.steps[id].op {
            StepOp::Load(load) => [Some(load as usize), None],
            StepOp::Take { from, at, .. } => [Some(from as usize), Some(at as usize)],
            _ => [None, None],
        })
        .flatten()
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// Whether recomputing a step costs nothing worth a register: it reads neither memory nor another varying step.
pub(crate) fn is_cheap(kernel: &Fused, id: usize) -> bool {
    let step = &kernel.steps[id];
    let flat_args = step.args.iter().all(|&a| kernel.steps[a as usize].extent != Extent::Full);
    flat_args
        && matches!(step.op, StepOp::Scalar(_) | StepOp::Index { .. } | StepOp::Expand | StepOp::Canonical)
}

/// What one pass over the elements does.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    /// Steps computed for every element, in order.
    pub(crate) steps: Vec<usize>,
    /// Steps of earlier passes whose values were kept and are used now.
    pub(crate) from: Vec<usize>,
    /// Reductions fed.
    pub(crate) reductions: Vec<usize>,
    /// Stores written for every element.
    pub(crate) stores: Vec<usize>,
}

/// The passes of a kernel. With `keep`, values computed once are kept for later passes; otherwise every pass
/// recomputes what it needs from memory.
pub(crate) fn passes(kernel: &Fused, stages: &Stages, full: &[usize], keep: bool) -> Vec<Pass> {
    let mut known: Vec<usize> = Vec::new();
    let mut out = Vec::new();
    for pass in 0..stages.passes {
        let reductions = stages.reductions(kernel, pass);
        let stores = if pass + 1 == stages.passes { full.to_vec() } else { Vec::new() };
        let mut roots: Vec<usize> = reductions.iter().map(|&id| kernel.steps[id].args[0] as usize).collect();
        roots.extend(stores.iter().flat_map(|&s| store_roots(kernel, s)));
        let (steps, from) = needed(kernel, &roots, &known);
        if keep {
            known.extend(steps.iter().copied().filter(|&id| !is_cheap(kernel, id)));
        }
        out.push(Pass { steps, from, reductions, stores });
    }
    out
}

/// Most bytes per element that are kept from one pass to the next at any time.
pub(crate) fn kept_bytes(kernel: &Fused, passes: &[Pass]) -> usize {
    let boundary = |b: usize| {
        let used_after = |id: &&usize| passes[b..].iter().any(|p| p.from.contains(id));
        let ids = passes[..b].iter().flat_map(|p| &p.steps).filter(used_after);
        ids.map(|&id| kernel.steps[id].dtype.size()).sum::<usize>()
    };
    (1..passes.len()).map(boundary).max().unwrap_or(0)
}

/// The steps whose values [`crate::entry::Entry::stored`] names for a store.
///
/// A value that is stored where it was rounded to 16 bits is named before its rounding: it rounds and narrows in
/// one function, whose work the compiler shares with the step.
pub(crate) fn store_roots(kernel: &Fused, store: usize) -> Vec<usize> {
    let store = &kernel.stores[store];
    let step = &kernel.steps[store.step as usize];
    match step.op {
        StepOp::Cast(cast::Step::Round(dtype)) if dtype == store.dtype => vec![step.args[0] as usize],
        _ => vec![store.step as usize],
    }
}

/// Stores written for every element, and stores written once per row or column.
pub(crate) fn split_stores(kernel: &Fused, flat: &Flat) -> (Vec<usize>, Vec<usize>) {
    (0..kernel.stores.len()).partition(|&i| {
        let step = &kernel.steps[kernel.stores[i].step as usize];
        step.extent == Extent::Full || flat.varies(&flat.stores[i], Group::Reduce)
    })
}
