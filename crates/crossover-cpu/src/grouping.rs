//! When several long rows share a tile.
//!
//! Machine code goes from row to row by itself, so that the end of one row's reduction overlaps with the next row and
//! values per row are computed side by side. That needs every operand to lie the way such loops can follow.

use crossover_core::{
    lane::Recorder,
    ops::{Cost, type_of},
};
use crossover_plan::kernel::{Extent, Kind, StepOp};

use crate::{
    geometry::{LONG, Merged, Mode, Strides},
    lower::{Class, Lowering},
    native,
    window::{Form, View},
};

/// Bytes of one value of a tile: several of them stay in the first-level cache.
const BYTES: usize = 8 << 10;
/// Tiles per thread at least, so that all have work to the end.
const SHARE: usize = 8;

/// How many rows a tile of a kernel should have, if more than one.
pub fn rows(lowering: &Lowering<'_>, merged: &Merged, threads: usize) -> Option<usize> {
    let (fused, geometry) = (lowering.fused, &lowering.geometry);
    let one_axis = merged.reduce.len() == 1;
    if fused.kind != Kind::Row || geometry.mode != Mode::Inline || geometry.grouped || !one_axis {
        return None;
    }
    let n = geometry.columns;
    if n < LONG || !(0..fused.loads.len()).all(|i| follows(lowering.loads[i].0, &merged.windows[i], merged)) {
        return None;
    }
    let stores = fused.stores.iter().enumerate().all(|(i, store)| {
        let window = &merged.windows[fused.loads.len() + i];
        fused.steps[store.step as usize].extent != Extent::Full || dense(window, merged)
    });
    if !stores || !(0..fused.steps.len()).all(|s| recordable(lowering, s)) {
        return None;
    }
    let widest = fused.steps.iter().map(|s| s.dtype.size()).max()?;
    let rows = (BYTES / (n * widest)).min(geometry.outer / (SHARE * threads));
    (rows > 1).then_some(rows)
}

/// Whether loops over rows can read a load where it lies.
fn follows(class: Class, window: &Strides, merged: &Merged) -> bool {
    let same = window.outer.iter().all(|&s| s == 0) && window.reduce[..] == [1];
    class != Class::Full || same || dense(window, merged)
}

/// Whether the rows of a window follow each other.
fn dense(window: &Strides, merged: &Merged) -> bool {
    let dims: Vec<usize> = merged.outer.iter().chain(&merged.reduce).copied().collect();
    let strides: Vec<isize> = window.outer.iter().chain(&window.reduce).copied().collect();
    View::new(&dims, &strides).form() == Form::Contiguous
}

/// Whether a step of full extent can be part of machine code.
fn recordable(lowering: &Lowering<'_>, s: usize) -> bool {
    let step = &lowering.fused.steps[s];
    let full = lowering.facts[s].class == Class::Full;
    let dtype = step.args.first().map_or(step.dtype, |&a| lowering.fused.steps[a as usize].dtype);
    let mut recorder = Recorder::default();
    let mut input = || type_of(dtype).map(|ty| recorder.input(ty));
    match step.op {
        StepOp::Load(load) => !lowering.fused.loads[load as usize].dtype.is_half(),
        StepOp::Reduce(op) => !op.is_arg() && matches!(dtype.size(), 4 | 8) && !dtype.is_complex(),
        // Rows with functions have enough of their own to overlap with, and less room in the cache.
        StepOp::Map(op) if full && op.info().cost >= Cost::Function => false,
        StepOp::Map(op) if full => {
            let Some(args) = (0..op.arity()).map(|_| input()).collect::<Option<Vec<u32>>>() else {
                return false;
            };
            recorder.map(op, dtype, &args).is_some() && native::supports(recorder.nodes())
        }
        StepOp::Index { .. } | StepOp::Random { .. } => false,
        StepOp::Cast(conversion) if full => {
            input().is_some_and(|arg| recorder.cast(conversion, arg).is_some())
                && native::supports(recorder.nodes())
        }
        _ => true,
    }
}
