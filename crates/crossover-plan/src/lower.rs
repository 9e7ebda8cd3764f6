//! Groups to kernels: steps, windows, roundings, canonical NaNs, buffers and their last use.

mod coalesce;
mod fused;

use crossover_core::graph::Op;

use crate::{
    cost,
    draft::{Draft, Item, ItemId, Work},
    fuse::Group,
    kernel::{BufferId, Call, CallOp, Extent, Kernel, Operand},
    plan::{Buffer, Launch, Plan, Role},
};

/// Buffers of items, made on first mention.
pub(crate) struct Buffers<'a> {
    draft: &'a Draft,
    of_item: Vec<Option<BufferId>>,
    all: Vec<Buffer>,
}

impl Buffers<'_> {
    /// Parts of a concatenation are written into its buffer.
    fn share(&mut self) {
        for id in 0..self.draft.items.len() {
            let item = &self.draft.items[id];
            if matches!(item.work, Work::Op(Op::Concat { .. })) {
                let whole = self.of(id);
                for part in &item.args {
                    self.of_item[part.item] = Some(whole);
                }
            }
        }
    }

    /// The buffer that holds an item's row-major result.
    fn of(&mut self, item: ItemId) -> BufferId {
        if let Some(id) = self.of_item[item] {
            return id;
        }
        let ty = &self.draft.items[item].ty;
        let role = match self.draft.items[item].work {
            Work::Op(Op::Input { index, .. }) => Role::Input(index),
            _ => Role::Computed,
        };
        let id = BufferId(self.all.len() as u32);
        self.all.push(Buffer { dtype: ty.dtype, elements: ty.shape.size(), role });
        self.of_item[item] = Some(id);
        id
    }
}

/// Kernels for groups that are in execution order.
pub(crate) fn plan(draft: &Draft, groups: Vec<Group>) -> Plan {
    let mut buffers = Buffers { draft, of_item: vec![None; draft.items.len()], all: Vec::new() };
    buffers.share();
    let stored = stored_items(draft, &groups);
    let mut launches = Vec::new();
    for group in &groups {
        let first = &draft.items[group.members[0].0];
        let kernels = match (&group.domain, &first.work) {
            (Some(domain), _) => {
                vec![Kernel::Fused(fused::kernel(draft, group, domain, &stored, &mut buffers))]
            }
            // The parts are in place already.
            (None, Work::Op(Op::Concat { .. })) => Vec::new(),
            (None, _) => vec![Kernel::Call(call(first, group.members[0].0, &mut buffers))],
        };
        for kernel in kernels.into_iter().filter(writes_anything) {
            let cost = cost::kernel(&kernel, &buffers.all);
            launches.push(Launch { name: cost::name(&kernel), kernel, cost, free: Vec::new(), fold: None });
        }
    }
    let outputs: Vec<BufferId> = draft.outputs.iter().map(|&item| buffers.of(item)).collect();
    let mut plan = Plan { buffers: buffers.all, launches, outputs };
    release(&mut plan);
    plan
}

/// Items that somebody outside their group reads, or that are outputs.
fn stored_items(draft: &Draft, groups: &[Group]) -> Vec<bool> {
    let mut home = vec![usize::MAX; draft.items.len()];
    for (g, group) in groups.iter().enumerate() {
        for member in &group.members {
            home[member.0] = g;
        }
    }
    let mut stored = vec![false; draft.items.len()];
    for (id, item) in draft.items.iter().enumerate() {
        for arg in &item.args {
            if home[arg.item] != home[id] {
                stored[arg.item] = true;
            }
        }
    }
    for &output in &draft.outputs {
        stored[output] = true;
    }
    stored
}

/// A kernel that only writes empty arrays has nothing to do.
fn writes_anything(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::Fused(k) => {
            let kept = k.space.outer_size() * k.space.inner_size();
            kept > 0
                && (k.space.size() > 0
                    || k.stores.iter().any(|s| k.steps[s.step as usize].extent == Extent::Reduced))
        }
        Kernel::Call(c) => c.layout.shape.size() > 0,
    }
}

fn call(item: &Item, id: ItemId, buffers: &mut Buffers<'_>) -> Call {
    let op = match &item.work {
        Work::Op(Op::MatMul) => CallOp::MatMul,
        Work::Op(Op::Scan { op, axis }) => CallOp::Scan { op: *op, axis: *axis },
        Work::Op(Op::Sample(sampler)) => CallOp::Sample(*sampler),
        Work::Op(Op::Take { axis }) => CallOp::Take { axis: *axis },
        Work::Op(Op::Gather { axis }) => CallOp::Gather { axis: *axis },
        Work::Op(Op::Scatter { op, axis }) => CallOp::Scatter { op: *op, axis: *axis },
        Work::Op(Op::Sort { axis, descending, indices }) => {
            CallOp::Sort { axis: *axis, descending: *descending, indices: *indices }
        }
        Work::Op(Op::TopK { axis, descending, .. }) => CallOp::TopK { axis: *axis, descending: *descending },
        Work::Op(Op::SearchSorted { right }) => CallOp::SearchSorted { right: *right },
        Work::Op(Op::Compress { .. }) => CallOp::Compress,
        Work::Op(Op::Fft { kind, axes, scale }) => {
            CallOp::Fft { kind: *kind, axes: axes.clone(), scale: *scale }
        }
        Work::Op(Op::Linalg(op)) => CallOp::Linalg(*op),
        Work::Op(Op::Convolve { mode, boundary }) => CallOp::Convolve { mode: *mode, boundary: *boundary },
        Work::Op(Op::Custom(kernel)) => CallOp::Custom(kernel.clone()),
        other => unreachable!("{other:?} is fused or a source, never a call"),
    };
    let operands = item
        .args
        .iter()
        .map(|arg| Operand {
            buffer: buffers.of(arg.item),
            dtype: buffers.draft.items[arg.item].ty.dtype,
            layout: arg.layout.clone(),
        })
        .collect();
    let layout = crossover_core::Layout::contiguous(item.ty.shape.clone());
    Call { op, operands, output: buffers.of(id), layout, dtype: item.ty.dtype }
}

/// Notes after which kernel each computed buffer can be reused.
fn release(plan: &mut Plan) {
    let mut last = vec![None; plan.buffers.len()];
    for (at, launch) in plan.launches.iter().enumerate() {
        for buffer in launch.kernel.reads().chain(launch.kernel.writes()) {
            last[buffer.0 as usize] = Some(at);
        }
    }
    for output in &plan.outputs {
        last[output.0 as usize] = None;
    }
    for (buffer, last) in last.into_iter().enumerate() {
        if let Some(at) = last
            && plan.buffers[buffer].role == Role::Computed
        {
            plan.launches[at].free.push(BufferId(buffer as u32));
        }
    }
}
