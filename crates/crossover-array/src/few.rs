//! A few operations on operands that are there: their plan, found without building a graph.
//!
//! Code that looks at values call by call, as NumPy's does, evaluates small graphs over and over: one operation, or the few that a function such
//! as `isfinite` is made of. A thread remembers the plans of those that it met lately, by their operations and the types of their operands. What it
//! finds is what the runtime's own cache of plans has for the graph, as long as that has it: plans are remembered weakly.

use std::{
    cell::RefCell,
    sync::{Arc, Weak},
};

use crossover_core::{
    DType, Scalar,
    graph::{Op, Type},
};
use crossover_runtime::{Buffer, Machine, Prepared};
use smallvec::SmallVec;

use crate::{
    node::{Arg, Args, Node, State, Turn},
    runtime::Runtime,
};

/// Plans that a thread remembers. Each has its place by the hash of its graph, where the latest stays.
const PLACES: usize = 256;
/// Operations of a graph that is looked for here; comparing larger ones would take as long as building them.
const MOST: u32 = 12;

/// An operand, as far as plans tell operands apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operand {
    /// A value in memory, by its place among them.
    Value(u32),
    /// The result of an operation before.
    Step(u32),
    /// A host number, by its place among them: equal ones share one.
    Number(u32, DType),
    /// What becomes of a value in memory on the way.
    Turned(u32, Turn),
    /// What becomes of the result of an operation before.
    TurnedStep(u32, Turn),
}

impl Operand {
    /// The value in memory that it is made of.
    fn value(self) -> Option<u32> {
        match self {
            Operand::Value(at) | Operand::Turned(at, _) => Some(at),
            _ => None,
        }
    }

    fn turned(self, turn: Turn) -> Option<Operand> {
        match self {
            Operand::Value(at) => Some(Operand::Turned(at, turn)),
            Operand::Step(at) => Some(Operand::TurnedStep(at, turn)),
            _ => None,
        }
    }
}

type Operands = SmallVec<[Operand; 2]>;

/// An operation of a graph.
#[derive(Debug)]
struct Step {
    op: Op,
    ty: Type,
    operands: Operands,
}

/// A graph of a few operations, each after its operands.
#[derive(Debug)]
struct Outline {
    executor: u64,
    steps: SmallVec<[Step; 1]>,
    values: SmallVec<[Type; 2]>,
}

/// What a graph reads, in the order in which its plan expects it.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    pub inputs: SmallVec<[Arc<Buffer>; 4]>,
    pub scalars: SmallVec<[Scalar; 2]>,
}

impl Reads {
    /// A host number, which shares its place with equal ones.
    fn number(&mut self, value: Scalar) -> Operand {
        let known = self.scalars.iter().position(|known| *known == value);
        let at = known.unwrap_or_else(|| {
            self.scalars.push(value);
            self.scalars.len() - 1
        });
        Operand::Number(at as u32, value.dtype())
    }
}

/// A plan, and what running it takes.
pub(crate) struct Ready {
    pub prepared: Arc<Prepared>,
    pub reads: Reads,
}

/// A graph of a few operations whose plan is not known.
pub(crate) struct Unknown {
    outline: Outline,
    reads: Reads,
    place: usize,
}

/// What is known about a node.
pub(crate) enum Found {
    /// The plan of its graph.
    Ready(Ready),
    /// Its graph is small, but its plan is not known.
    Unknown(Box<Unknown>),
    /// It is not pending, or its graph is something else.
    Other,
}

struct Known {
    outline: Outline,
    prepared: Weak<Prepared>,
}

thread_local! {
    static KNOWN: RefCell<Vec<Option<Known>>> = const { RefCell::new(Vec::new()) };
}

/// Looks for the plan of a pending node.
pub(crate) fn find(target: &Arc<Node>, runtime: &Runtime) -> Found {
    if target.weight() > MOST {
        return Found::Other;
    }
    let mut reads = Reads::default();
    if let Some((prepared, _)) = known(target, runtime, &mut reads) {
        return Found::Ready(Ready { prepared, reads });
    }
    let executor = runtime.executor().id();
    let mut outline = Outline { executor, steps: SmallVec::new(), values: SmallVec::new() };
    let mut reads = Reads::default();
    let mut walk = Walk::new(runtime.machine(), Against::Nothing(&mut outline), &mut reads);
    match walk.visit(target, false) {
        Some(Operand::Step(_)) => Found::Unknown(Box::new(Unknown { outline, reads, place: place(target) })),
        _ => Found::Other,
    }
}

