//! Who reads and writes each buffer of a plan, counted once.

use crate::{
    kernel::BufferId,
    plan::{Plan, Role},
};

/// How often a buffer is read and written, and by whom last.
#[derive(Debug, Clone, Default)]
struct Use {
    reads: usize,
    writes: usize,
    /// Place of the launch behind all others that reads it.
    reader: usize,
    /// Whether somebody outside the plan has it.
    is_outside: bool,
}

/// The uses of all buffers.
pub(super) struct Uses(Vec<Use>);

impl Uses {
    pub fn of(plan: &Plan) -> Uses {
        let outside = |role| Use { is_outside: role != Role::Computed, ..Use::default() };
        let mut uses = Uses(plan.buffers.iter().map(|buffer| outside(buffer.role)).collect());
        for &output in &plan.outputs {
            uses.0[output.0 as usize].is_outside = true;
        }
        for (at, launch) in plan.launches.iter().enumerate() {
            for id in launch.kernel.reads() {
                let buffer = &mut uses.0[id.0 as usize];
                (buffer.reads, buffer.reader) = (buffer.reads + 1, at);
            }
            for id in launch.kernel.writes() {
                uses.0[id.0 as usize].writes += 1;
            }
        }
        uses
    }

    /// Follows launches of these places that have changed places among each other.
    pub fn moved(&mut self, plan: &Plan, places: std::ops::RangeInclusive<usize>) {
        for at in places {
            for id in plan.launches[at].kernel.reads() {
                self.0[id.0 as usize].reader = at;
            }
        }
    }

    /// Place of the one kernel that looks at what another writes, once; `None` if others do, or write there too, or the caller of the
    /// plan has it.
    pub fn only_user(&self, buffer: BufferId) -> Option<usize> {
        let found = &self.0[buffer.0 as usize];
        (found.reads == 1 && found.writes == 1 && !found.is_outside).then_some(found.reader)
    }
}
