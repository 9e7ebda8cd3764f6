//! Values that are computed when somebody needs their bytes.
//!
//! A node is pending (an operation and its operands), a host scalar, ready (a buffer) or failed. It changes once,
//! from pending to ready or failed, and then lets go of its operands. Two threads may evaluate the same node at
//! the same time: both compute the same bits, and the first result stays. No lock is held while anything runs.

use std::{
    hash::{Hash, Hasher},
    panic::Location,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering},
    },
};

use crossover_core::{
    DType, Scalar,
    graph::{Op, Type},
};
use crossover_runtime::Buffer;
use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxHasher;
use smallvec::SmallVec;

use crate::Error;

/// An operand of a pending node.
#[derive(Debug, Clone)]
pub(crate) enum Arg {
    Node(Arc<Node>),
    /// A host number. Elementwise nodes repeat it to their shape.
    Scalar(Scalar),
    /// What becomes of a node on the way to an elementwise operation or a reduction: too little for a node of its own.
    Turned(Arc<Node>, Turn),
}

impl Arg {
    /// The node that it is, or is made of.
    pub fn node(&self) -> Option<&Arc<Node>> {
        match self {
            Arg::Node(node) | Arg::Turned(node, _) => Some(node),
            Arg::Scalar(_) => None,
        }
    }
}

/// What becomes of a value on the way to an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Turn {
    /// Its magnitude.
    Abs,
    /// One with its sign bit.
    Sign,
    /// Converted.
    Cast(DType),
}

impl Turn {
    /// The dtype that a value of `dtype` has then.
    pub fn dtype(self, dtype: DType) -> DType {
        match self {
            Turn::Abs | Turn::Sign => dtype,
            Turn::Cast(to) => to,
        }
    }
}

/// Operands of a pending node.
pub(crate) type Args = SmallVec<[Arg; 2]>;

/// What a node is at the moment.
#[derive(Debug)]
pub(crate) enum State {
    Pending { op: Op, args: Args },
    Scalar(Scalar),
    Ready(Arc<Buffer>),
    Failed(Error),
}

/// What a state is, for those who do not need its contents.
const PENDING: u8 = 0;
const READY: u8 = 1;
const FAILED: u8 = 2;
const NUMBER: u8 = 3;

impl State {
    fn kind(&self) -> u8 {
        match self {
            State::Pending { .. } => PENDING,
            State::Scalar(_) => NUMBER,
            State::Ready(_) => READY,
            State::Failed(_) => FAILED,
        }
    }
}

/// One value: a type that never changes and a state that changes once.
#[derive(Debug)]
pub(crate) struct Node {
    pub ty: Type,
    /// Where the caller made it, for errors that surface later.
    pub location: &'static Location<'static>,
    state: Mutex<State>,
    /// What the state is; written under its lock.
    kind: AtomicU8,
    /// At least as many pending nodes as evaluating this one would visit; 0 once nothing is pending.
    weight: AtomicU32,
    /// Number of the oldest node that evaluating this one could visit. Pending nodes are numbered as they are made.
    oldest: u64,
    /// The number that every element is known to be from the start.
    constant: Constant,
    /// Equal for nodes that are made in the same way: hashes of the operation and of what was pending below.
    outline: u32,
    /// Smallest and largest element, once somebody has asked; the value never changes.
    pub extremes: OnceLock<Box<[i128; 2]>>,
}

/// What is known about the elements of a node that is made of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Constant {
    No,
    Zero,
    Other,
}

impl Constant {
    fn of(value: Scalar) -> Constant {
        if value.bits() == [0, 0] { Constant::Zero } else { Constant::Other }
    }
}

static MADE: AtomicU64 = AtomicU64::new(0);

impl Node {
    pub fn new(ty: Type, state: State, location: &'static Location<'static>) -> Arc<Node> {
        let (mut weight, mut oldest, mut outline) = (0, u64::MAX, 0);
        if let State::Pending { op, args } = &state {
            let mut hasher = FxHasher::default();
            op.hash(&mut hasher);
            ty.hash(&mut hasher);
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            (weight, oldest) = (1u32, number);
            for arg in args {
                if let Arg::Turned(_, turn) = arg {
                    turn.hash(&mut hasher);
                }
                let Some(arg) = arg.node() else { continue };
                let pending = arg.weight();
                if pending > 0 {
                    weight = weight.saturating_add(pending);
                    oldest = oldest.min(arg.oldest);
                    hasher.write_u32(arg.outline);
                }
            }
            // The upper bits are the best of this hash.
            outline = (hasher.finish() >> 32) as u32;
            // The sum counts shared operands again and again; whatever was made since the oldest is a bound as well.
            weight = weight.min(u32::try_from(number - oldest + 1).unwrap_or(u32::MAX));
        }
        let constant = match &state {
            State::Scalar(value) => Constant::of(*value),
            State::Pending { op: Op::Expand(_), args } => match args.as_slice() {
                [Arg::Scalar(value)] => Constant::of(*value),
                _ => Constant::No,
            },
            _ => Constant::No,
        };
        let (kind, state, weight) = (AtomicU8::new(state.kind()), Mutex::new(state), AtomicU32::new(weight));
        Arc::new(Node {
            ty,
            location,
            state,
            kind,
            weight,
            oldest,
            constant,
            outline,
            extremes: OnceLock::new(),
        })
    }

