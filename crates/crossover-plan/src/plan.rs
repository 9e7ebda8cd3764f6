//! A plan: kernels in order, the buffers between them, and when each buffer is no longer needed.

use crossover_core::{DType, Graph, Result};

use crate::{
    cost::Cost,
    draft::Draft,
    fold, fuse,
    kernel::{BufferId, Kernel},
    lower, simplify, spread,
};

/// What the planner may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Options {
    /// Whether several nodes may share a kernel. Off, every node is a kernel of its own; bits do not change.
    pub fusion: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { fusion: true }
    }
}

/// Where a buffer's contents come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Input `i` of the graph.
    Input(u32),
    /// Written by a kernel of the plan.
    Computed,
}

/// A buffer of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer {
    /// Dtype in memory.
    pub dtype: DType,
    /// Number of elements.
    pub elements: usize,
    /// Where its contents come from.
    pub role: Role,
}

impl Buffer {
    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.elements.saturating_mul(self.dtype.size())
    }
}

/// One kernel of a plan.
#[derive(Debug, Clone)]
pub struct Launch {
    /// What runs.
    pub kernel: Kernel,
    /// A short name for people, from the ops inside.
    pub name: String,
    /// Bytes and arithmetic.
    pub cost: Cost,
    /// Computed buffers that nothing reads after this kernel.
    pub free: Vec<BufferId>,
    /// One kernel for this one and the next, on devices that have it.
    pub fold: Option<Box<Fold>>,
}

/// What does the work of a kernel and of the one after it: a product with a bias and an activation, or an elementwise kernel that
/// looks its operands up.
#[derive(Debug, Clone)]
pub struct Fold {
    /// The kernel.
    pub launch: Launch,
    /// The host scalar that must be 0 for it: the one a ReLU compares with.
    pub zero: Option<u16>,
}

/// An executable form of a graph.
///
/// ```
/// use crossover_core::{DType, Graph, Shape, compose};
/// use crossover_plan::{Options, Plan};
/// let mut graph = Graph::new();
/// let x = graph.input(DType::F32, Shape::from([1024, 768]))?;
/// let y = compose::softmax(&mut graph, &x, -1)?;
/// graph.output(y);
/// let plan = Plan::new(&graph, Options::default())?;
/// assert_eq!(plan.launches.len(), 1); // one Row kernel
/// # Ok::<(), crossover_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Plan {
    /// Every buffer that a kernel touches.
    pub buffers: Vec<Buffer>,
    /// Kernels in execution order.
    pub launches: Vec<Launch>,
    /// One buffer per output of the graph, row-major without gaps.
    pub outputs: Vec<BufferId>,
}

impl Plan {
    /// Plans a verified graph.
    pub fn new(graph: &Graph, options: Options) -> Result<Plan> {
        let mut draft: Draft = simplify::graph(graph)?;
        if options.fusion {
            draft = spread::casts(draft);
        }
        let groups = fuse::draft(&draft, options);
        let mut plan = lower::plan(&draft, groups);
        if options.fusion {
            fold::plan(&mut plan);
        }
        Ok(plan)
    }

    /// Bytes of the buffers the plan computes, outputs included.
    pub fn computed_bytes(&self) -> usize {
        self.buffers
            .iter()
            .filter(|b| b.role == Role::Computed)
            .map(Buffer::bytes)
            .fold(0, usize::saturating_add)
    }
}
