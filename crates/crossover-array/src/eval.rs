//! From pending nodes to buffers.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crossover_core::{
    Graph, NodeId, Scalar, Shape,
    graph::{Op, Type},
    ops::MapOp,
};
use crossover_runtime::{Buffer, Wanted, trace};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::{
    Error, Result, blame, few, interrupt,
    node::{Arg, Node, State, Turn},
    runtime::Runtime,
};

/// A graph that computes some nodes, with what it reads and what it returns.
pub(crate) struct Extraction {
    pub graph: Graph,
    pub inputs: SmallVec<[Arc<Buffer>; 4]>,
    /// Nodes of the graph's outputs, in order.
    pub outputs: SmallVec<[Arc<Node>; 2]>,
    /// Which inputs of the graph stand for placeholders, and for which; `inputs` has no buffers for them.
    pub holes: SmallVec<[(usize, usize); 2]>,
}

/// Evaluates a node on the current runtime, unless it is ready.
pub(crate) fn node(target: &Arc<Node>) -> Result<Arc<Buffer>> {
    node_for(target, Wanted::Anywhere)
}

/// As [`node`], for somebody who will look at the bytes there.
pub(crate) fn node_for(target: &Arc<Node>, wanted: Wanted) -> Result<Arc<Buffer>> {
    let mut scalar = None;
    if !target.is_pending() {
        match &*target.state() {
            State::Ready(buffer) => return Ok(buffer.clone()),
            State::Failed(error) => return Err(error.clone()),
            State::Scalar(value) => scalar = Some(*value),
            State::Pending { .. } => {}
        }
    }
    Runtime::with_current(|runtime| {
        if let Some(value) = scalar {
            let made = Buffer::from_fill(runtime.machine(), value.dtype().size(), |to| value.write_to(to));
            let buffer = made.map_err(|e| Error::new(e, target.location))?;
            target.finish(State::Ready(buffer.clone()));
            return Ok(buffer);
        }
        match few::find(target, runtime) {
            few::Found::Other => evaluated(&[target], runtime, wanted),
            found => {
                let done = evaluate_few(target, found, runtime, wanted);
                done.map_err(|error| match error {
                    Ok(error) => blame::locate(error, &[target], runtime),
                    Err(carried) => carried,
                })
            }
        }
    })
}

/// Bytes that operations read and write at most to be computed in no more time than some calls take.
pub(crate) const SMALL: usize = 64 << 10;

/// Evaluates a node if that is a few operations on few elements, whose plan is known. `None`, with nothing done, if it is not.
pub(crate) fn node_if_small(target: &Arc<Node>) -> Option<Result<()>> {
    // Of a number nothing is left to compute: its bytes are made for whoever wants them.
    if target.is_ready() || target.is_number() {
        return Some(Ok(()));
    }
    if let Some(error) = target.error() {
        return Some(Err(error));
    }
    // Whoever watches has more to do than this.
    if trace::is_watched() {
        return None;
    }
    Runtime::with_current(|runtime| {
        let written = target.ty.shape.size() * target.ty.dtype.size();
        if written <= SMALL && target.is_pending_zeros() {
            return zeros(target, written, runtime);
        }
        let mut reads = few::Reads::default();
        let (prepared, light) = few::known(target, runtime, &mut reads)?;
        let read: usize = reads.inputs.iter().map(|input| input.bytes()).sum();
        // Two operations on a few elements are as quick as one; of more of them each counts.
        if read + written > SMALL || (read + written) * light? > 4 * SMALL {
            return None;
        }
        let (executor, placement) = (runtime.executor(), runtime.placement().ok()?);
        let ran = executor.run_for(placement, Wanted::Anywhere, &prepared, &reads.inputs, &reads.scalars);
        match ran {
            Ok(buffers) => {
                target.finish(State::Ready(buffers.into_iter().next()?));
                Some(Ok(()))
            }
            Err(error) => Some(Err(blame::locate(error, &[target], runtime))),
        }
    })
}

