//! Entries of a table that only go through an elementwise kernel: that kernel looks them up itself, and they are never
//! written down. The bits are those of the two kernels.

use crossover_core::{DType, Layout, Shape};

use super::Uses;
use crate::{
    cost,
    kernel::{CallOp, Dims, Fused, Kernel, Kind, Load, StepOp, Window},
    plan::{Fold, Launch, Plan},
};

/// The kernel that looks up what the kernel at `at` does and goes on as the one that uses it, which is at the place given.
pub(super) fn fold(plan: &Plan, uses: &Uses, at: usize) -> Option<(usize, Fold)> {
    let Kernel::Call(call) = &plan.launches[at].kernel else { return None };
    let (CallOp::Take { axis: 0 }, [table, index]) = (&call.op, &call.operands[..]) else { return None };
    let user = uses.only_user(call.output)?;
    let Kernel::Fused(after) = &plan.launches[user].kernel else { return None };
    if after.kind != Kind::Map || call.layout.shape.size() == 0 {
        return None;
    }
    let dims: Shape = after.space.dims().iter().copied().collect();
    let source = after.loads.iter().position(|load| load.buffer == call.output)?;
    let window = &after.loads[source].window;
    let is_plain = window.offset == 0 && Layout::contiguous(dims.clone()).strides[..] == window.strides[..];
    if !is_plain || dims.size() != call.layout.shape.size() || index.dtype != DType::I64 {
        return None;
    }
    // Entries lie side by side, and so do the elements of one.
    let (length, entry) = (*table.layout.shape.dims().first()?, entry(&table.layout)?);
    let stride = usize::try_from(table.layout.strides[0]).ok()?;
    let [step] = index.layout.strides[..] else { return None };
    let mut kernel = after.clone();
    let inner = cut(&mut kernel, entry)?;
    let outer = kernel.space.rank() - inner;
    let plain = &kernel.loads[source].window.strides;
    let within: Dims<isize> = (0..plain.len()).map(|i| if i < outer { 0 } else { plain[i] }).collect();
    let among: Dims<isize> =
        (0..plain.len()).map(|i| if i < outer { plain[i] / entry as isize * step } else { 0 }).collect();
    kernel.loads[source] = Load {
        buffer: table.buffer,
        dtype: table.dtype,
        window: Window { offset: table.layout.offset, strides: within },
    };
    let (from, which) = (u16::try_from(source).ok()?, u16::try_from(kernel.loads.len()).ok()?);
    kernel.loads.push(Load {
        buffer: index.buffer,
        dtype: index.dtype,
        window: Window { offset: index.layout.offset, strides: among },
    });
    for step in &mut kernel.steps {
        if step.op == StepOp::Load(from) {
            step.op = StepOp::Take { from, at: which, stride, length };
        }
    }
    let kernel = Kernel::Fused(kernel);
    let cost = cost::kernel(&kernel, &plan.buffers);
    let launch = Launch { name: cost::name(&kernel), kernel, cost, free: Vec::new(), fold: None };
    Some((user, Fold { launch, zero: None }))
}

/// Elements of an entry, if they are row-major without gaps.
fn entry(table: &Layout) -> Option<usize> {
    let shape: Shape = table.shape.dims().iter().skip(1).copied().collect();
    let size = shape.size();
    let inside = Layout::contiguous(shape);
    let fits =
        |axis: usize| table.shape.dims()[axis + 1] == 1 || table.strides[axis + 1] == inside.strides[axis];
    ((0..inside.strides.len()).all(fits) && size > 0).then_some(size)
}

