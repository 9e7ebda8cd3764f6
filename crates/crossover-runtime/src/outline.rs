//! What placement has to know about a plan, whatever its operands: worked out once.

use std::hash::{Hash, Hasher};

use crossover_plan::{Plan, Role, Work, kernel::Kernel};
use rustc_hash::FxHasher;
use smallvec::SmallVec;

use crate::solve::Node;

/// The part of a placement problem that is the same for all evaluations of a plan.
#[derive(Debug)]
pub(crate) struct Outline {
    pub nodes: Vec<Node>,
    pub work: Vec<Work>,
    /// Hash and half octaves of each kernel.
    pub keys: Vec<(u64, u16)>,
    pub bytes: Vec<u64>,
    /// Bytes of all buffers that a kernel uses, of the kernel that uses most.
    pub most: u64,
    pub outputs: Vec<u32>,
    /// Input of the graph for each buffer that is one.
    pub inputs: Vec<(u32, u32)>,
    /// Whether each kernel's bits depend on who computes it.
    pub bounded: Vec<bool>,
}

impl Outline {
    pub fn new(plan: &Plan) -> Outline {
        let work = plan.work();
        let node = |launch: &crossover_plan::Launch| {
            let mut reads: SmallVec<[u32; 4]> = launch.kernel.reads().map(|b| b.0).collect();
            reads.sort_unstable();
            reads.dedup();
            let mut writes: SmallVec<[u32; 2]> = launch.kernel.writes().map(|b| b.0).collect();
            writes.sort_unstable();
            writes.dedup();
            Node { reads, writes, frees: launch.free.iter().map(|b| b.0).collect() }
        };
        let keys = plan.launches.iter().zip(&work).map(|(l, w)| (kind(l), size(w))).collect();
        let inputs = plan.buffers.iter().enumerate().filter_map(|(at, buffer)| match buffer.role {
            Role::Input(i) => Some((at as u32, i)),
            Role::Computed => None,
        });
        let bytes: Vec<u64> = plan.buffers.iter().map(|b| b.bytes() as u64).collect();
        let nodes: Vec<Node> = plan.launches.iter().map(node).collect();
        let used = |node: &Node| {
            node.reads.iter().chain(&node.writes).map(|&b| bytes[b as usize]).fold(0, u64::saturating_add)
        };
        Outline {
            most: nodes.iter().map(used).max().unwrap_or(0),
            nodes,
            keys,
            work,
            bytes,
            outputs: plan.outputs.iter().map(|b| b.0).collect(),
            inputs: inputs.collect(),
            bounded: plan.launches.iter().map(|l| is_bounded(&l.kernel)).collect(),
        }
    }
}

/// Whether the bits of a call depend on who computes it: libraries sum in orders of their own.
pub(crate) fn is_bounded(kernel: &Kernel) -> bool {
    use crossover_plan::kernel::CallOp;
    matches!(kernel, Kernel::Call(call) if matches!(
        call.op,
        CallOp::MatMul | CallOp::Linear { .. } | CallOp::Fft { .. } | CallOp::Linalg(_)
    ))
}

/// A hash of what a kernel does, whatever its sizes.
fn kind(launch: &crossover_plan::Launch) -> u64 {
    let mut hasher = FxHasher::default();
    launch.name.hash(&mut hasher);
    match &launch.kernel {
        Kernel::Fused(fused) => {
            (fused.kind, fused.steps.len(), fused.stores.len()).hash(&mut hasher);
            for load in &fused.loads {
                // Whether it is read in order decides the speed; by how much it is off does not.
                let dense = load.window.strides.last().is_none_or(|&s| s == 1);
                (load.dtype, dense).hash(&mut hasher);
            }
        }
        Kernel::Call(call) => {
            call.dtype.hash(&mut hasher);
            for operand in &call.operands {
                (operand.dtype, operand.layout.is_contiguous()).hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

/// Half octaves of bytes and operations together.
fn size(work: &Work) -> u16 {
    let all = work.terms.iter().map(|t| t.count).fold(work.bytes, u64::saturating_add);
    (2.0 * (all.max(1) as f64).log2()).round() as u16
}