/// Evaluates a node of zeros on a machine that is a host alone: nothing has to be planned for that.
fn zeros(target: &Arc<Node>, bytes: usize, runtime: &Runtime) -> Option<Result<()>> {
    if !runtime.machine().is_host_only() {
        return None;
    }
    let made = Buffer::from_fill(runtime.machine(), bytes, |to| to.fill(0));
    Some(match made {
        Ok(buffer) => {
            target.finish(State::Ready(buffer));
            Ok(())
        }
        Err(error) => Err(Error::new(error, target.location)),
    })
}

/// Evaluates a pending node whose graph has a few operations.
fn evaluate_few(
    target: &Arc<Node>,
    found: few::Found,
    runtime: &Runtime,
    wanted: Wanted,
) -> Result<Arc<Buffer>, Result<crossover_runtime::Error, Error>> {
    let _asked = trace::asked(target.location);
    let (executor, placement) = (runtime.executor(), runtime.placement().map_err(Ok)?);
    let buffers = match found {
        few::Found::Ready(few::Ready { prepared, reads }) => {
            interrupt::run(runtime, placement, wanted, &prepared, &reads.inputs, &reads.scalars)
        }
        few::Found::Unknown(unknown) => {
            let Extraction { graph, inputs, outputs, .. } = extract(&[target], runtime).map_err(Err)?;
            let prepared = executor.prepare(&graph).map_err(Ok)?;
            // Another thread may have computed it meanwhile: then this is the graph of a value, not of an operation.
            if graph.nodes().len() > 1 && outputs.len() == 1 {
                few::remember(*unknown, &prepared, &inputs, graph.scalars());
            }
            interrupt::run(runtime, placement, wanted, &prepared, &inputs, graph.scalars())
        }
        few::Found::Other => return evaluate(&[target], runtime, wanted),
    };
    let first = buffers.map_err(Ok)?.into_iter().next();
    let result =
        first.ok_or_else(|| Ok(crossover_runtime::Error::Internal("a plan without a result".to_string())))?;
    target.finish(State::Ready(result.clone()));
    Ok(result)
}

/// Evaluates pending nodes as one graph and notes the results; the first of them.
///
/// The error is one that the array carries already, or one of this evaluation, whose place is still to be found.
pub(crate) fn evaluate(
    targets: &[&Arc<Node>],
    runtime: &Runtime,
    wanted: Wanted,
) -> Result<Arc<Buffer>, Result<crossover_runtime::Error, Error>> {
    // Where no line asked, as when pending work has piled up or an array is printed, it is the one that wrote the operation.
    let _asked = targets.first().map(|target| trace::asked(target.location));
    let extraction = extract(targets, runtime).map_err(Err)?;
    let buffers = runtime.evaluate(&extraction.graph, &extraction.inputs, wanted).map_err(Ok)?;
    let result = buffers[0].clone();
    for (node, buffer) in extraction.outputs.into_iter().zip(buffers) {
        node.finish(State::Ready(buffer));
    }
    Ok(result)
}

/// Whether a node is pending and may be computed on a device that is not the host.
pub(crate) fn comes_from_elsewhere(target: &Arc<Node>) -> bool {
    target.is_pending() && !Runtime::current().machine().is_host_only()
}

/// Evaluates a pending node whose value the host wants at once, in memory of its own; the flag says whether it has been
/// written there. `None` if the node is not pending.
pub(crate) fn node_into(target: &Arc<Node>, to: &mut [u8]) -> Result<Option<(Arc<Buffer>, bool)>> {
    if !matches!(&*target.state(), State::Pending { .. }) {
        return Ok(None);
    }
    let runtime = Runtime::current();
    let extraction = extract(&[target], &runtime)?;
    let (buffers, written) = runtime
        .evaluate_into(&extraction.graph, &extraction.inputs, to)
        .map_err(|error| blame::locate(error, &[target], &runtime))?;
    let result = buffers[0].clone();
    for (node, buffer) in extraction.outputs.into_iter().zip(buffers) {
        node.finish(State::Ready(buffer));
    }
    Ok(Some((result, written)))
}

/// As [`evaluate`], with errors at their place.
fn evaluated(targets: &[&Arc<Node>], runtime: &Runtime, wanted: Wanted) -> Result<Arc<Buffer>> {
    evaluate(targets, runtime, wanted).map_err(|error| match error {
        Ok(error) => blame::locate(error, targets, runtime),
        Err(carried) => carried,
    })
}

