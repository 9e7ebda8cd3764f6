//! Finds a kernel and the next that one kernel can do the work of, on devices that have it.
//!
//! A plan keeps both kernels; a device may launch the one in their place. Nobody but the second looks at what the first
//! writes, so that it need not exist.

mod lookup;
mod product;
mod uses;

use self::uses::Uses;
use crate::{kernel::BufferId, plan::Plan};

/// Notes at each kernel whether the one after it can be folded in. A lookup waits until just before the kernel that it can be folded
/// into.
pub(crate) fn plan(plan: &mut Plan) {
    let mut uses = Uses::of(plan);
    for at in 0..plan.launches.len().saturating_sub(1) {
        // What has been moved away leaves another one here.
        while let Some(user) = lookup_user(plan, &uses, at).filter(|&user| user > at + 1) {
            // One lookup is folded into a kernel, whose place is the one before it.
            if lookup_user(plan, &uses, user - 1) == Some(user) {
                break;
            }
            postpone(plan, at, user - 1);
            uses.moved(plan, at..=user - 1);
        }
        let looked_up =
            || lookup::fold(plan, &uses, at).filter(|(user, _)| *user == at + 1).map(|(_, fold)| fold);
        let fold = product::fold(plan, &uses, at).or_else(looked_up);
        plan.launches[at].fold = fold.map(Box::new);
    }
}

/// The place of the kernel that a lookup can be folded into.
fn lookup_user(plan: &Plan, uses: &Uses, at: usize) -> Option<usize> {
    lookup::fold(plan, uses, at).map(|(user, _)| user)
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
