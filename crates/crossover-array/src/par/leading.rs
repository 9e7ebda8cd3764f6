//! A graph for one item, rewritten for many: values that depend on an item get one more leading axis.
//!
//! What always holds: entry `i` of a lifted value is what the graph computes of item `i`. Reductions keep their order, since it is decided
//! by the reduced axes, which move together; so the bits are those of single items, except of products, transforms and decompositions,
//! which state an error. What has no such form is refused with a reason, and nothing is guessed.

use crossover_core::{
    Graph, NodeId, Shape, Span,
    graph::{Axes, Node, Op, Type},
};
use smallvec::{SmallVec, smallvec};

/// Why a graph cannot be lifted.
pub(super) type Refusal = String;

/// The graph with a leading axis of length `count` on the inputs `items` (by position) and on all outputs.
pub(super) fn lift(graph: &Graph, items: &[usize], count: usize) -> Result<Graph, Refusal> {
    let mut lift = Lift { graph: Graph::new(), count, seen: Vec::with_capacity(graph.nodes().len()) };
    for node in graph.nodes() {
        let done = lift.node(graph, node, items).map_err(|error| format!("{}: {error}", node.op.name()))?;
        lift.seen.push(done);
    }
    for &output in graph.outputs() {
        let lifted = lift.lifted(output).map_err(|error| error.to_string())?;
        lift.graph.output(lifted);
    }
    lift.graph.verify().map_err(|error| error.to_string())?;
    Ok(lift.graph)
}

struct Lift {
    graph: Graph,
    count: usize,
    /// For each node of the old graph its value in the new one, and whether it has the leading axis.
    seen: Vec<(NodeId, bool)>,
}

type Lifted = Result<(NodeId, bool), Refusal>;

impl Lift {
    fn is_lifted(&self, id: NodeId) -> bool {
        self.seen[id.index()].1
    }

    fn push(&mut self, op: Op, args: &[NodeId]) -> Result<NodeId, Refusal> {
        self.graph.push(op, args).map_err(|error| error.to_string())
    }

    /// A value with the leading axis, repeated along it if it is the same for all items.
    fn lifted(&mut self, id: NodeId) -> Result<NodeId, Refusal> {
        let (now, lifted) = self.seen[id.index()];
        if lifted {
            return Ok(now);
        }
        let shape = self.leading(&self.graph.node(now).ty.shape);
        self.push(Op::Expand(shape), &[now])
    }

    fn leading(&self, shape: &Shape) -> Shape {
        std::iter::once(self.count).chain(shape.iter().copied()).collect()
    }

    fn node(&mut self, old: &Graph, node: &Node, items: &[usize]) -> Lifted {
        if let Op::Input { index, ty } = &node.op {
            let lifted = items.contains(&(*index as usize));
            let shape = if lifted { self.leading(&ty.shape) } else { ty.shape.clone() };
            let ty = Type { dtype: ty.dtype, shape };
            return Ok((self.push(Op::Input { index: *index, ty }, &[])?, lifted));
        }
        if let Op::Scalar { slot, .. } = node.op {
            return Ok((self.graph.scalar(old.scalars()[slot as usize]), false));
        }
        if !node.args.iter().any(|&arg| self.is_lifted(arg)) {
            let args: SmallVec<[NodeId; 3]> = node.args.iter().map(|arg| self.seen[arg.index()].0).collect();
            return Ok((self.push(node.op.clone(), &args)?, false));
        }
        Ok((self.dependent(old, node)?, true))
    }