/// Evaluates several nodes as one graph.
pub(crate) fn nodes(targets: &[Arc<Node>]) -> Result<()> {
    let mut pending: SmallVec<[&Arc<Node>; 4]> = SmallVec::new();
    for target in targets {
        match &*target.state() {
            State::Failed(error) => return Err(error.clone()),
            State::Pending { .. } => pending.push(target),
            State::Scalar(_) | State::Ready(_) => {}
        }
    }
    match pending.as_slice() {
        [] => return Ok(()),
        [one] => return node(one).map(drop),
        _ => {}
    }
    let runtime = Runtime::current();
    evaluated(&pending, &runtime, Wanted::Anywhere).map(drop)
}

/// Nodes by address: a list while there are few, a table beyond.
#[derive(Default)]
struct Ids {
    few: SmallVec<[(*const Node, Seen); FEW]>,
    many: FxHashMap<*const Node, Seen>,
}

/// Up to here, looking through a list is faster than hashing.
const FEW: usize = 16;

#[derive(Clone, Copy)]
struct Seen {
    id: NodeId,
    /// How often nodes of the graph use it.
    uses: usize,
    /// Whether its value is worth keeping if an array still holds it.
    keep: bool,
}

impl Ids {
    fn get(&mut self, node: &Arc<Node>) -> Option<&mut Seen> {
        let key = Arc::as_ptr(node);
        if self.many.is_empty() {
            return self.few.iter_mut().find(|entry| entry.0 == key).map(|entry| &mut entry.1);
        }
        self.many.get_mut(&key)
    }

    fn insert(&mut self, node: &Arc<Node>, id: NodeId, keep: bool) {
        let entry = (Arc::as_ptr(node), Seen { id, uses: 0, keep });
        if self.many.is_empty() && self.few.len() < FEW {
            self.few.push(entry);
            return;
        }
        self.many.extend(self.few.drain(..));
        self.many.insert(entry.0, entry.1);
    }
}

/// One node on the way to becoming part of a graph.
enum Visit {
    Enter(Arc<Node>),
    /// Its operands are in the graph.
    Leave(Arc<Node>),
}

struct Extractor<'a> {
    runtime: &'a Runtime,
    /// Nodes whose values are not there yet; see [`placeholder`].
    placeholders: &'a [Arc<Node>],
    holes: SmallVec<[(usize, usize); 2]>,
    graph: Graph,
    inputs: SmallVec<[Arc<Buffer>; 4]>,
    ids: Ids,
    scalars: SmallVec<[(Scalar, NodeId); 8]>,
    /// Whether any node is worth keeping.
    keeps: bool,
    /// Nodes are kept alive here, so that an address stands for one node throughout.
    alive: SmallVec<[Arc<Node>; 16]>,
    stack: SmallVec<[Visit; 8]>,
}

/// How many of a node's operands, from the first on, it reads from memory. What is looked up is; where may be computed on the way.
fn stored_operands(op: &Op, operands: usize) -> usize {
    match op {
        Op::Take { .. } => 1,
        _ if op.is_call() => operands,
        _ => 0,
    }
}

/// The placeholders of traces under way, by address, and whether somebody has asked for values that depend on them.
static TRACES: Mutex<Vec<(usize, Arc<AtomicBool>)>> = Mutex::new(Vec::new());

/// A trace under way, which keeps its placeholders; it learns when somebody, on any thread, asks for values that depend on them, and nothing of
/// other traces.
pub(crate) struct Tracing {
    placeholders: Vec<Arc<Node>>,
    asked: Arc<AtomicBool>,
}

impl Tracing {
    /// A trace with these placeholders.
    pub fn new(placeholders: Vec<Arc<Node>>) -> Tracing {
        let asked = Arc::new(AtomicBool::new(false));
        let known = placeholders.iter().map(|node| (Arc::as_ptr(node) as usize, asked.clone()));
        TRACES.lock().extend(known);
        Tracing { placeholders, asked }
    }

    pub fn placeholders(&self) -> &[Arc<Node>] {
        &self.placeholders
    }

    /// Whether somebody has asked for values that depend on the placeholders.
    pub fn was_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        TRACES.lock().retain(|(_, asked)| !Arc::ptr_eq(asked, &self.asked));
    }
}