    pub fn weight(&self) -> u32 {
        self.weight.load(Ordering::Relaxed)
    }

    /// A hash by which nodes that are made in the same way are found; others may have it too.
    pub fn outline(&self) -> u32 {
        self.outline
    }

    pub fn set_weight(&self, weight: u32) {
        self.weight.store(weight, Ordering::Relaxed);
    }

    /// The state, locked for a look; nothing is to be computed meanwhile.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// The buffer of a node that nobody else holds.
    pub fn buffer_mut(&mut self) -> Option<&mut Arc<Buffer>> {
        match self.state.get_mut() {
            State::Ready(buffer) => Some(buffer),
            _ => None,
        }
    }

    /// Whether it is still to be computed; another thread may have done it a moment later.
    pub fn is_pending(&self) -> bool {
        self.kind.load(Ordering::Acquire) == PENDING
    }

    /// Whether it is a number of the host's, which needs no buffer until somebody wants its bytes.
    pub fn is_number(&self) -> bool {
        self.kind.load(Ordering::Acquire) == NUMBER
    }

    /// Whether it is computed.
    pub fn is_ready(&self) -> bool {
        self.kind.load(Ordering::Acquire) == READY
    }

    /// Whether it carries an error.
    pub fn is_failed(&self) -> bool {
        self.kind.load(Ordering::Acquire) == FAILED
    }

    /// The value that every element has, where that is known without computing: views of it are as constant.
    pub fn constant(&self) -> Option<Scalar> {
        // Of all others, and once it is computed, there is nothing to look for, and no lock to take.
        if self.constant == Constant::No || self.kind.load(Ordering::Acquire) == READY {
            return None;
        }
        match &*self.state.lock() {
            State::Scalar(value) => Some(*value),
            State::Pending { op: Op::Expand(_), args } => match args.as_slice() {
                [Arg::Scalar(value)] => Some(*value),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether it is still to be computed, and all zeros.
    pub fn is_pending_zeros(&self) -> bool {
        self.constant == Constant::Zero && self.is_pending()
    }

    /// The error, if there is one.
    pub fn error(&self) -> Option<Error> {
        if !self.is_failed() {
            return None;
        }
        match &*self.state.lock() {
            State::Failed(error) => Some(error.clone()),
            _ => None,
        }
    }

    /// Takes the result unless another thread was first.
    pub fn finish(&self, result: State) {
        let former = {
            let mut state = self.state.lock();
            if !matches!(*state, State::Pending { .. } | State::Scalar(_)) {
                return;
            }
            self.set_weight(0);
            self.kind.store(result.kind(), Ordering::Release);
            std::mem::replace(&mut *state, result)
        };
        if let State::Pending { args, .. } = former {
            release(args);
        }
    }

    /// Puts a result with the same bytes in the place of one.
    pub fn renew(
        &self,
        copy: impl FnOnce(&Arc<Buffer>) -> crossover_runtime::Result<Arc<Buffer>>,
    ) -> crossover_runtime::Result<()> {
        let former = match &*self.state.lock() {
            State::Ready(buffer) => buffer.clone(),
            _ => return Ok(()),
        };
        let renewed = State::Ready(copy(&former)?);
        // Results never change, so that whoever comes second puts the same bytes in.
        let replaced = std::mem::replace(&mut *self.state.lock(), renewed);
        drop(replaced);
        Ok(())
    }

    /// Replaces a result, which nobody has seen yet, by an error.
    pub fn fail(&self, error: Error) {
        self.finish(State::Failed(error.clone()));
        let mut state = self.state.lock();
        self.kind.store(FAILED, Ordering::Release);
        *state = State::Failed(error);
    }

    /// Takes the operands out of a node that is going away.
    fn take_args(&mut self) -> Option<Args> {
        match self.state.get_mut() {
            State::Pending { args, .. } => Some(std::mem::take(args)),
            _ => None,
        }
    }
}

/// Lets go of operands and everything only they keep alive, without recursion: chains may be a million long.
fn release(args: Args) {
    let mut left: SmallVec<[Args; 4]> = SmallVec::new();
    let mut next = Some(args);
    while let Some(args) = next {
        for arg in args {
            if let Arg::Node(node) | Arg::Turned(node, _) = arg
                && let Some(mut last) = Arc::into_inner(node)
            {
                left.extend(last.take_args());
            }
        }
        next = left.pop();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(args) = self.take_args() {
            release(args);
        }
    }
}

/// The type that an array with an error seems to have.
pub(crate) fn failed_type() -> Type {
    Type { dtype: DType::Bool, shape: crossover_core::Shape::scalar() }
}
