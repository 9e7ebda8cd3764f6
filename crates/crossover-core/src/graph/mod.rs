//! What is to be computed, as a list of nodes in which every operand comes before its user.
//!
//! A graph is strict: elementwise operands have equal dtypes and shapes, broadcasting and conversion are nodes of
//! their own. The loose, NumPy-like rules live in [`crate::compose`], which inserts those nodes.
//!
//! Host scalars are kept beside the nodes ([`Graph::scalars`]): graphs that differ only in such values are equal,
//! hash equal and share a plan.

mod infer;
pub(crate) mod lexer;
pub(crate) mod literal;
mod lookup;
mod op;
mod others;
pub(crate) mod read;
mod verify;
mod write;

use std::hash::{Hash, Hasher};

use smallvec::SmallVec;

pub use self::{
    op::{Axes, Op, Type},
    others::Other,
    read::names,
};
use crate::{DType, Error, Result, Scalar, Shape, custom::CustomKernel};

/// A node of a graph, by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The position in [`Graph::nodes`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One operation with its operands and the type of its result.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Node {
    /// What is done.
    pub op: Op,
    /// The operands, all of them earlier nodes.
    pub args: SmallVec<[NodeId; 3]>,
    /// Dtype and shape of the result.
    pub ty: Type,
}

/// A computation. See the [module documentation](self).
///
/// ```
/// use crossover_core::{DType, Graph, Shape, ops::MapOp};
/// let mut graph = Graph::new();
/// let x = graph.input(DType::F32, Shape::from([2, 3]))?;
/// let y = graph.map(MapOp::Exp, &[x])?;
/// graph.output(y);
/// assert_eq!(Graph::parse(&graph.to_string())?, graph);
///
/// assert_eq!((graph.nodes().len(), graph.input_count(), graph.outputs()), (2, 1, &[y][..]));
/// assert_eq!(graph.node(y).op.name(), "exp");
/// let one = graph.scalar(crossover_core::Scalar::one(DType::F32));
/// graph.push(crossover_core::graph::Op::Expand(Shape::from([2, 3])), &[one])?;
/// assert_eq!(graph.scalars().len(), 1);
/// graph.verify()?;
/// # Ok::<(), crossover_core::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    outputs: Vec<NodeId>,
    scalars: Vec<Scalar>,
    inputs: u32,
}

impl Graph {
    /// A graph without nodes.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// The nodes, operands before users.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// One node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The results, in the order they were declared.
    pub fn outputs(&self) -> &[NodeId] {
        &self.outputs
    }

    /// Values of the host scalars that [`Op::Scalar`] nodes name.
    pub fn scalars(&self) -> &[Scalar] {
        &self.scalars
    }

    /// Number of inputs.
    pub fn input_count(&self) -> usize {
        self.inputs as usize
    }

    /// Adds a node after checking its operands.
    pub fn push(&mut self, op: Op, args: &[NodeId]) -> Result<NodeId> {
        if let Some(missing) = args.iter().find(|a| a.index() >= self.nodes.len()) {
            return Err(Error::Graph {
                node: self.nodes.len(),
                what: format!("operand %{} is not an earlier node", missing.0),
            });
        }
        let ty = {
            let types: SmallVec<[&Type; 3]> = args.iter().map(|a| &self.node(*a).ty).collect();
            op.infer(&types)?
        };
        Ok(self.push_typed(op, SmallVec::from_slice(args), ty))
    }

    /// Adds a node whose type the caller has inferred already.
    ///
    /// ```
    /// use crossover_core::{DType, Graph, graph::{Op, Type}, ops::MapOp};
    /// let mut graph = Graph::new();
    /// let x = graph.input(DType::F32, [4].into())?;
    /// let y = graph.push_typed(Op::Map(MapOp::Exp), [x].into_iter().collect(), Type { dtype: DType::F32, shape: [4].into() });
    /// graph.output(y);
    /// graph.verify()?;
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
    pub fn push_typed(&mut self, op: Op, args: SmallVec<[NodeId; 3]>, ty: Type) -> NodeId {
        if matches!(op, Op::Input { .. }) {
            self.inputs += 1;
        }
        self.nodes.push(Node { op, args, ty });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds the next input.
    pub fn input(&mut self, dtype: DType, shape: Shape) -> Result<NodeId> {
        let shape = Shape::checked("input", shape.iter().copied())?;
        self.push(Op::Input { index: self.inputs, ty: Type { dtype, shape } }, &[])
    }

    /// Adds a host scalar without axes.
    pub fn scalar(&mut self, value: Scalar) -> NodeId {
        let op = Op::Scalar { slot: self.scalars.len() as u32, dtype: value.dtype() };
        self.scalars.push(value);
        let ty = Type { dtype: value.dtype(), shape: Shape::scalar() };
        self.push_typed(op, SmallVec::new(), ty)
    }

    /// Adds an elementwise op; operands must agree in dtype and shape.
    pub fn map(&mut self, op: crate::ops::MapOp, args: &[NodeId]) -> Result<NodeId> {
        self.push(Op::Map(op), args)
    }

    /// Declares a result.
    pub fn output(&mut self, id: NodeId) {
        self.outputs.push(id);
    }

    /// Reads the text form. See [`Graph`]'s `Display` for how it is written.
    pub fn parse(text: &str) -> Result<Graph> {
        read::graph(text, &[])
    }

    /// As [`Graph::parse`], for text that calls kernels of the user's: these, by their names.
    ///
    /// ```
    /// use crossover_core::{DType, Graph, custom::CustomKernel};
    /// let twice = CustomKernel::builder("twice")
    ///     .input("x", DType::F32)
    ///     .output("out", DType::F32)
    ///     .elementwise("out = 2 * x", |x: f32| 2.0 * x)
    ///     .build()?;
    /// let text = "graph {\n%x = input f32[3]\n%y = custom %x kernel twice\nreturn %y\n}";
    /// let graph = Graph::parse_with(text, &[twice])?;
    /// assert!(graph.to_string().contains("custom %0 kernel twice"));
    /// assert!(Graph::parse(text).unwrap_err().to_string().contains("Graph::parse_with"));
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
    pub fn parse_with(text: &str, kernels: &[CustomKernel]) -> Result<Graph> {
        read::graph(text, kernels)
    }

    /// Checks every invariant. See `verify.rs` for the list.
    pub fn verify(&self) -> Result<()> {
        verify::graph(self)
    }
}

/// Structure only: values of host scalars do not count.
impl PartialEq for Graph {
    fn eq(&self, other: &Graph) -> bool {
        self.nodes == other.nodes && self.outputs == other.outputs
    }
}

impl Eq for Graph {}

impl Hash for Graph {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nodes.hash(state);
        self.outputs.hash(state);
    }
}