/// Notes that values of a placeholder are asked for. One that outlived its trace is nobody's.
fn note_asked(placeholder: &Arc<Node>) {
    let address = Arc::as_ptr(placeholder) as usize;
    let traces = TRACES.lock();
    traces
        .iter()
        .filter(|(known, _)| *known == address)
        .for_each(|(_, asked)| asked.store(true, Ordering::Relaxed));
}

/// A node without a value, for tracing: a function called with it says what it would compute.
///
/// Evaluating anything made of it is an error, unless it is among the placeholders of [`extract_around`].
pub(crate) fn placeholder(ty: Type, location: &'static std::panic::Location<'static>) -> Arc<Node> {
    let op = Op::Input { index: u32::MAX, ty: ty.clone() };
    Node::new(ty, State::Pending { op, args: SmallVec::new() }, location)
}

/// The graph of everything pending below some nodes, which are its first outputs.
pub(crate) fn extract(targets: &[&Arc<Node>], runtime: &Runtime) -> Result<Extraction> {
    extract_around(targets, runtime, &[])
}

/// As [`extract`], with placeholders as inputs.
pub(crate) fn extract_around(
    targets: &[&Arc<Node>],
    runtime: &Runtime,
    placeholders: &[Arc<Node>],
) -> Result<Extraction> {
    let mut extractor = Extractor {
        runtime,
        placeholders,
        holes: SmallVec::new(),
        graph: Graph::new(),
        inputs: SmallVec::new(),
        ids: Ids::default(),
        scalars: SmallVec::new(),
        keeps: false,
        alive: SmallVec::new(),
        stack: SmallVec::new(),
    };
    let mut outputs: SmallVec<[Arc<Node>; 2]> = SmallVec::new();
    for &target in targets {
        extractor.run(target)?;
        let seen = extractor.ids.get(target).expect("the target was visited");
        extractor.graph.output(seen.id);
        outputs.push(target.clone());
    }
    let Extractor { mut graph, inputs, mut ids, alive, keeps, holes, .. } = extractor;
    for node in alive.into_iter().filter(|_| keeps) {
        let &mut Seen { id, uses, keep } = ids.get(&node).expect("what is alive was visited");
        // What is stored anyway and what an array still holds is kept instead of computed again.
        let is_held = keep && Arc::strong_count(&node) > uses + 1;
        if is_held && !targets.iter().any(|target| Arc::ptr_eq(target, &node)) {
            graph.output(id);
            outputs.push(node);
        }
    }
    Ok(Extraction { graph, inputs, outputs, holes })
}

