//! One operation on operands that are there: its plan, found without building a graph.
//!
//! Code that looks at values call by call, as NumPy's does, evaluates graphs of one node over and over. A thread remembers the plans of those
//! that it met lately, by the operation and the types of its operands. What it finds is what the runtime's own cache of plans has for
//! the graph, as long as that has it: plans are remembered weakly.

use std::{
    cell::RefCell,
    hash::{Hash, Hasher},
    sync::{Arc, Weak},
};

use crossover_core::{
    DType, Scalar,
    graph::{Op, Type},
};
use crossover_runtime::{Buffer, Prepared};
use rustc_hash::FxHasher;
use smallvec::SmallVec;

use crate::{
    node::{Arg, Node, State},
    runtime::Runtime,
};

/// Plans that a thread remembers. Each has its place by hash, where the latest stays.
const PLACES: usize = 256;

/// An operand, as far as plans tell operands apart.
#[derive(Debug, PartialEq, Eq)]
enum Operand {
    /// A value in memory.
    Value(Type),
    /// The value that came before at this position.
    Again(usize),
    /// A host number.
    Number(DType),
}

/// A graph of one operation.
#[derive(Debug)]
pub(crate) struct Single {
    executor: u64,
    op: Op,
    ty: Type,
    operands: SmallVec<[Operand; 2]>,
    place: usize,
}

/// What running a plan takes.
pub(crate) struct Ready {
    pub prepared: Arc<Prepared>,
    pub inputs: SmallVec<[Arc<Buffer>; 4]>,
    pub scalars: SmallVec<[Scalar; 1]>,
    /// Whether the work grows with the elements and no faster: an elementwise operation or a reduction.
    pub is_light: bool,
}

/// What is known about a node.
pub(crate) enum Found {
    /// The plan of its graph.
    Ready(Ready),
    /// Its graph has one operation, whose plan is not known.
    Unknown(Box<Single>),
    /// It is not pending, or some operand is still to be computed.
    Other,
}

struct Known {
    single: Box<Single>,
    prepared: Weak<Prepared>,
}

thread_local! {
    static KNOWN: RefCell<Vec<Option<Known>>> = const { RefCell::new(Vec::new()) };
}

/// Looks for the plan of a pending node.
pub(crate) fn find(target: &Node, runtime: &Runtime) -> Found {
    let state = target.state();
    let State::Pending { op, args } = &*state else { return Found::Other };
    let mut inputs: SmallVec<[Arc<Buffer>; 4]> = SmallVec::new();
    let mut scalars: SmallVec<[Scalar; 1]> = SmallVec::new();
    for (at, arg) in args.iter().enumerate() {
        match arg {
            // Two numbers may be one: that is for a graph to find out.
            Arg::Scalar(_) if !scalars.is_empty() => return Found::Other,
            Arg::Scalar(value) => scalars.push(*value),
            Arg::Node(node) if again(&args[..at], node).is_some() => {}
            // Operands are older than their users, so that locks are always taken in this order.
            Arg::Node(node) => match &*node.state() {
                State::Ready(buffer) if Arc::ptr_eq(buffer.machine(), runtime.machine()) => {
                    inputs.push(buffer.clone());
                }
                _ => return Found::Other,
            },
        }
    }
    let place = place(op, &target.ty);
    let executor = runtime.executor().id();
    let known = KNOWN.try_with(|known| {
        let known = known.borrow();
        let known = known.get(place)?.as_ref()?;
        let single = &known.single;
        let same = single.executor == executor
            && single.op == *op
            && single.ty == target.ty
            && single.operands.len() == args.len()
            && single.operands.iter().enumerate().all(|(at, operand)| matches(operand, args, at));
        if same { known.prepared.upgrade() } else { None }
    });
    if let Some(prepared) = known.ok().flatten() {
        let is_light = op.is_elementwise() || matches!(op, Op::Reduce { .. });
        return Found::Ready(Ready { prepared, inputs, scalars, is_light });
    }
    let operands = (0..args.len()).map(|at| operand(args, at)).collect();
    Found::Unknown(Box::new(Single { executor, op: op.clone(), ty: target.ty.clone(), operands, place }))
}

/// Remembers the plan of a graph.
pub(crate) fn remember(single: Box<Single>, prepared: &Arc<Prepared>) {
    let (place, prepared) = (single.place, Arc::downgrade(prepared));
    // On a thread that ends nothing is worth remembering.
    let _ = KNOWN.try_with(|known| {
        let mut known = known.borrow_mut();
        if known.is_empty() {
            known.resize_with(PLACES, || None);
        }
        known[place] = Some(Known { single, prepared });
    });
}

fn place(op: &Op, ty: &Type) -> usize {
    let mut hasher = FxHasher::default();
    op.hash(&mut hasher);
    ty.hash(&mut hasher);
    // The upper bits are the best of this hash.
    (hasher.finish() >> 32) as usize % PLACES
}

/// Where a value came before.
fn again(before: &[Arg], node: &Arc<Node>) -> Option<usize> {
    before.iter().position(|arg| matches!(arg, Arg::Node(other) if Arc::ptr_eq(other, node)))
}

fn operand(args: &[Arg], at: usize) -> Operand {
    match &args[at] {
        Arg::Scalar(value) => Operand::Number(value.dtype()),
        Arg::Node(node) => match again(&args[..at], node) {
            Some(before) => Operand::Again(before),
            None => Operand::Value(node.ty.clone()),
        },
    }
}

fn matches(operand: &Operand, args: &[Arg], at: usize) -> bool {
    match (operand, &args[at]) {
        (Operand::Number(dtype), Arg::Scalar(value)) => *dtype == value.dtype(),
        (Operand::Value(ty), Arg::Node(node)) => node.ty == *ty && again(&args[..at], node).is_none(),
        (Operand::Again(before), Arg::Node(node)) => again(&args[..at], node) == Some(*before),
        _ => false,
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
