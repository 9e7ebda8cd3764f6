//! Values that are computed when somebody needs their bytes.
//!
//! A node is pending (an operation and its operands), a host scalar, ready (a buffer) or failed. It changes once,
//! from pending to ready or failed, and then lets go of its operands. Two threads may evaluate the same node at
//! the same time: both compute the same bits, and the first result stays. No lock is held while anything runs.

use std::{
    panic::Location,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use crossover_core::{
    Scalar,
    graph::{Op, Type},
};
use crossover_runtime::Buffer;
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::Error;

/// Operands of a pending node.
pub(crate) type Args = SmallVec<[Arc<Node>; 3]>;

/// What a node is at the moment.
#[derive(Debug, Clone)]
pub(crate) enum State {
    Pending { op: Op, args: Args },
    Scalar(Scalar),
    Ready(Arc<Buffer>),
    Failed(Error),
}

/// One value: a type that never changes and a state that changes once.
#[derive(Debug)]
pub(crate) struct Node {
    pub ty: Type,
    /// Where the caller made it, for errors that surface later.
    pub location: &'static Location<'static>,
    state: Mutex<State>,
    /// At least as many pending nodes as evaluating this one would visit; 0 once nothing is pending.
    weight: AtomicU32,
}

impl Node {
    pub fn new(ty: Type, state: State, location: &'static Location<'static>) -> Arc<Node> {
        let weight = match &state {
            State::Pending { args, .. } => args.iter().fold(1u32, |sum, arg| sum.saturating_add(arg.weight())),
            _ => 0,
        };
        Arc::new(Node { ty, location, state: Mutex::new(state), weight: AtomicU32::new(weight) })
    }

    pub fn weight(&self) -> u32 {
        self.weight.load(Ordering::Relaxed)
    }

    pub fn set_weight(&self, weight: u32) {
        self.weight.store(weight, Ordering::Relaxed);
    }

    /// A copy of the state; operands and buffers are shared.
    pub fn state(&self) -> State {
        self.state.lock().clone()
    }

    /// The buffer, if the value has been computed.
    pub fn buffer(&self) -> Option<Arc<Buffer>> {
        match &*self.state.lock() {
            State::Ready(buffer) => Some(buffer.clone()),
            _ => None,
        }
    }

    /// The buffer of a node that nobody else holds.
    pub fn buffer_mut(&mut self) -> Option<&mut Arc<Buffer>> {
        match self.state.get_mut() {
            State::Ready(buffer) => Some(buffer),
            _ => None,
        }
    }

    /// The error, if there is one.
    pub fn error(&self) -> Option<Error> {
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
            std::mem::replace(&mut *state, result)
        };
        release(former);
    }
}

/// Lets go of a state and everything only it keeps alive, without recursion: chains may be a million long.
fn release(state: State) {
    let mut states = vec![state];
    while let Some(state) = states.pop() {
        if let State::Pending { args, .. } = state {
            for mut node in args.into_iter().filter_map(Arc::into_inner) {
                let inner = std::mem::replace(node.state.get_mut(), hollow());
                states.push(inner);
            }
        }
    }
}

/// What is left in a node that is being taken apart.
fn hollow() -> State {
    State::Scalar(Scalar::zero(crossover_core::DType::Bool))
}

impl Drop for Node {
    fn drop(&mut self) {
        if matches!(self.state.get_mut(), State::Pending { .. }) {
            release(std::mem::replace(self.state.get_mut(), hollow()));
        }
    }
}