/// The plan of a pending node, if this thread remembers it: what it reads is added to `reads`, and the number of its operations is returned with
/// it, or `None` where the work may grow faster than the elements: with anything but elementwise operations, views and reductions.
#[inline]
pub(crate) fn known(
    target: &Arc<Node>,
    runtime: &Runtime,
    reads: &mut Reads,
) -> Option<(Arc<Prepared>, Option<usize>)> {
    if target.weight() > MOST {
        return None;
    }
    let found = KNOWN.try_with(|known| {
        let known = known.borrow();
        let Known { outline, prepared } = known.get(place(target))?.as_ref()?;
        if outline.executor != runtime.executor().id() {
            return None;
        }
        match outline.steps.as_slice() {
            [step] => single(target, step, outline, runtime.machine(), reads)?,
            steps => {
                let mut walk = Walk::new(runtime.machine(), Against::Known(outline), reads);
                walk.visit(target, false)?;
                if walk.steps != steps.len() {
                    return None;
                }
            }
        }
        let is_light = outline.steps.iter().all(|step| is_light(&step.op));
        Some((prepared.upgrade()?, is_light.then_some(outline.steps.len())))
    });
    found.ok().flatten()
}

fn place(target: &Node) -> usize {
    target.outline() as usize % PLACES
}

/// Whether a node is one known operation on operands that are there: what a walk would find, by a shorter way.
#[inline]
fn single(
    target: &Node,
    step: &Step,
    outline: &Outline,
    machine: &Arc<Machine>,
    reads: &mut Reads,
) -> Option<()> {
    let state = target.state();
    let State::Pending { op, args } = &*state else { return None };
    if step.op != *op || step.ty != target.ty || step.operands.len() != args.len() {
        return None;
    }
    for (at, (operand, arg)) in step.operands.iter().zip(args).enumerate() {
        let (value, node) = match (*operand, arg) {
            (Operand::Value(value), Arg::Node(node)) => (value, node),
            (Operand::Turned(value, turn), Arg::Turned(node, turned)) if turn == *turned => (value, node),
            (Operand::Number(..), Arg::Scalar(value)) if reads.number(*value) == *operand => continue,
            _ => return None,
        };
        let again = args[..at].iter().position(|arg| arg.node().is_some_and(|n| Arc::ptr_eq(n, node)));
        match again {
            Some(before) if step.operands[before].value() == Some(value) => {}
            None if reads.inputs.len() == value as usize => {
                if outline.values.get(value as usize) != Some(&node.ty) {
                    return None;
                }
                // Operands are older than their users, so that locks are always taken in this order.
                match &*node.state() {
                    State::Ready(buffer) if Arc::ptr_eq(buffer.machine(), machine) => {
                        reads.inputs.push(buffer.clone());
                    }
                    _ => return None,
                }
            }
            _ => return None,
        }
        if let Arg::Turned(_, Turn::Sign) = arg {
            reads.number(Scalar::one(node.ty.dtype));
        }
    }
    Some(())
}

/// Remembers the plan of a graph, which was made of these buffers and numbers.
pub(crate) fn remember(
    unknown: Unknown,
    prepared: &Arc<Prepared>,
    inputs: &[Arc<Buffer>],
    scalars: &[Scalar],
) {
    let Unknown { outline, reads, place } = unknown;
    // Another thread may have computed a part of it meanwhile: then this is the plan of another graph.
    let is_same = |(a, b): (&Arc<Buffer>, &Arc<Buffer>)| Arc::ptr_eq(a, b);
    let same_inputs = reads.inputs.len() == inputs.len() && reads.inputs.iter().zip(inputs).all(is_same);
    if !same_inputs || reads.scalars.as_slice() != scalars {
        return;
    }
    let prepared = Arc::downgrade(prepared);
    // On a thread that ends nothing is worth remembering.
    let _ = KNOWN.try_with(|known| {
        let mut known = known.borrow_mut();
        if known.is_empty() {
            known.resize_with(PLACES, || None);
        }
        known[place] = Some(Known { outline, prepared });
    });
}

/// Whether a graph of several operations may have it. The others are kernels of their own, whose operands are results of the graph where arrays hold them.
fn is_light(op: &Op) -> bool {
    op.is_elementwise() || op.is_view() || matches!(op, Op::Reduce { .. })
}

