//! From pending nodes to buffers.

use std::sync::Arc;

use crossover_core::{Graph, NodeId, Scalar, graph::Op};
use crossover_runtime::Buffer;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::{
    Error, Result,
    node::{Node, State},
    runtime::Runtime,
};

/// Pending nodes that may pile up before they are evaluated without being asked for.
pub(crate) const MAX_PENDING: u32 = 512;

/// A graph that computes some nodes, with what it reads and what it returns.
pub(crate) struct Extraction {
    pub graph: Graph,
    pub inputs: SmallVec<[Arc<Buffer>; 4]>,
    /// Nodes of the graph's outputs, in order.
    pub outputs: SmallVec<[Arc<Node>; 1]>,
}

/// Evaluates a node on the current runtime, unless it is ready.
pub(crate) fn node(target: &Arc<Node>) -> Result<Arc<Buffer>> {
    match target.state() {
        State::Ready(buffer) => return Ok(buffer),
        State::Failed(error) => return Err(error),
        _ => {}
    }
    let runtime = Runtime::current();
    let extraction = extract(target, &runtime)?;
    let evaluated = runtime.executor().evaluate(&extraction.graph, &extraction.inputs);
    let buffers = match evaluated {
        Ok(buffers) => buffers,
        Err(error) => {
            let error = Error::new(error, target.location);
            target.finish(State::Failed(error.clone()));
            return Err(error);
        }
    };
    let result = buffers[0].clone();
    for (node, buffer) in extraction.outputs.into_iter().zip(buffers) {
        node.finish(State::Ready(buffer));
    }
    Ok(result)
}

/// Evaluates a node whose pending ancestry has grown too large.
pub(crate) fn limit(target: &Arc<Node>) {
    if target.weight() <= MAX_PENDING {
        return;
    }
    // The weight counts shared operands several times; the true number decides.
    let exact = count_pending(target);
    target.set_weight(exact);
    if exact > MAX_PENDING / 2 {
        // A failure stays in the node and surfaces when somebody asks for bytes.
        let _ = node(target);
    }
}

fn count_pending(target: &Arc<Node>) -> u32 {
    let mut seen: FxHashMap<*const Node, ()> = FxHashMap::default();
    let mut stack = vec![target.clone()];
    while let Some(node) = stack.pop() {
        if let State::Pending { args, .. } = node.state()
            && seen.insert(Arc::as_ptr(&node), ()).is_none()
        {
            stack.extend(args);
        }
    }
    seen.len() as u32
}

/// One node on the way to becoming part of a graph.
enum Visit {
    Enter(Arc<Node>),
    Leave(Arc<Node>, Op, SmallVec<[Arc<Node>; 3]>),
}

/// The graph of everything pending below a node. The node is its first output.
pub(crate) fn extract(target: &Arc<Node>, runtime: &Runtime) -> Result<Extraction> {
    let mut graph = Graph::new();
    let mut inputs: SmallVec<[Arc<Buffer>; 4]> = SmallVec::new();
    let mut ids: FxHashMap<*const Node, (NodeId, usize)> = FxHashMap::default();
    let mut scalars: SmallVec<[(Scalar, NodeId); 8]> = SmallVec::new();
    let mut candidates: SmallVec<[Arc<Node>; 4]> = SmallVec::new();
    // Nodes are kept alive here, so that an address stands for one node throughout.
    let mut alive: SmallVec<[Arc<Node>; 16]> = SmallVec::new();
    let mut stack: SmallVec<[Visit; 16]> = SmallVec::new();
    stack.push(Visit::Enter(target.clone()));
    while let Some(visit) = stack.pop() {
        match visit {
            Visit::Enter(node) => {
                let key = Arc::as_ptr(&node);
                if ids.contains_key(&key) {
                    continue;
                }
                match node.state() {
                    State::Failed(error) => return Err(error),
                    State::Pending { op, args } => {
                        let operands = args.clone();
                        stack.push(Visit::Leave(node, op, args));
                        stack.extend(operands.into_iter().rev().map(Visit::Enter));
                    }
                    State::Scalar(value) => {
                        // Equal scalars share a node, so that equal computations are found to be equal.
                        let known = scalars.iter().find(|s| s.0 == value).map(|s| s.1);
                        let id = known.unwrap_or_else(|| {
                            let id = graph.scalar(value);
                            scalars.push((value, id));
                            id
                        });
                        ids.insert(key, (id, 0));
                        alive.push(node);
                    }
                    State::Ready(buffer) => {
                        let op = Op::Input { index: graph.input_count() as u32, ty: node.ty.clone() };
                        let id = graph.push_typed(op, SmallVec::new(), node.ty.clone());
                        inputs.push(runtime.adopt(buffer, node.location)?);
                        ids.insert(key, (id, 0));
                        alive.push(node);
                    }
                }
            }
            Visit::Leave(node, op, args) => {
                let key = Arc::as_ptr(&node);
                if ids.contains_key(&key) {
                    continue;
                }
                let mut operands: SmallVec<[NodeId; 3]> = SmallVec::new();
                for arg in &args {
                    let entry = ids.get_mut(&Arc::as_ptr(arg)).expect("operands were visited first");
                    entry.1 += 1;
                    operands.push(entry.0);
                }
                let worth_keeping = !op.is_view() && !op.is_elementwise();
                let id = graph.push_typed(op, operands, node.ty.clone());
                ids.insert(key, (id, 0));
                if worth_keeping && !Arc::ptr_eq(&node, target) {
                    candidates.push(node);
                } else {
                    alive.push(node);
                }
            }
        }
    }
    let mut outputs: SmallVec<[Arc<Node>; 1]> = SmallVec::new();
    graph.output(ids[&Arc::as_ptr(target)].0);
    outputs.push(target.clone());
    for node in candidates {
        let (id, uses) = ids[&Arc::as_ptr(&node)];
        // Reductions and calls that an array still holds are stored anyway; keep them instead of computing them again.
        if Arc::strong_count(&node) > uses + 1 {
            graph.output(id);
            outputs.push(node);
        }
    }
    Ok(Extraction { graph, inputs, outputs })
}
