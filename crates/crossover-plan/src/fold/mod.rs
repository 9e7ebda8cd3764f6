//! Finds a kernel and the next that one kernel can do the work of, on devices that have it.
//!
//! A plan keeps both kernels; a device may launch the one in their place. Nobody but the second looks at what the first
//! writes, so that it need not exist.

mod lookup;
mod product;

use crate::{
    kernel::BufferId,
    plan::{Plan, Role},
};

/// Notes at each kernel whether the one after it can be folded in. A lookup waits until just before the kernel that it can be folded
/// into.
pub(crate) fn plan(plan: &mut Plan) {
    for at in 0..plan.launches.len().saturating_sub(1) {
        // What has been moved away leaves another one here.
        while let Some(user) = lookup_user(plan, at).filter(|&user| user > at + 1) {
            // One lookup is folded into a kernel, whose place is the one before it.
            if lookup_user(plan, user - 1) == Some(user) {
                break;
            }
            postpone(plan, at, user - 1);
        }
        let looked_up = || lookup::fold(plan, at).filter(|(user, _)| *user == at + 1).map(|(_, fold)| fold);
        let fold = product::fold(plan, at).or_else(looked_up);
        plan.launches[at].fold = fold.map(Box::new);
    }
}

/// The place of the kernel that a lookup can be folded into.
fn lookup_user(plan: &Plan, at: usize) -> Option<usize> {
    lookup::fold(plan, at).map(|(user, _)| user)
}

/// Moves a launch to a later place, with what must not be freed before it.
fn postpone(plan: &mut Plan, from: usize, to: usize) {
    let mut moved = plan.launches.remove(from);
    let reads: Vec<BufferId> = moved.kernel.reads().collect();
    for launch in &mut plan.launches[from..to] {
        let (late, kept) = launch.free.drain(..).partition(|id| reads.contains(id));
        launch.free = kept;
        moved.free.extend::<Vec<BufferId>>(late);
    }
    plan.launches.insert(to, moved);
}

/// The one kernel that looks at what a kernel writes, once; `None` if others do, or the caller of the plan.
fn only_user(plan: &Plan, buffer: BufferId, at: usize) -> Option<usize> {
    let reads = |k: usize| plan.launches[k].kernel.reads().filter(|id| *id == buffer).count();
    let writes = |k: usize| plan.launches[k].kernel.writes().filter(|id| *id == buffer).count();
    let user = (0..plan.launches.len()).find(|&k| reads(k) > 0)?;
    let is_private = plan.buffers[buffer.0 as usize].role == Role::Computed
        && !plan.outputs.contains(&buffer)
        && (0..plan.launches.len())
            .all(|k| reads(k) == usize::from(k == user) && writes(k) == usize::from(k == at));
    is_private.then_some(user)
}
