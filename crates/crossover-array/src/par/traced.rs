//! What a function of arrays computes, found by calling it once with arrays that have no values.

use std::{panic::Location, sync::Arc};

use crossover_core::{Graph, graph::Type};
use crossover_runtime::Buffer;
use smallvec::SmallVec;

use super::{leading, tasks::isolated};
use crate::{Array, Runtime, eval};

/// A traced function.
pub(super) struct Traced {
    graph: Graph,
    /// Buffers of what the function has captured; those of the items are left out.
    inputs: SmallVec<[Arc<Buffer>; 4]>,
    /// Which inputs stand for the pieces of an item, and for which.
    holes: SmallVec<[(usize, usize); 2]>,
    /// Type of the result for one item.
    pub ty: Type,
}

/// How a trace ended.
pub(super) enum Outcome {
    /// The result for each item is one of its pieces.
    Piece(usize),
    /// A graph of all that is to be computed.
    Graph(Box<Traced>),
    /// The function has to be called for each item; the reason.
    Each(String),
}

/// Calls a function with pieces of these types that have no values.
pub(super) fn trace(
    types: &[Type],
    location: &'static Location<'static>,
    f: impl FnOnce(Vec<Array>) -> Array,
) -> Outcome {
    let nodes: Vec<_> = types.iter().map(|ty| eval::placeholder(ty.clone(), location)).collect();
    let pieces: Vec<Array> = nodes.iter().map(|node| Array::from_node(node.clone())).collect();
    let tracing = eval::Tracing::new(nodes);
    let result = match isolated(|| f(pieces)) {
        Ok(result) => result,
        Err(panic) => {
            return Outcome::Each(format!("the function panicked while it was traced: {}", panic.message()));
        }
    };
    // It may have hidden the error and gone on with something else, which would be wrong for every item.
    if tracing.was_asked() {
        return Outcome::Each("the function asks for values of its argument".to_string());
    }
    if let Some(error) = result.failure() {
        return Outcome::Each(format!("the function failed while it was traced: {error}"));
    }
    let target = result.node();
    if let Some(piece) = tracing.placeholders().iter().position(|node| Arc::ptr_eq(node, &target)) {
        return Outcome::Piece(piece);
    }
    let runtime = Runtime::current();
    match eval::extract_around(&[&target], &runtime, tracing.placeholders()) {
        Err(error) => Outcome::Each(format!("the function cannot be traced: {error}")),
        Ok(found) => {
            let eval::Extraction { graph, inputs, holes, .. } = found;
            // Results that something else still holds are no concern of this graph.
            let graph = only_first(graph);
            Outcome::Graph(Box::new(Traced { graph, inputs, holes, ty: target.ty.clone() }))
        }
    }
}

fn only_first(graph: Graph) -> Graph {
    if graph.outputs().len() == 1 {
        return graph;
    }
    let mut alone = Graph::new();
    for node in graph.nodes() {
        match node.op {
            crossover_core::graph::Op::Scalar { slot, .. } => {
                alone.scalar(graph.scalars()[slot as usize]);
            }
            _ => {
                alone.push_typed(node.op.clone(), node.args.clone(), node.ty.clone());
            }
        }
    }
    alone.output(graph.outputs()[0]);
    alone
}

impl Traced {
    /// The graph for so many items.
    pub fn lifted(&self, count: usize) -> Result<Graph, leading::Refusal> {
        let items: SmallVec<[usize; 2]> = self.holes.iter().map(|hole| hole.0).collect();
        leading::lift(&self.graph, &items, count)
    }

    /// Whether it is one operation on pieces of the item and nothing else.
    pub fn is_bare(&self) -> bool {
        self.inputs.is_empty() && self.graph.nodes().len() == self.holes.len() + 1
    }

    /// Which pieces of the item the inputs stand for, in their order, where there are no others.
    pub fn pieces(&self) -> impl Iterator<Item = usize> {
        let piece = |index: usize| self.holes.iter().find(|hole| hole.0 == index).map(|hole| hole.1);
        (0..self.holes.len()).filter_map(piece)
    }

    /// The buffers of a lifted graph, given those of the stacked pieces.
    pub fn inputs(&self, pieces: &[Arc<Buffer>]) -> SmallVec<[Arc<Buffer>; 4]> {
        let mut captured = self.inputs.iter();
        let count = self.inputs.len() + self.holes.len();
        (0..count)
            .filter_map(|index| match self.holes.iter().find(|hole| hole.0 == index) {
                Some(&(_, piece)) => pieces.get(piece).cloned(),
                None => captured.next().cloned(),
            })
            .collect()
    }

    /// What the function has captured.
    pub fn captured(&self) -> &[Arc<Buffer>] {
        &self.inputs
    }

    /// The inputs as whoever decides where a group is worked on sees them while its pieces are on the host: `piece` stands for each.
    pub fn outlook(&self, piece: &Arc<Buffer>) -> SmallVec<[Arc<Buffer>; 4]> {
        let pieces = self.holes.iter().map(|hole| hole.1 + 1).max().unwrap_or(0);
        self.inputs(&vec![piece.clone(); pieces])
    }

    /// Bytes of an item that are moved: pieces, result, and values that calls and reductions make.
    pub fn bytes_per_item(&self) -> u64 {
        let kept = self.graph.nodes().iter().filter(|node| !node.op.is_view() && !node.op.is_elementwise());
        size(&self.ty).saturating_add(kept.map(|node| size(&node.ty)).fold(0, u64::saturating_add))
    }

    /// Bytes of an item if each of its values had memory of its own, and as much again for what calls need besides: no plan takes more.
    pub fn bytes_apart(&self) -> u64 {
        let values = self.graph.nodes().iter().map(|node| size(&node.ty)).fold(0, u64::saturating_add);
        values.saturating_mul(2).saturating_add(size(&self.ty))
    }
}

fn size(ty: &Type) -> u64 {
    ty.shape.size() as u64 * ty.dtype.size() as u64
}