impl Extractor<'_> {
    fn run(&mut self, target: &Arc<Node>) -> Result<()> {
        self.stack.push(Visit::Enter(target.clone()));
        while let Some(visit) = self.stack.pop() {
            match visit {
                Visit::Enter(node) => self.enter(node)?,
                Visit::Leave(node) => self.leave(node)?,
            }
        }
        Ok(())
    }

    /// Puts the operands of a pending node first; anything else goes into the graph at once.
    fn enter(&mut self, node: Arc<Node>) -> Result<()> {
        if self.ids.get(&node).is_some() {
            return Ok(());
        }
        let state = node.state();
        let State::Pending { args, .. } = &*state else {
            drop(state);
            return self.leave(node);
        };
        let at = self.stack.len();
        for arg in args.iter().rev() {
            if let Some(operand) = arg.node()
                && self.ids.get(operand).is_none()
            {
                self.stack.push(Visit::Enter(operand.clone()));
            }
        }
        drop(state);
        if self.stack.len() == at {
            return self.leave(node);
        }
        self.stack.insert(at, Visit::Leave(node));
        Ok(())
    }

    /// Adds a node. It may have been computed by another thread since it was entered; its operands are unused then.
    fn leave(&mut self, node: Arc<Node>) -> Result<()> {
        if self.ids.get(&node).is_some() {
            return Ok(());
        }
        let state = node.state();
        // Reductions and calls are stored anyway.
        let mut keep = false;
        let id = match &*state {
            State::Failed(error) => return Err(error.clone()),
            State::Pending { op: Op::Input { ty, .. }, .. } => self.hole(&node, ty)?,
            State::Pending { op, args } => {
                keep = !op.is_view() && !op.is_elementwise();
                for arg in &args[..stored_operands(op, args.len())] {
                    self.keep(arg);
                }
                let repeats = op.is_elementwise() && node.ty.shape.rank() > 0;
                let mut operands: SmallVec<[NodeId; 3]> = SmallVec::new();
                for arg in args {
                    operands.push(match arg {
                        Arg::Node(operand) => {
                            let seen = self.ids.get(operand).expect("operands were visited first");
                            seen.uses += 1;
                            seen.id
                        }
                        Arg::Turned(operand, turn) => {
                            let seen = self.ids.get(operand).expect("operands were visited first");
                            seen.uses += 1;
                            let id = seen.id;
                            self.turned(id, *turn, &operand.ty)
                        }
                        Arg::Scalar(value) if repeats => self.repeated(*value, &node.ty.shape),
                        Arg::Scalar(value) => self.scalar(*value),
                    });
                }
                self.graph.push_typed(op.clone(), operands, node.ty.clone())
            }
            State::Scalar(value) => self.scalar(*value),
            State::Ready(buffer) => {
                self.inputs.push(self.runtime.adopt(buffer.clone(), node.location)?);
                let index = self.graph.input_count() as u32;
                let op = Op::Input { index, ty: node.ty.clone() };
                self.graph.push_typed(op, SmallVec::new(), node.ty.clone())
            }
        };
        drop(state);
        self.ids.insert(&node, id, keep);
        self.keeps |= keep;
        self.alive.push(node);
        Ok(())
    }

    /// Notes that what an operand shows is stored for whoever uses it: weights that are still a formula are computed once.
    fn keep(&mut self, arg: &Arg) {
        let Arg::Node(node) = arg else { return };
        let mut node = node.clone();
        loop {
            let below = match &*node.state() {
                State::Pending { op, args } if op.is_view() => match args.first() {
                    Some(Arg::Node(base)) => base.clone(),
                    _ => return,
                },
                State::Pending { op, .. } if op.is_elementwise() => break,
                _ => return,
            };
            node = below;
        }
        if let Some(seen) = self.ids.get(&node) {
            seen.keep = true;
            self.keeps = true;
        }
    }

    /// An input for a placeholder.
    fn hole(&mut self, node: &Arc<Node>, ty: &Type) -> Result<NodeId> {
        let Some(number) = self.placeholders.iter().position(|known| Arc::ptr_eq(known, node)) else {
            note_asked(node);
            let what = "the function asks for values of its argument while it is traced".to_string();
            return Err(Error::new(crossover_core::Error::Value { op: "gpu_map", what }, node.location));
        };
        let index = self.graph.input_count();
        self.holes.push((index, number));
        let op = Op::Input { index: index as u32, ty: ty.clone() };
        Ok(self.graph.push_typed(op, SmallVec::new(), ty.clone()))
    }

    /// Equal scalars share a node, so that equal computations are found to be equal.
    fn scalar(&mut self, value: Scalar) -> NodeId {
        if let Some(known) = self.scalars.iter().find(|s| s.0 == value) {
            return known.1;
        }
        let id = self.graph.scalar(value);
        self.scalars.push((value, id));
        id
    }

    /// A value on its way to an operation.
    fn turned(&mut self, id: NodeId, turn: Turn, from: &Type) -> NodeId {
        let ty = Type { dtype: turn.dtype(from.dtype), shape: from.shape.clone() };
        match turn {
            Turn::Abs => self.graph.push_typed(Op::Map(MapOp::Abs), smallvec![id], ty),
            Turn::Cast(dtype) => self.graph.push_typed(Op::Cast(dtype), smallvec![id], ty),
            Turn::Sign => {
                let one = Scalar::one(from.dtype);
                let one =
                    if from.shape.rank() > 0 { self.repeated(one, &from.shape) } else { self.scalar(one) };
                self.graph.push_typed(Op::Map(MapOp::Copysign), smallvec![one, id], ty)
            }
        }
    }

    fn repeated(&mut self, value: Scalar, shape: &Shape) -> NodeId {
        let scalar = self.scalar(value);
        let ty = Type { dtype: value.dtype(), shape: shape.clone() };
        self.graph.push_typed(Op::Expand(shape.clone()), smallvec![scalar], ty)
    }
}