/// Cuts an axis of a kernel so that the last axes together have `size` points; how many these are.
fn cut(kernel: &mut Fused, size: usize) -> Option<usize> {
    let dims = kernel.space.dims();
    let (mut left, mut axes) = (size, 0);
    while left > 1 {
        let axis = dims.len().checked_sub(axes + 1)?;
        let length = dims[axis];
        axes += 1;
        if left.is_multiple_of(length) {
            left /= length;
            continue;
        }
        if !length.is_multiple_of(left) {
            return None;
        }
        kernel.space.outer[axis] = length / left;
        kernel.space.outer.insert(axis + 1, left);
        let windows = kernel.loads.iter_mut().map(|l| &mut l.window);
        let windows = windows.chain(kernel.stores.iter_mut().map(|s| &mut s.window));
        let positions = kernel.steps.iter_mut().filter_map(|step| match &mut step.op {
            StepOp::Index { window, .. } | StepOp::Random { window, .. } => Some(window),
            _ => None,
        });
        for window in windows.chain(positions) {
            let stride = window.strides[axis];
            window.strides[axis] = stride * left as isize;
            window.strides.insert(axis + 1, stride);
        }
        left = 1;
    }
    Some(axes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crossover_core::Graph;

    use super::*;
    use crate::Options;

    fn folds(body: &str) -> Vec<Option<Fused>> {
        let graph = Graph::parse(&format!("graph {{\n{body}\n}}")).unwrap();
        let plan = Plan::new(&graph, Options::default()).unwrap();
        let kernel = |launch: &Launch| match launch.fold.as_ref().map(|fold| &fold.launch.kernel) {
            Some(Kernel::Fused(fused)) => Some(fused.clone()),
            _ => None,
        };
        plan.launches.iter().map(kernel).collect()
    }

    #[test]
    fn a_lookup_and_a_sum_are_one_kernel() {
        let found = folds(
            "%t = input f32[50, 12]\n%i = input i64[6]\n%b = input f32[3, 12]\n%r = take %t, %i axis 0\n\
             %c = reshape %r to [2, 3, 12]\n%e = expand %b to [2, 3, 12]\n%y = add %c, %e\nreturn %y",
        );
        let kernel = found[0].clone().unwrap();
        assert_eq!(kernel.space.outer[..], [2, 3, 12]);
        let taken = kernel.steps.iter().find_map(|step| match step.op {
            StepOp::Take { from, at, stride, length } => Some((from as usize, at as usize, stride, length)),
            _ => None,
        });
        let (from, at, stride, length) = taken.unwrap();
        assert_eq!((stride, length), (12, 50));
        assert_eq!(kernel.loads[from].window.strides[..], [0, 0, 1]);
        assert_eq!(kernel.loads[at].window.strides[..], [3, 1, 0]);
        assert_eq!(found[1], None);
    }

    #[test]
    fn a_lookup_waits_for_what_else_its_user_needs() {
        let body = "%t = input f32[50, 12]\n%i = input i64[6]\n%b = input f32[6, 12]\n%n = negative %i\n\
                    %r = take %t, %n axis 0\n%s = sort %b axis 0\n%y = add %r, %s\n%m = max %n axes [0]\nreturn %y, %m";
        let graph = Graph::parse(&format!("graph {{\n{body}\n}}")).unwrap();
        let plan = Plan::new(&graph, Options::default()).unwrap();
        let at = plan.launches.iter().position(|launch| launch.fold.is_some()).unwrap();
        assert!(plan.launches[at].name == "take" && plan.launches[at + 1].name.contains("add"));
        // Nothing is read after it has been freed.
        for (i, launch) in plan.launches.iter().enumerate() {
            for freed in &launch.free {
                let read_later =
                    plan.launches[i + 1..].iter().any(|l| l.kernel.reads().any(|id| id == *freed));
                assert!(!read_later, "{freed:?} after {i}");
            }
        }
    }

    #[test]
    fn of_two_lookups_for_one_kernel_one_is_folded() {
        let graph = Graph::parse(
            "graph {\n%t = input f32[50, 12]\n%i = input i64[6]\n%j = input i64[6]\n%r = take %t, %i axis 0\n\
             %s = take %t, %j axis 0\n%y = subtract %r, %s\nreturn %y\n}",
        );
        let plan = Plan::new(&graph.unwrap(), Options::default()).unwrap();
        let folded: Vec<bool> = plan.launches.iter().map(|launch| launch.fold.is_some()).collect();
        assert_eq!(folded, [false, true, false]);
    }

    #[test]
    fn single_elements_are_looked_up_too() {
        let found =
            folds("%t = input f32[50]\n%i = input i64[6]\n%r = take %t, %i axis 0\n%y = exp %r\nreturn %y");
        let kernel = found[0].clone().unwrap();
        assert_eq!(
            (&kernel.loads[0].window.strides[..], &kernel.loads[1].window.strides[..]),
            (&[0][..], &[1][..])
        );
    }

    #[test]
    fn what_somebody_else_looks_at_stays() {
        let held = folds(
            "%t = input f32[50]\n%i = input i64[6]\n%r = take %t, %i axis 0\n%y = exp %r\nreturn %y, %r",
        );
        assert!(held.iter().all(Option::is_none));
        let turned = folds(
            "%t = input f32[50, 4]\n%i = input i64[6]\n%r = take %t, %i axis 0\n%p = permute %r axes [1, 0]\n%y = exp %p\nreturn %y",
        );
        assert!(turned.iter().all(Option::is_none));
    }
}