/// What a walk does with the operations that it meets.
enum Against<'a> {
    /// Compares them.
    Known(&'a Outline),
    /// Writes them down.
    Nothing(&'a mut Outline),
}

/// A way through everything pending below a node, in the order in which [`crate::eval::extract`] adds it to a graph.
struct Walk<'a> {
    machine: &'a Arc<Machine>,
    against: Against<'a>,
    reads: &'a mut Reads,
    /// Nodes that have been visited, and what they are. Whoever uses them holds them, and is held by the walk.
    seen: SmallVec<[(*const Node, Operand); 8]>,
    steps: usize,
}

impl<'a> Walk<'a> {
    fn new(machine: &'a Arc<Machine>, against: Against<'a>, reads: &'a mut Reads) -> Walk<'a> {
        Walk { machine, against, reads, seen: SmallVec::new(), steps: 0 }
    }

    /// What a node is to those that use it, if others of the graph do. `None` if it is not what the walk was to find, or the graph is something else.
    fn visit(&mut self, node: &Arc<Node>, is_inner: bool) -> Option<Operand> {
        if let Some(known) = self.seen.iter().find(|seen| seen.0 == Arc::as_ptr(node)) {
            return Some(known.1);
        }
        // Operands are older than their users, so that locks are always taken in this order.
        let operand = match &*node.state() {
            State::Failed(_) => return None,
            State::Ready(buffer) => self.value(buffer, &node.ty)?,
            State::Scalar(value) => self.reads.number(*value),
            State::Pending { op: Op::Input { .. }, .. } => return None,
            // What an array still holds of a reduction would be a result of the graph as well.
            State::Pending { op: Op::Reduce { .. }, .. } if is_inner && Arc::strong_count(node) > 1 => {
                return None;
            }
            State::Pending { op, .. } if is_inner && !is_light(op) => return None,
            State::Pending { op, args } => self.step(&node.ty, op, args)?,
        };
        self.seen.push((Arc::as_ptr(node), operand));
        Some(operand)
    }

    fn value(&mut self, buffer: &Arc<Buffer>, ty: &Type) -> Option<Operand> {
        let at = self.reads.inputs.len();
        match &mut self.against {
            Against::Known(outline) if outline.values.get(at) != Some(ty) => return None,
            Against::Known(_) => {}
            Against::Nothing(outline) => outline.values.push(ty.clone()),
        }
        if !Arc::ptr_eq(buffer.machine(), self.machine) {
            return None;
        }
        self.reads.inputs.push(buffer.clone());
        Some(Operand::Value(at as u32))
    }

    fn step(&mut self, ty: &Type, op: &Op, args: &Args) -> Option<Operand> {
        let before = self.steps;
        let mut operands: Operands = SmallVec::new();
        for arg in args {
            operands.push(match arg {
                Arg::Node(node) => self.visit(node, true)?,
                Arg::Turned(node, turn) => self.visit(node, true)?.turned(*turn)?,
                Arg::Scalar(value) => Operand::Number(u32::MAX, value.dtype()),
            });
        }
        // Numbers count from here on: after everything that is computed for the operation.
        for (operand, arg) in operands.iter_mut().zip(args) {
            match arg {
                Arg::Scalar(value) => *operand = self.reads.number(*value),
                Arg::Turned(node, Turn::Sign) => _ = self.reads.number(Scalar::one(node.ty.dtype)),
                _ => {}
            }
        }
        if self.steps > before && !is_light(op) {
            return None;
        }
        let at = self.steps;
        match &mut self.against {
            Against::Known(outline) => {
                let step = outline.steps.get(at)?;
                if step.op != *op || step.ty != *ty || step.operands != operands {
                    return None;
                }
            }
            Against::Nothing(outline) => {
                outline.steps.push(Step { op: op.clone(), ty: ty.clone(), operands });
            }
        }
        self.steps += 1;
        Some(Operand::Step(at as u32))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Array, Result, Runtime};

    /// A runtime of its own, and what it has planned and launched.
    fn counted(body: impl FnOnce() -> Result<()>) -> (u64, u64) {
        let runtime = Runtime::builder().threads(1).build().unwrap();
        runtime.scope(body).unwrap();
        let counts = runtime.executor().counts();
        (counts.planned, counts.launches)
    }

    #[test]
    fn the_same_operation_is_planned_once_and_computed_each_time() {
        let found = counted(|| {
            for i in 0..5 {
                let (x, y) = (Array::from([1.0f32, i as f32]), Array::from([0.5f32, 2.0]));
                assert_eq!((&x + &y).to_vec::<f32>()?, [1.5, i as f32 + 2.0]);
                assert_eq!((&x * i as f32).to_vec::<f32>()?, [i as f32, (i * i) as f32]);
            }
            Ok(())
        });
        assert_eq!(found, (2, 10));
    }

    #[test]
    fn graphs_that_differ_are_told_apart() {
        let found = counted(|| {
            let (x, y) = (Array::from([1.0f32, 2.0]), Array::from([3.0f32, 4.0]));
            for _ in 0..3 {
                assert_eq!((&x * &y).to_vec::<f32>()?, [3.0, 8.0]);
                assert_eq!((&x * &x).to_vec::<f32>()?, [1.0, 4.0], "one operand, twice");
                assert_eq!((&x - &y).to_vec::<f32>()?, [-2.0, -2.0]);
                assert_eq!(x.sum(0).to_vec::<f32>()?, [3.0]);
                assert_eq!(Array::from([1.0f64, 2.0]).sum(0).to_vec::<f64>()?, [3.0]);
                assert_eq!(Array::from([1.0f32, 2.0, 4.0]).sum(0).to_vec::<f32>()?, [7.0]);
            }
            Ok(())
        });
        assert_eq!(found, (6, 18));
    }

    #[test]
    fn functions_of_a_few_operations_are_planned_once() {
        let found = counted(|| {
            for i in 0..4 {
                let x = Array::from([i as f32, f32::NAN, f32::INFINITY, -0.0]);
                assert_eq!(x.isfinite().to_vec::<bool>()?, [true, false, false, true]);
                assert_eq!(x.isinf().to_vec::<bool>()?, [false, false, true, false]);
                assert_eq!(x.signbit().to_vec::<bool>()?, [false, false, false, true]);
                let y = Array::from([i as f64, 2.0]);
                assert_eq!(y.mean(()).item::<f64>()?, (i as f64 + 2.0) / 2.0);
                assert_eq!(y.var(()).item::<f64>()?, (i as f64 - 2.0).powi(2) / 4.0);
                assert_eq!(((&y + 1.0) * (&y + 1.0)).to_vec::<f64>()?, [(i as f64 + 1.0).powi(2), 9.0]);
            }
            Ok(())
        });
        assert_eq!(found.0, 6);
    }

    #[test]
    fn numbers_that_are_equal_are_told_from_those_that_are_not() {
        let found = counted(|| {
            let x = Array::from([1.0f32, 2.0]);
            for (a, b) in [(2.0, 3.0), (4.0, 5.0), (6.0, 6.0), (7.0, 8.0), (9.0, 9.0)] {
                let want = [(1.0 + a) * b, (2.0 + a) * b];
                assert_eq!(((&x + a) * b).to_vec::<f32>()?, want, "{a} and {b}");
            }
            // A sign is compared with one, which is a number like others.
            for _ in 0..2 {
                assert_eq!(x.copysign(1.0).less(1.0).to_vec::<bool>()?, [false, false]);
                assert_eq!(x.signbit().to_vec::<bool>()?, [false, false]);
            }
            Ok(())
        });
        assert_eq!(found.0, 4);
    }

    #[test]
    fn a_reduction_that_an_array_holds_is_computed_with_what_is_made_of_it() {
        let found = counted(|| {
            let x = Array::from([1.0f32, 3.0]);
            for _ in 0..3 {
                assert_eq!((x.sum(0) * 2.0).item::<f32>()?, 8.0);
                let sum = x.sum(0);
                assert_eq!((&sum * 2.0).item::<f32>()?, 8.0);
                assert_eq!(sum.item::<f32>()?, 4.0);
            }
            Ok(())
        });
        assert_eq!(found, (2, 6), "what is held was kept, and not computed again");
    }

    #[test]
    fn what_one_graph_computes_another_reads() {
        let found = counted(|| {
            let x = Array::from([1.0f32, 3.0]);
            for _ in 0..2 {
                let y = &x + 1.0;
                let z = &y * 2.0;
                y.eval()?;
                assert_eq!(z.to_vec::<f32>()?, [4.0, 8.0]);
                assert_eq!(((&x + 1.0) * 2.0).to_vec::<f32>()?, [4.0, 8.0]);
            }
            Ok(())
        });
        assert_eq!(found, (3, 6));
    }

    #[test]
    fn runtimes_do_not_share_what_a_thread_remembers() {
        for _ in 0..2 {
            let found = counted(|| {
                let x = Array::from([1.0f32, 2.0]);
                for _ in 0..2 {
                    assert_eq!(x.negative().to_vec::<f32>()?, [-1.0, -2.0]);
                }
                Ok(())
            });
            assert_eq!(found, (1, 2));
        }
    }
}