    /// A node of which at least one operand depends on the item.
    fn dependent(&mut self, old: &Graph, node: &Node) -> Result<NodeId, Refusal> {
        let shape_of = |id: NodeId| &old.node(id).ty.shape;
        let first = node.args[0];
        let op = match &node.op {
            Op::Map(_) | Op::Cast(_) | Op::Where | Op::Linalg(_) => node.op.clone(),
            Op::Custom(kernel) if kernel.is_elementwise() => node.op.clone(),
            Op::Reduce { op, axes, .. } if op.is_arg() && axes.len() > 1 => {
                // The index over all axes is that along one axis of all elements.
                let flat = Shape::from([self.count, shape_of(first).size()]);
                let flat = self.with(Op::Reshape(flat), &[first])?;
                let found =
                    self.push(Op::Reduce { op: *op, axes: smallvec![1], keepdims: false }, &[flat])?;
                let shape = self.leading(&node.ty.shape);
                return self.push(Op::Reshape(shape), &[found]);
            }
            Op::Reduce { op, axes, keepdims } => {
                Op::Reduce { op: *op, axes: moved(axes), keepdims: *keepdims }
            }
            Op::Scan { op, axis } => Op::Scan { op: *op, axis: axis + 1 },
            Op::Reshape(shape) => Op::Reshape(self.leading(shape)),
            Op::Permute(axes) => {
                Op::Permute(std::iter::once(0).chain(axes.iter().map(|axis| axis + 1)).collect())
            }
            Op::Expand(shape) => return self.expand(shape_of(first), shape, first),
            Op::Flip(axes) => Op::Flip(moved(axes)),
            Op::Slice(spans) => {
                let all = Span { start: 0, step: 1, length: self.count };
                Op::Slice(std::iter::once(all).chain(spans.iter().copied()).collect())
            }
            Op::Strided(layout) => {
                let mut layout = layout.clone();
                layout.strides.insert(0, shape_of(first).size() as isize);
                layout.shape = self.leading(&layout.shape);
                Op::Strided(layout)
            }
            Op::Concat { axis } => Op::Concat { axis: axis + 1 },
            Op::Take { axis } => return self.take(*axis, node),
            Op::Gather { axis } => Op::Gather { axis: axis + 1 },
            Op::Scatter { op, axis } => Op::Scatter { op: *op, axis: axis + 1 },
            Op::Sort { axis, descending, indices } => {
                Op::Sort { axis: axis + 1, descending: *descending, indices: *indices }
            }
            Op::TopK { axis, k, descending } => Op::TopK { axis: axis + 1, k: *k, descending: *descending },
            Op::SearchSorted { .. } if !self.is_lifted(first) => {
                let (line, values) = (self.seen[first.index()].0, self.seen[node.args[1].index()].0);
                return self.push(node.op.clone(), &[line, values]);
            }
            Op::MatMul => return self.matmul(old, node),
            Op::Fft { kind, axes, scale } => Op::Fft { kind: *kind, axes: moved(axes), scale: *scale },
            _ => return Err("has no form for many items at once".to_string()),
        };
        let args = node.args.clone();
        self.with(op, &args)
    }

    /// An op on values that all get the leading axis.
    fn with(&mut self, op: Op, args: &[NodeId]) -> Result<NodeId, Refusal> {
        let args: Result<SmallVec<[NodeId; 3]>, Refusal> = args.iter().map(|&arg| self.lifted(arg)).collect();
        self.push(op, &args?)
    }

    /// New leading axes of an item come after that of the items.
    fn expand(&mut self, from: &Shape, to: &Shape, arg: NodeId) -> Result<NodeId, Refusal> {
        let ones = to.rank() - from.rank();
        let aligned: Shape = std::iter::repeat_n(1, ones).chain(from.iter().copied()).collect();
        let aligned = Op::Reshape(self.leading(&aligned));
        let aligned = if ones > 0 { self.with(aligned, &[arg])? } else { self.lifted(arg)? };
        let shape = self.leading(to);
        self.push(Op::Expand(shape), &[aligned])
    }

    fn take(&mut self, axis: usize, node: &Node) -> Result<NodeId, Refusal> {
        let (values, indices) = (self.seen[node.args[0].index()], self.seen[node.args[1].index()]);
        match (values.1, indices.1) {
            (true, false) => self.push(Op::Take { axis: axis + 1 }, &[values.0, indices.0]),
            (false, true) => {
                // Entries for all items in one go; then the items' axis moves to the front.
                let many = self.graph.node(indices.0).ty.shape.size();
                let flat = self.push(Op::Reshape(Shape::from([many])), &[indices.0])?;
                let found = self.push(Op::Take { axis }, &[values.0, flat])?;
                let mut dims = node.ty.shape.dims().to_vec();
                dims.insert(axis, self.count);
                let rank = dims.len();
                let parted = self.push(Op::Reshape(Shape::from(dims)), &[found])?;
                let order: Axes = std::iter::once(axis).chain((0..rank).filter(|&a| a != axis)).collect();
                self.push(Op::Permute(order), &[parted])
            }
            _ => Err("takes entries of each item at places that each item says".to_string()),
        }
    }

    /// Products with one matrix for all items are one product of all rows.
    fn matmul(&mut self, old: &Graph, node: &Node) -> Result<NodeId, Refusal> {
        let (left, right) = (node.args[0], node.args[1]);
        let [rows, inner] = *old.node(left).ty.shape.dims() else {
            return self.with(Op::MatMul, &[left, right]);
        };
        if !self.is_lifted(left) || self.is_lifted(right) {
            return self.with(Op::MatMul, &[left, right]);
        }
        let flat = self.with(Op::Reshape(Shape::from([self.count * rows, inner])), &[left])?;
        let right = self.seen[right.index()].0;
        let product = self.push(Op::MatMul, &[flat, right])?;
        let shape = self.leading(&node.ty.shape);
        self.push(Op::Reshape(shape), &[product])
    }
}

fn moved(axes: &Axes) -> Axes {
    axes.iter().map(|axis| axis + 1).collect()
}
