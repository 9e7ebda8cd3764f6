//! Fewer axes: neighbours that every operand walks as one become one.

use crate::kernel::{Dims, Fused, StepOp, Window};

/// Merges axes within each group of the space and drops axes of length 1.
pub(crate) fn kernel(kernel: &mut Fused) {
    let [outer, reduce, inner] = {
        let s = &kernel.space;
        [s.outer.len(), s.reduce.len(), s.inner.len()]
    };
    let mut windows = collect(kernel);
    let mut dims = kernel.space.dims();
    let mut lengths = [outer, reduce, inner];
    let mut start = 0;
    for length in &mut lengths {
        *length = group(&mut dims, &mut windows, start, *length);
        start += *length;
    }
    let mut rest = dims.into_iter();
    kernel.space.outer = rest.by_ref().take(lengths[0]).collect();
    kernel.space.reduce = rest.by_ref().take(lengths[1]).collect();
    kernel.space.inner = rest.collect();
    restore(kernel, windows);
}

/// Coalesces the axes `start .. start + length` and returns how many are left.
fn group(dims: &mut Dims<usize>, windows: &mut [Window], start: usize, mut length: usize) -> usize {
    let mut axis = start;
    while axis < start + length {
        if dims[axis] == 1 {
            remove(dims, windows, axis);
            length -= 1;
            continue;
        }
        let next = axis + 1;
        let joins = next < start + length
            && dims[next] != 1
            && windows.iter().all(|w| w.strides[axis] == w.strides[next] * dims[next] as isize);
        if joins {
            dims[next] *= dims[axis];
            remove(dims, windows, axis);
            length -= 1;
        } else if next < start + length && dims[next] == 1 {
            remove(dims, windows, next);
            length -= 1;
        } else {
            axis += 1;
        }
    }
    length
}

fn remove(dims: &mut Dims<usize>, windows: &mut [Window], axis: usize) {
    dims.remove(axis);
    for window in windows {
        window.strides.remove(axis);
    }
}

fn visit(kernel: &mut Fused, mut each: impl FnMut(&mut Window)) {
    kernel.loads.iter_mut().for_each(|l| each(&mut l.window));
    kernel.stores.iter_mut().for_each(|s| each(&mut s.window));
    for step in &mut kernel.steps {
        if let StepOp::Index { window, .. } | StepOp::Random { window, .. } = &mut step.op {
            each(window);
        }
    }
}

fn collect(kernel: &mut Fused) -> Vec<Window> {
    let mut out = Vec::new();
    visit(kernel, |w| out.push(w.clone()));
    out
}

fn restore(kernel: &mut Fused, windows: Vec<Window>) {
    let mut windows = windows.into_iter();
    visit(kernel, |w| *w = windows.next().expect("visits are in the same order"));
}
